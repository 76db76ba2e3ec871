/** The ring of all queues that hold nothing yet: it is never written to, as a full ring is replaced. */
const EMPTY: never[] = []

/** Slots that a queue keeps when it has run empty: what a burst took beyond them is given back (S10.12). */
const MAX_KEPT_SLOTS = 64

/**
 * A first-in, first-out queue with a capacity, on a ring that doubles when it is full, and is there from the first value on. At
 * capacity `push` keeps nothing and answers false, so that whoever fills it decides what the loss means.
 */
export class BoundedQueue<Value> implements Iterable<Value> {
  readonly capacity: number
  #ring: Array<Value | undefined> = EMPTY
  #head = 0
  #size = 0

  /**
   * @param capacity - most values that are held; `Infinity` for a queue that is bounded by other means
   * @throws RangeError when `capacity` is not a whole number of at least 0, or `Infinity`
   */
  constructor (capacity: number) {
    this.capacity = checkCapacity(capacity)
  }

  /** Values held. */
  get size (): number {
    return this.#size
  }

  /** Appends `value`; false when full, and then nothing is kept. */
  push (value: Value): boolean {
    if (this.#size >= this.capacity) {
      return false
    }
    if (this.#size === this.#ring.length) {
      this.#grow()
    }
    this.#ring[(this.#head + this.#size) & (this.#ring.length - 1)] = value
    this.#size++
    return true
  }

  /** Takes the oldest value out; undefined when empty. */
  shift (): Value | undefined {
    if (this.#size === 0) {
      return undefined
    }
    const value = this.#ring[this.#head]
    this.#ring[this.#head] = undefined
    this.#head = (this.#head + 1) & (this.#ring.length - 1)
    this.#size--
    if (this.#size === 0 && this.#ring.length > MAX_KEPT_SLOTS) {
      this.clear()
    }
    return value
  }

  /** The oldest value, left in place; undefined when empty. */
  peek (): Value | undefined {
    return this.#size === 0 ? undefined : this.#ring[this.#head]
  }

  /** Takes out every value for which `matches` is true, keeping the order of the others; returns how many. */
  remove (matches: (value: Value) => boolean): number {
    const before = this.#size
    for (let left = before; left > 0; left--) {
      const value = this.shift() as Value
      if (!matches(value)) {
        this.push(value)
      }
    }
    return before - this.#size
  }

  /** Gives the memory back, if nothing is held. */
  trim (): void {
    if (this.#size === 0) {
      this.clear()
    }
  }

  /** Forgets everything, and gives the memory of a large ring back. */
  clear (): void {
    this.#ring = EMPTY
    this.#head = 0
    this.#size = 0
  }

  /** Oldest first; the queue must not change meanwhile. */
  * [Symbol.iterator] (): Iterator<Value> {
    for (let at = 0; at < this.#size; at++) {
      yield this.#ring[(this.#head + at) & (this.#ring.length - 1)] as Value
    }
  }

  #grow (): void {
    const length = Math.max(4, this.#ring.length * 2)
    const ring = new Array<Value | undefined>(length)
    for (let at = 0; at < this.#size; at++) {
      ring[at] = this.#ring[(this.#head + at) & (this.#ring.length - 1)]
    }
    this.#ring = ring
    this.#head = 0
  }
}

/**
 * Passes the capacity of a queue on that is made later.
 *
 * @throws RangeError when it is not a whole number of at least 0, or `Infinity`
 */
export function checkCapacity (capacity: number): number {
  if (!(capacity >= 0) || (capacity !== Infinity && !Number.isInteger(capacity))) {
    throw new RangeError(`Cannot make a queue: capacity must be a whole number of at least 0 or Infinity, received ${capacity}`)
  }
  return capacity
}
