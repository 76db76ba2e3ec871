import type { PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { ConnectionId } from '../core/ids.ts'
import type { Check, Denied } from './connection-denied.ts'
import type { ExternalAddressChange, PeerExternalAddress } from './from-swarm.ts'

/** An event for the application. */
export interface EmitEvent<Event> {
  readonly type: 'event'
  readonly event: Event
  /** Whom it is about. Default: the node itself. */
  readonly peer?: PeerId | undefined
  readonly connection?: ConnectionId | undefined
}

/** A message to a handler of this behaviour, delivered in order per connection. */
export interface NotifyHandler<ToHandler> {
  readonly type: 'notify-handler'
  readonly peer: PeerId
  /** `'any'`: the oldest connection to the peer that is not closing and on which this behaviour has a handler. */
  // eslint-disable-next-line @typescript-eslint/no-redundant-type-constituents -- for the reader
  readonly connection: ConnectionId | 'any'
  readonly event: ToHandler
  /** Comes back with `handler-notified` when the handler has taken the message. Absent: only a message that is lost comes back. */
  readonly token?: unknown
  /** Connections that `'any'` must not mean. Compositions name those on which the part has no handler. */
  readonly except?: ReadonlySet<ConnectionId> | undefined
}

/** Closes one connection of a peer, or all. */
export interface CloseConnection {
  readonly type: 'close-connection'
  readonly peer: PeerId
  // eslint-disable-next-line @typescript-eslint/no-redundant-type-constituents -- for the reader
  readonly connection: ConnectionId | 'all'
  /** Given: the connection is aborted with this error. Otherwise it is closed gracefully. */
  readonly abort?: Error | undefined
}

/** Whom to dial: a peer, at the addresses that are known of it, or addresses, which must not name different peers. */
export type DialTarget = PeerId | Multiaddr | Multiaddr[]

/**
 * What must hold for a dial (S7.10); a target that names no peer meets every condition. With `disconnected` and `always` a
 * dial joins one that is under way to the same peer, and shares its outcome.
 */
export type DialCondition = 'disconnected' | 'not-dialing' | 'disconnected-and-not-dialing' | 'always'

/** Dials. All behaviours hear of the outcome: `connection-established`, or exactly one `dial-failure`. */
export interface Dial {
  readonly type: 'dial'
  readonly target: DialTarget
  /** Default: `'disconnected-and-not-dialing'`. */
  readonly condition?: DialCondition | undefined
}

/** Listens on one more address, or no longer on one. A failure comes back as `listener-error`. */
export interface ChangeListener {
  readonly type: 'listen-on' | 'remove-listener'
  readonly address: Multiaddr
}

/** A behaviour threw; compositions say so for their parts. The swarm reports it as `handler-error` (S4.15). */
export interface BehaviourFault {
  readonly type: 'behaviour-fault'
  /** Keys from the composition to the thrower, joined with dots; empty for the behaviour itself. */
  readonly behaviour: string
  readonly method: string
  readonly cause: unknown
}

/** A wrapper asked a gate outside the swarm's own gates, and the answer is still to come: the adapter waits for it. */
export interface AwaitCheck {
  readonly type: 'await-check'
  readonly check: Check<Error>
  /** Told the verdict, as an input of the swarm. */
  settle (denied: Denied<Error>): void
}

/** What `poll` of a behaviour gives (S7.9). */
export type ToSwarm<Event = never, ToHandler = never> =
  | EmitEvent<Event>
  | NotifyHandler<ToHandler>
  | CloseConnection
  | Dial
  | ChangeListener
  | ExternalAddressChange
  | PeerExternalAddress
  | BehaviourFault
  | AwaitCheck
