import type { Instant } from '../core/instant.ts'

/**
 * A token bucket: so many openings at once, and so many a second from then on. It is full to begin with, and filled by the
 * time that passed, whenever one is asked for.
 */
export class OpenRate {
  readonly #perMs: number
  readonly #burst: number
  #tokens: number
  #filledAt: Instant

  /**
   * @param perSecond - tokens that are added in a second; `Infinity` for no limit
   * @param burst - most tokens that there may be
   * @param now - when it begins
   */
  constructor (perSecond: number, burst: number, now: Instant) {
    this.#perMs = perSecond / 1000
    this.#burst = burst
    this.#tokens = burst
    this.#filledAt = now
  }

  /** Takes one token out; false when there is none. */
  take (now: Instant): boolean {
    if (this.#perMs === Infinity) {
      return true
    }
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#filledAt) * this.#perMs)
    this.#filledAt = now
    if (this.#tokens < 1) {
      return false
    }
    this.#tokens--
    return true
  }
}
