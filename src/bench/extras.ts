/** What is measured beside time, after the samples were taken. */

import { callTime } from './warm-up.ts'
import type { Body } from './body.ts'
import type { Runtime } from './runtime.ts'

/** About how long each of the two checks may take. */
const BUDGET_MS = 40

/** Pairs of calls from which the fastest of each kind are taken. */
const MAX_PAIRS = 7

/**
 * What a call costs with twice the iterations, in calls: about 2, unless `run` works only once, or not at all.
 */
export async function linearityOf (body: Body, runtime: Runtime): Promise<number> {
  const { iterations } = body
  let once = Infinity
  let twice = Infinity
  const end = runtime.now() + BUDGET_MS
  for (let pairs = 0; pairs < MAX_PAIRS && (pairs === 0 || runtime.now() < end); pairs++) {
    once = Math.min(once, await callTime(body, runtime))
    body.iterations = 2 * iterations
    twice = Math.min(twice, await callTime(body, runtime))
    body.iterations = iterations
  }
  return twice / once
}

/** Fewer bytes in an iteration come from the runner. */
const LEAST_BYTES = 0.5

/** So do fewer in a call, of which one lasts 50 µs or longer: what the clock gives, and sums. */
const LEAST_BYTES_OF_CALL = 64

/** And fewer in all. */
const LEAST_BYTES_OF_ALL = 4096

/**
 * Bytes that an iteration allocates: what the heap grew by, and what collections took from it meanwhile, less what looking at
 * it takes, which counts where only a few iterations fit in.
 *
 * @returns 0 for less than half a byte, or what the runner itself may have allocated
 */
export async function bytesPerIteration (body: Body, runtime: Runtime): Promise<number> {
  const own = await allocation(runtime, async () => {})
  let calls = 0
  const all = await allocation(runtime, async () => {
    const end = runtime.now() + BUDGET_MS
    do {
      const pending = body.call()
      if (pending !== undefined) {
        await pending
      }
      calls++
    } while (runtime.now() < end && !body.hasFailed)
  })
  const iterations = calls * body.iterationsPerCall
  const least = Math.max(LEAST_BYTES * iterations, LEAST_BYTES_OF_CALL * calls + LEAST_BYTES_OF_ALL)
  return all - own < least ? 0 : (all - own) / iterations
}

async function allocation (runtime: Runtime, work: () => Promise<void>): Promise<number> {
  runtime.collect()
  const stop = runtime.watchCollections()
  const before = runtime.heapUsed()
  await work()
  return runtime.heapUsed() - before + stop().freedBytes
}
