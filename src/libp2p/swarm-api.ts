/// <reference lib="esnext.disposable" preserve="true" />
/** What an application sees of a swarm: `node.services.swarm`. */

import type { Connection as HostConnection, PeerId, Startable, TypedEventTarget } from '@libp2p/interface'
import type { ConnectionClosed, ConnectionEstablished, DialFailure, ListenFailure } from '../behaviour/from-swarm.ts'
import type { BehaviourEvent, Commands, Denial } from '../behaviour/inference.ts'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { Behaviours } from '../behaviour/network-behaviour.ts'
import type { DialTarget } from '../behaviour/to-swarm.ts'
import type { CallOptions } from '../behaviours/call-options.ts'
import type { ConnectionId, Direction } from '../core/ids.ts'
import type { HandlerError, SwarmReport } from '../swarm/swarm-event.ts'
import type { PeerProtocolsChange } from './peer-protocols-change.ts'
import type { ConnectionMode } from './connection-mode.ts'
import type { DialOptions } from './dialer.ts'
import type { EventsIterator } from './event-stream.ts'
import type { SwarmProtocols } from './protocol-changes.ts'
import type { EventsOptions } from './swarm-events.ts'

/** One connection of the swarm; what it shows is as of now. */
export interface SwarmConnection {
  readonly id: ConnectionId
  readonly peer: PeerId
  readonly direction: Direction
  readonly mode: ConnectionMode
  /** The host's object, one of `node.getConnections()`. */
  readonly host: HostConnection
  /** What this node accepts on it: a snapshot. */
  readonly local: ReadonlySet<string>
  /** What the peer speaks on it, as far as it was reported: a snapshot. */
  readonly remote: ReadonlySet<string>
  /** The streams that hold it open: a snapshot, oldest first. */
  readonly streams: readonly NegotiatedStream[]
  /** Since when nothing holds it open, in milliseconds on the scale of `performance.now()`; undefined while it is in use. */
  readonly idleSince: number | undefined
  /**
   * Closes it gracefully; resolves when it has ended, and rejects only for options that are none
   * (`TypeError`, `RangeError`), before it does anything. When `options` end the wait, what is left is cut.
   */
  close (options?: CallOptions): Promise<void>
}

/** What the events of a connection's life carry besides what behaviours are told. */
export interface ConnectionOrigin {
  readonly mode: ConnectionMode
  /** When the host opened it, in milliseconds since 1970. */
  readonly openedAt: number
}

type Report<Type extends SwarmReport['type']> = Extract<SwarmReport, { readonly type: Type }>

/** The DOM events of a swarm (S8.1); every `detail` is frozen. Listeners run synchronously, and what they throw is caught. */
export interface SwarmEvents<Parts> {
  /** A behaviour emitted something. Pushed without back-pressure; see also `swarm.events()`. */
  'behaviour:event': CustomEvent<BehaviourEvent<Parts>>
  /** Comes before every other event of the connection. */
  'connection:open': CustomEvent<ConnectionEstablished & ConnectionOrigin>
  /** Comes once, and last of the events of the connection. */
  'connection:close': CustomEvent<ConnectionClosed & ConnectionOrigin>
  /** A behaviour denied a connection; its path tells the type of the cause. */
  'connection:denied': CustomEvent<Denial<Parts>>
  /** A dial of the swarm came to nothing. */
  'dial:failure': CustomEvent<DialFailure>
  /** A connection that a peer wanted came to nothing. */
  'listen:failure': CustomEvent<ListenFailure>
  /** Nothing holds the connection open any more. */
  'connection:idle': CustomEvent<Report<'connection-idle'>>
  /** A protocol set of a connection changed; see also `swarm.protocols`. */
  'protocols:change': CustomEvent<PeerProtocolsChange>
  /** A peer reported more protocols than are kept. */
  'protocols:truncated': CustomEvent<Report<'protocols-truncated'>>
  /** A stream that a peer opened came to nothing; at most once a second and connection, with the number of the others. */
  'stream:inbound-failure': CustomEvent<Report<'inbound-failure'>>
  /** A limit was met. */
  'limit:reached': CustomEvent<Report<'limit-reached'>>
  /** Code of a behaviour, handler, subscriber or listener threw, and was contained. */
  'handler:error': CustomEvent<HandlerError>
}

/** No behaviours in particular. */
// eslint-disable-next-line @typescript-eslint/no-generated-empty-object-type -- a swarm has whatever keys its node gave it; none is known here
type NoBehaviours = Record<never, never>

/**
 * The swarm of a node. `Swarm` without an argument is what a service asks for that needs no behaviour in particular.
 */
export interface Swarm<Parts extends Behaviours = NoBehaviours> extends TypedEventTarget<SwarmEvents<Parts>>, Startable {
  /** The behaviours by key: their public methods are their commands. */
  readonly behaviours: { readonly [Key in keyof Parts]: Commands<Parts[Key]> }
  /** The connections, native and hosted, oldest first: a snapshot of entries that live as long as their connection. */
  readonly connections: readonly SwarmConnection[]
  /** Who speaks what, now and from now on. */
  readonly protocols: SwarmProtocols
  /**
   * Events of behaviours that nobody took since the node was made: no iterator, or only such as had a filter against them, and
   * no listener for `behaviour:event`.
   */
  readonly discardedEvents: number
  /**
   * Iterates over the events of behaviours, from the call on; each iterator gets every event that its filter lets through.
   * While `eventBufferSize` of them wait, handlers are not polled, and what behaviours say waits, so that nothing is lost and
   * slow consumers slow their peers (`overflow: 'stall'`); after `maxStallMs` of that the iterator ends with `OverflowError`. With
   * `overflow: 'end'` it does so with the first event that does not fit. `break`, the signal and `await using` end it.
   *
   * @throws TypeError for an unknown option or one of the wrong type, or a key that no behaviour has
   */
  events<Key extends keyof Parts & string = keyof Parts & string> (options?: EventsOptions<Key>): EventsIterator<BehaviourEvent<Pick<Parts, Key>>>
  /**
   * Dials through the gates of the behaviours, and resolves with the connection. Rejects with `DialFailureError`, whose
   * `kind` says why and whose `cause` may be a `ConnectionDenied`; when `options` end the wait the kind is `aborted`, and the
   * dial itself ends when nobody else waits for it. `timeoutMs` defaults to 10 s.
   *
   * @throws TypeError when the target, or the condition, is none, or the target names several peers; RangeError when `timeoutMs` is NaN or negative
   */
  dial (target: DialTarget, options?: DialOptions): Promise<SwarmConnection>
  /**
   * Closes all connections to `peer` gracefully; resolves when they have ended, and never rejects. When `options` end the
   * wait, what is left is cut.
   *
   * @throws TypeError for a peer, or options, that are none; RangeError when `timeoutMs` is NaN or negative
   */
  disconnect (peer: PeerId, options?: CallOptions): Promise<void>
}
