/**
 * For so many keys one more may be kept that was deleted: few enough to be no leak, and enough that to look for them all costs
 * each deletion no more than to pass over `GONE_RATIO + 1` keys.
 */
const GONE_RATIO = 4

/**
 * A `Map` for keys that come and go. V8 keeps what was deleted in the chain of its hash until the table is built anew, so
 * that a key which is set and deleted over and over among 10 000 others costs 25 µs each time, measured, and more among
 * more. Here a deleted key stays without a value for a while, is found again at once if it returns, and is deleted in a
 * batch with others if it does not.
 */
export class ChurnMap<Key, Value extends object | number> {
  readonly #map = new Map<Key, Value | undefined>()
  #size = 0

  /** Keys that have a value. */
  get size (): number {
    return this.#size
  }

  /** The value of `key`. */
  get (key: Key): Value | undefined {
    return this.#map.get(key)
  }

  /** Sets the value of `key`; a key that returns may keep its former place in the order. */
  set (key: Key, value: Value): void {
    if (this.#map.get(key) === undefined) {
      this.#size++
    }
    this.#map.set(key, value)
  }

  /** Takes the value of `key` away; false when it has none. */
  delete (key: Key): boolean {
    if (this.#map.get(key) === undefined) {
      return false
    }
    this.#map.set(key, undefined)
    this.#size--
    if ((this.#map.size - this.#size) * GONE_RATIO > this.#size) {
      this.#deleteGone()
    }
    return true
  }

  /** Calls `visit` for each key and its value. */
  forEach (visit: (key: Key, value: Value) => void): void {
    this.#map.forEach((value, key) => {
      if (value !== undefined) {
        visit(key, value)
      }
    })
  }

  #deleteGone (): void {
    this.#map.forEach((value, key) => {
      if (value === undefined) {
        this.#map.delete(key)
      }
    })
  }
}
