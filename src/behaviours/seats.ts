/** So many guests at a time, and so many who wait for a seat, in order of arrival. */
export class Seats<Guest> {
  readonly #seats: number
  readonly #places: number
  readonly #waiting = new Map<Guest, (isSeated: boolean) => void>()
  #taken = 0

  /**
   * @param seats - guests at a time
   * @param places - guests that may wait
   */
  constructor (seats: number, places: number) {
    this.#seats = seats
    this.#places = places
  }

  /** Whether nobody else may wait. */
  get isFull (): boolean {
    return this.#waiting.size >= this.#places
  }

  /** Takes a seat, to be given back with {@link free}; false: there is none. */
  take (): boolean {
    const isSeated = this.#taken < this.#seats
    this.#taken += isSeated ? 1 : 0
    return isSeated
  }

  /** Waits for a seat, to be given back with {@link free}; false: the guest left while it waited. */
  async wait (guest: Guest): Promise<boolean> {
    return await new Promise((resolve) => { this.#waiting.set(guest, resolve) })
  }

  /** The guest does not want to wait any longer; without effect for one that is seated. */
  leave (guest: Guest): void {
    const settle = this.#waiting.get(guest)
    this.#waiting.delete(guest)
    settle?.(false)
  }

  /** A seat becomes free: who has waited longest takes it. */
  free (): void {
    for (const [guest, settle] of this.#waiting) {
      this.#waiting.delete(guest)
      settle(true)
      return
    }
    this.#taken--
  }
}
