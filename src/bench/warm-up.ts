import type { Body } from './body.ts'
import type { Runtime } from './runtime.ts'

/** A call shorter than this would be timed with the clock's own cost. */
const LEAST_CALL_MS = 0.05

/** Long enough for the first optimisation, after which calls are shorter than they were. */
const CALIBRATION_MS = 20

/** Doublings that calibration may make: more than any body needs that does something. */
const MAX_DOUBLINGS = 30

/**
 * Doubles what a call does until it lasts 50 µs.
 *
 * @param by - what may be doubled: the iterations of each run, or the runs of each call
 * @throws RangeError when a run is not longer however many iterations it is asked for
 */
export async function calibrate (body: Body, runtime: Runtime, by: 'iterations' | 'repeat'): Promise<void> {
  if (await callTime(body, runtime) >= CALIBRATION_MS) {
    return
  }
  const end = runtime.now() + CALIBRATION_MS
  for (let doublings = 0; doublings < MAX_DOUBLINGS && !body.hasFailed;) {
    const fastest = Math.min(await callTime(body, runtime), await callTime(body, runtime), await callTime(body, runtime))
    if (fastest < LEAST_CALL_MS) {
      body[by] *= 2
      doublings++
    } else if (runtime.now() >= end) {
      return
    }
  }
  if (by === 'iterations' && !body.hasFailed) {
    throw new RangeError('run(state, iterations) took no longer for more iterations: it must do its work `iterations` times')
  }
}

/** Milliseconds of one call. */
export async function callTime (body: Body, runtime: Runtime): Promise<number> {
  const start = runtime.now()
  await called(body)
  return runtime.now() - start
}

/** Calls once; no promise is waited for that is not there. */
async function called (body: Body): Promise<void> {
  const pending = body.call()
  if (pending !== undefined) {
    await pending
  }
}

/** A block that is faster by less than this is no faster. */
const STEADY = 0.02

/** Parts of the least warm-up that are compared with each other. */
const BLOCKS = 3

/** A warm-up ends here, steady or not: so many times the least. */
const MAX_STRETCH = 7

/**
 * Calls until it gets no faster: until a block is not 2 % faster than all before it, for `leastMs` at least and seven times that
 * at most. A slower one says that the machine is busy, which would go on however long is waited.
 *
 * @returns whether it became steady
 */
export async function warmUp (body: Body, runtime: Runtime, leastMs: number): Promise<boolean> {
  const start = runtime.now()
  const blockMs = leastMs / BLOCKS
  // Steady in comparison to that: a call as long as the whole warm-up is enough.
  let fastest = Infinity
  for (;;) {
    const perCall = await block(body, runtime, blockMs)
    const elapsed = runtime.now() - start
    const isSteady = fastest === Infinity || perCall >= fastest * (1 - STEADY)
    if (elapsed >= leastMs && isSteady) {
      return true
    }
    if (elapsed >= leastMs * MAX_STRETCH || body.hasFailed) {
      return false
    }
    fastest = Math.min(fastest, perCall)
  }
}

/** Milliseconds of a call, on average over so many milliseconds. */
async function block (body: Body, runtime: Runtime, lengthMs: number): Promise<number> {
  const start = runtime.now()
  let calls = 0
  let elapsed: number
  do {
    await called(body)
    calls++
    elapsed = runtime.now() - start
  } while (elapsed < lengthMs && !body.hasFailed)
  return elapsed / calls
}
