import { ITERATIONS } from './axes.ts'
import { Body } from './body.ts'
import { bytesPerIteration, linearityOf } from './extras.ts'
import { failureOf } from './task.ts'
import { calibrate, warmUp } from './warm-up.ts'
import type { Axes, Cell } from './axes.ts'
import type { Executor, SampleSet } from './executor.ts'
import type { Matrix } from './matrix.ts'
import type { FailedStage } from './report.ts'
import type { Runtime } from './runtime.ts'
import type { Calibration, MeasuredOutcome, Outcome, Sampling } from './task.ts'

/** One cell of a matrix, for one round. */
export interface Subject {
  readonly matrix: Matrix
  readonly cell: Cell<Axes>
  /** Absent: it runs once and is verified. */
  readonly sampling?: Sampling
  /** Absent: it is found out. */
  readonly calibration?: Calibration
}

/**
 * One cell in one round: set-up, collection, calibration unless it is known, warm-up, samples, bytes, proof of work, teardown. Never
 * rejects: what fails is told by the outcome.
 */
export async function measure (subject: Subject, executor: Executor, runtime: Runtime): Promise<Outcome> {
  const { matrix, cell, sampling } = subject
  let made: { readonly state: unknown, readonly bytesRetained?: number }
  try {
    const things = sampling?.isMemoryMeasured === true ? matrix.retained?.(cell) : undefined
    made = things === undefined ? { state: await matrix.setup(cell) } : await weighed(matrix, cell, things, runtime)
  } catch (error) {
    return failureOf('setup', error)
  }
  const { state, ...retained } = made
  const outcome = await work(subject, state, executor, runtime)
  try {
    await matrix.teardown?.(state)
  } catch (error) {
    return outcome.type === 'failed' ? outcome : failureOf('teardown', error)
  }
  return outcome.type === 'measured' ? { ...outcome, ...retained } : outcome
}

/** Sets up between two looks at the heap. */
async function weighed (matrix: Matrix, cell: Cell<Axes>, things: number, runtime: Runtime): Promise<{ state: unknown, bytesRetained: number }> {
  const before = collectedHeap(runtime)
  const state = await matrix.setup(cell)
  return { state, bytesRetained: Math.max(0, collectedHeap(runtime) - before) / things }
}

function collectedHeap (runtime: Runtime): number {
  runtime.collect()
  return runtime.heapUsed()
}

async function work (subject: Subject, state: unknown, executor: Executor, runtime: Runtime): Promise<Outcome> {
  const { matrix, cell, sampling, calibration } = subject
  let stage: FailedStage = 'run'
  try {
    const body = new Body(matrix, state, calibration?.iterations ?? Number(cell[ITERATIONS] ?? 1))
    const outcome = sampling === undefined
      ? await once(body)
      : await sampled(body, { ...subject, sampling }, executor, runtime)
    stage = 'verify'
    const done = body.work
    if (!await matrix.verify(state, done)) {
      throw new Error(`the work was not done: verify said no to checksum ${done.checksum} after ${done.iterations} iterations`)
    }
    return outcome
  } catch (error) {
    return failureOf(stage, error)
  }
}

async function once (body: Body): Promise<Outcome> {
  await body.call()
  body.check()
  return { type: 'checked' }
}

async function sampled (body: Body, subject: Subject & { readonly sampling: Sampling }, executor: Executor, runtime: Runtime): Promise<Outcome> {
  const { cell, sampling, calibration } = subject
  const first = body.call()
  await first
  body.check()
  // Before the warm-up, not behind it: a forced collection also throws optimised code away, and the first sample would pay.
  runtime.collect()
  if (calibration === undefined) {
    await calibrate(body, runtime, cell[ITERATIONS] === undefined ? 'iterations' : 'repeat')
  } else {
    body.repeat = calibration.repeat
  }
  const isSteady = await warmUp(body, runtime, sampling.warmUpMs)
  body.check()
  const taken = await take(body, sampling, calibration?.count ?? 1, executor, runtime)
  body.check()
  const linearity = sampling.isLinearityChecked ? await linearityOf(body, runtime) : undefined
  const bytes = sampling.isMemoryMeasured ? await bytesPerIteration(body, runtime) : undefined
  body.check()
  return {
    type: 'measured',
    ...taken,
    checksum: body.work.checksum,
    isAsync: first !== undefined,
    isSteady,
    ...(linearity === undefined ? {} : { linearity }),
    ...(bytes === undefined ? {} : { bytesPerIteration: bytes })
  }
}

type Taken = Pick<MeasuredOutcome, 'samples' | 'calibration' | 'gcs' | 'switches'>

async function take (body: Body, sampling: Sampling, startCount: number, executor: Executor, runtime: Runtime): Promise<Taken> {
  const stop = runtime.watchCollections()
  const switchesBefore = runtime.switches()
  const set = await executor.sample(body.call, { ...sampling, startCount })
  return {
    samples: perIteration(set, body.iterationsPerCall),
    calibration: { iterations: body.iterations, repeat: body.repeat, count: set.count },
    gcs: stop().count,
    switches: runtime.switches() - switchesBefore
  }
}

function perIteration ({ nsPerCall }: SampleSet, iterations: number): number[] {
  const samples = Array.from(nsPerCall, ns => ns / iterations)
  if (!samples.every(sample => sample > 0)) {
    throw new RangeError('a sample is below the resolution of the clock')
  }
  return samples
}
