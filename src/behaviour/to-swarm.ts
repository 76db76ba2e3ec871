import type { PeerId } from '@libp2p/interface'
import type { ConnectionId } from '../core/ids.ts'

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

/** A behaviour threw; compositions say so for their parts. The swarm reports it as `handler-error` (S4.15). */
export interface BehaviourFault {
  readonly type: 'behaviour-fault'
  /** Keys from the composition to the thrower, joined with dots; empty for the behaviour itself. */
  readonly behaviour: string
  readonly method: string
  readonly cause: unknown
}

/** What `poll` of a behaviour gives (S7.9). */
export type ToSwarm<Event = never, ToHandler = never> =
  | EmitEvent<Event>
  | NotifyHandler<ToHandler>
  | CloseConnection
  | BehaviourFault
