import type { ConnectionLimits, PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { ConnectionId, Direction } from '../core/ids.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'
import type { AnyHandler } from './connection-handler.ts'
import type { FromSwarm } from './from-swarm.ts'
import type { SwarmComponents } from './swarm-components.ts'
import type { ToSwarm } from './to-swarm.ts'

/** A connection whose peer is known, before anybody was told of it. */
export interface EstablishedConnection {
  readonly id: ConnectionId
  readonly peer: PeerId
  readonly direction: Direction
  readonly address: Multiaddr
  /** Present on relayed connections, as in js-libp2p; a behaviour that should not run there gives no handler. */
  readonly limits: ConnectionLimits | undefined
}

/**
 * The state of one protocol across all connections of a node (S7.1). It makes one handler per connection, hears of the
 * swarm and of its handlers, and is polled for what it wants.
 *
 * All methods are called by the swarm, one at a time, and none may call `poll` or `handle*` of anything. What one throws
 * is reported as `handler-error` with the key of the behaviour, and otherwise skipped (S4.15). Its other public methods
 * are its commands, found by the application on `swarm.behaviours.KEY`. One instance serves one node.
 */
export interface NetworkBehaviour<Event = never, ToHandler = never, FromHandler = never> {
  /** Names that the node should announce even while no connection offers them (S3.22). */
  readonly protocols?: ProtocolListing
  /** The handler for a new connection; `undefined`: this behaviour takes no part in it. */
  commitEstablished (connection: EstablishedConnection): AnyHandler<ToHandler, FromHandler> | undefined
  /** Something happened to a connection or to the node; all behaviours hear it, in composition order. */
  onSwarmEvent? (event: FromSwarm): void
  /** An event of one of its handlers, after `connection-established` and before `connection-closed` of that connection. */
  onHandlerEvent? (peer: PeerId, connection: ConnectionId, event: FromHandler): void
  /** Polled after it woke, was told something, or was made, until it answers PENDING. Absent: nothing to say. */
  poll? (cx: PollContext): Poll<ToSwarm<Event, ToHandler>>
}

/** A behaviour that is only passed on. */
export type AnyBehaviour = NetworkBehaviour<unknown, unknown, unknown>

/** A behaviour, or a function of the node's components that makes one for each node (S7.13). */
export type BehaviourSource = AnyBehaviour | ((components: SwarmComponents) => AnyBehaviour)

/** Behaviours by the key under which their events and commands are found. */
export type Behaviours = Readonly<Record<string, BehaviourSource>>
