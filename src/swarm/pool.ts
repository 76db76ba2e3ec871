import { BoundedQueue } from '../core/bounded-queue.ts'
import type { PeerId } from '@libp2p/interface'
import type { ConnectionId } from '../core/ids.ts'
import type { PooledConnection } from './pooled-connection.ts'

/** A connection in its place: whose it is, and whether it waits for its turn. */
export interface PoolEntry<Pooled extends PooledConnection> {
  readonly peer: PeerId
  readonly connection: Pooled
  /** `queued`: in one of the two queues; `gone`: out of the pool, and never queued again. */
  state: 'resting' | 'queued' | 'gone'
  /** It was told to hold back what its handler says. */
  isStalled: boolean
}

/**
 * Connections by id and by peer, and the queue of those that woke: a connection that did not wake costs nothing. One that
 * asked for another turn during its own poll waits until {@link Pool.endTurn}.
 */
export class Pool<Pooled extends PooledConnection> {
  readonly #byId = new Map<ConnectionId, PoolEntry<Pooled>>()
  /** Oldest connection first. */
  readonly #byPeer = new Map<string, Set<PoolEntry<Pooled>>>()
  /** Neither queue is bounded: an entry is in one of them, once at most. */
  #ready: BoundedQueue<PoolEntry<Pooled>> = new BoundedQueue(Infinity)
  #later: BoundedQueue<PoolEntry<Pooled>> = new BoundedQueue(Infinity)

  /** Somebody waits for a turn. */
  get isReady (): boolean {
    return this.#ready.size > 0
  }

  /** All connections, in order of establishment. */
  values (): Iterable<PoolEntry<Pooled>> {
    return this.#byId.values()
  }

  /** The connection with this id. */
  get (id: ConnectionId): PoolEntry<Pooled> | undefined {
    return this.#byId.get(id)
  }

  /** How many connections to `peer` there are. */
  count (peer: PeerId): number {
    return this.#byPeer.get(peer.toString())?.size ?? 0
  }

  /** The connections to `peer`, oldest first. */
  of (peer: PeerId): Iterable<PoolEntry<Pooled>> {
    return this.#byPeer.get(peer.toString()) ?? []
  }

  /** Takes a connection in; its id must be new. */
  add (entry: PoolEntry<Pooled>): void {
    this.#byId.set(entry.connection.id, entry)
    const peer = entry.peer.toString()
    const siblings = this.#byPeer.get(peer)
    if (siblings === undefined) {
      this.#byPeer.set(peer, new Set([entry]))
    } else {
      siblings.add(entry)
    }
  }

  /** Takes a connection out, for good. */
  delete (entry: PoolEntry<Pooled>): void {
    entry.state = 'gone'
    this.#byId.delete(entry.connection.id)
    const peer = entry.peer.toString()
    const siblings = this.#byPeer.get(peer)
    siblings?.delete(entry)
    if (siblings?.size === 0) {
      this.#byPeer.delete(peer)
    }
  }

  /** Puts `entry` at the end of the queue, unless it waits already. */
  queue (entry: PoolEntry<Pooled>): void {
    if (entry.state === 'resting') {
      entry.state = 'queued'
      this.#ready.push(entry)
    }
  }

  /** As {@link queue}, for after the end of this turn. */
  queueForLater (entry: PoolEntry<Pooled>): void {
    if (entry.state === 'resting') {
      entry.state = 'queued'
      this.#later.push(entry)
    }
  }

  /** Takes the connection out that woke first. */
  takeReady (): PoolEntry<Pooled> | undefined {
    for (;;) {
      const entry = this.#ready.shift()
      if (entry === undefined) {
        return undefined
      }
      if (entry.state === 'queued') {
        entry.state = 'resting'
        return entry
      }
    }
  }

  /** Nobody is ready: those that waited for the next turn are, in it. */
  endTurn (): void {
    [this.#ready, this.#later] = [this.#later, this.#ready]
  }
}
