import { PENDING } from 'libp2p-behaviours/negotiation'
import type { Stream, StreamMessageEvent } from '@libp2p/interface'
import type { NegotiationOutcome, Poll } from 'libp2p-behaviours/negotiation'

/** What both machines have in common, with what the listener's look-up gives. */
export interface Negotiation<Match> {
  handleData (bytes: Uint8Array): void
  handleFin (): void
  handleReset (): void
  takeOutput (): Uint8Array | undefined
  pollOutcome (): Poll<NegotiationOutcome<Match>>
}

/** Runs a machine over a js-libp2p stream, with no promise but the one at its end. */
export async function negotiateOver<Match> (stream: Stream, negotiation: Negotiation<Match>): Promise<NegotiationOutcome<Match>> {
  return new Promise((resolve) => {
    new Driver(stream, negotiation, resolve).start()
  })
}

/** A listener for all events of the stream that matter, so that none is made for each. */
class Driver<Match> {
  readonly #stream: Stream
  readonly #negotiation: Negotiation<Match>
  readonly #resolve: (outcome: NegotiationOutcome<Match>) => void

  constructor (stream: Stream, negotiation: Negotiation<Match>, resolve: (outcome: NegotiationOutcome<Match>) => void) {
    this.#stream = stream
    this.#negotiation = negotiation
    this.#resolve = resolve
  }

  start (): void {
    this.#stream.addEventListener('message', this)
    this.#stream.addEventListener('end', this)
    this.#stream.addEventListener('close', this)
    this.#drain()
  }

  handleEvent (event: Event | StreamMessageEvent): void {
    if ('data' in event) {
      this.#negotiation.handleData(event.data.subarray())
    } else if (event.type === 'close') {
      this.#negotiation.handleReset()
    } else if (this.#stream.status === 'open') {
      // The end is announced for a reset too, and before it.
      this.#negotiation.handleFin()
    }
    this.#drain()
  }

  #drain (): void {
    const output = this.#negotiation.takeOutput()
    if (output !== undefined) {
      this.#stream.send(output)
    }
    const outcome = this.#negotiation.pollOutcome()
    if (outcome === PENDING) {
      return
    }
    this.#stream.removeEventListener('message', this)
    this.#stream.removeEventListener('end', this)
    this.#stream.removeEventListener('close', this)
    if (outcome.type === 'ok' && outcome.rest !== undefined) {
      this.#stream.unshift(outcome.rest)
    }
    this.#resolve(outcome)
  }
}
