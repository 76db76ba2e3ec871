import { PENDING } from 'libp2p-behaviours'
import type { ConnectionHandler, Poll, PollContext } from 'libp2p-behaviours'

/** Lists some protocols, and when told to spin wakes itself again and again: one poll a turn. */
export class SpinningHandler implements ConnectionHandler {
  readonly #protocols: readonly string[]
  #cx: PollContext | undefined
  #left = 0
  #polls = 0

  constructor (protocols: readonly string[]) {
    this.#protocols = Object.freeze([...protocols])
  }

  /** How often it was polled. */
  get polls (): number {
    return this.#polls
  }

  /** Asks for the first of `times` polls; each one asks for the next. */
  spin (times: number): void {
    this.#left = times
    this.#cx?.wake()
  }

  listenProtocols (): readonly string[] {
    return this.#protocols
  }

  keepAlive (): boolean {
    return true
  }

  poll (cx: PollContext): Poll<never> {
    this.#cx = cx
    this.#polls++
    if (--this.#left > 0) {
      cx.wake()
    }
    return PENDING
  }

  onConnectionEvent (): void {
    // Nothing happens on this connection.
  }
}
