/** Members of a join, told apart by whether they have to be waited for. */
export interface SortedMembers {
  /** All members, in a list of our own; empty when there are no `places`. */
  readonly values: unknown[]
  /** Those to wait for, as promises of the host. */
  readonly promises: readonly unknown[]
  /** The place of each promise among the values; undefined when the promises are all members, in their order. */
  readonly places: readonly number[] | undefined
}

/** A list of promises is told by every so many of its members: to look at all would cost a tenth of what joining them does. */
const SAMPLE_STRIDE = 8

/**
 * Tells plain values and thenables apart. Every promise that is given back must be joined: nobody else may know of it.
 *
 * @param members - a list in which each sampled member is a promise is taken for one of promises, whatever else is in it,
 *   unless `isExact`
 * @param isExact - whether the promises must be promises of the host, which may be awaited more than once
 * @throws what the iterable throws; what it had given until then counts as handled
 */
export function sortMembers (members: Iterable<unknown>, isExact: boolean): SortedMembers {
  const list = listOf(members)
  if (arePromises(list, isExact ? 1 : SAMPLE_STRIDE)) {
    return { values: [], promises: list, places: undefined }
  }
  const values = [...list]
  const promises: Array<Promise<unknown>> = []
  const places: number[] = []
  for (let place = 0; place < values.length; place++) {
    const promise = promiseOf(values[place])
    if (promise !== undefined) {
      promises.push(promise)
      places.push(place)
    }
  }
  return { values, promises, places }
}

/** Puts `results` to their places among the values. */
export function fillIn (values: unknown[], places: readonly number[], results: readonly unknown[]): unknown[] {
  for (const [at, place] of places.entries()) {
    values[place] = results[at]
  }
  return values
}

function listOf (members: Iterable<unknown>): readonly unknown[] {
  if (Array.isArray(members)) {
    return members
  }
  const list: unknown[] = []
  try {
    for (const member of members) {
      list.push(member)
    }
  } catch (cause) {
    Promise.all(list).catch(() => {})
    throw cause
  }
  return list
}

/** A loop by hand: with `every` the look alone would cost a third of what `Promise.all` does. */
function arePromises (list: readonly unknown[], stride: number): boolean {
  for (let at = 0; at < list.length; at += stride) {
    if (!(list[at] instanceof Promise)) {
      return false
    }
  }
  return list.length > 0
}

/** Undefined for a plain value. One whose `then` cannot even be read is a member that failed. */
function promiseOf (value: unknown): Promise<unknown> | undefined {
  try {
    return isThenable(value) ? Promise.resolve(value) : undefined
  } catch (cause) {
    return Promise.reject(cause)
  }
}

function isThenable (value: unknown): value is PromiseLike<unknown> {
  return ((typeof value === 'object' && value !== null) || typeof value === 'function') && 'then' in value && typeof value.then === 'function'
}
