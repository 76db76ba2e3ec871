import { BoundedQueue } from '../core/bounded-queue.ts'
import { addDuration, earliest } from '../core/instant.ts'
import { PENDING } from '../core/poll.ts'
import { HandlerFault } from '../handler/handler-fault.ts'
import { setRoute } from '../handler/route.ts'
import { ListenerNegotiation } from '../negotiation/listener-negotiation.ts'
import { isCountedHostProtocol } from './counted-streams.ts'
import { NegotiatingStreams } from './negotiating-streams.ts'
import { asError } from './stream-desk.ts'
import { abortOf, errorOf, timeoutOf, upgradeError } from './stream-failure.ts'
import type { Instant } from '../core/instant.ts'
import type { StreamFailure, StreamUpgradeErrorKind } from '../errors.ts'
import type { NegotiationLimits } from '../negotiation/outcome.ts'
import type { ListedProtocol, ListingSnapshot } from '../protocols/listing-snapshot.ts'
import type { ConnectionConfig } from './connection-config.ts'
import type { StreamPort } from './muxer-port.ts'
import type { NegotiatingStream, NegotiatingStreamsOwner, Ticket } from './negotiating-streams.ts'
import type { StreamDesk } from './stream-desk.ts'

/** The names of the host's other services, which are offered after those of the handlers. */
export type HostLookUp = (protocol: string) => boolean

interface Arrival<Stream> extends Ticket {
  readonly port: StreamPort<Stream>
  /** The names in force when the stream arrived; later changes do not touch it (S2.11). */
  readonly listing: ListingSnapshot
}

type Inbound<Stream> = NegotiatingStream<Stream, ListenerNegotiation<ListedProtocol>, Arrival<Stream>>

/**
 * Streams that the peer opened, from arrival to hand-over (S5.9): they wait in a bounded queue for one of the slots, are
 * negotiated and upgraded, and go to the owner of the agreed name, or to the host. Each has one deadline from its arrival.
 */
export class InboundStreams<Stream, FromBehaviour, ToBehaviour> {
  readonly #desk: StreamDesk<Stream, FromBehaviour, ToBehaviour>
  readonly #config: ConnectionConfig
  readonly #limits: NegotiationLimits
  readonly #fallback: ((protocol: string) => ListedProtocol | undefined) | undefined
  /** Bounded by `#hasRoom`, as free slots count too. */
  readonly #arrived: BoundedQueue<Arrival<Stream>> = new BoundedQueue(Infinity)
  readonly #negotiating: NegotiatingStreams<Stream, ListenerNegotiation<ListedProtocol>, Arrival<Stream>>
  readonly #owner: NegotiatingStreamsOwner

  constructor (desk: StreamDesk<Stream, FromBehaviour, ToBehaviour>, config: ConnectionConfig, hostOffers: HostLookUp | undefined, owner: NegotiatingStreamsOwner) {
    this.#desk = desk
    this.#config = config
    this.#limits = { maxFrameLength: config.maxFrameLength, maxRounds: config.maxNegotiationRounds }
    this.#fallback = hostOffers === undefined
      ? undefined
      : name => hostOffers(name) ? { name, isHost: true, frame: undefined } : undefined
    this.#negotiating = new NegotiatingStreams(owner)
    this.#owner = owner
  }

  /** Whether any stream is on its way. */
  get isBusy (): boolean {
    return this.#negotiating.size > 0 || this.#arrived.size > 0
  }

  get (port: StreamPort<Stream>): Inbound<Stream> | undefined {
    return this.#negotiating.get(port)
  }

  /** A stream arrived; without room for it, it is reset and leaves no trace but a report. */
  arrive (port: StreamPort<Stream>, listing: ListingSnapshot): void {
    if (this.#isKnown(port)) {
      return
    }
    const { now } = this.#desk.outlet
    if (!this.#hasRoom()) {
      port.reset(abortOf('Too many inbound streams wait to be negotiated', this.#failure('queue', now)))
      this.#desk.outlet.limitReached('maxQueuedInboundStreams', this.#config.maxQueuedInboundStreams)
      return
    }
    const timeoutMs = Math.max(this.#config.inboundTimeoutMs, this.#desk.root.inboundTimeoutMs)
    const arrival = { port, listing, startedAt: now, deadline: addDuration(now, timeoutMs) }
    this.#arrived.push(arrival)
    this.#owner.deadlineAdded(arrival.deadline)
  }

  /** A stream ended before it had a slot. */
  ended (port: StreamPort<Stream>): void {
    this.#arrived.remove(arrival => arrival.port === port)
  }

  /** Step 9: gives the stream that has waited longest a free slot. */
  acceptNext (): boolean {
    if (this.#arrived.size === 0 || this.#negotiating.slots >= this.#config.maxNegotiatingInboundStreams) {
      return false
    }
    const arrival = this.#arrived.shift()
    if (arrival !== undefined) {
      this.#negotiating.add(arrival.port, new ListenerNegotiation(arrival.listing, this.#limits, this.#fallback), arrival)
      arrival.port.start()
    }
    return true
  }

  /** Step 6: moves one stream on. */
  advance (): boolean {
    const stream = this.#negotiating.nextWoken()
    if (stream === undefined) {
      return false
    }
    if (stream.upgrading === undefined) {
      this.#negotiate(stream)
    } else {
      this.#upgrade(stream)
    }
    return true
  }

  /** Step 2: ends the streams whose deadline passed. */
  expire (now: Instant): void {
    this.#arrived.remove(arrival => {
      if (arrival.deadline > now) {
        return false
      }
      arrival.port.reset(timeoutOf(this.#failure('queue', arrival.startedAt)))
      return true
    })
    for (const stream of this.#negotiating.expired(now)) {
      this.#fail(stream, 'timeout', timeoutOf(this.#failureOf(stream)))
    }
  }

  /** Ends every stream that was not handed over: the connection closes. */
  endAll (): void {
    for (const { port, startedAt } of this.#arrived) {
      port.reset(abortOf('The connection closes', this.#failure('queue', startedAt)))
    }
    this.#arrived.clear()
    for (const stream of this.#negotiating.all()) {
      this.#fail(stream, 'connection-closed', abortOf('The connection closes', this.#failureOf(stream)))
    }
  }

  /** The earliest deadline of all streams here. */
  nextDeadline (): Instant {
    let next = this.#negotiating.nextDeadline()
    for (const { deadline } of this.#arrived) {
      next = earliest(next, deadline)
    }
    return next
  }

  #negotiate (stream: Inbound<Stream>): void {
    const outcome = this.#desk.negotiate(stream)
    if (outcome === PENDING) {
      return
    }
    if (outcome.type !== 'ok') {
      this.#negotiating.remove(stream)
      stream.reset(errorOf(outcome, this.#failureOf(stream), stream.cause))
      return
    }
    const { protocol, match, rest } = outcome
    stream.port.accept(protocol)
    if (match.isHost) {
      this.#giveToHost(stream, protocol, rest)
    } else {
      this.#giveToHandler(stream, protocol, rest)
    }
  }

  #giveToHost (stream: Inbound<Stream>, protocol: string, rest: Uint8Array | undefined): void {
    const { port } = stream
    this.#negotiating.remove(stream)
    if (!stream.hasEnded) {
      this.#desk.counted.add(port, isCountedHostProtocol(protocol))
    }
    if (rest !== undefined) {
      port.unread(rest)
    }
    this.#desk.outlet.outputs.push({ type: 'host-stream', port, protocol })
  }

  #giveToHandler (stream: Inbound<Stream>, protocol: string, rest: Uint8Array | undefined): void {
    const { root } = this.#desk
    const { listing } = stream.ticket.listing
    let info: unknown
    try {
      info = root.inboundInfo(protocol, listing)
      const upgrade = root.inboundUpgrade(stream.port.stream, protocol, listing)
      if (upgrade !== undefined) {
        this.#negotiating.upgrade(stream, { protocol, info, upgrade })
        if (rest !== undefined) {
          stream.port.unread(rest)
        }
        return
      }
    } catch (thrown) {
      this.#applyFailed(stream, protocol, info, HandlerFault.of(thrown, 'inboundUpgrade'))
      return
    }
    this.#handOver(stream, protocol, info, undefined, rest)
  }

  #upgrade (stream: Inbound<Stream>): void {
    const { upgrading } = stream
    if (upgrading === undefined) {
      return
    }
    const { protocol, info } = upgrading
    if (stream.hasEnded) {
      this.#fail(stream, 'io', errorOf({ type: 'reset' }, this.#failureOf(stream), stream.cause))
      return
    }
    try {
      const done = this.#desk.pollUpgrade(stream)
      if (done !== PENDING) {
        this.#handOver(stream, protocol, info, done.output, undefined)
      }
    } catch (thrown) {
      this.#applyFailed(stream, protocol, info, HandlerFault.of(thrown, 'StreamUpgrade.poll'))
    }
  }

  #handOver (stream: Inbound<Stream>, protocol: string, info: unknown, output: unknown, rest: Uint8Array | undefined): void {
    this.#negotiating.remove(stream)
    const event = { type: 'fully-negotiated-inbound', stream: stream.port.stream, protocol, info, output } as const
    this.#desk.handOver(stream, setRoute(event, stream.ticket.listing.listing), rest)
  }

  #applyFailed (stream: Inbound<Stream>, protocol: string, info: unknown, fault: HandlerFault): void {
    this.#desk.outlet.handlerError(fault)
    this.#negotiating.remove(stream)
    stream.reset(asError(fault.cause))
    this.#tellOwner(stream, protocol, info, 'apply', fault.cause)
  }

  /** Ends a stream that has no handler yet; only the owner of an upgrade hears of it (S4.3). */
  #fail (stream: Inbound<Stream>, kind: StreamUpgradeErrorKind, error: Error): void {
    this.#negotiating.remove(stream)
    stream.reset(error)
    if (stream.upgrading !== undefined) {
      this.#tellOwner(stream, stream.upgrading.protocol, stream.upgrading.info, kind, error)
    }
  }

  #tellOwner (stream: Inbound<Stream>, protocol: string, info: unknown, kind: StreamUpgradeErrorKind, cause: unknown): void {
    const error = upgradeError(kind, this.#failure('upgrade', stream.ticket.startedAt), cause)
    const event = setRoute({ type: 'listen-upgrade-error', info, protocol, error }, stream.ticket.listing.listing)
    this.#desk.outlet.task(this.#desk.root.onConnectionEvent(event), undefined)
  }

  #isKnown (port: StreamPort<Stream>): boolean {
    if (this.#negotiating.get(port) !== undefined || this.#desk.counted.has(port)) {
      return true
    }
    if (this.#arrived.size > 0) {
      for (const arrival of this.#arrived) {
        if (arrival.port === port) {
          return true
        }
      }
    }
    return false
  }

  /** Waiting streams may take the free slots and the queue. */
  #hasRoom (): boolean {
    const free = Math.max(0, this.#config.maxNegotiatingInboundStreams - this.#negotiating.slots)
    return this.#arrived.size < free + this.#config.maxQueuedInboundStreams
  }

  #failure (phase: 'queue' | 'upgrade', startedAt: Instant): StreamFailure {
    return this.#desk.outlet.failure(phase, [], 'inbound', startedAt)
  }

  #failureOf (stream: Inbound<Stream>): StreamFailure {
    const phase = stream.upgrading === undefined ? stream.machine.phase : 'upgrade'
    return this.#desk.outlet.failure(phase, [], 'inbound', stream.ticket.startedAt)
  }
}
