/** What polling a swarm gives. */

import type { PeerId } from '@libp2p/interface'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type {
  ConnectionClosed, ConnectionEstablished, DialFailure, ExternalAddressChange, ListenFailure, PeerExternalAddress
} from '../behaviour/from-swarm.ts'
import type { DeniedAt } from '../behaviour/inference.ts'
import type { AwaitCheck, ChangeListener, Dial } from '../behaviour/to-swarm.ts'
import type { ConnectionOutput, ConnectionReport } from '../connection/connection-output.ts'
import type { ConnectionId } from '../core/ids.ts'

/** An event of a behaviour; for a composition it names its key and its peer. */
export interface BehaviourEventOutput<Event> {
  readonly type: 'behaviour-event'
  readonly event: Event
}

/** User code threw and was skipped, or ended its stream or connection, as S4.15 says. */
export interface HandlerError {
  readonly type: 'handler-error'
  /** Keys of the behaviour, joined with dots; empty for a root that is no composition. */
  readonly behaviour: string
  readonly method: string
  readonly cause: unknown
  /** Set when a handler threw. */
  readonly peer: PeerId | undefined
  readonly connection: ConnectionId | undefined
}

/** Which connection something is about. */
export interface OfConnection {
  readonly peer: PeerId
  readonly connection: ConnectionId
}

/** What a connection gives for the host, passed on. */
export type HostOutput = OfConnection & Exclude<ConnectionOutput<NegotiatedStream, unknown>, { type: 'handler-event' | 'handler-notified' | 'closed' }>

/** What a connection reports, passed on; its `handler-error` comes as {@link HandlerError}. */
export type SwarmReport = OfConnection & Exclude<ConnectionReport, { type: 'handler-error' }>

/** What behaviours want of the node, for the driver to carry out. */
export type HostOrder = Dial | ChangeListener | ExternalAddressChange | PeerExternalAddress | AwaitCheck

/**
 * Per connection: `connection-established` first, `connection-closed` once and last. The same two objects, frozen, were
 * given to the behaviours.
 */
export type SwarmEvent<Event> =
  | BehaviourEventOutput<Event>
  | ConnectionEstablished
  | ConnectionClosed
  | DeniedAt<string, Error>
  | DialFailure
  | ListenFailure
  | HandlerError
  | HostOrder
  | HostOutput
  | SwarmReport
