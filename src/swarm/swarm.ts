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
 *
 * In a stall (S8.3) the handlers of the connections that are polled meanwhile are left out, and what behaviours have to say
 * is kept, so many events of it: until then their deadlines and commands go on, after it step 2 is left out. Step 3 waits for
 * what is kept. After a stall, connections that hold something back are let go one by one, each when nothing else is left: of thousands of them
 * a consumer that takes one event costs one.
 */

import { BoundedQueue } from '../core/bounded-queue.ts'
import { NEVER } from '../core/instant.ts'
import { PENDING } from '../core/poll.ts'
import { BehaviourPart } from '../behaviour/part.ts'
import { IdleHandler } from '../handler/idle-handler.ts'
import { InvalidStateError } from '../errors.ts'
import { Gates } from './gates.ts'
import { Pool } from './pool.ts'
import { Wishes } from './wishes.ts'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { AnyHandler } from '../behaviour/connection-handler.ts'
import type { ConnectionClosed, ConnectionEstablished, FromSwarm } from '../behaviour/from-swarm.ts'
import type { EstablishedConnection, NetworkBehaviour } from '../behaviour/network-behaviour.ts'
import type { PartOwner } from '../behaviour/part.ts'
import type { BehaviourFault, ToSwarm } from '../behaviour/to-swarm.ts'
import type { ConnectionId } from '../core/ids.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll } from '../core/poll.ts'
import type { ClosedOutput, HandlerNotifiedOutput } from '../connection/connection-output.ts'
import type { PoolEntry } from './pool.ts'
import type { PooledConnection } from './pooled-connection.ts'
import type { SwarmEvent } from './swarm-event.ts'
import type { CountUndelivered } from './wishes.ts'

const NO_ADDRESSES: readonly Multiaddr[] = Object.freeze([])

/** Values that behaviours may give in a row before a connection is served; far above what one event leads to. */
const BEHAVIOUR_SHARE = 64

/** Events of behaviours that are kept in a stall: handlers are silent then, so that there are few. */
const MAX_HELD_EVENTS = 256

/** Ends of connections that wait for the last words of behaviours in a stall; those of more connections come before them. */
const MAX_HELD_ENDS = 1024

/**
 * The sans-IO machine of a node: feed it with `establish` and `onSwarmEvent`, poll it until PENDING after each input, and
 * arm a timer for `pollTimeout()`. Streams and timers of the connections are their drivers' affair.
 */
export class Swarm<Event, Pooled extends PooledConnection = PooledConnection> implements PartOwner {
  /** What a connection passes before {@link establish}. */
  readonly gates: Gates
  readonly #root: BehaviourPart<Event>
  readonly #wake: () => void
  readonly #onUndelivered: CountUndelivered | undefined
  readonly #pool = new Pool<Pooled>()
  readonly #wishes: Wishes<Event, Pooled>
  /** Neither queue is bounded: both are emptied before the next behaviour or connection is asked for anything. */
  readonly #outputs: BoundedQueue<SwarmEvent<Event>> = new BoundedQueue(Infinity)
  readonly #closed: BoundedQueue<ConnectionClosed> = new BoundedQueue(Infinity)
  /** What behaviours said in a stall. */
  readonly #held: BoundedQueue<Event> = new BoundedQueue(MAX_HELD_EVENTS)
  #isRootReady = true
  #isRootPolled = false
  #isRootReadyLater = false
  #polled: PoolEntry<Pooled> | undefined
  #share = BEHAVIOUR_SHARE
  #isStalled = false
  /** Connections that were told of the stall, oldest first: only those that were polled in it. */
  readonly #stalled = new Set<PoolEntry<Pooled>>()
  #isPolling = false
  #isAsked = false

  /**
   * @param behaviour - the root, normally a composition; it must have been given to its node (`attachBehaviour`)
   * @param wake - asks for a poll, because something came up outside a poll. Called once at most until the next poll;
   *   inputs do not call it, as a poll follows them anyway
   * @param onUndelivered - counts messages that never reached their handler. Must not throw. Default: nobody counts
   */
  constructor (behaviour: NetworkBehaviour<Event, unknown, unknown, Error>, wake: () => void, onUndelivered?: CountUndelivered) {
    this.#root = new BehaviourPart('', behaviour, this)
    this.#wake = wake
    this.#onUndelivered = onUndelivered
    const give = (event: SwarmEvent<Event>): void => { this.#outputs.push(event) }
    const tell = (event: FromSwarm): void => { this.#tellRoot(event) }
    this.gates = new Gates(this.#root, {
      refuseInPoll: (method) => { this.#refuseInPoll(method) },
      stir: () => { this.#isRootReady = true },
      tell,
      report: give
    })
    this.#wishes = new Wishes(this.#pool, { tell, give, threw: (fault) => { this.partThrew(fault) }, undelivered: onUndelivered })
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
    return this.#mayPollRoot ? this.#root.wakeInstant : NEVER
  }

  /**
   * After PENDING: somebody wants another turn, a part that woke itself or a connection that spent its share. Poll again,
   * but leave sockets and timers their time first (S5.3).
   */
  get wantsTurn (): boolean {
    return (this.#isRootReady && this.#mayPollRoot) || this.#pool.isReady
  }

  /**
   * A connection is there: it passes the last gate, if it has not yet, `connect` makes the connection around the handler of
   * the behaviours, and they are told. An input: poll afterwards.
   *
   * @param established - what is known of it
   * @param connect - makes the connection around the handler; `wake` is to be called when it wants to be polled, which
   *   includes every input to it, and may be called at any time. If it throws, nothing is left of the connection
   * @param failedAddresses - dialed in vain before this one. Default none
   * @throws InvalidStateError inside a poll, or when there is a connection with this id
   * @throws ConnectionDenied when a behaviour denies it; each is as it was before
   */
  establish (
    established: EstablishedConnection, connect: (handler: AnyHandler, wake: () => void) => Pooled, failedAddresses: readonly Multiaddr[] = NO_ADDRESSES
  ): Pooled {
    this.#refuseInPoll('establish')
    if (this.#pool.get(established.id) !== undefined) {
      throw new InvalidStateError(`Cannot establish connection: there is one with id "${established.id}"`)
    }
    const entry = this.#connect(established, connect)
    this.#pool.add(entry)
    this.#pool.queue(entry)
    const { id, peer, direction, address } = established
    const event: ConnectionEstablished = Object.freeze({
      type: 'connection-established', connection: id, peer, direction, address, failedAddresses, otherEstablished: this.#pool.count(peer) - 1
    })
    this.#outputs.push(event)
    this.#tellRoot(event)
    return entry.connection
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

  /**
   * Nobody takes events of behaviours any more: handlers are not polled until {@link resume}, so that what fills up is the
   * peers' (S8.3), and the events of behaviours wait. They act as ever until 256 of their events wait, and are not polled
   * then. Everything else goes on. May be called at any time; idempotent.
   */
  stall (): void {
    this.#isStalled = true
  }

  /** Goes on. May be called at any time; without effect if there is no stall. */
  resume (): void {
    if (this.#isStalled) {
      this.#isStalled = false
      this.#askFromOutside()
    }
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

  /** There is one closure in here: all that it sees, and no other does, lives as long as the connection. */
  #connect (established: EstablishedConnection, connect: (handler: AnyHandler, wake: () => void) => Pooled): PoolEntry<Pooled> {
    let entry: PoolEntry<Pooled> | undefined
    const wake = (): void => {
      // While the connection is being made it changes nothing: whoever has it made queues it.
      if (entry !== undefined) {
        this.#connectionWoke(entry)
      }
    }
    const handler = this.gates.admit(established)
    try {
      entry = { peer: established.peer, connection: connect(handler ?? new IdleHandler(), wake), state: 'resting', isStalled: false }
      this.gates.passed(established.id)
      return entry
    } catch (thrown) {
      this.gates.undo(established.id, thrown)
      throw thrown
    }
  }

  #pollNext (now: Instant): Poll<SwarmEvent<Event>> {
    for (;;) {
      const output = this.#outputs.shift()
      if (output !== undefined) {
        return output
      }
      const held = this.#isStalled ? undefined : this.#held.shift()
      if (held !== undefined) {
        return { type: 'behaviour-event', event: held }
      }
      const isSpent = this.#share === 0
      const wish = isSpent ? PENDING : this.#pollRoot(now)
      if (wish !== PENDING) {
        this.#share--
        this.#take(wish)
        continue
      }
      this.#share = BEHAVIOUR_SHARE
      const closed = this.#nextEnd()
      if (closed !== undefined) {
        return closed
      }
      const entry = this.#pool.takeReady()
      if (entry !== undefined) {
        this.#serve(entry, now)
      } else if (this.#releaseNext()) {
        continue
      } else if (!isSpent && this.#outputs.size === 0) {
        this.#endTurn()
        return PENDING
      }
    }
  }

  /** A wish is the author's object: to read it may throw. */
  #take (wish: ToSwarm<Event, unknown>): void {
    try {
      if (this.#isStalled && wish.type === 'event') {
        this.#held.push(wish.event)
      } else {
        this.#wishes.obey(wish)
      }
    } catch (cause) {
      this.partThrew({ type: 'behaviour-fault', behaviour: '', method: 'poll', cause })
    }
  }

  /** Behaviours that are not polled may still have something to say about a connection that ended. */
  #nextEnd (): ConnectionClosed | undefined {
    return this.#isStalled && this.#closed.size <= MAX_HELD_ENDS ? undefined : this.#closed.shift()
  }

  /** After a stall: lets the handler of one connection have its say. */
  #releaseNext (): boolean {
    if (this.#isStalled || this.#stalled.size === 0) {
      return false
    }
    for (const entry of this.#stalled) {
      this.#follow(entry)
      return true
    }
    return false
  }

  /** Tells a connection of the stall, or of its end. */
  #follow (entry: PoolEntry<Pooled>): void {
    if (entry.isStalled === this.#isStalled) {
      return
    }
    entry.isStalled = this.#isStalled
    if (this.#isStalled) {
      this.#stalled.add(entry)
      entry.connection.stall()
    } else {
      this.#stalled.delete(entry)
      entry.connection.resume()
    }
  }

  /** What fills up in a stall has a bound. */
  get #mayPollRoot (): boolean {
    return !this.#isStalled || this.#held.size < MAX_HELD_EVENTS
  }

  #pollRoot (now: Instant): Poll<ToSwarm<Event, unknown>> {
    if (!this.#mayPollRoot) {
      return PENDING
    }
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
    this.#follow(entry)
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
    } else if (output.type === 'handler-notified') {
      if (!output.delivered) {
        this.#onUndelivered?.('disabled', 1)
      }
      this.#tellRoot(receiptOf(output))
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
    this.#stalled.delete(entry)
    if (undelivered.length > 0) {
      this.#onUndelivered?.('connection-closed', undelivered.length)
    }
    const { connection, peer } = entry
    const event: ConnectionClosed = Object.freeze({
      type: 'connection-closed', connection: connection.id, peer, reason, cause, remaining: this.#pool.count(peer), undelivered
    })
    this.#tellRoot(event)
    this.#closed.push(event)
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
    // In a stall it may be ready still.
    this.#isRootReady ||= this.#isRootReadyLater
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

function receiptOf ({ token, event, delivered }: HandlerNotifiedOutput): FromSwarm {
  const receipt: FromSwarm = delivered
    ? { type: 'handler-notified', token, delivered }
    : { type: 'handler-notified', token, delivered, reason: 'disabled', event }
  return Object.freeze(receipt)
}
