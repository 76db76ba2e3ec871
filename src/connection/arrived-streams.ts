import { BoundedQueue } from '../core/bounded-queue.ts'
import { NEVER, earliest } from '../core/instant.ts'
import type { Instant } from '../core/instant.ts'
import type { ListingSnapshot } from '../protocols/listing-snapshot.ts'
import type { StreamPort } from './muxer-port.ts'
import type { Ticket } from './negotiating-streams.ts'

/** A stream that the peer opened, from its arrival on. */
export interface Arrival<Stream> extends Ticket {
  readonly port: StreamPort<Stream>
  /** The names in force in the turn in which the stream arrived; later changes do not touch it (S2.11). */
  listing: ListingSnapshot
}

/** Inbound streams that wait for a slot, in the order of their arrival. Bounded by whoever admits them, as free slots count too. */
export class ArrivedStreams<Stream> {
  readonly #waiting: BoundedQueue<Arrival<Stream>> = new BoundedQueue(Infinity)
  /** Those of them that arrived since the last turn. */
  readonly #fresh: BoundedQueue<Arrival<Stream>> = new BoundedQueue(Infinity)

  /** Streams that wait. */
  get size (): number {
    return this.#waiting.size
  }

  /** Whether the stream of `port` waits. */
  has (port: StreamPort<Stream>): boolean {
    for (const arrival of this.#waiting) {
      if (arrival.port === port) {
        return true
      }
    }
    return false
  }

  /** Queues a stream. */
  push (arrival: Arrival<Stream>): void {
    this.#waiting.push(arrival)
    this.#fresh.push(arrival)
  }

  /** Those that arrived in this turn meet the names of this turn. */
  refresh (snapshot: () => ListingSnapshot): void {
    for (let arrival = this.#fresh.shift(); arrival !== undefined; arrival = this.#fresh.shift()) {
      arrival.listing = snapshot()
    }
  }

  /** Takes out the stream that has waited longest. */
  shift (): Arrival<Stream> | undefined {
    return this.#waiting.shift()
  }

  /** Takes out every stream that `matches` tells, oldest first. */
  take (matches: (arrival: Arrival<Stream>) => boolean): Array<Arrival<Stream>> {
    const taken: Array<Arrival<Stream>> = []
    this.#waiting.remove(arrival => matches(arrival) && taken.push(arrival) > 0)
    return taken
  }

  /** The earliest deadline of all that wait. */
  nextDeadline (): Instant {
    let next = NEVER
    for (const { deadline } of this.#waiting) {
      next = earliest(next, deadline)
    }
    return next
  }
}
