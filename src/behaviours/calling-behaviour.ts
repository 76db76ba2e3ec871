import { PENDING } from '../core/poll.ts'
import { Outbox } from '../handler/outbox.ts'
import { mayRun } from './own-connections.ts'
import type { PeerId } from '@libp2p/interface'
import type { AnyHandler } from '../behaviour/connection-handler.ts'
import type { FromSwarm } from '../behaviour/from-swarm.ts'
import type { EstablishedConnection, NetworkBehaviour, PendingConnection } from '../behaviour/network-behaviour.ts'
import type { EmitEvent, ToSwarm } from '../behaviour/to-swarm.ts'
import type { ConnectionId } from '../core/ids.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { PeerCalls } from './peer-calls.ts'

/** Collaborators of a {@link CallingBehaviour}. */
export interface CallingBehaviourComponents<Event, Message, Result> {
  readonly peers: PeerCalls<Result, Message>
  /** Whether to run on relayed connections, which have limits. */
  readonly runOnLimitedConnection: boolean
  /** Makes the handler of one connection. */
  handlerFor (connection: EstablishedConnection): AnyHandler<Message, Event>
}

/**
 * A behaviour whose commands are calls to peers, and whose handlers' events are those of the application. It has no other
 * members than the contract, so that commands may have any other name.
 */
export class CallingBehaviour<Event, Message, Result> implements NetworkBehaviour<Event, Message, Event> {
  readonly #components: CallingBehaviourComponents<Event, Message, Result>
  /** Not bounded here: the swarm takes each event before the next one. */
  readonly #outbox = new Outbox<EmitEvent<Event>>(Infinity)

  constructor (components: CallingBehaviourComponents<Event, Message, Result>) {
    this.#components = components
  }

  commitEstablished (connection: EstablishedConnection): AnyHandler<Message, Event> | undefined {
    const { peers, runOnLimitedConnection } = this.#components
    if (!mayRun(connection.limits, runOnLimitedConnection)) {
      return undefined
    }
    peers.add(connection)
    return this.#components.handlerFor(connection)
  }

  rollback (attempt: PendingConnection | EstablishedConnection): void {
    this.#components.peers.rollback(attempt)
  }

  onSwarmEvent (event: FromSwarm): void {
    this.#components.peers.onSwarmEvent(event)
  }

  onHandlerEvent (peer: PeerId, connection: ConnectionId, event: Event): void {
    this.#outbox.push({ type: 'event', peer, connection, event })
  }

  poll (cx: PollContext): Poll<ToSwarm<Event, Message>> {
    const command = this.#components.peers.poll(cx)
    return command === PENDING ? this.#outbox.poll(cx) : command
  }
}
