/** The one file that knows benny: as a sampler of one cell for one round, silent, with nothing of its statistics. */

import { add, suite } from 'benny'
import type { Bench } from './matrix.ts'

/** Who takes the samples; figures of different ones are never compared. Pinned in package.json. */
export const EXECUTOR = 'benny@3.7.1'

/** How one cell is sampled in one round. */
export interface Sampling {
  readonly samples: number
  /** Least length of a sample. */
  readonly minTimeMs: number
  readonly warmUpMs: number
}

/**
 * Warms up, then samples.
 *
 * @returns nanoseconds per iteration, in order of time
 * @throws what the bench throws, or an Error when its proof of work fails
 */
export async function sample (id: string, bench: Bench, iterations: number, sampling: Sampling): Promise<number[]> {
  const body = new Body(bench, iterations)
  const isAsync = await body.warmUp(sampling.warmUpMs)
  const seconds: number[] = []
  const options = {
    minSamples: sampling.samples,
    minTime: sampling.minTimeMs / 1000,
    maxTime: 0,
    delay: 0,
    onComplete ({ target }: { target: { stats: { sample: number[] } } }) {
      // Before benny sorts them.
      seconds.push(...target.stats.sample)
    }
  }
  const test = isAsync ? async () => body.callInTurn : () => body.call
  await silently(() => suite(id, add(id, test, options)))
  body.check()
  return seconds.map(value => value * 1e9 / iterations)
}

/** benny must never see a body that throws or rejects, so the first error is kept for `check`. */
class Body {
  readonly #bench: Bench
  readonly #iterations: number
  #calls = 0
  #checksum = 0
  #failure: { readonly error: unknown } | undefined
  #last: Promise<void> = Promise.resolve()

  constructor (bench: Bench, iterations: number) {
    this.#bench = bench
    this.#iterations = iterations
  }

  /** One timed call. */
  readonly call = (): void | Promise<void> => {
    if (this.#failure !== undefined) {
      return
    }
    try {
      const checksum = this.#bench.run(this.#iterations)
      if (typeof checksum === 'number') {
        this.#add(checksum)
        return
      }
      return checksum.then((value) => { this.#add(value) }, (error: unknown) => { this.#failure = { error } })
    } catch (error) {
      this.#failure = { error }
    }
  }

  /** The same for async benches: benny once starts a call before the last one has ended. */
  readonly callInTurn = (): Promise<void> => {
    this.#last = this.#last.then(this.call)
    return this.#last
  }

  /** Returns whether the bench is async. */
  async warmUp (durationMs: number): Promise<boolean> {
    const end = performance.now() + durationMs
    let isAsync = false
    do {
      const called = this.call()
      if (called !== undefined) {
        isAsync = true
        await called
      }
    } while (performance.now() < end)
    return isAsync
  }

  check (): void {
    if (this.#failure !== undefined) {
      throw this.#failure.error
    }
    const iterations = this.#calls * this.#iterations
    if (!this.#bench.verify(iterations, this.#checksum)) {
      throw new Error(`the work was not done: checksum ${this.#checksum} after ${iterations} iterations`)
    }
  }

  #add (checksum: number): void {
    this.#calls++
    this.#checksum += checksum
  }
}

/** benny announces each suite on the console, which belongs to the results. */
async function silently<Value> (work: () => Promise<Value>): Promise<Value> {
  const { log } = console
  console.log = () => {}
  try {
    return await work()
  } finally {
    console.log = log
  }
}
