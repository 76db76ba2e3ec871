import type { Executor, SampleOptions, SampleSet, TimedBody } from './executor.ts'

/** More would not fit a loop counter of 31 bits. */
const MAX_COUNT = 2 ** 30

/** A first sample may be far too short to tell the length of the next. */
const MAX_STEP = 16

/** Aims beyond the least length of a sample, so that one estimate is mostly enough. */
const HEADROOM = 1.1

/**
 * The executor for tests, and for where benny is not installed: one pair of clock readings around a plain loop, which is made
 * longer until it lasts.
 *
 * @param now - milliseconds
 */
export function builtinExecutor (now: () => number): Executor {
  return {
    name: 'builtin',
    async sample (body: TimedBody, { samples, minTimeMs, startCount }: SampleOptions): Promise<SampleSet> {
      const nsPerCall = new Float64Array(samples)
      let count = Math.max(1, startCount)
      for (let taken = 0; taken < samples;) {
        const elapsedMs = await time(body, count, now)
        if (elapsedMs < minTimeMs && count < MAX_COUNT) {
          count = longer(count, elapsedMs, minTimeMs)
        } else {
          nsPerCall[taken++] = elapsedMs * 1e6 / count
        }
      }
      return { nsPerCall, count }
    }
  }
}

async function time (body: TimedBody, count: number, now: () => number): Promise<number> {
  const start = now()
  for (let left = count; left > 0; left--) {
    const pending = body()
    if (pending !== undefined) {
      await pending
    }
  }
  return now() - start
}

function longer (count: number, elapsedMs: number, minTimeMs: number): number {
  const factor = elapsedMs > 0 ? minTimeMs / elapsedMs * HEADROOM : Infinity
  return Math.min(MAX_COUNT, Math.ceil(count * Math.min(factor, MAX_STEP)))
}
