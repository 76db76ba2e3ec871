import { NEVER } from '../core/instant.ts'
import type { Instant } from '../core/instant.ts'

/** So many at once, then one per interval: what was not used comes back at that rate. */
export class Paced {
  readonly #burst: number
  readonly #intervalMs: number
  /** When all that was taken will have come back. */
  #repaidAt: Instant = 0

  /**
   * @param burst - how many at once, at least 1
   * @param intervalMs - milliseconds until one comes back
   */
  constructor (burst: number, intervalMs: number) {
    this.#burst = burst
    this.#intervalMs = intervalMs
  }

  /** From when on one may be taken. */
  get nextAt (): Instant {
    return this.#repaidAt === NEVER ? NEVER : this.#repaidAt - (this.#burst - 1) * this.#intervalMs
  }

  /** Takes one. To be called from {@link nextAt} on. */
  take (now: Instant): void {
    this.#repaidAt = Math.max(this.#repaidAt, now) + this.#intervalMs
  }
}
