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

/** The node began, or ceased, to listen on an address. */
export interface ListenAddressChange {
  readonly type: 'new-listen-address' | 'expired-listen-address'
  readonly address: Multiaddr
}

/** What a behaviour is told by the swarm (S7.8). Every behaviour gets each event, in composition order. */
export type FromSwarm = ConnectionEstablished | ConnectionClosed | ListenAddressChange
