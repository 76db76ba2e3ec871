import { count, parseOptions } from '../core/options.ts'
import { OrderedHashSet } from './ordered-hash-set.ts'
import type { OptionTable } from '../core/options.ts'

/** When a container changes between an array and a hash set. */
export interface SetThresholds {
  /**
   * An array holds so many values at most; one more, and it becomes a set. `0`: always a set; `Infinity`: always an array.
   *
   * @default 12
   */
  readonly setAbove: number
  /**
   * A set that holds fewer values becomes an array again. Less than `setAbove`, so that a container around one size does not
   * go to and fro.
   *
   * @default 6
   */
  readonly arrayBelow: number
}

/** Where the two cross in the bench `subscriptions-size`; a container half as full costs the same in either form. */
export const DEFAULT_THRESHOLDS: SetThresholds = Object.freeze({ setAbove: 12, arrayBelow: 6 })

const THRESHOLDS: OptionTable<SetThresholds> = {
  setAbove: count(DEFAULT_THRESHOLDS.setAbove),
  arrayBelow: count(DEFAULT_THRESHOLDS.arrayBelow)
}

/**
 * Fills in what `init` leaves out.
 *
 * @throws TypeError for an unknown option, or one that is no number
 * @throws RangeError for one that is no count, or when `arrayBelow` is above `setAbove`
 */
export function parseThresholds (init: Partial<SetThresholds>, action: string): SetThresholds {
  const thresholds = parseOptions(THRESHOLDS, init, action)
  const { setAbove, arrayBelow } = thresholds
  if (arrayBelow > setAbove) {
    throw new RangeError(`${action}: arrayBelow must be at most setAbove (${setAbove}), received ${arrayBelow}`)
  }
  return thresholds
}

/**
 * A set in order of insertion that is an array while it is small, which is less memory and time than hashing, and a hash set
 * when it is large (S8.16). Which of the two it is cannot be seen from outside.
 */
export class AdaptiveSet<Value> {
  readonly #thresholds: SetThresholds
  #list: Value[] = []
  /** Has the values instead of the list while they are many. */
  #hashed: OrderedHashSet<Value> | undefined

  constructor (thresholds: SetThresholds = DEFAULT_THRESHOLDS) {
    this.#thresholds = thresholds
  }

  /** Values held. */
  get size (): number {
    return this.#hashed === undefined ? this.#list.length : this.#hashed.size
  }

  /** Whether `value` is held. */
  has (value: Value): boolean {
    return this.#hashed === undefined ? this.#list.includes(value) : this.#hashed.has(value)
  }

  /** Takes `value` in, at the end; false when it is held already, and then nothing changes. */
  add (value: Value): boolean {
    if (this.#hashed !== undefined) {
      return this.#hashed.add(value)
    }
    const list = this.#list
    if (list.includes(value)) {
      return false
    }
    list.push(value)
    if (list.length > this.#thresholds.setAbove) {
      this.#hashed = new OrderedHashSet(list)
      this.#list = []
    }
    return true
  }

  /** Takes `value` out; false when it is not held. */
  delete (value: Value): boolean {
    if (this.#hashed === undefined) {
      return deleteFrom(this.#list, value)
    }
    const isHeld = this.#hashed.delete(value)
    if (this.#hashed.size < this.#thresholds.arrayBelow) {
      this.#list = this.#hashed.toArray()
      this.#hashed = undefined
    }
    return isHeld
  }

  /** A copy, in order of insertion. */
  toArray (): Value[] {
    return this.#hashed === undefined ? this.#list.slice() : this.#hashed.toArray()
  }
}

/** `splice` would make an array of what it takes out, and cost several times as much. */
function deleteFrom<Value> (list: Value[], value: Value): boolean {
  const at = list.indexOf(value)
  if (at === -1) {
    return false
  }
  list.copyWithin(at, at + 1)
  list.pop()
  return true
}
