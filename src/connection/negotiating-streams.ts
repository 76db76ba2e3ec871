import { BoundedQueue } from '../core/bounded-queue.ts'
import { NEVER, earliest } from '../core/instant.ts'
import type { Instant } from '../core/instant.ts'
import type { PollContext } from '../core/poll.ts'
import type { StreamUpgrade } from '../handler/stream-upgrade.ts'
import type { DialerNegotiation } from '../negotiation/dialer-negotiation.ts'
import type { ListenerNegotiation } from '../negotiation/listener-negotiation.ts'
import type { ListedProtocol, ListingSnapshot } from '../protocols/listing-snapshot.ts'
import type { StreamPort } from './muxer-port.ts'
import type { OutboundRequest } from './requested-streams.ts'

/** An inbound stream that waits for a slot; its deadline runs from its arrival, and so does its list of names (S2.11). */
export interface ArrivedStream<Stream> {
  readonly port: StreamPort<Stream>
  readonly listing: ListingSnapshot
  readonly startedAt: Instant
  readonly deadline: Instant
}

/** What both directions have in common. */
interface Role<Direction, Machine> {
  readonly direction: Direction
  readonly machine: Machine
}

/** The side of the negotiation that this stream is on. */
export type StreamRole<Stream> =
  | Role<'inbound', ListenerNegotiation<ListedProtocol>> & { readonly arrived: ArrivedStream<Stream> }
  | Role<'outbound', DialerNegotiation> & { readonly request: OutboundRequest<Stream> }

/** An agreed stream whose upgrade is not done. */
export interface Upgrading {
  readonly protocol: string
  readonly info: unknown
  readonly upgrade: StreamUpgrade<unknown>
}

/** One stream from the start of its negotiation until its handler is given it. It is the context that its upgrade sees. */
export class NegotiatingStream<Stream> implements PollContext {
  readonly port: StreamPort<Stream>
  readonly role: StreamRole<Stream>
  readonly startedAt: Instant
  readonly deadline: Instant
  upgrading: Upgrading | undefined
  isQueued = false
  now: Instant = 0
  wakeInstant: Instant = NEVER
  readonly #streams: NegotiatingStreams<Stream>

  constructor (streams: NegotiatingStreams<Stream>, port: StreamPort<Stream>, role: StreamRole<Stream>, startedAt: Instant, deadline: Instant) {
    this.#streams = streams
    this.port = port
    this.role = role
    this.startedAt = startedAt
    this.deadline = deadline
  }

  wake (): void {
    this.#streams.woke(this)
  }

  wakeAt (instant: Instant): void {
    this.wakeInstant = instant
    this.#streams.wakesAt(instant)
  }
}

/** Who hears that a stream can go on. */
export interface NegotiatingStreamsOwner {
  streamWoke (): void
  deadlineAdded (instant: Instant): void
}

/** Streams in negotiation or upgrade with the slots that they hold, and inbound streams that wait for a slot. */
export class NegotiatingStreams<Stream> {
  readonly #streams: Map<StreamPort<Stream>, NegotiatingStream<Stream>> = new Map()
  readonly #arrived: BoundedQueue<ArrivedStream<Stream>> = new BoundedQueue(Infinity)
  readonly #wokenInbound: BoundedQueue<NegotiatingStream<Stream>> = new BoundedQueue(Infinity)
  readonly #wokenOutbound: BoundedQueue<NegotiatingStream<Stream>> = new BoundedQueue(Infinity)
  readonly #owner: NegotiatingStreamsOwner
  #inboundSlots = 0
  #outboundSlots = 0

  constructor (owner: NegotiatingStreamsOwner) {
    this.#owner = owner
  }

  /** Inbound streams that negotiate. */
  get inbound (): number {
    return this.#inboundSlots
  }

  /** Outbound streams that negotiate. */
  get outbound (): number {
    return this.#outboundSlots
  }

  /** Inbound streams that wait for a slot. */
  get waiting (): number {
    return this.#arrived.size
  }

  /** Whether any stream is here. */
  get isBusy (): boolean {
    return this.#streams.size > 0 || this.#arrived.size > 0
  }

  get (port: StreamPort<Stream>): NegotiatingStream<Stream> | undefined {
    return this.#streams.get(port)
  }

  /** An inbound stream waits for a slot. */
  arrive (stream: ArrivedStream<Stream>): void {
    this.#arrived.push(stream)
    this.#owner.deadlineAdded(stream.deadline)
  }

  /** The inbound stream that has waited longest. */
  nextArrived (): ArrivedStream<Stream> | undefined {
    return this.#arrived.shift()
  }

  /** Takes every waiting stream out for which `matches` is true. */
  removeArrived (matches: (stream: ArrivedStream<Stream>) => boolean): Array<ArrivedStream<Stream>> {
    const removed: Array<ArrivedStream<Stream>> = []
    this.#arrived.remove(stream => matches(stream) && removed.push(stream) > 0)
    return removed
  }

  /** A negotiation begins. */
  add (port: StreamPort<Stream>, role: StreamRole<Stream>, startedAt: Instant, deadline: Instant): NegotiatingStream<Stream> {
    const stream = new NegotiatingStream(this, port, role, startedAt, deadline)
    this.#streams.set(port, stream)
    this.#count(stream, 1)
    this.#owner.deadlineAdded(deadline)
    return stream
  }

  /** The name was agreed: the slot is free, and the upgrade begins. */
  upgrade (stream: NegotiatingStream<Stream>, upgrading: Upgrading): void {
    this.#count(stream, -1)
    stream.upgrading = upgrading
    this.woke(stream)
  }

  /** Negotiation or upgrade ended; false if it had before. */
  remove (stream: NegotiatingStream<Stream>): boolean {
    if (!this.#streams.delete(stream.port)) {
      return false
    }
    if (stream.upgrading === undefined) {
      this.#count(stream, -1)
    }
    return true
  }

  /** Something came for `stream`. */
  woke (stream: NegotiatingStream<Stream>): void {
    if (stream.isQueued || this.#streams.get(stream.port) !== stream) {
      return
    }
    stream.isQueued = true
    const queue = stream.role.direction === 'inbound' ? this.#wokenInbound : this.#wokenOutbound
    queue.push(stream)
    this.#owner.streamWoke()
  }

  wakesAt (instant: Instant): void {
    this.#owner.deadlineAdded(instant)
  }

  /** The next stream of one direction that can go on. */
  nextWoken (direction: 'inbound' | 'outbound'): NegotiatingStream<Stream> | undefined {
    const queue = direction === 'inbound' ? this.#wokenInbound : this.#wokenOutbound
    const stream = queue.shift()
    if (stream !== undefined) {
      stream.isQueued = false
    }
    return stream
  }

  /** Streams in negotiation or upgrade, oldest first. */
  all (): Iterable<NegotiatingStream<Stream>> {
    return this.#streams.values()
  }

  /** The earliest deadline of all streams here. */
  nextDeadline (): Instant {
    let next = NEVER
    for (const { deadline, wakeInstant } of this.#streams.values()) {
      next = earliest(next, earliest(deadline, wakeInstant))
    }
    for (const { deadline } of this.#arrived) {
      next = earliest(next, deadline)
    }
    return next
  }

  #count (stream: NegotiatingStream<Stream>, by: 1 | -1): void {
    if (stream.role.direction === 'inbound') {
      this.#inboundSlots += by
    } else {
      this.#outboundSlots += by
    }
  }
}
