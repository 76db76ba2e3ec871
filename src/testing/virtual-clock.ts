import type { Instant } from '../core/instant.ts'

/** Time that moves when told: monotonic milliseconds, from 0 on. */
export class VirtualClock {
  #now: Instant = 0

  /** The present instant. */
  get now (): Instant {
    return this.#now
  }

  /** Lets `durationMs` pass. */
  advance (durationMs: number): void {
    this.advanceTo(this.#now + durationMs)
  }

  /**
   * Lets time pass until `instant`.
   *
   * @throws RangeError when `instant` has passed already, or never comes
   */
  advanceTo (instant: Instant): void {
    if (!(instant >= this.#now && Number.isFinite(instant))) {
      throw new RangeError(`Cannot move the clock: the instant must be finite and at least ${this.#now}, received ${instant}`)
    }
    this.#now = instant
  }
}
