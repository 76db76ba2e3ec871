/**
 * The handler types of `handler/`, as protocol authors write them: with js-libp2p's streams and addresses filled in.
 */

import type { Multiaddr } from '@multiformats/multiaddr'
import type * as core from '../handler/connection-handler.ts'
import type { NegotiatedStream } from './negotiated-stream.ts'

/** The state of one protocol on one connection. Class and literal need no other declaration: events are read from its methods. */
export type ConnectionHandler<FromBehaviour = never, ToBehaviour = never, Info = undefined, Output = undefined> =
  core.ConnectionHandler<FromBehaviour, ToBehaviour, Info, Output, NegotiatedStream>

/** What a handler is told (S4.3). */
export type ConnectionEvent<Info = undefined, Output = undefined> = core.ConnectionEvent<Info, Output, NegotiatedStream, Multiaddr>

/** What `poll` of a handler gives (S4.2). */
export type HandlerOutput<ToBehaviour, Info = undefined, Output = undefined> =
  core.HandlerOutput<ToBehaviour, Info, Output, NegotiatedStream>

/** Asks for a stream. `info` comes back with the outcome, and is required as soon as its type leaves out `undefined`. */
export type OutboundStreamRequest<Info, Output = undefined> = core.OutboundStreamRequest<Info, Output, NegotiatedStream>

/** A stream that the peer opened was agreed on a name of this handler, and upgraded. */
export type FullyNegotiatedInbound<Info = undefined, Output = undefined> = core.FullyNegotiatedInbound<Info, Output, NegotiatedStream>

/** A request of this handler succeeded. */
export type FullyNegotiatedOutbound<Info = undefined, Output = undefined> = core.FullyNegotiatedOutbound<Info, Output, NegotiatedStream>

/** A request of this handler failed; the connection goes on. */
export type DialUpgradeError<Info = undefined> = core.DialUpgradeError<Info>

/** The upgrade of an agreed inbound stream threw; the stream was reset. */
export type ListenUpgradeError<Info = undefined> = core.ListenUpgradeError<Info>

/** A handler that is only passed on: info and output are its own affair. */
export type AnyHandler<FromBehaviour = unknown, ToBehaviour = unknown> =
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- requests with a required info make these parameters invariant
  ConnectionHandler<FromBehaviour, ToBehaviour, any, any>
