import type { FromSwarm, MessageUndelivered, UndeliveredReason } from '../behaviour/from-swarm.ts'
import type { BehaviourFault, CloseConnection, NotifyHandler, ToSwarm } from '../behaviour/to-swarm.ts'
import type { Pool } from './pool.ts'
import type { PooledConnection } from './pooled-connection.ts'
import type { SwarmEvent } from './swarm-event.ts'

/** What carrying out a wish may lead to. */
export interface WishesOwner<Event> {
  /** Tells the behaviours, who are polled then. */
  tell (event: FromSwarm): void
  /** Gives something to the outside. */
  give (event: SwarmEvent<Event>): void
  /** Reports that a behaviour threw. */
  threw (fault: BehaviourFault): void
  /** Counts messages that never reached their handler, if anybody counts. */
  readonly undelivered: CountUndelivered | undefined
}

/** Told how many messages were lost, and why: those of a connection that closed come back with its `connection-closed`. */
export type CountUndelivered = (reason: UndeliveredReason | 'connection-closed', count: number) => void

/** Carries out what behaviours want (S7.9): here what concerns connections of the swarm; the rest is the driver's. */
export class Wishes<Event, Pooled extends PooledConnection> {
  readonly #pool: Pool<Pooled>
  readonly #owner: WishesOwner<Event>

  constructor (pool: Pool<Pooled>, owner: WishesOwner<Event>) {
    this.#pool = pool
    this.#owner = owner
  }

  /** Does what `wish` says, or hands it on. */
  obey (wish: ToSwarm<Event, unknown>): void {
    switch (wish.type) {
      case 'event':
        this.#owner.give({ type: 'behaviour-event', event: wish.event })
        break
      case 'notify-handler':
        this.#notify(wish)
        break
      case 'close-connection':
        this.#closeConnections(wish)
        break
      case 'behaviour-fault':
        this.#owner.threw(wish)
        break
      case 'external-address-candidate':
      case 'external-address-confirmed':
      case 'external-address-expired':
      case 'peer-external-address': {
        // A copy: its author may use the object again.
        const news = Object.freeze({ ...wish })
        this.#owner.tell(news)
        this.#owner.give(news)
        break
      }
      case 'dial':
      case 'listen-on':
      case 'remove-listener':
      case 'await-check':
        this.#owner.give(wish)
    }
  }

  /** A message that cannot be delivered goes back, with a token or without (S7.11). */
  #notify (message: NotifyHandler<unknown>): void {
    const reason = this.#deliver(message)
    if (reason !== undefined) {
      this.#owner.undelivered?.(reason, 1)
      const { token, event } = message
      const receipt: MessageUndelivered = { type: 'handler-notified', token, delivered: false, reason, event }
      this.#owner.tell(Object.freeze(receipt))
    }
  }

  #deliver (message: NotifyHandler<unknown>): UndeliveredReason | undefined {
    const receiver = this.#receiverOf(message)
    if (receiver === undefined) {
      return 'no-connection'
    }
    if (receiver.status.phase !== 'open') {
      return 'closing'
    }
    return receiver.onBehaviourEvent(message.event, message.token) ? undefined : 'queue-full'
  }

  /** For `any` the oldest one that is open, else one that closes. */
  #receiverOf ({ peer, connection: id, except }: NotifyHandler<unknown>): Pooled | undefined {
    if (id !== 'any') {
      return except?.has(id) === true ? undefined : this.#pool.get(id)?.connection
    }
    let closing: Pooled | undefined
    for (const { connection } of this.#pool.of(peer)) {
      if (except?.has(connection.id) === true) {
        continue
      }
      if (connection.status.phase === 'open') {
        return connection
      }
      closing ??= connection
    }
    return closing
  }

  #closeConnections ({ peer, connection: id, abort }: CloseConnection): void {
    for (const { connection } of this.#pool.of(peer)) {
      if (id !== 'all' && connection.id !== id) {
        continue
      }
      if (abort === undefined) {
        connection.close()
      } else {
        connection.abort(abort)
      }
    }
  }
}
