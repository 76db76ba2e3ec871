import type { Direction } from '../core/ids.ts'
import type { FailedOutcome, StreamUpgradeErrorKind } from '../errors.ts'
import type { StreamPort } from './muxer-port.ts'

/** How a stream was negotiated: as a dialer who waits for the answer or does not, or as a listener. */
export type NegotiationRole = 'dialer' | 'dialer-lazy' | 'listener'

/** Why a stream of the peer was reset without a negotiation, or after one. */
export type RejectReason = 'rate' | 'open-limit' | 'queue-full' | 'protocol-limit'

/**
 * Counts what happens on connections (S11.1). A connection without one counts nothing. It is called in the middle of things:
 * it must not throw, and not call anything of the connection.
 */
export interface ConnectionMeter<Stream> {
  /** A stream speaks `protocol` from now on; it goes to a handler, or to the host. */
  opened (direction: Direction, protocol: string, port: StreamPort<Stream>, isHost: boolean): void
  /** The peer agreed, so many milliseconds after the request or the arrival. */
  negotiated (role: NegotiationRole, elapsedMs: number): void
  /** Somebody asked for a stream. */
  requested (): void
  /** A request has failed. */
  requestFailed (kind: StreamUpgradeErrorKind): void
  /** A stream of the peer came to nothing. */
  inboundFailed (outcome: FailedOutcome): void
  /** The peer sent what no conforming one sends, in either direction. */
  violated (outcome: FailedOutcome): void
  /** A stream of the peer was one too many. */
  rejected (reason: RejectReason): void
  /** A protocol set changed. */
  protocolsChanged (side: 'local' | 'remote'): void
  /** A share of a turn was spent, and the rest left to another one. */
  yielded (cause: 'frames' | 'handler-events'): void
}

/** How much a connection has on its hands, as of now. */
export interface ConnectionLoad {
  readonly negotiatingInbound: number
  readonly negotiatingOutbound: number
  readonly queuedInbound: number
  readonly queuedOutbound: number
}
