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
    const drain = (): void => {
      const output = negotiation.takeOutput()
      if (output !== undefined) {
        stream.send(output)
      }
      const outcome = negotiation.pollOutcome()
      if (outcome !== PENDING) {
        stream.removeEventListener('message', onMessage)
        stream.removeEventListener('end', onEnd)
        stream.removeEventListener('close', onClose)
        if (outcome.type === 'ok' && outcome.rest !== undefined) {
          stream.unshift(outcome.rest)
        }
        resolve(outcome)
      }
    }
    const onMessage = (event: StreamMessageEvent): void => {
      negotiation.handleData(event.data.subarray())
      drain()
    }
    // The end is announced for a reset too, and before it.
    const onEnd = (): void => {
      if (stream.status === 'open') {
        negotiation.handleFin()
        drain()
      }
    }
    const onClose = (): void => {
      negotiation.handleReset()
      drain()
    }
    stream.addEventListener('message', onMessage)
    stream.addEventListener('end', onEnd)
    stream.addEventListener('close', onClose)
    drain()
  })
}
