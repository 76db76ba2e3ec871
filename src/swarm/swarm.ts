/**
 * Behaviours over a pool of connections.
 *
 * One `poll` makes passes in this order, and starts again at the top after progress:
 *
 * 1. what has been decided already goes out;
 * 2. the behaviours, if one woke: their events go out, their commands are carried out;
 * 3. `connection-closed`, after the behaviours had their last word on that connection;
 * 4. the connection that woke first gives one output, then goes to the end of the queue: events for behaviours are
 *    delivered, everything else goes out.
 *
 * Per event the order is therefore handlers, behaviours, subscribers (S8.2). Behaviours that always have something give
 * way to the connections after a share of values, so that nobody starves.
 */

import { BoundedQueue } from '../core/bounded-queue.ts'
import { PENDING } from '../core/poll.ts'
import { BehaviourPart } from '../behaviour/part.ts'
import { IdleHandler } from '../handler/idle-handler.ts'
import { InvalidStateError } from '../errors.ts'
import { Pool } from './pool.ts'
import type { AnyHandler } from '../behaviour/connection-handler.ts'
import type { ConnectionClosed, ConnectionEstablished, FromSwarm } from '../behaviour/from-swarm.ts'
import type { EstablishedConnection, NetworkBehaviour } from '../behaviour/network-behaviour.ts'
import type { PartOwner } from '../behaviour/part.ts'
import type { BehaviourFault, CloseConnection, NotifyHandler, ToSwarm } from '../behaviour/to-swarm.ts'
import type { ConnectionId } from '../core/ids.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll } from '../core/poll.ts'
import type { ClosedOutput } from '../connection/connection-output.ts'
import type { PoolEntry } from './pool.ts'
import type { PooledConnection } from './pooled-connection.ts'
import type { SwarmEvent } from './swarm-event.ts'

/** Values that behaviours may give in a row before a connection is served; far above what one event leads to. */
const BEHAVIOUR_SHARE = 64

/**
 * The sans-IO machine of a node: feed it with `establish` and `onSwarmEvent`, poll it until PENDING after each input, and
 * arm a timer for `pollTimeout()`. Streams and timers of the connections are their drivers' affair.
 */
export class Swarm<Event, Pooled extends PooledConnection = PooledConnection> implements PartOwner {
  readonly #root: BehaviourPart<Event>
  readonly #wake: () => void
  readonly #pool = new Pool<Pooled>()
  /** Neither queue is bounded: both are emptied before the next behaviour or connection is asked for anything. */
  readonly #outputs: BoundedQueue<SwarmEvent<Event>> = new BoundedQueue(Infinity)
  readonly #closed: BoundedQueue<ConnectionClosed> = new BoundedQueue(Infinity)
  #isRootReady = true
  #isRootPolled = false
  #isRootReadyLater = false
  #polled: PoolEntry<Pooled> | undefined
  #share = BEHAVIOUR_SHARE
  #isPolling = false
  #isAsked = false

  /**
   * @param behaviour - the root, normally a composition; it must have been given to its node (`attachBehaviour`)
   * @param wake - asks for a poll, because something came up outside a poll. Called once at most until the next poll;
   *   inputs do not call it, as a poll follows them anyway
   */
  constructor (behaviour: NetworkBehaviour<Event, unknown, unknown>, wake: () => void) {
    this.#root = new BehaviourPart('', behaviour, this)
    this.#wake = wake
  }

  /** The connections, in order of establishment; closing ones are among them until their `connection-closed`. */
  * connections (): Generator<Pooled, void, undefined> {
    for (const { connection } of this.#pool.values()) {
      yield connection
    }
  }

  /** The connection with this id, until its `connection-closed`. */
  connection (id: ConnectionId): Pooled | undefined {
    return this.#pool.get(id)?.connection
  }

  /** When it wants to be polled without an input; `Infinity`: never. Connections have a timeout of their own. */
  pollTimeout (): Instant {
    return this.#root.wakeInstant
  }

  /**
   * After PENDING: somebody wants another turn, a part that woke itself or a connection that spent its share. Poll again,
   * but leave sockets and timers their time first (S5.3).
   */
  get wantsTurn (): boolean {
    return this.#isRootReady || this.#pool.isReady
  }

  /**
   * A connection is there: behaviours make its handler, `connect` makes the connection, and the behaviours are told. An
   * input: poll afterwards.
   *
   * @param established - what is known of it
   * @param connect - makes the connection around the handler; `wake` is to be called when it wants to be polled, which
   *   includes every input to it, and may be called at any time
   * @throws InvalidStateError inside a poll, or when there is a connection with this id
   */
  establish (established: EstablishedConnection, connect: (handler: AnyHandler, wake: () => void) => Pooled): Pooled {
    this.#refuseInPoll('establish')
    if (this.#pool.get(established.id) !== undefined) {
      throw new InvalidStateError(`Cannot establish connection: there is one with id "${established.id}"`)
    }
    const handler = this.#root.commitEstablished(established) ?? new IdleHandler()
    // Wakes while the connection is being made change nothing: it is queued below.
    let wake = (): void => {}
    const connection = connect(handler, () => { wake() })
    const entry: PoolEntry<Pooled> = { peer: established.peer, connection, state: 'resting' }
    wake = () => { this.#connectionWoke(entry) }
    this.#pool.add(entry)
    this.#pool.queue(entry)
    const { id, peer, direction, address } = established
    const event: ConnectionEstablished = Object.freeze({
      type: 'connection-established', connection: id, peer, direction, address, otherEstablished: this.#pool.count(peer) - 1
    })
    this.#outputs.push(event)
    this.#tellRoot(event)
    return connection
  }

  /**
   * Something happened to the node. An input: poll afterwards.
   *
   * @throws InvalidStateError inside a poll
   */
  onSwarmEvent (event: FromSwarm): void {
    this.#refuseInPoll('onSwarmEvent')
    this.#tellRoot(event)
  }

  /** Closes all connections gracefully; each ends with its `connection-closed`. May be called at any time. */
  close (): void {
    for (const { connection } of this.#pool.values()) {
      connection.close()
    }
  }

  /**
   * The next event, or PENDING when nobody can move.
   *
   * @throws InvalidStateError inside a poll
   */
  poll (now: Instant): Poll<SwarmEvent<Event>> {
    this.#refuseInPoll('poll')
    this.#isPolling = true
    this.#isAsked = false
    try {
      return this.#pollNext(now)
    } finally {
      this.#isPolling = false
    }
  }

  partWoke (): void {
    if (this.#isRootPolled) {
      this.#isRootReadyLater = true
      return
    }
    this.#isRootReady = true
    this.#askFromOutside()
  }

  partWakesAt (): void {
    this.#askFromOutside()
  }

  partThrew ({ behaviour, method, cause }: BehaviourFault): void {
    this.#outputs.push({ type: 'handler-error', behaviour, method, cause, peer: undefined, connection: undefined })
  }

  #pollNext (now: Instant): Poll<SwarmEvent<Event>> {
    for (;;) {
      const output = this.#outputs.shift()
      if (output !== undefined) {
        return output
      }
      const isSpent = this.#share === 0
      const wish = isSpent ? PENDING : this.#pollRoot(now)
      if (wish !== PENDING) {
        this.#share--
        this.#obey(wish)
        continue
      }
      this.#share = BEHAVIOUR_SHARE
      const closed = this.#closed.shift()
      if (closed !== undefined) {
        return closed
      }
      const entry = this.#pool.takeReady()
      if (entry !== undefined) {
        this.#serve(entry, now)
      } else if (!isSpent && this.#outputs.size === 0) {
        this.#endTurn()
        return PENDING
      }
    }
  }

  #pollRoot (now: Instant): Poll<ToSwarm<Event, unknown>> {
    if (this.#root.wakeInstant <= now) {
      this.#root.wakeInstant = Infinity
      this.#isRootReady = true
    }
    if (!this.#isRootReady) {
      return PENDING
    }
    this.#isRootPolled = true
    const wish = this.#root.poll(now)
    this.#isRootPolled = false
    this.#isRootReady = wish !== PENDING
    this.#isRootReadyLater &&= wish === PENDING
    return wish
  }

  /** One output of one connection. What it reports goes out when it has nothing else, and before its end. */
  #serve (entry: PoolEntry<Pooled>, now: Instant): void {
    const { connection, peer } = entry
    this.#polled = entry
    const output = connection.poll(now)
    this.#polled = undefined
    if (output === PENDING) {
      this.#takeReports(entry)
      return
    }
    if (output.type === 'closed') {
      this.#bury(entry, output)
      return
    }
    this.#pool.queue(entry)
    if (output.type === 'handler-event') {
      this.#root.onHandlerEvent(peer, connection.id, output.event)
      this.#isRootReady = true
    } else {
      this.#outputs.push({ ...output, peer, connection: connection.id })
    }
  }

  #takeReports ({ connection, peer }: PoolEntry<Pooled>): void {
    for (let report = connection.pollReport(); report !== PENDING; report = connection.pollReport()) {
      if (report.type === 'handler-error') {
        const { handler: behaviour, method, cause } = report
        this.#outputs.push({ type: 'handler-error', behaviour, method, cause, peer, connection: connection.id })
      } else {
        this.#outputs.push({ ...report, peer, connection: connection.id })
      }
    }
  }

  #bury (entry: PoolEntry<Pooled>, { reason, cause, undelivered }: ClosedOutput): void {
    this.#takeReports(entry)
    this.#pool.delete(entry)
    const { connection, peer } = entry
    const event: ConnectionClosed = Object.freeze({
      type: 'connection-closed', connection: connection.id, peer, reason, cause, remaining: this.#pool.count(peer), undelivered
    })
    this.#tellRoot(event)
    this.#closed.push(event)
  }

  #obey (wish: ToSwarm<Event, unknown>): void {
    switch (wish.type) {
      case 'event':
        this.#outputs.push({ type: 'behaviour-event', event: wish.event })
        break
      case 'notify-handler':
        this.#receiverOf(wish)?.onBehaviourEvent(wish.event)
        break
      case 'close-connection':
        this.#closeConnections(wish)
        break
      case 'behaviour-fault':
        this.partThrew(wish)
    }
  }

  #receiverOf ({ peer, connection: id, except }: NotifyHandler<unknown>): Pooled | undefined {
    if (id !== 'any') {
      return this.#pool.get(id)?.connection
    }
    for (const { connection } of this.#pool.of(peer)) {
      if (connection.status.phase === 'open' && except?.has(connection.id) !== true) {
        return connection
      }
    }
    return undefined
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

  #tellRoot (event: FromSwarm): void {
    this.#root.onSwarmEvent(event)
    this.#isRootReady = true
  }

  #connectionWoke (entry: PoolEntry<Pooled>): void {
    if (entry === this.#polled) {
      this.#pool.queueForLater(entry)
      return
    }
    this.#pool.queue(entry)
    this.#askFromOutside()
  }

  #endTurn (): void {
    this.#pool.endTurn()
    this.#isRootReady = this.#isRootReadyLater
    this.#isRootReadyLater = false
  }

  #askFromOutside (): void {
    if (!this.#isPolling && !this.#isAsked) {
      this.#isAsked = true
      this.#wake()
    }
  }

  #refuseInPoll (method: string): void {
    if (this.#isPolling) {
      throw new InvalidStateError(`Cannot call ${method}() inside a poll of the swarm: wait until it returned`)
    }
  }
}
