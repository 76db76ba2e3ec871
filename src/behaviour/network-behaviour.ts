import type { ConnectionLimits, PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { ConnectionId, Direction } from '../core/ids.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'
import type { Check, Denied } from './connection-denied.ts'
import type { AnyHandler } from './connection-handler.ts'
import type { FromSwarm } from './from-swarm.ts'
import type { SwarmComponents } from './swarm-components.ts'
import type { ToSwarm } from './to-swarm.ts'

/** A connection that somebody wants, before its security: nothing is known of the peer but what the addresses say (S7.2). */
export interface PendingConnection {
  /** Also the id of the connection that comes of it. */
  readonly id: ConnectionId
  readonly direction: Direction
  /** Where to dial, or where the peer comes from. */
  readonly addresses: readonly Multiaddr[]
  readonly peer: PeerId | undefined
  /** Aborts when the attempt comes to nothing, and when the connection that came of it has closed. */
  readonly signal: AbortSignal
}

/** A connection whose peer is known, before anybody was told of it. */
export interface EstablishedConnection {
  readonly id: ConnectionId
  readonly peer: PeerId
  readonly direction: Direction
  readonly address: Multiaddr
  /** Present on relayed connections, as in js-libp2p; a behaviour that should not run there gives no handler. */
  readonly limits: ConnectionLimits | undefined
  /** Aborts when the connection comes to nothing, or has closed. */
  readonly signal: AbortSignal
}

/**
 * The state of one protocol across all connections of a node (S7.1). It makes one handler per connection, hears of the
 * swarm and of its handlers, and is polled for what it wants.
 *
 * Connections pass two gates, pending and established, and each asks twice. A `check*` may deny, and must not change
 * anything: it may be called without consequence. A `commit*` comes when no check denied, and may change state; if it
 * denies, or the attempt comes to nothing later, whoever had committed gets `rollback`, latest stage and latest behaviour
 * first, exactly once per stage that it committed. A gate that throws denies.
 *
 * All methods are called by the swarm, one at a time, and none may call `poll` or `handle*` of anything. What one throws
 * is reported as `handler-error` with the key of the behaviour, and otherwise skipped (S4.15). Its other public methods
 * are its commands, found by the application on `swarm.behaviours.KEY`. One instance serves one node.
 */
export interface NetworkBehaviour<Event = never, ToHandler = never, FromHandler = never, Cause extends Error = never> {
  /** Names that the node should announce even while no connection offers them (S3.22). */
  readonly protocols?: ProtocolListing
  /** Whether `attempt` may go on. Absent: yes. */
  checkPending? (attempt: PendingConnection): Check<Cause>
  /** Counts `attempt` in; may still deny, as others were asked meanwhile. */
  commitPending? (attempt: PendingConnection): Denied<Cause>
  /** More addresses of the peer that is about to be dialed; asked before the check, must not change anything. */
  addressesForDial? (attempt: PendingConnection): readonly Multiaddr[]
  /** Whether `connection` may be. Absent: yes. */
  checkEstablished? (connection: EstablishedConnection): Check<Cause>
  /** The handler for a new connection, `undefined` for no part in it, or a denial. */
  commitEstablished (connection: EstablishedConnection): AnyHandler<ToHandler, FromHandler> | Denied<Cause>
  /** Takes back what one commit did, of the stage that the object belongs to. */
  rollback? (attempt: PendingConnection | EstablishedConnection, cause: unknown): void
  /** Something happened to a connection or to the node; all behaviours hear it, in composition order. */
  onSwarmEvent? (event: FromSwarm): void
  /** An event of one of its handlers, after `connection-established` and before `connection-closed` of that connection. */
  onHandlerEvent? (peer: PeerId, connection: ConnectionId, event: FromHandler): void
  /** Polled after it woke, was told something, or was made, until it answers PENDING. Absent: nothing to say. */
  poll? (cx: PollContext): Poll<ToSwarm<Event, ToHandler>>
}

/** A behaviour that is only passed on. */
export type AnyBehaviour = NetworkBehaviour<unknown, unknown, unknown, Error>

/** A behaviour, or a function of the node's components that makes one for each node (S7.13). */
export type BehaviourSource = AnyBehaviour | ((components: SwarmComponents) => AnyBehaviour)

/** Behaviours by the key under which their events and commands are found. */
export type Behaviours = Readonly<Record<string, BehaviourSource>>

/** Whether `attempt` is of the pending stage. */
export function isPending (attempt: PendingConnection | EstablishedConnection): attempt is PendingConnection {
  return 'addresses' in attempt
}

/** Lets `behaviour` take back a stage that it committed; one without `commitPending` never committed the pending one. */
export function rollBack (behaviour: AnyBehaviour, attempt: PendingConnection | EstablishedConnection, cause: unknown): void {
  if (!isPending(attempt) || behaviour.commitPending !== undefined) {
    behaviour.rollback?.(attempt, cause)
  }
}
