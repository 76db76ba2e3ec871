/**
 * Every error class of the library, each with what the caller should do. Tell them apart by `name` (and `kind`), never by
 * `instanceof`: two copies of the package may meet in one process.
 */

import { show } from './core/printable.ts'
import type { ConnectionId, Direction } from './core/ids.ts'

/** How a negotiation can end without an agreement (S2.35). */
export type FailedOutcome = 'failed' | 'invalid' | 'too-long' | 'eof' | 'reset' | 'timeout' | 'aborted'

/** How far a stream had come when it failed. */
export type StreamPhase = 'queue' | 'open' | 'header' | 'proposal' | 'confirmation' | 'upgrade'

/** Why a stream could not be had (S2.35, S5.5). */
export type StreamUpgradeErrorKind =
  | 'negotiation-failed' | 'io' | 'timeout' | 'aborted' | 'apply' | 'limit' | 'invalid-request' | 'connection-closed'

/** Where and when a stream failed (S2.36). */
export interface StreamFailure {
  readonly phase: StreamPhase
  /** Local names proposed so far, in order; empty on the listener's side. */
  readonly tried: readonly string[]
  readonly direction: Direction
  /** The remote peer, as the connection was given it. */
  readonly peer: unknown
  readonly connectionId: ConnectionId
  /** Milliseconds from the request, or from the arrival of the stream. */
  readonly elapsedMs: number
}

/** For messages (S2.36): phase, peer and the local names tried. */
export function describeFailure ({ phase, peer, tried }: StreamFailure): string {
  return `phase ${phase}, peer ${String(peer)}${tried.length === 0 ? '' : `, tried ${tried.map(name => show(name)).join(', ')}`}`
}

const NOWHERE: StreamFailure = { phase: 'header', tried: [], direction: 'outbound', peer: undefined, connectionId: '', elapsedMs: 0 }

abstract class StreamFailureError extends Error implements StreamFailure {
  readonly phase: StreamPhase
  readonly tried: readonly string[]
  readonly direction: Direction
  readonly peer: unknown
  readonly connectionId: ConnectionId
  readonly elapsedMs: number

  constructor (message: string, failure: StreamFailure = NOWHERE, options?: ErrorOptions) {
    super(message, options)
    this.phase = failure.phase
    this.tried = failure.tried
    this.direction = failure.direction
    this.peer = failure.peer
    this.connectionId = failure.connectionId
    this.elapsedMs = failure.elapsedMs
  }
}

/** No protocol was agreed: a normal result. Offer another protocol, or none. */
export class NegotiationError extends StreamFailureError {
  override readonly name = 'NegotiationError'
  readonly outcome = 'failed'
}

/** The peer broke the protocol: a malformed or out-of-place message. Do not repeat the request; consider another peer. */
export class RemoteProtocolError extends StreamFailureError {
  override readonly name = 'RemoteProtocolError'
  readonly outcome: 'invalid' | 'too-long'

  constructor (message: string, outcome: 'invalid' | 'too-long', failure?: StreamFailure, options?: ErrorOptions) {
    super(message, failure, options)
    this.outcome = outcome
  }
}

/** The input ended inside a frame: the peer or the path went away. The request may be repeated. */
export class UnexpectedEOFError extends StreamFailureError {
  override readonly name = 'UnexpectedEOFError'
  readonly outcome = 'eof'
}

/** The stream was reset, or writing to it failed. The request may be repeated. */
export class StreamResetError extends StreamFailureError {
  override readonly name = 'StreamResetError'
  readonly outcome = 'reset'
}

/** A deadline passed. Repeat later, or give the request more time. */
export class TimeoutError extends StreamFailureError {
  override readonly name = 'TimeoutError'
  readonly outcome = 'timeout'
}

/** Cancelled by the caller; nothing to do. */
export class AbortError extends StreamFailureError {
  override readonly name = 'AbortError'
  readonly outcome = 'aborted'
}

/**
 * An outbound request, or the upgrade of a stream, failed. `kind` says why, `cause` is one of the errors above, or the
 * error of the upgrade. `limit` and `connection-closed` may be repeated; `invalid-request` is a mistake of the caller.
 */
export class StreamUpgradeError extends StreamFailureError {
  override readonly name = 'StreamUpgradeError'
  readonly kind: StreamUpgradeErrorKind

  constructor (message: string, kind: StreamUpgradeErrorKind, failure: StreamFailure, options?: ErrorOptions) {
    super(message, failure, options)
    this.kind = kind
  }
}

/** A call out of turn, or on something that has ended: a mistake of the caller, told by the message. */
export class InvalidStateError extends Error {
  override readonly name = 'InvalidStateError'
}

/**
 * The same protocol is offered twice: by composed behaviours while `onDuplicate` is `'error'`, or by two who accept it of
 * one `streams()`. Remove one of the two.
 */
export class DuplicateProtocolError extends Error {
  override readonly name = 'DuplicateProtocolError'
}

/** A consumer of events fell behind by more than its buffer. Consume faster, or raise `eventBufferSize`. */
export class OverflowError extends Error {
  override readonly name = 'OverflowError'
}

/** The connection closed before the operation ended. Connect again, then repeat. */
export class ConnectionClosedError extends Error {
  override readonly name = 'ConnectionClosedError'
}

/** There is no connection to the peer on which the behaviour runs. Connect, then repeat. */
export class NotConnectedError extends Error {
  override readonly name = 'NotConnectedError'
}
