/**
 * The one file that knows benny: as a sampler of one body, with nothing of its statistics, tables and files.
 *
 * benny sorts the samples and drops the counts, so both are taken before it does; a body that rejects would never end; and it
 * writes to the standard output, which the parent of the process that runs this ignores.
 */

import { add, suite } from 'benny'
import type { Executor, SampleOptions, SampleSet, TimedBody } from './executor.ts'

interface Completed {
  readonly target: { readonly count: number, readonly stats: { readonly sample: readonly number[] } }
}

/** @param version - of benny, as installed */
export function bennyExecutor (version: string): Executor {
  return {
    name: `benny@${version}`,
    async sample (body: TimedBody, { samples, minTimeMs, startCount }: SampleOptions): Promise<SampleSet> {
      const first = body()
      await first
      let taken: SampleSet = { nsPerCall: new Float64Array(), count: 0 }
      const options = {
        minSamples: samples,
        minTime: minTimeMs / 1000,
        maxTime: 0,
        delay: 0,
        // Too short for a sample, so that the first loop, which nothing has optimised yet, is none.
        initCount: Math.max(1, Math.ceil(startCount / 2)),
        onComplete ({ target }: Completed) {
          taken = { nsPerCall: Float64Array.from(target.stats.sample, seconds => seconds * 1e9), count: target.count }
        }
      }
      await suite('cell', add('cell', first === undefined ? () => body : () => inTurn(body), options))
      return taken
    }
  }
}

/** benny starts a call to see what it returns, and does not wait for it. */
function inTurn (body: TimedBody): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return () => {
    last = last.then(body)
    return last
  }
}
