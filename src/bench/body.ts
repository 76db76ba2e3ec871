import type { TimedBody } from './executor.ts'
import type { Matrix, Work } from './matrix.ts'

/**
 * What is timed: `run` of one cell, wrapped so that executors see a function that returns nothing and never fails, while the
 * results are summed and the iterations counted.
 *
 * After a failure every call returns at once.
 */
export class Body {
  /** What each `run` is asked for. */
  iterations: number
  /** How often a call runs it. */
  repeat = 1
  readonly #matrix: Pick<Matrix, 'run'>
  readonly #state: unknown
  // Two numbers, as an object made anew by each call would count among the bytes that the bench allocates.
  #iterationsDone = 0
  #checksum = 0
  #failure: { readonly error: unknown } | undefined

  /** @param iterations - what each `run` is asked for */
  constructor (matrix: Pick<Matrix, 'run'>, state: unknown, iterations: number) {
    this.#matrix = matrix
    this.#state = state
    this.iterations = iterations
  }

  /** All that was done so far. */
  get work (): Work {
    return { iterations: this.#iterationsDone, checksum: this.#checksum }
  }

  /** Iterations of one call. */
  get iterationsPerCall (): number {
    return this.iterations * this.repeat
  }

  /** Whether calls return at once, because one of them failed. */
  get hasFailed (): boolean {
    return this.#failure !== undefined
  }

  /** @throws what `run` threw, or a TypeError when it returned no finite number */
  check (): void {
    if (this.#failure !== undefined) {
      throw this.#failure.error
    }
  }

  /** One timed call; for benches that return promises, until the last of them. */
  readonly call: TimedBody = (): void | Promise<void> => {
    if (this.#failure !== undefined) {
      return
    }
    try {
      let sum = 0
      for (let left = this.repeat; left > 0; left--) {
        const result = this.#matrix.run(this.#state, this.iterations)
        if (typeof result !== 'number') {
          return this.#callAsync(result, left, sum)
        }
        sum += result
      }
      this.#add(sum)
    } catch (error) {
      this.#failure = { error }
    }
  }

  async #callAsync (first: unknown, calls: number, before: number): Promise<void> {
    try {
      let sum = before + numberOf(await first)
      for (let left = calls - 1; left > 0; left--) {
        sum += numberOf(await this.#matrix.run(this.#state, this.iterations))
      }
      this.#add(sum)
    } catch (error) {
      this.#failure = { error }
    }
  }

  #add (sum: number): void {
    if (!Number.isFinite(sum)) {
      throw new TypeError(`run must return a finite number, received ${sum}`)
    }
    this.#iterationsDone += this.iterationsPerCall
    this.#checksum += sum
  }
}

function numberOf (value: unknown): number {
  if (typeof value !== 'number') {
    throw new TypeError(`run must return a number, received ${typeof value}`)
  }
  return value
}
