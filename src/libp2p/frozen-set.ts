/**
 * A snapshot that stays as it is, also for those who ignore its type: `add`, `delete` and `clear` throw `TypeError`. It is a
 * plain `Set` otherwise, also to those who compare.
 *
 * @param values - what it holds, each once, in order of first mention
 */
export function frozenSet<Value> (values: Iterable<Value>): ReadonlySet<Value> {
  return Object.freeze(Object.defineProperties(new Set(values), REFUSALS))
}

function refuse (): never {
  throw new TypeError('Cannot change this set: it is a snapshot, copy it with new Set(snapshot)')
}

const REFUSALS = { add: { value: refuse }, delete: { value: refuse }, clear: { value: refuse } }
