import type { PeerId } from '@libp2p/interface'
import type { AddressFailure, DialFailure, DialFailureKind } from './from-swarm.ts'

/** A dial came to nothing. `kind` says why, and `cause` is a `ConnectionDenied` if a behaviour denied it. */
export class DialFailureError extends Error {
  override readonly name = 'DialFailureError'
  readonly kind: DialFailureKind
  /** Undefined: the target named none. */
  readonly peer: PeerId | undefined
  /** The addresses that were dialed, in order. */
  readonly errors: readonly AddressFailure[]

  constructor ({ kind, peer, errors, cause }: DialFailure) {
    super(`Cannot dial${peer === undefined ? '' : ` ${peer.toString()}`}: ${SENTENCES[kind]}${cause === undefined ? '' : `: ${cause.message}`}`, { cause })
    this.kind = kind
    this.peer = peer
    this.errors = errors
  }
}

const SENTENCES: Readonly<Record<DialFailureKind, string>> = {
  'local-peer': 'this is the node itself',
  'no-addresses': 'no address is known that a transport speaks',
  'condition-false': 'its condition does not hold',
  aborted: 'it was aborted',
  'wrong-peer': 'another peer answered',
  denied: 'it was denied',
  transport: 'no address was reached'
}
