/** Members of a join, told apart by whether they have to be waited for. */
export interface SortedMembers {
  /** All members, in a list of our own. */
  readonly values: unknown[]
  /** Those to wait for, as promises of the host. */
  readonly promises: ReadonlyArray<Promise<unknown>>
  /** The place of each promise among the values; undefined when all members are promises. */
  readonly places: readonly number[] | undefined
}

/**
 * Tells plain values and thenables apart. Every promise that is given back must be joined: nobody else may know of it.
 *
 * @throws what the iterable throws; what it had given until then counts as handled
 */
export function sortMembers (members: Iterable<unknown>): SortedMembers {
  const list = listOf(members)
  if (list.length > 0 && list.every(isPromise)) {
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

function isPromise (value: unknown): value is Promise<unknown> {
  return value instanceof Promise
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
