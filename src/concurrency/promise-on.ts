import type { Executor } from './executor.ts'

/**
 * A promise whose callbacks run on an executor: each one that is given to `then`, `catch` or `finally` is a job of its own.
 * What these return are common promises again.
 */
export class PromiseOn<Value> extends Promise<Value> {
  static override get [Symbol.species] (): PromiseConstructor {
    return Promise
  }

  readonly #executor: Executor

  constructor (executor: Executor, result: Value | PromiseLike<Value>) {
    super((resolve) => { resolve(result) })
    this.#executor = executor
  }

  override then<Kept = Value, Caught = never> (
    onFulfilled?: ((value: Value) => Kept | PromiseLike<Kept>) | null,
    onRejected?: ((reason: unknown) => Caught | PromiseLike<Caught>) | null
  ): Promise<Kept | Caught> {
    return super.then(jobOn(this.#executor, onFulfilled), jobOn(this.#executor, onRejected))
  }
}

function jobOn<Argument, Result> (
  executor: Executor, callback: ((argument: Argument) => Result | PromiseLike<Result>) | null | undefined
): ((argument: Argument) => Promise<Result>) | null | undefined {
  return callback && ((argument) => new Promise((resolve, reject) => {
    executor.execute(() => {
      try {
        resolve(callback(argument))
      } catch (cause) {
        reject(cause)
      }
    })
  }))
}
