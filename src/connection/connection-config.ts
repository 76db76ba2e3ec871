import { count, duration, flag, parseOptions } from '../core/options.ts'
import type { OptionTable } from '../core/options.ts'
import type { NegotiationLimits } from '../negotiation/outcome.ts'
import type { RemoteProtocolsInit } from '../protocols/remote-protocols.ts'

/** Largest body that a prefix of two bytes can announce. */
const MAX_FRAME_LENGTH = 16_383
/** Smallest limit that still lets the header of multistream-select through. */
const MIN_FRAME_LENGTH = 20

/** Options of a connection as the caller gives them. All are optional; see the README for the table of what happens at each limit. */
export interface ConnectionInit {
  /** Largest frame of a negotiation, in bytes of its body, 20 to 16 383. At the limit the negotiation fails on the prefix alone. @default 1024 */
  maxFrameLength?: number | undefined
  /** Answers per negotiation. At the limit a listener fails the negotiation, and a request with more names is invalid. @default 64 */
  maxNegotiationRounds?: number | undefined
  /** Whether the first `ls` of a negotiation is answered with the names, if they fit one frame; all others get `na`. @default true */
  ls?: boolean | undefined
  /** Frames of a negotiation that are read in one turn of the event loop. The rest waits for the next one, while other streams go on. @default 8 */
  maxFramesPerTurn?: number | undefined
  /** Milliseconds from an outbound request to its timeout; `Infinity` turns it off. @default 10_000 */
  outboundTimeoutMs?: number | undefined
  /** Milliseconds from the arrival of an inbound stream to its timeout; `Infinity` turns it off. @default 10_000 */
  inboundTimeoutMs?: number | undefined
  /** Inbound streams that negotiate at a time; 0 takes none. The next ones queue. @default 128 */
  maxNegotiatingInboundStreams?: number | undefined
  /** Inbound streams that wait for a slot. At the limit the newest is reset. @default 256 */
  maxQueuedInboundStreams?: number | undefined
  /** Inbound streams a second, those of the host included; `Infinity` for no limit. At the limit the newest is reset. @default 10_000 */
  inboundStreamsPerSecond?: number | undefined
  /** Inbound streams that may come at once; `inboundStreamsPerSecond` is what follows. At the limit the newest is reset. @default 10_000 */
  inboundStreamBurst?: number | undefined
  /** Inbound streams that are open, those of the host included; `Infinity` for no limit. At the limit the newest is reset. @default 1024 */
  maxOpenInboundStreams?: number | undefined
  /**
   * Milliseconds for which a peer may go on to open streams that are reset because there are too many, with at most a second
   * between two of them. At the limit the connection is aborted, reason `abuse`; `Infinity` never.
   *
   * @default Infinity
   */
  closeAfterOverLimitMs?: number | undefined
  /** Open inbound streams of one protocol of a handler; `Infinity` for no limit. At the limit the newest is reset. @default 256 */
  maxInboundStreamsPerProtocol?: number | undefined
  /** Open outbound streams of one protocol for handlers; `Infinity` for no limit. At the limit a request fails with kind `limit`. @default 256 */
  maxOutboundStreamsPerProtocol?: number | undefined
  /** Outbound requests that wait for a stream. At the limit a request fails with kind `limit`. @default 1024 */
  maxQueuedOutboundRequests?: number | undefined
  /** Outbound streams being opened or negotiated at a time. At the limit requests wait, first come first served. @default 256 */
  maxNegotiatingOutboundStreams?: number | undefined
  /** Values taken from the handler in one turn. At the limit everything else gets its share and another turn is asked for. @default 64 */
  maxHandlerEventsPerTurn?: number | undefined
  /** Behaviour events that wait for the handler. At the limit the newest is refused. @default 1024 */
  maxQueuedBehaviourEvents?: number | undefined
  /** Distinct names in the local set. The rest is ignored, with a report. @default 4096 */
  maxLocalProtocols?: number | undefined
  /** Names that one source may report of the peer. The rest is dropped, with a report. @default 1024 */
  maxRemoteProtocols?: number | undefined
  /** Bytes of names that one source may report of the peer. The rest is dropped, with a report. @default 65_536 */
  maxRemoteProtocolsBytes?: number | undefined
  /** Reports of the host about the peer that are applied in a second. At the limit they wait, and only the last one counts. @default 10 */
  remoteReportsPerSecond?: number | undefined
  /** Milliseconds that the connection may be idle before it closes gracefully: 0 at once, `Infinity` never. @default 10_000 */
  idleTimeoutMs?: number | undefined
  /** Milliseconds for a graceful close. At the limit the rest is cut and the muxer aborted. @default 5000 */
  closeTimeoutMs?: number | undefined
  /** Last events that the handler may give while closing. The rest is dropped, with a report. @default 10_000 */
  maxCloseEvents?: number | undefined
  /**
   * Milliseconds from the local close of a stream until it is reset, if the peer does not end it. As long as somebody reads, it is
   * reset after 24 times as long without a byte.
   *
   * @default 5000
   */
  streamCloseTimeoutMs?: number | undefined
}

/** The parsed options: complete, checked, frozen. */
export type ConnectionConfig = { readonly [Name in keyof ConnectionInit]-?: NonNullable<ConnectionInit[Name]> }

/**
 * The options of one connection with their defaults (S9). Durations are milliseconds; 128 negotiating streams and 10 s are
 * what rust-libp2p uses, the other numbers keep what a peer can make grow well below a megabyte.
 */
export const CONNECTION_OPTIONS: OptionTable<ConnectionConfig> = {
  maxFrameLength: count(1024, MIN_FRAME_LENGTH, MAX_FRAME_LENGTH),
  maxNegotiationRounds: count(64, 1, 1_000_000),
  ls: flag(true),
  maxFramesPerTurn: count(8, 1, 1_000_000),
  outboundTimeoutMs: duration(10_000),
  inboundTimeoutMs: duration(10_000),
  maxNegotiatingInboundStreams: count(128, 0, 1_000_000),
  maxQueuedInboundStreams: count(256, 0, 1_000_000),
  inboundStreamsPerSecond: count(10_000, 1),
  inboundStreamBurst: count(10_000, 1, 1_000_000),
  maxOpenInboundStreams: count(1024, 0),
  closeAfterOverLimitMs: duration(Infinity),
  maxInboundStreamsPerProtocol: count(256, 0),
  maxOutboundStreamsPerProtocol: count(256, 0),
  maxQueuedOutboundRequests: count(1024, 0, 1_000_000),
  maxNegotiatingOutboundStreams: count(256, 1, 1_000_000),
  maxHandlerEventsPerTurn: count(64, 1, 1_000_000),
  maxQueuedBehaviourEvents: count(1024, 0, 1_000_000),
  maxLocalProtocols: count(4096, 0, 1_000_000),
  maxRemoteProtocols: count(1024, 0, 1_000_000),
  maxRemoteProtocolsBytes: count(65_536, 0, 1_000_000_000),
  remoteReportsPerSecond: count(10, 1, 1_000_000),
  idleTimeoutMs: duration(10_000),
  closeTimeoutMs: duration(5000),
  maxCloseEvents: count(10_000, 0, 1_000_000),
  streamCloseTimeoutMs: duration(5000)
}

/**
 * Checks the options once and fills in the defaults.
 *
 * @throws TypeError or RangeError that names the option, the rule and the value (S9.2)
 */
export function parseConnectionConfig (init: ConnectionInit): ConnectionConfig {
  const config = parseOptions(CONNECTION_OPTIONS, init, 'Cannot make a connection')
  if (!isSame(config, last)) {
    last = config
  }
  return last
}

/** Nearly all connections of a process have the same options, and what is frozen can be shared. */
let last: ConnectionConfig = parseOptions(CONNECTION_OPTIONS, {}, 'Cannot make a connection')

function isSame (left: ConnectionConfig, right: ConnectionConfig): boolean {
  const others = Object.values(right)
  return Object.values(left).every((value, at) => Object.is(value, others[at]))
}

/** The limits of each negotiation on a connection. */
export const negotiationLimits: (config: ConnectionConfig) => NegotiationLimits = oncePerConfig(
  ({ maxFrameLength, maxNegotiationRounds: maxRounds, maxFramesPerTurn, ls }) => ({ maxFrameLength, maxRounds, maxFramesPerTurn, ls })
)

/** What each source may report of the peer. */
export const remoteLimits: (config: ConnectionConfig) => Readonly<RemoteProtocolsInit> = oncePerConfig(
  ({ maxRemoteProtocols: maxNames, maxRemoteProtocolsBytes: maxBytes, maxFrameLength }) => ({ maxNames, maxBytes, maxNameBytes: maxFrameLength - 1 })
)

/** What follows from a configuration, frozen and shared by all connections that have it. */
function oncePerConfig<Part> (make: (config: ConnectionConfig) => Part): (config: ConnectionConfig) => Readonly<Part> {
  const made = new WeakMap<ConnectionConfig, Readonly<Part>>()
  return (config) => {
    let part = made.get(config)
    if (part === undefined) {
      part = Object.freeze(make(config))
      made.set(config, part)
    }
    return part
  }
}
