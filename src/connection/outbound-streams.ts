import { BoundedQueue } from '../core/bounded-queue.ts'
import { NEVER, earliest } from '../core/instant.ts'
import { PENDING } from '../core/poll.ts'
import { toError } from '../core/to-error.ts'
import { hopOf, isUnder, routed } from '../handler/route.ts'
import { RESET } from '../negotiation/outcome.ts'
import { AgreedNegotiation } from './agreed-negotiation.ts'
import { negotiationLimits } from './connection-config.ts'
import { isCountedProtocol } from './counted-streams.ts'
import { NegotiatingStreams } from './negotiating-streams.ts'
import { machineFor, toRequest } from './outbound-wish.ts'
import { ProtocolSlots } from './protocol-slots.ts'
import { RequestOutcomes } from './request-outcomes.ts'
import { RequestedStreams } from './requested-streams.ts'
import { HANDLER_LEFT, abortOf, errorOf, kindOf, timeoutOf } from './stream-failure.ts'
import { UnconfirmedStreams } from './unconfirmed-streams.ts'
import type { Instant } from '../core/instant.ts'
import type { AbortError, StreamFailure, StreamUpgradeErrorKind, TimeoutError } from '../errors.ts'
import type { CancelOutboundRequest, OutboundStreamRequest } from '../handler/connection-handler.ts'
import type { Hop } from '../handler/route.ts'
import type { StreamUpgrade } from '../handler/stream-upgrade.ts'
import type { DialerNegotiation } from '../negotiation/dialer-negotiation.ts'
import type { NegotiationLimits } from '../negotiation/outcome.ts'
import type { RemoteProtocols } from '../protocols/remote-protocols.ts'
import type { ConnectionConfig } from './connection-config.ts'
import type { MuxerPort, StreamOpening, StreamPort } from './muxer-port.ts'
import type { NegotiatingStream, NegotiatingStreamsOwner, Upgrading } from './negotiating-streams.ts'
import type { HostStreamRequest, Wish } from './outbound-wish.ts'
import type { FailedOpening, OpeningFailure } from './request-outcomes.ts'
import type { HandlerRequester, OutboundRequest, Requester } from './requested-streams.ts'
import type { StreamDesk } from './stream-desk.ts'
import type { StreamError } from './stream-failure.ts'
import type { UnconfirmedStreamsUser } from './unconfirmed-streams.ts'

/** What outbound streams work with. */
export interface OutboundStreamsParts<Stream, FromBehaviour, ToBehaviour> {
  readonly desk: StreamDesk<Stream, FromBehaviour, ToBehaviour>
  readonly config: ConnectionConfig
  readonly muxer: MuxerPort<unknown>
  readonly remote: RemoteProtocols
  readonly owner: NegotiatingStreamsOwner
}

/** Ours, or that of a muxer that negotiates. */
type Machine = DialerNegotiation | AgreedNegotiation<undefined>

type Outbound<Stream> = NegotiatingStream<Stream, Machine, OutboundRequest<Stream>>

/**
 * Requests for streams, from asking to the one outcome of each (S5.4 to S5.7): they wait in a bounded queue, are opened at
 * the muxer, negotiated and upgraded, all under one deadline that runs from the request.
 */
export class OutboundStreams<Stream, FromBehaviour, ToBehaviour> implements UnconfirmedStreamsUser<Stream> {
  readonly #desk: StreamDesk<Stream, FromBehaviour, ToBehaviour>
  readonly #config: ConnectionConfig
  readonly #limits: NegotiationLimits
  readonly #muxer: MuxerPort<unknown>
  readonly #requested: RequestedStreams<Stream>
  readonly #remote: RemoteProtocols
  /** Made when a stream needs it, and dropped in a turn that leaves it empty: most connections are idle. */
  #negotiating: NegotiatingStreams<Stream, Machine, OutboundRequest<Stream>> | undefined
  #unconfirmed: UnconfirmedStreams<Stream> | undefined
  /** Outcomes that came with an input: handlers are told inside a poll only. There while there are any. */
  #failed: BoundedQueue<FailedOpening<Stream>> | undefined
  readonly #owner: NegotiatingStreamsOwner
  readonly #outcomes: RequestOutcomes<Stream, FromBehaviour, ToBehaviour>
  /** Made with the first stream of a handler. */
  #slots: ProtocolSlots | undefined
  #isClosing = false

  constructor ({ desk, config, muxer, remote, owner }: OutboundStreamsParts<Stream, FromBehaviour, ToBehaviour>) {
    this.#desk = desk
    this.#config = config
    this.#limits = negotiationLimits(config)
    this.#muxer = muxer
    this.#remote = remote
    const negotiates = muxer.negotiates === true
    this.#requested = new RequestedStreams(config.maxQueuedOutboundRequests, negotiates)
    this.#owner = owner
    this.#outcomes = new RequestOutcomes(desk.outlet, desk.root, negotiates)
  }

  /** Whether any request has no outcome yet. */
  get isBusy (): boolean {
    return (this.#negotiating !== undefined && this.#negotiating.size > 0) || this.#failed !== undefined || this.#requested.isBusy
  }

  /** Streams in negotiation. */
  get negotiating (): number {
    return this.#negotiating?.slots ?? 0
  }

  /** Requests that wait to be opened, or for the muxer. */
  get queued (): number {
    return this.#requested.waiting + this.#requested.opening
  }

  /** The stream of `port`, if it is in negotiation or upgrade. */
  get (port: StreamPort<Stream>): Outbound<Stream> | undefined {
    return this.#negotiating?.get(port)
  }

  /** Streams that are in use already, while the peer has yet to agree; undefined: there never was one. */
  get unconfirmed (): UnconfirmedStreams<Stream> | undefined {
    return this.#unconfirmed
  }

  /** A handler asks. */
  request (request: OutboundStreamRequest<unknown, unknown>): void {
    const { info, token, upgrade } = request
    this.#ask({ type: 'handler', info, token, upgrade, hop: hopOf(request) }, request)
  }

  /** The host asks. */
  requestForHost (request: HostStreamRequest): void {
    const { options, token } = request
    this.#ask({ type: 'host', token, options }, request)
  }

  /** A handler no longer wants the streams that it asked for with this token. */
  cancel (request: CancelOutboundRequest): void {
    const hop = hopOf(request)
    this.#cancel(requester => requester.type === 'handler' && requester.hop === hop && requester.token === request.token, request.token)
  }

  /** A part of the handler has left its composition. */
  partLeft (hop: Hop): void {
    const isMeant = (requester: Requester<Stream>): boolean => requester.type === 'handler' && isUnder(requester.hop, hop)
    const failed: Array<FailedOpening<Stream>> = []
    this.#failed?.remove(opening => isMeant(opening.request.requester) && failed.push(opening) > 0)
    this.#trim()
    for (const { request, cause } of failed) {
      this.#outcomes.failed(request.requester, 'aborted', this.#outcomes.failureAt('open', request), cause)
    }
    this.#end(isMeant, HANDLER_LEFT)
  }

  /** The host no longer wants the streams that it asked for with this token. */
  cancelForHost (token: unknown): void {
    this.#cancel(requester => requester.type === 'host' && requester.token === token, token)
  }

  get #mayOpen (): boolean {
    return this.#requested.opening + this.negotiating < this.#config.maxNegotiatingOutboundStreams
  }

  /** Step 8: asks the muxer for the stream of the oldest request. */
  openNext (): boolean {
    if (this.#requested.waiting === 0 || !this.#mayOpen) {
      return false
    }
    const opening = this.#requested.open()
    if (opening !== undefined) {
      try {
        this.#muxer.openStream(opening)
      } catch (thrown) {
        this.openingFailed(opening, thrown)
      }
    }
    return true
  }

  /** The muxer granted a stream, on which it has agreed on `protocol` if it negotiates. */
  granted (opening: StreamOpening, port: StreamPort<Stream>, protocol: string | undefined): void {
    const { outlet } = this.#desk
    const granted = this.#requested.granted(opening, this.#mayOpen)
    if (granted === undefined) {
      const error = abortOf('Nobody waits for this stream any more', outlet.failure('open', [], 'outbound', outlet.now))
      outlet.tellMuxer(() => { port.reset(error) })
      return
    }
    const { request, spare } = granted
    if (spare !== undefined) {
      this.#cancelOpening(spare)
    }
    const machine = protocol === undefined ? machineFor(request, this.#remote, this.#limits) : agreedOn(protocol)
    this.#negotiating ??= new NegotiatingStreams(this.#owner)
    const stream = this.#negotiating.add(port, machine, request)
    if (protocol === undefined) {
      outlet.tellMuxer(() => { port.start() })
    }
    stream.wake()
  }

  /** The muxer could not open a stream. */
  openingFailed (opening: StreamOpening, cause: unknown, reason: OpeningFailure = RESET): void {
    const request = this.#requested.failed(opening)
    if (request !== undefined) {
      this.#failed ??= new BoundedQueue(Infinity)
      this.#failed.push({ request, cause, reason })
    }
  }

  /** Step 5: moves one stream on, or tells one outcome. */
  advance (): boolean {
    if (this.#unconfirmed?.advance() === true) {
      return true
    }
    const failed = this.#takeFailed()
    if (failed !== undefined) {
      this.#outcomes.openingFailed(failed)
      return true
    }
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

  #takeFailed (): FailedOpening<Stream> | undefined {
    const failed = this.#failed?.shift()
    this.#trim()
    return failed
  }

  #trim (): void {
    if (this.#failed?.size === 0) {
      this.#failed = undefined
    }
  }

  /** Whether any stream is to go on in another turn. */
  endTurn (): boolean {
    const isAnyLater = this.#negotiating?.endTurn() === true
    if (this.#negotiating?.size === 0) {
      this.#negotiating = undefined
    }
    return isAnyLater
  }

  /** Step 2: ends the requests whose deadline passed. */
  expire (now: Instant): void {
    this.#endRequested(({ deadline }) => deadline <= now, timeoutOf)
    for (const stream of this.#negotiating?.expired(now) ?? []) {
      this.#failStream(stream, 'timeout', timeoutOf(this.#failureOf(stream)))
    }
    this.#unconfirmed?.expire(now)
  }

  /** Ends every request, and from now on every new one at once: the connection closes. */
  endAll (): void {
    this.#isClosing = true
    for (let failed = this.#takeFailed(); failed !== undefined; failed = this.#takeFailed()) {
      this.#outcomes.failed(failed.request.requester, 'connection-closed', this.#outcomes.failureAt('open', failed.request), failed.cause)
    }
    for (const stream of this.#negotiating?.all() ?? []) {
      this.#failStream(stream, 'connection-closed', abortOf('The connection closes', this.#failureOf(stream)))
    }
    this.#endRequested(() => true, failure => abortOf('The connection closes', failure), 'connection-closed')
  }

  /** The earliest deadline of all requests here. */
  nextDeadline (): Instant {
    const next = earliest(this.#requested.nextDeadline(), this.#negotiating?.nextDeadline() ?? NEVER)
    return earliest(next, this.#unconfirmed?.nextDeadline() ?? NEVER)
  }

  /** Ends the requests that `isMeant` tells and that have no outcome yet; requests without a token cannot be told apart. */
  #cancel (isMeant: (requester: Requester<Stream>) => boolean, token: unknown): void {
    if (token !== undefined) {
      this.#end(isMeant, 'Cancelled')
    }
  }

  #end (isMeant: (requester: Requester<Stream>) => boolean, reason: string): void {
    // Others may have its slot.
    this.#owner.streamWoke()
    this.#endRequested(({ requester }) => isMeant(requester), failure => abortOf(reason, failure))
    for (const stream of this.#negotiating?.all() ?? []) {
      if (isMeant(stream.ticket.requester)) {
        this.#failStream(stream, 'aborted', abortOf(reason, this.#failureOf(stream)))
      }
    }
  }

  #ask (requester: Requester<Stream>, wish: Wish): void {
    const { now } = this.#desk.outlet
    const failure = this.#outcomes.failureAt('queue', { startedAt: now })
    this.#desk.outlet.meter?.requested()
    if (this.#isClosing) {
      this.#outcomes.failed(requester, 'connection-closed', failure, abortOf('The connection closes', failure))
      return
    }
    let request: OutboundRequest<Stream>
    try {
      request = toRequest(requester, wish, this.#config.outboundTimeoutMs, this.#limits, now)
    } catch (thrown) {
      this.#outcomes.failed(requester, 'invalid-request', failure, thrown)
      return
    }
    if (!this.#requested.push(request)) {
      const limit = this.#config.maxQueuedOutboundRequests
      this.#outcomes.failed(requester, 'limit', failure, new RangeError(`there may be ${limit} waiting requests (maxQueuedOutboundRequests)`))
      this.#desk.outlet.limitReached('maxQueuedOutboundRequests', limit)
      return
    }
    if (wish.protocols.some(isCountedProtocol)) {
      this.#desk.counted.held()
    }
    this.#owner.deadlineAdded(request.deadline)
  }

  #negotiate (stream: Outbound<Stream>): void {
    const { machine, port, ticket } = stream
    if (machine.assumed !== undefined && !stream.hasEnded) {
      if (!this.#hasSlot(stream, machine.assumed)) {
        return
      }
      this.#unconfirmed ??= new UnconfirmedStreams(this.#owner, this.#desk, this)
      this.#unconfirmed.add({ port, machine, ticket }, machine.assumed)
      this.#agreed(stream, machine.assumed, undefined)
      return
    }
    const outcome = this.#desk.negotiate(stream)
    if (outcome === PENDING) {
      return
    }
    if (outcome.type !== 'ok') {
      const error = errorOf(outcome, this.#failureOf(stream), stream.cause)
      this.#failStream(stream, kindOf(error), error)
      return
    }
    if (this.#hasSlot(stream, outcome.protocol)) {
      this.#desk.accept(stream, outcome.protocol)
      this.#desk.measure('dialer', stream)
      this.#agreed(stream, outcome.protocol, outcome.rest)
    }
  }

  /** Whether there may be one more stream of `protocol`; if not, this one is reset, and its request fails (S5.8). */
  #hasSlot (stream: Outbound<Stream>, protocol: string): boolean {
    if (stream.hasEnded || stream.ticket.requester.type === 'host') {
      return true
    }
    this.#slots ??= new ProtocolSlots(this.#config.maxOutboundStreamsPerProtocol)
    stream.slot = this.#slots.take(protocol)
    if (stream.slot !== undefined) {
      return true
    }
    const { limit } = this.#slots
    this.#failStream(stream, 'limit', new RangeError(`there may be ${limit} outbound streams of ${protocol} (maxOutboundStreamsPerProtocol)`))
    this.#desk.outlet.limitReached('maxOutboundStreamsPerProtocol', limit)
    return false
  }

  #agreed (stream: Outbound<Stream>, protocol: string, rest: Uint8Array | undefined): void {
    const { requester } = stream.ticket
    this.#desk.outlet.meter?.opened('outbound', protocol, stream.port, requester.type === 'host')
    if (requester.type === 'host') {
      this.#negotiating?.remove(stream)
      this.#desk.giveToHost(stream, protocol, false, rest)
      this.#desk.outlet.outputs.push({ type: 'host-stream-opened', token: requester.token, port: stream.port, protocol })
      return
    }
    let upgrade: StreamUpgrade<unknown> | undefined
    try {
      upgrade = requester.upgrade?.(stream.port.stream, protocol)
    } catch (thrown) {
      this.#failStream(stream, 'apply', thrown)
      return
    }
    if (upgrade === undefined) {
      this.#handOver(stream, requester, protocol, undefined, rest)
    } else {
      this.#negotiating?.upgrade(stream, { protocol, info: requester.info, upgrade })
      this.#desk.unread(stream, rest)
    }
  }

  #upgrade (stream: Outbound<Stream>, upgrading: Upgrading): void {
    const { requester } = stream.ticket
    if (stream.hasEnded) {
      this.#failStream(stream, 'io', errorOf({ type: 'reset' }, this.#failureOf(stream), stream.cause))
      return
    }
    let output: unknown
    try {
      output = stream.pollUpgrade(upgrading, this.#desk.outlet.now)
    } catch (thrown) {
      this.#failStream(stream, 'apply', thrown)
      return
    }
    if (output !== PENDING && requester.type === 'handler') {
      this.#handOver(stream, requester, upgrading.protocol, output, undefined)
    }
  }

  #handOver (
    stream: Outbound<Stream>, requester: HandlerRequester<Stream>, protocol: string, output: unknown, rest: Uint8Array | undefined
  ): void {
    this.#negotiating?.remove(stream)
    const lazy = stream.machine.assumed !== undefined
    const event = { type: 'fully-negotiated-outbound', stream: stream.port.stream, protocol, info: requester.info, output, lazy } as const
    if (!this.#desk.handOver(stream, routed(event, requester.hop), rest)) {
      this.#failStream(stream, 'aborted', abortOf(HANDLER_LEFT, this.#failureOf(stream)))
    } else if (!this.#desk.counted.has(stream.port)) {
      this.#unconfirmed?.remove(stream.port)
    }
  }

  /** The peer did not agree after all, to a stream that is in use: its request has failed only if it is not done yet. */
  refusedLater (port: StreamPort<Stream>, error: StreamError): void {
    const stream = this.get(port)
    if (stream !== undefined) {
      this.#failStream(stream, kindOf(error), error)
      return
    }
    this.#outcomes.judge(error)
    this.#desk.counted.remove(port)
    this.#desk.outlet.tellMuxer(() => { port.reset(error) })
  }

  /** All that the request held is free before its outcome is told (S5.6). */
  #failStream (stream: Outbound<Stream>, kind: StreamUpgradeErrorKind, cause: unknown): void {
    const failure = this.#failureOf(stream)
    this.#negotiating?.remove(stream)
    this.#unconfirmed?.remove(stream.port)
    this.#desk.reset(stream, toError(cause))
    if (kind !== 'apply') {
      this.#desk.endUpgrade(stream, cause)
    }
    this.#outcomes.failed(stream.ticket.requester, kind, failure, cause)
  }

  #endRequested (
    matches: (request: OutboundRequest<Stream>) => boolean,
    errorOf: (failure: StreamFailure) => AbortError | TimeoutError,
    kind?: StreamUpgradeErrorKind
  ): void {
    for (const { request, opening } of this.#requested.end(matches)) {
      if (opening !== undefined) {
        this.#cancelOpening(opening)
      }
      const failure = this.#outcomes.failureAt(opening === undefined ? 'queue' : 'open', request)
      const cause = errorOf(failure)
      this.#outcomes.failed(request.requester, kind ?? kindOf(cause), failure, cause)
    }
  }

  #cancelOpening (opening: StreamOpening): void {
    this.#desk.outlet.tellMuxer(() => { this.#muxer.cancelOpening(opening) })
  }

  #failureOf (stream: Outbound<Stream>): StreamFailure {
    const phase = stream.upgrading === undefined ? stream.machine.phase : 'upgrade'
    return this.#desk.outlet.failure(phase, stream.machine.tried, 'outbound', stream.ticket.startedAt)
  }
}

/** Nothing is left to be said about the name. */
function agreedOn (protocol: string): AgreedNegotiation<undefined> {
  return new AgreedNegotiation(protocol, () => ({ type: 'ok', protocol, match: undefined, rest: undefined }))
}
