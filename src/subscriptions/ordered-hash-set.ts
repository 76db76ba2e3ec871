import { ChurnMap } from './churn-map.ts'

/** A `Set` for values that come and go: what returns is the newest again, and costs no more than what is new. */
export class OrderedHashSet<Value> {
  /** The position of each value in the order of insertion. */
  readonly #positions = new ChurnMap<Value, number>()
  #next = 0

  /** @param values - the first ones, which are distinct */
  constructor (values: readonly Value[]) {
    for (const value of values) {
      this.#positions.set(value, this.#next++)
    }
  }

  /** Values held. */
  get size (): number {
    return this.#positions.size
  }

  /** Whether `value` is held. */
  has (value: Value): boolean {
    return this.#positions.get(value) !== undefined
  }

  /** Takes `value` in, at the end; false when it is held already. */
  add (value: Value): boolean {
    if (this.has(value)) {
      return false
    }
    this.#positions.set(value, this.#next++)
    return true
  }

  /** Takes `value` out; false when it is not held. */
  delete (value: Value): boolean {
    return this.#positions.delete(value)
  }

  /** A copy, in order of insertion. */
  toArray (): Value[] {
    const entries: Array<Entry<Value>> = []
    this.#positions.forEach((value, position) => { entries.push({ value, position }) })
    return entries.sort(byPosition).map(({ value }) => value)
  }
}

interface Entry<Value> {
  readonly value: Value
  readonly position: number
}

/** Almost in order already: only values that returned are not. */
function byPosition<Value> (left: Entry<Value>, right: Entry<Value>): number {
  return left.position - right.position
}
