import { PENDING } from 'libp2p-behaviours'
import type { ConnectionEvent, ConnectionHandler, Poll, PollContext } from 'libp2p-behaviours'

/**
 * Lists some protocols, and when told to spin wakes itself again and again, each time with the next of its listings. It spins
 * once a turn: that it is polled in the same turn once more, as it was told of its change, is no spin.
 */
export class SpinningHandler implements ConnectionHandler {
  readonly #listings: ReadonlyArray<readonly string[]>
  #listing: readonly string[]
  #cx: PollContext | undefined
  #left = 0
  #spins = 0
  #polls = 0
  #notices = 0
  #wasTold = false

  /**
   * @param listings - what it lists after one spin and the next, from the first one again after the last one
   */
  constructor (...listings: ReadonlyArray<readonly string[]>) {
    this.#listings = listings
    this.#listing = listings[0] ?? []
  }

  /** How often it spun: polls that it had asked for. */
  get spins (): number {
    return this.#spins
  }

  /** How often it was polled, also because it was told something. */
  get polls (): number {
    return this.#polls
  }

  /** How often it was told that names were added or removed. */
  get notices (): number {
    return this.#notices
  }

  /** Asks for the first of `times` spins; each one asks for the next. */
  spin (times: number): void {
    this.#left = times
    this.#cx?.wake()
  }

  listenProtocols (): readonly string[] {
    return this.#listing
  }

  keepAlive (): boolean {
    return true
  }

  poll (cx: PollContext): Poll<never> {
    this.#cx = cx
    this.#polls++
    const isSpin = !this.#wasTold && this.#left > 0
    this.#wasTold = false
    if (isSpin) {
      this.#spins++
      this.#left--
      if (this.#listings.length > 1) {
        this.#listing = this.#listings[this.#spins % this.#listings.length] ?? []
      }
    }
    if (this.#left > 0) {
      cx.wake()
    }
    return PENDING
  }

  onConnectionEvent ({ type }: ConnectionEvent): void {
    if (type === 'local-protocols-change') {
      this.#notices++
      this.#wasTold = true
    }
  }
}
