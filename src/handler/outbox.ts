import { BoundedQueue, checkCapacity } from '../core/bounded-queue.ts'
import { PENDING } from '../core/poll.ts'
import type { Poll, PollContext } from '../core/poll.ts'

/** One behaviour may have this many values waiting: far above what one turn produces, small enough to notice a leak. */
const DEFAULT_CAPACITY = 1024

/**
 * A bounded queue that is a poll, for authors of handlers and behaviours (S4.16).
 *
 * `push` wakes whoever polled it last, so a value queued from an async function is served without any other traffic.
 */
export class Outbox<Value> {
  readonly #capacity: number
  /** Made for the first value: most handlers of an idle connection never have one. */
  #queue: BoundedQueue<Value> | undefined
  #cx: PollContext | undefined

  /**
   * @param capacity - most values that wait. Default 1024
   */
  constructor (capacity: number = DEFAULT_CAPACITY) {
    this.#capacity = checkCapacity(capacity)
  }

  /** Values that wait. */
  get size (): number {
    return this.#queue?.size ?? 0
  }

  /** Queues `value` and wakes the poller; at capacity it keeps nothing and answers false. */
  push (value: Value): boolean {
    this.#queue ??= new BoundedQueue(this.#capacity)
    if (!this.#queue.push(value)) {
      return false
    }
    this.#cx?.wake()
    return true
  }

  /** The oldest value, or PENDING. */
  poll (cx: PollContext): Poll<Value> {
    this.#cx = cx
    return this.#queue === undefined || this.#queue.size === 0 ? PENDING : this.#queue.shift() as Value
  }
}
