import { CoalescingExecutor } from 'libp2p-behaviours/concurrency'
import { matrix } from 'libp2p-behaviours/bench'

/** Sources of jobs: each schedules one, then the event loop goes round once. */
const BATCH = 10_000

/** A batch of jobs is scheduled and run. No source schedules twice before its job has run, so that nothing is saved by coalescing. */
export default matrix({
  name: 'executor-schedule',
  axes: {
    /** A `CoalescingExecutor` with its tasks, or `queueMicrotask` with a closure for each job. */
    variant: ['ours', 'microtask']
  },
  baseline: { variant: 'microtask' },
  claims: [
    { where: { variant: 'ours' }, to: { variant: 'microtask' }, ratio: [0, 0.5] },
    // No object for a job, which takes 16 bytes or more: what remains is the queue's and the clock's.
    { where: { variant: 'ours' }, bytes: [0, 8 * BATCH] }
  ],
  units: () => BATCH,
  setup: ({ variant }) => variant === 'ours' ? ours() : microtask(),
  run: async ({ schedule, ran }, iterations) => {
    const before = ran()
    for (let left = iterations; left > 0; left--) {
      const expected = ran() + BATCH
      schedule()
      do {
        await macrotask()
      } while (ran() < expected)
    }
    return ran() - before
  },
  verify: (_, { iterations, checksum }) => checksum === iterations * BATCH
})

interface Jobs {
  /** Schedules a batch of jobs. */
  schedule (): void
  /** How many ran so far. */
  ran (): number
}

function ours (): Jobs {
  const executor = new CoalescingExecutor({
    now: () => performance.now(),
    soon: (turn) => { queueMicrotask(turn) },
    later: (turn) => { setImmediate(turn) },
    onError: (cause) => { throw cause }
  })
  let jobs = 0
  const tasks = Array.from({ length: BATCH }, (_, source) => executor.task(() => { jobs += source < BATCH ? 1 : 0 }))
  return {
    schedule () {
      for (const task of tasks) {
        task.schedule()
      }
    },
    ran: () => jobs
  }
}

function microtask (): Jobs {
  let jobs = 0
  return {
    schedule () {
      for (let source = 0; source < BATCH; source++) {
        queueMicrotask(() => { jobs += source < BATCH ? 1 : 0 })
      }
    },
    ran: () => jobs
  }
}

function macrotask (): Promise<void> {
  return new Promise((resolve) => { setImmediate(resolve) })
}
