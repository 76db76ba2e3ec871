import { BoundedQueue } from '../core/bounded-queue.ts'
import { addDuration, earliest } from '../core/instant.ts'
import { PENDING } from '../core/poll.ts'
import { HandlerFault } from '../handler/handler-fault.ts'
import { withRoute } from '../handler/route.ts'
import { ListenerNegotiation } from '../negotiation/listener-negotiation.ts'
import { negotiationLimits } from './connection-config.ts'
import { NegotiatingStreams } from './negotiating-streams.ts'
import { asError } from './outlet.ts'
import { abortOf, errorOf, timeoutOf, upgradeError } from './stream-failure.ts'
import type { Instant } from '../core/instant.ts'
import type { StreamFailure, StreamUpgradeErrorKind } from '../errors.ts'
import type { NegotiationLimits } from '../negotiation/outcome.ts'
import type { ListedProtocol, ListingSnapshot } from '../protocols/listing-snapshot.ts'
import type { LocalProtocols } from '../protocols/local-protocols.ts'
import type { HostProtocols } from './connection-components.ts'
import type { ConnectionConfig } from './connection-config.ts'
import type { StreamPort } from './muxer-port.ts'
import type { NegotiatingStream, NegotiatingStreamsOwner, Ticket, Upgrading } from './negotiating-streams.ts'
import type { StreamDesk } from './stream-desk.ts'

/** What inbound streams work with. */
export interface InboundStreamsParts<Stream, FromBehaviour, ToBehaviour> {
  readonly desk: StreamDesk<Stream, FromBehaviour, ToBehaviour>
  readonly config: ConnectionConfig
  readonly local: LocalProtocols
  readonly hostProtocols: HostProtocols | undefined
  readonly owner: NegotiatingStreamsOwner
}

interface Arrival<Stream> extends Ticket {
  readonly port: StreamPort<Stream>
  /** The names in force in the turn in which the stream arrived; later changes do not touch it (S2.11). */
  listing: ListingSnapshot
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
  readonly #local: LocalProtocols
  readonly #fallback: ((protocol: string) => ListedProtocol | undefined) | undefined
  /** Bounded by `#hasRoom`, as free slots count too. */
  readonly #arrived: BoundedQueue<Arrival<Stream>> = new BoundedQueue(Infinity)
  /** Those of them that arrived since the last turn. */
  readonly #fresh: BoundedQueue<Arrival<Stream>> = new BoundedQueue(Infinity)
  readonly #negotiating: NegotiatingStreams<Stream, ListenerNegotiation<ListedProtocol>, Arrival<Stream>>
  readonly #owner: NegotiatingStreamsOwner

  constructor ({ desk, config, local, hostProtocols, owner }: InboundStreamsParts<Stream, FromBehaviour, ToBehaviour>) {
    this.#desk = desk
    this.#config = config
    this.#limits = negotiationLimits(config)
    this.#local = local
    this.#fallback = hostProtocols === undefined
      ? undefined
      : name => hostProtocols.offers(name) ? { name, isHost: true, frame: undefined } : undefined
    this.#negotiating = new NegotiatingStreams(owner)
    this.#owner = owner
  }

  /** Whether any stream is on its way. */
  get isBusy (): boolean {
    return this.#negotiating.size > 0 || this.#arrived.size > 0
  }

  /** The stream of `port`, if it is in negotiation or upgrade. */
  get (port: StreamPort<Stream>): Inbound<Stream> | undefined {
    return this.#negotiating.get(port)
  }

  /** Whether the stream of `port` waits for a slot. */
  isWaiting (port: StreamPort<Stream>): boolean {
    for (const arrival of this.#arrived) {
      if (arrival.port === port) {
        return true
      }
    }
    return false
  }

  /** A stream arrived; without room for it, it is reset and leaves no trace but a report. */
  arrive (port: StreamPort<Stream>): void {
    const { outlet, root } = this.#desk
    if (!this.#hasRoom()) {
      const error = abortOf('Too many inbound streams wait to be negotiated', this.#failure('queue', outlet.now))
      outlet.tellMuxer(() => { port.reset(error) })
      outlet.limitReached('maxQueuedInboundStreams', this.#config.maxQueuedInboundStreams)
      return
    }
    const timeoutMs = Math.max(this.#config.inboundTimeoutMs, root.inboundTimeoutMs)
    const arrival = { port, listing: this.#local.snapshot(), startedAt: outlet.now, deadline: addDuration(outlet.now, timeoutMs) }
    this.#arrived.push(arrival)
    this.#fresh.push(arrival)
    this.#owner.deadlineAdded(arrival.deadline)
  }

  /** A stream ended before it had a slot. */
  ended (port: StreamPort<Stream>): void {
    this.#arrived.remove(arrival => arrival.port === port)
  }

  /** Step 9: gives the stream that has waited longest a free slot. It comes after the diff, so new streams meet the new names. */
  acceptNext (): boolean {
    for (let arrival = this.#fresh.shift(); arrival !== undefined; arrival = this.#fresh.shift()) {
      arrival.listing = this.#local.snapshot()
    }
    if (this.#negotiating.slots >= this.#config.maxNegotiatingInboundStreams) {
      return false
    }
    const arrival = this.#arrived.shift()
    if (arrival === undefined) {
      return false
    }
    const { port, listing } = arrival
    this.#negotiating.add(port, new ListenerNegotiation(listing, this.#limits, this.#fallback), arrival)
    this.#desk.outlet.tellMuxer(() => { port.start() })
    return true
  }

  /** Whether any stream is to go on in another turn. */
  endTurn (): boolean {
    return this.#negotiating.endTurn()
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
      this.#upgrade(stream, stream.upgrading)
    }
    return true
  }

  /** Step 2: ends the streams whose deadline passed. */
  expire (now: Instant): void {
    this.#arrived.remove(arrival => {
      if (arrival.deadline > now) {
        return false
      }
      this.#resetWaiting(arrival, timeoutOf(this.#failure('queue', arrival.startedAt)))
      return true
    })
    for (const stream of this.#negotiating.expired(now)) {
      this.#fail(stream, 'timeout', timeoutOf(this.#failureOf(stream)))
    }
  }

  /** Ends every stream that was not handed over: the connection closes. */
  endAll (): void {
    for (const arrival of this.#arrived) {
      this.#resetWaiting(arrival, abortOf('The connection closes', this.#failure('queue', arrival.startedAt)))
    }
    this.#arrived.clear()
    this.#fresh.clear()
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
      this.#desk.reset(stream, errorOf(outcome, this.#failureOf(stream), stream.cause))
      return
    }
    const { protocol, match, rest } = outcome
    this.#desk.accept(stream, protocol)
    if (match.isHost) {
      this.#negotiating.remove(stream)
      this.#desk.giveToHost(stream, protocol, rest)
      this.#desk.outlet.outputs.push({ type: 'host-stream', port: stream.port, protocol })
    } else {
      this.#giveToHandler(stream, protocol, rest)
    }
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
        this.#desk.unread(stream, rest)
        return
      }
    } catch (thrown) {
      this.#applyFailed(stream, protocol, info, HandlerFault.of(thrown, 'inboundUpgrade'))
      return
    }
    this.#handOver(stream, protocol, info, undefined, rest)
  }

  #upgrade (stream: Inbound<Stream>, upgrading: Upgrading): void {
    if (stream.hasEnded) {
      this.#fail(stream, 'io', errorOf({ type: 'reset' }, this.#failureOf(stream), stream.cause))
      return
    }
    const { protocol, info } = upgrading
    try {
      const output = stream.pollUpgrade(upgrading, this.#desk.outlet.now)
      if (output !== PENDING) {
        this.#handOver(stream, protocol, info, output, undefined)
      }
    } catch (thrown) {
      this.#applyFailed(stream, protocol, info, HandlerFault.of(thrown, 'StreamUpgrade.poll'))
    }
  }

  #handOver (stream: Inbound<Stream>, protocol: string, info: unknown, output: unknown, rest: Uint8Array | undefined): void {
    this.#negotiating.remove(stream)
    const event = { type: 'fully-negotiated-inbound', stream: stream.port.stream, protocol, info, output } as const
    this.#desk.handOver(stream, withRoute(event, stream.ticket.listing.listing), rest)
  }

  #applyFailed (stream: Inbound<Stream>, protocol: string, info: unknown, fault: HandlerFault): void {
    this.#desk.outlet.handlerError(fault)
    this.#negotiating.remove(stream)
    this.#desk.reset(stream, asError(fault.cause))
    this.#tellOwner(stream, protocol, info, 'apply', fault.cause)
  }

  /** Ends a stream that has no handler yet; only the owner of an upgrade hears of it (S4.3). */
  #fail (stream: Inbound<Stream>, kind: StreamUpgradeErrorKind, error: Error): void {
    this.#negotiating.remove(stream)
    this.#desk.reset(stream, error)
    if (stream.upgrading !== undefined) {
      this.#desk.endUpgrade(stream, error)
      this.#tellOwner(stream, stream.upgrading.protocol, stream.upgrading.info, kind, error)
    }
  }

  #tellOwner (stream: Inbound<Stream>, protocol: string, info: unknown, kind: StreamUpgradeErrorKind, cause: unknown): void {
    const error = upgradeError(kind, this.#failure('upgrade', stream.ticket.startedAt), cause)
    const event = withRoute({ type: 'listen-upgrade-error', info, protocol, error }, stream.ticket.listing.listing)
    this.#desk.outlet.task(this.#desk.root.onConnectionEvent(event), undefined)
  }

  #resetWaiting ({ port }: Arrival<Stream>, error: Error): void {
    this.#desk.outlet.tellMuxer(() => { port.reset(error) })
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
