import { NEVER, addDuration, earliest } from '../core/instant.ts'
import type { Instant } from '../core/instant.ts'
import type { PollContext } from '../core/poll.ts'

/**
 * A set whose items expire. As the time is known in a poll only, the time of an item begins with the first poll after it
 * was added.
 */
export class TimedSet<Item> implements Iterable<Item> {
  readonly #deadlines = new Map<Item, Instant>()
  /** What no poll has dated yet, with its milliseconds. */
  readonly #fresh = new Map<Item, number>()
  /** No item's deadline is earlier than this. */
  #nextDeadline: Instant = NEVER

  /** Items held. */
  get size (): number {
    return this.#deadlines.size
  }

  /** When {@link takeExpired} is to be called again, as far as is known since it was called last. */
  get nextDeadline (): Instant {
    return this.#nextDeadline
  }

  /** Adds `item`, which expires after `durationMs`; `Infinity` for never. Poll afterwards. */
  add (item: Item, durationMs: number): void {
    this.#deadlines.set(item, NEVER)
    if (durationMs !== Infinity) {
      this.#fresh.set(item, durationMs)
    }
  }

  /** Takes `item` out, if it is there. */
  delete (item: Item): void {
    this.#deadlines.delete(item)
    this.#fresh.delete(item)
  }

  /** Takes out the items whose deadline passed, and asks to be polled at the next one. */
  takeExpired (cx: PollContext): readonly Item[] {
    this.#dateFresh(cx.now)
    const expired: Item[] = []
    if (cx.now >= this.#nextDeadline) {
      this.#nextDeadline = NEVER
      for (const [item, deadline] of this.#deadlines) {
        if (deadline <= cx.now) {
          expired.push(item)
          this.#deadlines.delete(item)
        } else {
          this.#nextDeadline = earliest(this.#nextDeadline, deadline)
        }
      }
    }
    cx.wakeAt(this.#nextDeadline)
    return expired
  }

  /** In order of addition; items may be taken out meanwhile. */
  [Symbol.iterator] (): Iterator<Item> {
    return this.#deadlines.keys()
  }

  #dateFresh (now: Instant): void {
    for (const [item, durationMs] of this.#fresh) {
      const deadline = addDuration(now, durationMs)
      this.#deadlines.set(item, deadline)
      this.#nextDeadline = earliest(this.#nextDeadline, deadline)
    }
    this.#fresh.clear()
  }
}
