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

/** Fewer bytes come from the runner and the clock. */
const LEAST_BYTES = 0.5

/**
 * Bytes that an iteration allocates: what the heap grew by, and what collections took from it meanwhile.
 *
 * @returns 0 for less than half a byte
 */
export async function bytesPerIteration (body: Body, runtime: Runtime): Promise<number> {
  runtime.collect()
  const stop = runtime.watchCollections()
  const before = runtime.heapUsed()
  const end = runtime.now() + BUDGET_MS
  let calls = 0
  do {
    const pending = body.call()
    if (pending !== undefined) {
      await pending
    }
    calls++
  } while (runtime.now() < end && !body.hasFailed)
  const bytes = (runtime.heapUsed() - before + stop().freedBytes) / (calls * body.iterationsPerCall)
  return bytes < LEAST_BYTES ? 0 : bytes
}
