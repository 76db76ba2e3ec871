import { NEVER, earliest } from '../core/instant.ts'
import { Linked, LinkedList } from '../core/linked-list.ts'
import type { Instant } from '../core/instant.ts'
import type { ListingSnapshot } from '../protocols/listing-snapshot.ts'
import type { StreamPort } from './muxer-port.ts'
import type { Ticket } from './negotiating-streams.ts'

/** A stream that the peer opened, from its arrival on. */
export class Arrival<Stream> extends Linked<Arrival<Stream>> implements Ticket {
  readonly port: StreamPort<Stream>
  readonly startedAt: Instant
  readonly deadline: Instant
  /** The names in force in the turn in which the stream arrived; later changes do not touch it (S2.11). */
  listing: ListingSnapshot

  constructor (port: StreamPort<Stream>, listing: ListingSnapshot, startedAt: Instant, deadline: Instant) {
    super()
    this.port = port
    this.listing = listing
    this.startedAt = startedAt
    this.deadline = deadline
  }
}

/** Inbound streams that wait for a slot, in the order of their arrival. Bounded by whoever admits them, as free slots count too. */
export class ArrivedStreams<Stream> extends LinkedList<Arrival<Stream>> {
  /** The first of those that arrived since the last turn; all behind it did too. */
  #fresh: Arrival<Stream> | undefined

  /** Whether the stream of `port` waits. */
  holds (port: StreamPort<Stream>): boolean {
    for (const arrival of this) {
      if (arrival.port === port) {
        return true
      }
    }
    return false
  }

  /** Queues a stream. */
  override push (arrival: Arrival<Stream>): void {
    super.push(arrival)
    this.#fresh ??= arrival
  }

  /** Takes a stream out. */
  override remove (arrival: Arrival<Stream>): boolean {
    if (arrival === this.#fresh) {
      this.#fresh = arrival.after
    }
    return super.remove(arrival)
  }

  /** Those that arrived in this turn meet the names of this turn. */
  refresh (snapshot: () => ListingSnapshot): void {
    for (let arrival = this.#fresh; arrival !== undefined; arrival = arrival.after) {
      arrival.listing = snapshot()
    }
    this.#fresh = undefined
  }

  /** Takes out every stream that `matches` tells, oldest first. */
  take (matches: (arrival: Arrival<Stream>) => boolean): Array<Arrival<Stream>> {
    const taken = [...this].filter(matches)
    for (const arrival of taken) {
      this.remove(arrival)
    }
    return taken
  }

  /** The earliest deadline of all that wait. */
  nextDeadline (): Instant {
    let next = NEVER
    for (const { deadline } of this) {
      next = earliest(next, deadline)
    }
    return next
  }
}
