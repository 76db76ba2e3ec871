import { count, parseOptions } from '../core/options.ts'
import { OrderedHashSet } from './ordered-hash-set.ts'
import type { OptionTable } from '../core/options.ts'

/** When a container changes between an array and a hash set. */
export interface SetThresholds {
  /**
   * An array holds so many values at most; one more, and it becomes a set. `0`: always a set; `Infinity`: always an array.
   *
   * @default 16
   */
  readonly setAbove: number
  /**
   * A set that holds fewer values becomes an array again. Less than `setAbove`, so that a container around one size does not
   * go to and fro.
   *
   * @default half of `setAbove`
   */
  readonly arrayBelow: number
}

/**
 * Measured in the bench `subscriptions-size` and with containers of one form: where children come and go in turn the two cost
 * the same at 10 to 14, where all are new the array is ahead up to 32. At half of it the set is still as fast as the array, and
 * below falls behind.
 */
export const DEFAULT_THRESHOLDS: SetThresholds = Object.freeze({ setAbove: 16, arrayBelow: 8 })

/**
 * Fills in what `init` leaves out.
 *
 * @throws TypeError for an unknown option, or one that is no number
 * @throws RangeError for one that is no count, or when `arrayBelow` is above `setAbove`
 */
export function parseThresholds (init: { readonly setAbove?: number | undefined }, action: string): SetThresholds {
  const { setAbove = DEFAULT_THRESHOLDS.setAbove } = init
  const table: OptionTable<SetThresholds> = { setAbove: count(setAbove), arrayBelow: count(Math.floor(setAbove / 2)) }
  const thresholds = parseOptions(table, init, action)
  if (thresholds.arrayBelow > setAbove) {
    throw new RangeError(`${action}: arrayBelow must be at most setAbove (${setAbove}), received ${thresholds.arrayBelow}`)
  }
  return thresholds
}

/**
 * A set in order of insertion that is an array while it is small, which is less memory and time than hashing, and a hash set
 * when it is large (S8.16). Which of the two it is cannot be seen from outside.
 */
export class AdaptiveSet<Value> {
  // Two numbers, as a look through an object is seen in what `add` takes while there are few.
  readonly #setAbove: number
  readonly #arrayBelow: number
  #list: Value[] = []
  /** Has the values instead of the list while they are many. */
  #hashed: OrderedHashSet<Value> | undefined

  constructor ({ setAbove, arrayBelow }: SetThresholds = DEFAULT_THRESHOLDS) {
    this.#setAbove = setAbove
    this.#arrayBelow = arrayBelow
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
    if (list.length > this.#setAbove) {
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
    if (this.#hashed.size < this.#arrayBelow) {
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

/** By hand: for a few values `splice` costs twice as much, and `copyWithin` ten times. */
function deleteFrom<Value> (list: Value[], value: Value): boolean {
  const at = list.indexOf(value)
  if (at === -1) {
    return false
  }
  const moved = list.length - 1
  for (let to = at; to < moved; to++) {
    list[to] = list[to + 1] as Value
  }
  list.pop()
  return true
}
