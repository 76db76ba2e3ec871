/**
 * Joining members of which most are there already. To look whether a value is thenable costs a few nanoseconds, a promise with
 * a callback of its own some hundred: so plain values meet neither, and promises meet `Promise.all` alone, for which the host
 * needs no second promise each. These forms stay synchronous when no member is thenable; those of `when-all.ts` never are.
 */

import { fillIn, sortMembers } from './members.ts'
import { fulfil, outcomesOf } from './outcomes.ts'

/** What members turn out to be: of a tuple, each by its type. */
export type Gathered<Members extends Iterable<unknown>> = Members extends readonly unknown[]
  ? { -readonly [At in keyof Members]: Awaited<Members[At]> }
  : Members extends Iterable<infer Member> ? Array<Awaited<Member>> : never

/** How members ended: of a tuple, each by its type. */
export type Outcomes<Members extends Iterable<unknown>> = Members extends readonly unknown[]
  ? { -readonly [At in keyof Members]: PromiseSettledResult<Awaited<Members[At]>> }
  : Members extends Iterable<infer Member> ? Array<PromiseSettledResult<Awaited<Member>>> : never

/**
 * The results in the order of the members (S8.19): at once when no member is thenable, else with a promise, which rejects with
 * the first failure.
 *
 * @throws what the iterable throws
 */
export function gather<Members extends Iterable<unknown> | []> (members: Members): Gathered<Members> | Promise<Gathered<Members>>
export function gather (members: Iterable<unknown>): unknown[] | Promise<unknown[]> {
  const { values, promises, places } = sortMembers(members, false)
  if (promises.length === 0) {
    return values
  }
  const all = Promise.all(promises)
  return places === undefined ? all : all.then(results => fillIn(values, places, results))
}

/**
 * How each member ended, in their order: at once when no member is thenable.
 *
 * @throws what the iterable throws
 */
export function gatherOutcomes<Members extends Iterable<unknown> | []> (members: Members): Outcomes<Members> | Promise<Outcomes<Members>>
export function gatherOutcomes (members: Iterable<unknown>): unknown {
  const { values, promises, places } = sortMembers(members, true)
  if (promises.length === 0) {
    return fulfil(values)
  }
  const all = outcomesOf(promises)
  return places === undefined ? all : all.then(outcomes => fillIn(fulfil(values), places, outcomes))
}

/**
 * Undefined when no member is thenable; else it resolves when all members succeeded.
 *
 * @throws what the iterable throws
 */
export function gatherSuccess (members: Iterable<unknown>): Promise<void> | undefined {
  const { promises } = sortMembers(members, false)
  return promises.length === 0 ? undefined : Promise.all(promises).then(nothing)
}

/**
 * Undefined when no member is thenable; else it resolves when all members ended, however they did.
 *
 * @throws what the iterable throws
 */
export function gatherEnd (members: Iterable<unknown>): Promise<void> | undefined {
  const { promises } = sortMembers(members, true)
  return promises.length === 0 ? undefined : outcomesOf(promises).then(nothing)
}

function nothing (): void {}
