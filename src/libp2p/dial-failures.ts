import { isError, toError } from '../core/to-error.ts'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { AddressFailure, DialFailureKind } from '../behaviour/from-swarm.ts'

/** What the host's errors mean, by name (S7.10). */
const KINDS: ReadonlyMap<string, DialFailureKind> = new Map<string, DialFailureKind>([
  ['NoValidAddressesError', 'no-addresses'],
  ['DialDeniedError', 'denied'],
  ['ConnectionInterceptedError', 'denied'],
  ['ConnectionDeniedError', 'denied'],
  ['ConnectionDenied', 'denied'],
  ['UnexpectedPeerError', 'wrong-peer'],
  ['InvalidPeerIdError', 'local-peer'],
  ['AbortError', 'aborted']
])

/** The host keeps nothing of a failed handshake but its message; these are of noise and plaintext. */
const WRONG_PEER_MESSAGES = /does not match expected remote identity key|unexpected peer/i

/** Why the host could not dial: one reason if all addresses have the same one, else the transport. */
export function dialFailureKindOf (error: unknown): DialFailureKind {
  if (!isError(error)) {
    return 'transport'
  }
  if (error instanceof AggregateError) {
    const [kind, ...others] = new Set(error.errors.map(dialFailureKindOf))
    return others.length === 0 ? kind ?? 'transport' : 'transport'
  }
  if (error.name === 'EncryptionFailedError' && WRONG_PEER_MESSAGES.test(error.message)) {
    return 'wrong-peer'
  }
  return KINDS.get(error.name) ?? 'transport'
}

/** The errors of a failed dial beside their addresses. The host gives both in order, but not together. */
export function addressFailuresOf (error: Error, tried: readonly Multiaddr[]): readonly AddressFailure[] {
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error]
  return tried.slice(0, errors.length).map((address, at) => ({ address, error: toError(errors[at]) }))
}
