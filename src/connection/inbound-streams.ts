import { NEVER, addDuration, earliest } from '../core/instant.ts'
import { PENDING } from '../core/poll.ts'
import { toError } from '../core/to-error.ts'
import { HandlerFault } from '../handler/handler-fault.ts'
import { routed } from '../handler/route.ts'
import { ListenerNegotiation } from '../negotiation/listener-negotiation.ts'
import { NOT_OFFERED } from '../negotiation/outcome.ts'
import { AgreedNegotiation } from './agreed-negotiation.ts'
import { Arrival, ArrivedStreams } from './arrived-streams.ts'
import { negotiationLimits } from './connection-config.ts'
import { InboundAdmission } from './inbound-admission.ts'
import { InboundFailures } from './inbound-failures.ts'
import { NegotiatingStreams } from './negotiating-streams.ts'
import { ProtocolSlots } from './protocol-slots.ts'
import { HANDLER_LEFT, abortOf, errorOf, timeoutOf, upgradeError } from './stream-failure.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll } from '../core/poll.ts'
import type { StreamFailure, StreamPhase, StreamUpgradeErrorKind } from '../errors.ts'
import type { NegotiationLimits, NegotiationOutcome } from '../negotiation/outcome.ts'
import type { ListedProtocol } from '../protocols/listing-snapshot.ts'
import type { LocalProtocols } from '../protocols/local-protocols.ts'
import type { HostProtocols } from './connection-components.ts'
import type { ConnectionConfig } from './connection-config.ts'
import type { InboundFailureReport } from './connection-output.ts'
import type { MuxerPort, StreamPort } from './muxer-port.ts'
import type { NegotiatingStream, NegotiatingStreamsOwner, Upgrading } from './negotiating-streams.ts'
import type { StreamDesk } from './stream-desk.ts'

/** What inbound streams work with. */
export interface InboundStreamsParts<Stream, FromBehaviour, ToBehaviour> {
  readonly desk: StreamDesk<Stream, FromBehaviour, ToBehaviour>
  readonly config: ConnectionConfig
  readonly muxer: MuxerPort<Stream>
  readonly local: LocalProtocols
  readonly hostProtocols: HostProtocols | undefined
  readonly owner: NegotiatingStreamsOwner
}

/** Ours, or that of the host. */
type Machine = ListenerNegotiation<ListedProtocol> | AgreedNegotiation<ListedProtocol>

type Inbound<Stream> = NegotiatingStream<Stream, Machine, Arrival<Stream>>

/**
 * Streams that the peer opened, from arrival to hand-over (S5.9): they wait in a bounded queue for one of the slots, are
 * negotiated and upgraded, and go to the owner of the agreed name, or to the host. Each has one deadline from its arrival.
 */
export class InboundStreams<Stream, FromBehaviour, ToBehaviour> {
  readonly #desk: StreamDesk<Stream, FromBehaviour, ToBehaviour>
  readonly #config: ConnectionConfig
  readonly #limits: NegotiationLimits
  readonly #local: LocalProtocols
  readonly #hostProtocols: HostProtocols | undefined
  readonly #muxer: MuxerPort<Stream>
  readonly #admission: InboundAdmission<Stream>
  /** Made with the first failure. */
  #failures: InboundFailures | undefined
  /** Made with the first stream of a handler. */
  #slots: ProtocolSlots | undefined
  /** Both are made when a stream needs them, and dropped in a turn that leaves them empty: most connections are idle. */
  #arrived: ArrivedStreams<Stream> | undefined
  #negotiating: NegotiatingStreams<Stream, Machine, Arrival<Stream>> | undefined
  readonly #owner: NegotiatingStreamsOwner

  constructor ({ desk, config, muxer, local, hostProtocols, owner }: InboundStreamsParts<Stream, FromBehaviour, ToBehaviour>) {
    this.#desk = desk
    this.#config = config
    this.#limits = negotiationLimits(config)
    this.#muxer = muxer
    this.#admission = new InboundAdmission(desk.outlet, config)
    this.#local = local
    this.#hostProtocols = hostProtocols
    this.#owner = owner
  }

  /** Whether any stream is on its way. */
  get isBusy (): boolean {
    return this.#started > 0 || this.queued > 0
  }

  /** Streams in negotiation. */
  get negotiating (): number {
    return this.#negotiating?.slots ?? 0
  }

  /** Streams that wait for a slot. */
  get queued (): number {
    return this.#arrived?.size ?? 0
  }

  /** The stream of `port`, if it is in negotiation or upgrade. */
  get (port: StreamPort<Stream>): Inbound<Stream> | undefined {
    return this.#negotiating?.get(port)
  }

  /** Whether the stream of `port` waits for a slot. */
  isWaiting (port: StreamPort<Stream>): boolean {
    return this.#arrived?.holds(port) === true
  }

  /** A stream arrived; one that is not admitted is reset and leaves no trace but a count. */
  arrive (port: StreamPort<Stream>): void {
    if (this.#admission.admit(port, this.#open, this.#hasRoom())) {
      const arrival = this.#arrival(port)
      this.#arrived ??= new ArrivedStreams()
      this.#arrived.push(arrival)
      this.#owner.deadlineAdded(arrival.deadline)
    }
  }

  /** A stream arrived that the host has agreed on `protocol` for: it waits for no slot. */
  agreed (port: StreamPort<Stream>, protocol: string): void {
    if (this.#admission.admit(port, this.#open, true)) {
      const arrival = this.#arrival(port)
      this.#start(port, new AgreedNegotiation(protocol, () => this.#conclude(arrival, protocol)), arrival).wake()
    }
  }

  /** A stream ended before it had a slot. */
  ended (port: StreamPort<Stream>): void {
    for (const { startedAt } of this.#arrived?.take(arrival => arrival.port === port) ?? []) {
      this.#failed('queue', 'reset', startedAt)
    }
  }

  /**
   * Step 9: gives the stream that has waited longest a free slot, or takes one that the muxer holds back. It comes after the
   * diff, so new streams meet the new names.
   */
  acceptNext (): boolean {
    this.#arrived?.refresh(() => this.#local.snapshot())
    if (this.negotiating >= this.#config.maxNegotiatingInboundStreams) {
      return false
    }
    const arrival = this.#arrived?.shift()
    if (arrival === undefined) {
      return this.#pull()
    }
    const { port, listing } = arrival
    this.#start(port, new ListenerNegotiation(listing, this.#limits, fallbackTo(this.#hostProtocols)), arrival)
    this.#desk.outlet.tellMuxer(() => { port.start() })
    return true
  }

  /** Whether any stream is to go on in another turn. */
  endTurn (): boolean {
    const isAnyLater = this.#negotiating?.endTurn() === true
    if (!this.isBusy) {
      this.#negotiating = undefined
      this.#arrived = undefined
    }
    return isAnyLater
  }

  /** Step 6: moves one stream on. */
  advance (): boolean {
    const stream = this.#negotiating?.nextWoken()
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
    for (const arrival of this.#arrived?.take(({ deadline }) => deadline <= now) ?? []) {
      this.#failed('queue', 'timeout', arrival.startedAt)
      this.#resetWaiting(arrival, timeoutOf(this.#failure('queue', arrival.startedAt)))
    }
    for (const stream of this.#negotiating?.expired(now) ?? []) {
      this.#report(stream, 'timeout')
      this.#fail(stream, 'timeout', timeoutOf(this.#failureOf(stream)))
    }
    this.#failures?.expire()
  }

  /** Parts of the handler have left their composition: upgrades of streams that they would get end. */
  ownersLeft (): void {
    for (const stream of this.#negotiating?.all() ?? []) {
      const { upgrading, ticket } = stream
      if (upgrading !== undefined && this.#desk.root.hasOwnerLeft(upgrading.protocol, ticket.listing.listing)) {
        this.#refuse(stream)
        this.#desk.endUpgrade(stream, abortOf(HANDLER_LEFT, this.#failureOf(stream)))
      }
    }
  }

  /** Ends every stream that was not handed over: the connection closes. */
  endAll (): void {
    for (const arrival of this.#arrived?.take(() => true) ?? []) {
      this.#resetWaiting(arrival, abortOf('The connection closes', this.#failure('queue', arrival.startedAt)))
    }
    for (const stream of this.#negotiating?.all() ?? []) {
      this.#fail(stream, 'connection-closed', abortOf('The connection closes', this.#failureOf(stream)))
    }
    this.#failures?.flush()
  }

  /** The earliest deadline of all streams here, and of what is to be reported. */
  nextDeadline (): Instant {
    const next = earliest(this.#negotiating?.nextDeadline() ?? NEVER, this.#arrived?.nextDeadline() ?? NEVER)
    return earliest(this.#failures?.deadline ?? NEVER, next)
  }

  /** Takes a stream that the muxer holds back (S5.9); one that it gave before is none (S5.11). */
  #pull (): boolean {
    const port = this.#askMuxer()
    if (port === PENDING || this.get(port) !== undefined || this.#desk.counted.has(port)) {
      return false
    }
    this.arrive(port)
    return true
  }

  #askMuxer (): Poll<StreamPort<Stream>> {
    try {
      return this.#muxer.pollInbound?.() ?? PENDING
    } catch (thrown) {
      this.#desk.outlet.abrupt ??= { reason: 'io-error', error: toError(thrown) }
      return PENDING
    }
  }

  /** Streams that the peer has opened, in whatever state. */
  get #open (): number {
    return this.#desk.counted.inbound + this.#started + this.queued
  }

  /** Streams in negotiation or upgrade. */
  get #started (): number {
    return this.#negotiating?.size ?? 0
  }

  #start (port: StreamPort<Stream>, machine: Machine, arrival: Arrival<Stream>): Inbound<Stream> {
    this.#negotiating ??= new NegotiatingStreams(this.#owner)
    return this.#negotiating.add(port, machine, arrival)
  }

  #arrival (port: StreamPort<Stream>): Arrival<Stream> {
    const { outlet, root } = this.#desk
    const timeoutMs = Math.max(this.#config.inboundTimeoutMs, root.inboundTimeoutMs)
    return new Arrival(port, this.#local.snapshot(), outlet.now, addDuration(outlet.now, timeoutMs))
  }

  /** The turn of an agreed stream has come, after the diff: the names are those of now. */
  #conclude (arrival: Arrival<Stream>, protocol: string): NegotiationOutcome<ListedProtocol> {
    arrival.listing = this.#local.snapshot()
    const match = arrival.listing.find(protocol)
    return match === undefined || match.isHost ? NOT_OFFERED : { type: 'ok', protocol, match, rest: undefined }
  }

  #negotiate (stream: Inbound<Stream>): void {
    const outcome = this.#desk.negotiate(stream)
    if (outcome === PENDING) {
      return
    }
    if (outcome.type !== 'ok') {
      this.#negotiating?.remove(stream)
      this.#report(stream, outcome.type)
      // An error costs more than all the rest, and floods of streams that reset themselves are cheap to make.
      if (!stream.hasEnded) {
        this.#desk.reset(stream, errorOf(outcome, this.#failureOf(stream), stream.cause))
      }
      return
    }
    const { protocol, match, rest } = outcome
    if (!match.isHost && !this.#hasSlot(stream, protocol)) {
      return
    }
    this.#desk.accept(stream, protocol)
    this.#desk.measure('listener', stream)
    this.#desk.outlet.meter?.opened('inbound', protocol, stream.port, match.isHost)
    if (match.isHost) {
      this.#negotiating?.remove(stream)
      this.#desk.giveToHost(stream, protocol, true, rest)
      this.#desk.outlet.outputs.push({ type: 'host-stream', port: stream.port, protocol })
    } else {
      this.#giveToHandler(stream, protocol, rest)
    }
  }

  /** Whether there may be one more stream of `protocol`; if not, this one is reset (S5.8). */
  #hasSlot (stream: Inbound<Stream>, protocol: string): boolean {
    if (stream.hasEnded) {
      return true
    }
    this.#slots ??= new ProtocolSlots(this.#config.maxInboundStreamsPerProtocol)
    stream.slot = this.#slots.take(protocol)
    if (stream.slot !== undefined) {
      return true
    }
    const { limit } = this.#slots
    this.#negotiating?.remove(stream)
    const reason = `There may be ${limit} inbound streams of ${protocol} (maxInboundStreamsPerProtocol)`
    this.#desk.reset(stream, abortOf(reason, this.#failureOf(stream)))
    this.#desk.outlet.limitReached('maxInboundStreamsPerProtocol', limit)
    this.#desk.outlet.meter?.rejected('protocol-limit')
    return false
  }

  #giveToHandler (stream: Inbound<Stream>, protocol: string, rest: Uint8Array | undefined): void {
    const { root } = this.#desk
    const { listing } = stream.ticket.listing
    let info: unknown
    try {
      info = root.inboundInfo(protocol, listing)
      const upgrade = root.inboundUpgrade(stream.port.stream, protocol, listing)
      if (upgrade !== undefined) {
        this.#negotiating?.upgrade(stream, { protocol, info, upgrade })
        this.#desk.unread(stream, rest)
        return
      }
    } catch (thrown) {
      const fault = HandlerFault.of(thrown, 'inboundUpgrade')
      if (fault.isRefusal) {
        this.#refuse(stream)
      } else {
        this.#applyFailed(stream, protocol, info, fault)
      }
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
    this.#negotiating?.remove(stream)
    const event = { type: 'fully-negotiated-inbound', stream: stream.port.stream, protocol, info, output } as const
    if (!this.#desk.handOver(stream, routed(event, stream.ticket.listing.listing), rest)) {
      this.#refuse(stream)
    }
  }

  /** The owner has left its composition since the stream arrived (S5.10). */
  #refuse (stream: Inbound<Stream>): void {
    const failure = this.#failureOf(stream)
    this.#negotiating?.remove(stream)
    this.#failed(failure.phase, 'failed', stream.ticket.startedAt, stream.machine.lastProposed)
    this.#desk.reset(stream, abortOf(HANDLER_LEFT, failure))
  }

  #applyFailed (stream: Inbound<Stream>, protocol: string, info: unknown, fault: HandlerFault): void {
    this.#desk.outlet.handlerError(fault)
    this.#negotiating?.remove(stream)
    this.#desk.reset(stream, toError(fault.cause))
    this.#tellOwner(stream, protocol, info, 'apply', fault.cause)
  }

  /** Ends a stream that has no handler yet; only the owner of an upgrade hears of it (S4.3). */
  #fail (stream: Inbound<Stream>, kind: StreamUpgradeErrorKind, error: Error): void {
    this.#negotiating?.remove(stream)
    this.#desk.reset(stream, error)
    if (stream.upgrading !== undefined) {
      this.#desk.endUpgrade(stream, error)
      this.#tellOwner(stream, stream.upgrading.protocol, stream.upgrading.info, kind, error)
    }
  }

  #tellOwner (stream: Inbound<Stream>, protocol: string, info: unknown, kind: StreamUpgradeErrorKind, cause: unknown): void {
    const error = upgradeError(kind, this.#failure('upgrade', stream.ticket.startedAt), cause)
    const event = routed({ type: 'listen-upgrade-error', info, protocol, error }, stream.ticket.listing.listing)
    this.#desk.outlet.task(this.#desk.root.onConnectionEvent(event), undefined)
  }

  #resetWaiting ({ port }: Arrival<Stream>, error: Error): void {
    this.#desk.outlet.tellMuxer(() => { port.reset(error) })
  }

  /** Waiting streams may take the free slots and the queue. */
  #hasRoom (): boolean {
    const free = Math.max(0, this.#config.maxNegotiatingInboundStreams - this.negotiating)
    return this.queued < free + this.#config.maxQueuedInboundStreams
  }

  /** Failures before the hand-over have no owner, but for those of an upgrade. */
  #report ({ upgrading, machine, ticket }: Inbound<Stream>, outcome: InboundFailureReport['outcome']): void {
    if (upgrading === undefined) {
      this.#failed(machine.phase, outcome, ticket.startedAt, machine.lastProposed)
    }
  }

  #failed (phase: StreamPhase, outcome: InboundFailureReport['outcome'], startedAt: Instant, proposed?: string): void {
    this.#failures ??= new InboundFailures(this.#desk.outlet, this.#owner)
    this.#failures.failed(phase, outcome, startedAt, proposed)
  }

  #failure (phase: 'queue' | 'upgrade', startedAt: Instant): StreamFailure {
    return this.#desk.outlet.failure(phase, [], 'inbound', startedAt)
  }

  #failureOf (stream: Inbound<Stream>): StreamFailure {
    const phase = stream.upgrading === undefined ? stream.machine.phase : 'upgrade'
    return this.#desk.outlet.failure(phase, [], 'inbound', stream.ticket.startedAt)
  }
}

/** Finds names that the host serves and that are not on the list, in case that is behind. */
function fallbackTo (host: HostProtocols | undefined): ((name: string) => ListedProtocol | undefined) | undefined {
  return host === undefined ? undefined : name => host.offers(name) ? { name, isHost: true, frame: undefined } : undefined
}
