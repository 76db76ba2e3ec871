import { CoalescingExecutor } from 'libp2p-behaviours/concurrency'
import type { Bench, Matrix } from './matrix.ts'

/** Sources of jobs: each schedules one, then the event loop goes round once. */
const BATCH = 1000

interface Cell {
  /** A `CoalescingExecutor` with its tasks, or `queueMicrotask` with a closure for each job. */
  readonly variant: 'ours' | 'microtask'
  readonly [axis: string]: string | number
}

/** One job is scheduled and run. No source schedules twice before its job has run, so that nothing is saved by coalescing. */
export const executorSchedule: Matrix<Cell> = {
  name: 'executor-schedule',
  cells: [{ variant: 'ours' }, { variant: 'microtask' }],
  iterations: 10 * BATCH,
  baseline: 'microtask',
  setup: ({ variant }) => variant === 'ours' ? ours() : microtask()
}

function ours (): Bench {
  const executor = new CoalescingExecutor({
    now: () => performance.now(),
    soon: (turn) => { queueMicrotask(turn) },
    later: (turn) => { setImmediate(turn) },
    onError: (cause) => { throw cause }
  })
  let jobs = 0
  const tasks = Array.from({ length: BATCH }, (_, source) => executor.task(() => { jobs += source < BATCH ? 1 : 0 }))
  return benchOf(() => {
    for (const task of tasks) {
      task.schedule()
    }
  }, () => jobs)
}

function microtask (): Bench {
  let jobs = 0
  return benchOf(() => {
    for (let source = 0; source < BATCH; source++) {
      queueMicrotask(() => { jobs += source < BATCH ? 1 : 0 })
    }
  }, () => jobs)
}

/** @param schedule - schedules a batch of jobs, each of which adds 1 to what `ran` gives */
function benchOf (schedule: () => void, ran: () => number): Bench {
  return {
    async run (iterations) {
      const before = ran()
      for (let left = iterations; left > 0; left -= BATCH) {
        const expected = ran() + BATCH
        schedule()
        do {
          await macrotask()
        } while (ran() < expected)
      }
      return ran() - before
    },
    verify: (iterations, checksum) => checksum === iterations
  }
}

function macrotask (): Promise<void> {
  return new Promise((resolve) => { setImmediate(resolve) })
}
