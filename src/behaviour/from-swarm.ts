import type { CloseReason } from '../core/close-reason.ts'
import type { PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { ConnectionId, Direction } from '../core/ids.ts'

/** A connection is there; comes before every handler event of it. */
export interface ConnectionEstablished {
  readonly type: 'connection-established'
  readonly connection: ConnectionId
  readonly peer: PeerId
  readonly direction: Direction
  /** Where the peer is, as the host sees it. */
  readonly address: Multiaddr
  /** Addresses that the swarm dialed in vain before this one; empty for connections that it did not dial. */
  readonly failedAddresses: readonly Multiaddr[]
  /** How many other connections to this peer there are. */
  readonly otherEstablished: number
}

/** A connection is gone; comes once, after every handler event of it. */
export interface ConnectionClosed {
  readonly type: 'connection-closed'
  readonly connection: ConnectionId
  readonly peer: PeerId
  readonly reason: CloseReason
  /** What was thrown or reported, for the reasons that have a cause. */
  readonly cause: unknown
  /** How many connections to this peer are left. */
  readonly remaining: number
  /** Messages to the handler that it never got, in order (S6.9). */
  readonly undelivered: readonly unknown[]
}

/**
 * Why a dial came to nothing (S7.10). `local-peer`: the target is this node. `no-addresses`: none is known, or none that a
 * transport of the node speaks. `condition-false`: the condition of the dial did not hold. `aborted`: nobody waits for it
 * any more, or the node stops. `wrong-peer`: somebody else answered. `denied`: by a behaviour, or by the node's own gater.
 */
export type DialFailureKind = 'local-peer' | 'no-addresses' | 'condition-false' | 'aborted' | 'wrong-peer' | 'denied' | 'transport'

/** What went wrong at one address. */
export interface AddressFailure {
  readonly address: Multiaddr
  readonly error: Error
}

/** A dial of the swarm came to nothing; once per dial, and instead of `connection-established`. */
export interface DialFailure {
  readonly type: 'dial-failure'
  /** The id that the connection would have had; empty if the behaviour was switched off and the dial did not begin. */
  readonly connection: ConnectionId
  /** Undefined: the target was an address that names none. */
  readonly peer: PeerId | undefined
  readonly kind: DialFailureKind
  /** The addresses that were dialed, in order; empty if none was. */
  readonly errors: readonly AddressFailure[]
  /** The denial, or the error of the node that says most; absent for the kinds that say all. */
  readonly cause: Error | undefined
}

/** A connection that a peer wanted came to nothing. */
export interface ListenFailure {
  readonly type: 'listen-failure'
  /** The id that the connection would have had. */
  readonly connection: ConnectionId
  /** Undefined: it failed before the peer was known. */
  readonly peer: PeerId | undefined
  readonly kind: 'denied' | 'transport'
  /** Where the peer came from, and why it failed. */
  readonly errors: readonly AddressFailure[]
  /** The denial, or the error of the transport; undefined if the peer just went away. */
  readonly cause: Error | undefined
}

/** Why a message never reached its handler (S7.11). `disabled`: it is switched off, or was removed from its composition. */
export type UndeliveredReason = 'no-connection' | 'closing' | 'queue-full' | 'disabled'

/** A message with a token was taken by its handler. */
export interface MessageDelivered {
  readonly type: 'handler-notified'
  readonly token: unknown
  readonly delivered: true
}

/** A message, with a token or without, comes back. Those lost to a close come with `connection-closed` instead. */
export interface MessageUndelivered {
  readonly type: 'handler-notified'
  readonly token: unknown
  readonly delivered: false
  readonly reason: UndeliveredReason
  /** The message. */
  readonly event: unknown
}

/** The node began, or ceased, to listen on an address. */
export interface ListenAddressChange {
  readonly type: 'new-listen-address' | 'expired-listen-address'
  readonly address: Multiaddr
}

/** A listener is up, or gone; its addresses come as {@link ListenAddressChange} as well. */
export interface ListenerChange {
  readonly type: 'new-listener' | 'listener-closed'
  readonly addresses: readonly Multiaddr[]
}

/** A `listen-on` of a behaviour failed, or a `remove-listener`, or a listener that is up has a fault; then `address` is its first one. */
export interface ListenerError {
  readonly type: 'listener-error'
  readonly address: Multiaddr
  readonly error: Error
}

/**
 * A behaviour, or the node, knows something about an address under which this node is, or may be, reached. The node tells of
 * those that it does not listen on: candidates when a peer says that it sees one, the others about a second after the change.
 */
export interface ExternalAddressChange {
  readonly type: 'external-address-candidate' | 'external-address-confirmed' | 'external-address-expired'
  readonly address: Multiaddr
}

/** The node stops: all its connections have closed. Only the ends of its listeners follow, unless it is started again. */
export interface SwarmStopped {
  readonly type: 'swarm-stopped'
}

/** The node is being started again, after `swarm-stopped`. Its transports are not up yet. */
export interface SwarmRestarted {
  readonly type: 'swarm-restarted'
}

/** A behaviour learnt an address of a peer, or it is new in the peer store. */
export interface PeerExternalAddress {
  readonly type: 'peer-external-address'
  readonly peer: PeerId
  readonly address: Multiaddr
}

/**
 * What a behaviour is told by the swarm (S7.8). Every behaviour gets each event, in composition order; what became of a
 * message is told to its sender only. Nobody in a js-libp2p node tells that the remote address of a connection changed, so
 * there is no event for that.
 */
export type FromSwarm =
  | ConnectionEstablished
  | ConnectionClosed
  | DialFailure
  | ListenFailure
  | MessageDelivered
  | MessageUndelivered
  | ListenAddressChange
  | ListenerChange
  | ListenerError
  | ExternalAddressChange
  | PeerExternalAddress
  | SwarmStopped
  | SwarmRestarted
