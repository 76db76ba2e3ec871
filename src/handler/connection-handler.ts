import type { StreamUpgradeError } from '../errors.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'
import type { ProtocolsChange } from '../protocols/protocols-change.ts'
import type { StreamUpgrade } from './stream-upgrade.ts'

/**
 * Asks for a stream that speaks one of `protocols`, proposed in this order. Every request gets exactly one outcome:
 * `fully-negotiated-outbound` or `dial-upgrade-error`, with the same `info`.
 */
export type OutboundStreamRequest<Info, Output, Stream = unknown> = {
  type: 'outbound-stream-request'
  protocols: readonly string[]
  /** Milliseconds from now until the request fails with kind `timeout`, waiting, negotiation and upgrade included. Default: the option `outboundTimeoutMs`. */
  timeoutMs?: number | undefined
  /**
   * Whether the stream may be written to before the peer agreed, which saves a round trip (S2.23). It takes effect for one
   * name that the peer has announced on this connection. A refusal then comes as an error of the stream: a peer that no longer
   * has the protocol may take what was written for proposals. Default: false.
   */
  lazy?: boolean | undefined
  /** Turns the negotiated stream into the `output` of the event. */
  upgrade?: ((stream: Stream, protocol: string) => StreamUpgrade<Output>) | undefined
  /** Names the request for a later `cancel-outbound-request`. */
  token?: unknown
} & (undefined extends Info ? { info?: Info } : { info: Info })

/** Ends the request that was made with the same `token`; its outcome is a `dial-upgrade-error` of kind `aborted`. */
export interface CancelOutboundRequest {
  readonly type: 'cancel-outbound-request'
  readonly token: unknown
}

/** An event for the behaviour that made the handler. */
export interface NotifyBehaviour<ToBehaviour> {
  readonly type: 'notify-behaviour'
  readonly event: ToBehaviour
}

/** What the handler learnt about the protocols of the peer; each part of a composition is a source of its own (S3.18). */
export interface ReportRemoteProtocols {
  readonly type: 'report-remote-protocols'
  readonly change: 'added' | 'removed' | 'replaced'
  readonly protocols: readonly string[]
}

/** What `poll` of a handler gives (S4.2). */
export type HandlerOutput<ToBehaviour, Info = undefined, Output = undefined, Stream = unknown> =
  | OutboundStreamRequest<Info, Output, Stream>
  | CancelOutboundRequest
  | NotifyBehaviour<ToBehaviour>
  | ReportRemoteProtocols

/** A stream that the peer opened was agreed on a name of this handler, and upgraded. */
export interface FullyNegotiatedInbound<Info, Output, Stream = unknown> {
  readonly type: 'fully-negotiated-inbound'
  readonly stream: Stream
  readonly protocol: string
  /** What `inboundInfo` gave; undefined for a handler without it. */
  readonly info: Info | undefined
  readonly output: Output
}

/** A request of this handler succeeded. */
export interface FullyNegotiatedOutbound<Info, Output, Stream = unknown> {
  readonly type: 'fully-negotiated-outbound'
  readonly stream: Stream
  readonly protocol: string
  readonly info: Info
  readonly output: Output
  /** Whether the peer has not agreed yet: if it does not, reading and writing fail with the error of the negotiation. */
  readonly lazy: boolean
}

/** A request of this handler failed; the connection goes on. */
export interface DialUpgradeError<Info> {
  readonly type: 'dial-upgrade-error'
  readonly info: Info
  readonly error: StreamUpgradeError
}

/** The upgrade of an agreed inbound stream threw; the stream was reset. */
export interface ListenUpgradeError<Info> {
  readonly type: 'listen-upgrade-error'
  readonly info: Info | undefined
  readonly protocol: string
  readonly error: StreamUpgradeError
}

/** The set of protocols that this side accepts, or that the peer speaks, changed on this connection. */
export interface ProtocolsChanged {
  readonly type: 'local-protocols-change' | 'remote-protocols-change'
  /** A view on a buffer that the connection reuses: valid during the callback only (S3.11). */
  readonly change: ProtocolsChange
}

/** The remote address of the connection changed. */
export interface AddressChanged<Address = unknown> {
  readonly type: 'address-change'
  readonly address: Address
}

/** An event about the connection as a whole. */
export type ConnectionNews = ProtocolsChanged | AddressChanged

/** What a handler is told (S4.3). */
export type ConnectionEvent<Info = undefined, Output = undefined, Stream = unknown, Address = unknown> =
  | FullyNegotiatedInbound<Info, Output, Stream>
  | FullyNegotiatedOutbound<Info, Output, Stream>
  | DialUpgradeError<Info>
  | ListenUpgradeError<Info>
  | ProtocolsChanged
  | AddressChanged<Address>

/**
 * The state of one protocol on one connection: what a protocol author writes (S4.1).
 *
 * All methods are called by the connection, one at a time. None may call `poll` or `handle*` of a connection; all may keep
 * data, change a `ProtocolList`, and read, write, close and reset their own streams.
 */
export interface ConnectionHandler<FromBehaviour = never, ToBehaviour = never, Info = undefined, Output = undefined, Stream = unknown> {
  /** The names accepted on inbound streams now. Asked once per pass after the handler was polled, told or woken. */
  listenProtocols (): ProtocolListing
  /** Lengthens the deadline of inbound streams, in milliseconds from arrival (S4.5). */
  readonly inboundTimeoutMs?: number
  /** Asked when a name of this handler was agreed; comes back with the result of that stream. */
  inboundInfo? (protocol: string): Info
  /** Turns an agreed inbound stream into the `output` of its event. */
  inboundUpgrade? (stream: Stream, protocol: string): StreamUpgrade<Output>
  /** Polled when woken, until it answers PENDING. Absent: nothing to say. */
  poll? (cx: PollContext): Poll<HandlerOutput<ToBehaviour, Info, Output, Stream>>
  /** Polled while the connection closes: last events, then `undefined` for "done". Absent: `poll` is drained instead. */
  pollClose? (cx: PollContext): Poll<ToBehaviour | undefined>
  /** True holds the connection open. Absent: false. */
  keepAlive? (): boolean
  /** May be an async method: a rejection counts as a throw (S4.15). */
  onConnectionEvent (event: ConnectionEvent<Info, Output, Stream>): void | PromiseLike<void>
  /** A message from the behaviour that made this handler. */
  onBehaviourEvent? (event: FromBehaviour): void
}

/** A handler that is only passed on: info, output and stream are its own affair. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- requests with a required info make these parameters invariant
export type AnyHandler<FromBehaviour = any, ToBehaviour = any> = ConnectionHandler<FromBehaviour, ToBehaviour, any, any, any>
