/**
 * Waiting for many. Each form takes any iterable of values and thenables and returns a promise, which is never delivered
 * before the call returns (S8.17, S8.18). Every member counts as handled, whatever becomes of it; what the iterable itself
 * throws rejects the promise. Plain values cost a look at each, promises what `Promise.all` costs.
 */

import { gather, gatherEnd, gatherOutcomes, gatherSuccess } from './gather.ts'
import { PromiseOn } from './promise-on.ts'
import type { Executor } from './executor.ts'
import type { Gathered, Outcomes } from './gather.ts'

/** How the result of a join is delivered. */
export interface WhenAllOptions {
  /**
   * Where the callbacks run that are given to `then`, `catch` and `finally` of the returned promise: each is a job of this
   * executor. What follows an `await` runs in the microtasks after that job.
   *
   * @default the host's microtasks, as for any promise
   */
  readonly on?: Executor | undefined
}

/** Resolves with the results in the order of the members; rejects with the first failure, at once. */
export function whenAllSucceed<Members extends Iterable<unknown> | []> (members: Members, options?: WhenAllOptions): Promise<Gathered<Members>> {
  return deliver(() => gather(members), options)
}

/** Resolves when all members have ended, with how each did, in the order of the members. */
export function whenAllComplete<Members extends Iterable<unknown> | []> (members: Members, options?: WhenAllOptions): Promise<Outcomes<Members>> {
  return deliver(() => gatherOutcomes(members), options)
}

/** As {@link whenAllSucceed}, for when nobody wants the results. */
export function andAllSucceed (members: Iterable<unknown>, options?: WhenAllOptions): Promise<void> {
  return deliver(() => gatherSuccess(members), options)
}

/** Resolves when all members have ended, however they did. */
export function andAllComplete (members: Iterable<unknown>, options?: WhenAllOptions): Promise<void> {
  return deliver(() => gatherEnd(members), options)
}

function deliver<Result> (join: () => Result | Promise<Result>, options: WhenAllOptions | undefined): Promise<Result> {
  const executor = options?.on
  const result = attempt(join)
  return executor === undefined ? Promise.resolve(result) : new PromiseOn(executor, result)
}

function attempt<Result> (join: () => Result | Promise<Result>): Result | Promise<Result> {
  try {
    return join()
  } catch (cause) {
    return Promise.reject(cause)
  }
}
