import { BoundedQueue } from '../core/bounded-queue.ts'
import { NEVER, checkInstant, earliest } from '../core/instant.ts'
import { Linked, LinkedList } from '../core/linked-list.ts'
import { placesOf } from './muxer-port.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { StreamPhase } from '../errors.ts'
import type { StreamUpgrade } from '../handler/stream-upgrade.ts'
import type { NegotiationOutcome } from '../negotiation/outcome.ts'
import type { StreamPort } from './muxer-port.ts'
import type { ProtocolSlot } from './protocol-slots.ts'

/** What both roles of a negotiation have in common. */
export interface NegotiationMachine<Match> {
  readonly phase: StreamPhase
  handleData (bytes: Uint8Array): void
  handleFin (): void
  handleReset (): void
  handleWriteFailed (): void
  takeKept (): Uint8Array | undefined
  takeOutput (): Uint8Array | undefined
  pollOutcome (): Poll<NegotiationOutcome<Match>>
}

/** Why a stream negotiates, and since and until when. */
export interface Ticket {
  readonly startedAt: Instant
  readonly deadline: Instant
}

/** An agreed stream whose upgrade is not done. */
export interface Upgrading {
  readonly protocol: string
  readonly info: unknown
  readonly upgrade: StreamUpgrade<unknown>
}

/** Who hears that streams of one direction can go on, or want to at some instant. */
export interface NegotiatingStreamsOwner {
  streamWoke (): void
  deadlineAdded (instant: Instant): void
}

/** One stream from the start of its negotiation until its handler is given it. It is the context that its upgrade sees. */
export class NegotiatingStream<Stream, Machine, Purpose extends Ticket> extends Linked<NegotiatingStream<Stream, Machine, Purpose>> implements PollContext {
  readonly port: StreamPort<Stream>
  readonly machine: Machine
  readonly ticket: Purpose
  upgrading: Upgrading | undefined
  isQueued = false
  /** Waits for the next turn. */
  isLater = false
  /** The stream has ended by itself: it is neither reset nor counted. */
  hasEnded = false
  /** Its place among the streams of the agreed protocol, if that has a limit. */
  slot: ProtocolSlot | undefined
  /** What went wrong with the stream itself, if something did. */
  cause: unknown
  now: Instant = 0
  wakeInstant: Instant = NEVER
  readonly #streams: NegotiatingStreams<Stream, Machine, Purpose>
  #isPolling = false

  constructor (streams: NegotiatingStreams<Stream, Machine, Purpose>, port: StreamPort<Stream>, machine: Machine, ticket: Purpose) {
    super()
    this.#streams = streams
    this.port = port
    this.machine = machine
    this.ticket = ticket
  }

  /** See {@link PollContext}. In its own poll it means the next turn (S4.8). */
  wake (): void {
    if (this.#isPolling) {
      this.#streams.wokeLater(this)
    } else {
      this.#streams.woke(this)
    }
  }

  /** See {@link PollContext}. */
  wakeAt (instant: Instant): void {
    this.wakeInstant = checkInstant(instant)
    if (this.#isPolling && instant <= this.now) {
      this.wakeInstant = NEVER
      this.#streams.wokeLater(this)
    } else {
      this.#streams.owner.deadlineAdded(instant)
    }
  }

  /**
   * The stream ends before its upgrade is done, if it has one.
   *
   * @throws whatever the upgrade throws
   */
  endUpgrade (reason: unknown): void {
    this.upgrading?.upgrade.end?.(reason)
  }

  /** Polls the upgrade, with this stream as its context. */
  pollUpgrade ({ upgrade }: Upgrading, now: Instant): Poll<unknown> {
    this.now = now
    this.#isPolling = true
    try {
      return upgrade.poll(this)
    } finally {
      this.#isPolling = false
    }
  }
}

/** The streams of one direction that are in negotiation or upgrade, and which of them can go on. */
export class NegotiatingStreams<Stream, Machine, Purpose extends Ticket> extends LinkedList<NegotiatingStream<Stream, Machine, Purpose>> {
  readonly owner: NegotiatingStreamsOwner
  readonly #place: 'negotiating' | 'unconfirmed'
  /** Neither is bounded: a stream is in each of them once. Both are there only while there are streams. */
  #woken: BoundedQueue<NegotiatingStream<Stream, Machine, Purpose>> | undefined
  #later: BoundedQueue<NegotiatingStream<Stream, Machine, Purpose>> | undefined
  #upgrading = 0

  /**
   * @param owner - hears that a stream can go on
   * @param place - where a stream is found; one may be in collections with different places at a time
   */
  constructor (owner: NegotiatingStreamsOwner, place: 'negotiating' | 'unconfirmed' = 'negotiating') {
    super()
    this.owner = owner
    this.#place = place
  }

  /** Streams in negotiation: an upgrade holds no slot (S5.9). */
  get slots (): number {
    return this.size - this.#upgrading
  }

  /** The stream of `port`, if it is one of these. */
  get (port: StreamPort<Stream>): NegotiatingStream<Stream, Machine, Purpose> | undefined {
    const stream = port.places?.[this.#place]
    return this.has(stream) ? stream : undefined
  }

  /** A negotiation begins. */
  add (port: StreamPort<Stream>, machine: Machine, ticket: Purpose): NegotiatingStream<Stream, Machine, Purpose> {
    const stream = new NegotiatingStream(this, port, machine, ticket)
    this.push(stream)
    placesOf(port)[this.#place] = stream
    this.owner.deadlineAdded(ticket.deadline)
    return stream
  }

  /** The name was agreed: the slot is free, and the upgrade is due. */
  upgrade (stream: NegotiatingStream<Stream, Machine, Purpose>, upgrading: Upgrading): void {
    stream.upgrading = upgrading
    this.#upgrading++
    this.woke(stream)
  }

  /** Negotiation or upgrade ended. */
  override remove (stream: NegotiatingStream<Stream, Machine, Purpose>): boolean {
    if (!super.remove(stream)) {
      return false
    }
    placesOf(stream.port)[this.#place] = undefined
    this.#upgrading -= stream.upgrading === undefined ? 0 : 1
    if (this.size === 0) {
      this.#woken = undefined
      this.#later = undefined
    }
    return true
  }

  /** Something came for `stream`. */
  woke (stream: NegotiatingStream<Stream, Machine, Purpose>): void {
    if (!stream.isQueued && this.has(stream)) {
      stream.isQueued = true
      this.#woken ??= new BoundedQueue(Infinity)
      this.#woken.push(stream)
      this.owner.streamWoke()
    }
  }

  /** `stream` wants to go on in the next turn. */
  wokeLater (stream: NegotiatingStream<Stream, Machine, Purpose>): void {
    if (!stream.isLater && this.has(stream)) {
      stream.isLater = true
      this.#later ??= new BoundedQueue(Infinity)
      this.#later.push(stream)
    }
  }

  /** Whether any stream is to go on in another turn. */
  endTurn (): boolean {
    let isAny = false
    for (let stream = this.#later?.shift(); stream !== undefined; stream = this.#later?.shift()) {
      stream.isLater = false
      isAny ||= this.has(stream)
      this.woke(stream)
    }
    return isAny
  }

  /** Takes the next stream that can go on. */
  nextWoken (): NegotiatingStream<Stream, Machine, Purpose> | undefined {
    for (let stream = this.#woken?.shift(); stream !== undefined; stream = this.#woken?.shift()) {
      stream.isQueued = false
      if (this.has(stream)) {
        return stream
      }
    }
    return undefined
  }

  /** The streams whose deadline passed; those that wanted to be woken by now are. */
  expired (now: Instant): Array<NegotiatingStream<Stream, Machine, Purpose>> {
    const expired: Array<NegotiatingStream<Stream, Machine, Purpose>> = []
    for (const stream of this) {
      if (stream.ticket.deadline <= now) {
        expired.push(stream)
      } else if (stream.wakeInstant <= now) {
        stream.wakeInstant = NEVER
        this.woke(stream)
      }
    }
    return expired
  }

  /** All of them, oldest first, in a copy. */
  all (): Array<NegotiatingStream<Stream, Machine, Purpose>> {
    return [...this]
  }

  /** The earliest deadline of all streams here. */
  nextDeadline (): Instant {
    let next = NEVER
    for (const { ticket, wakeInstant } of this) {
      next = earliest(next, earliest(ticket.deadline, wakeInstant))
    }
    return next
  }
}
