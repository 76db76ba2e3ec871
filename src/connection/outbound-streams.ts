import { BoundedQueue } from '../core/bounded-queue.ts'
import { addDuration, earliest } from '../core/instant.ts'
import { PENDING } from '../core/poll.ts'
import { HandlerFault } from '../handler/handler-fault.ts'
import { hopOf, setRoute } from '../handler/route.ts'
import { DialerNegotiation } from '../negotiation/dialer-negotiation.ts'
import { isCountedHostProtocol } from './counted-streams.ts'
import { NegotiatingStreams } from './negotiating-streams.ts'
import { RequestedStreams } from './requested-streams.ts'
import { asError } from './stream-desk.ts'
import { abortOf, errorOf, kindOf, timeoutOf, upgradeError } from './stream-failure.ts'
import type { Instant } from '../core/instant.ts'
import type { AbortError, StreamFailure, StreamPhase, StreamUpgradeErrorKind, TimeoutError } from '../errors.ts'
import type { OutboundStreamRequest } from '../handler/connection-handler.ts'
import type { NegotiationLimits } from '../negotiation/outcome.ts'
import type { ConnectionConfig } from './connection-config.ts'
import type { MuxerPort, StreamOpening, StreamPort } from './muxer-port.ts'
import type { NegotiatingStream, NegotiatingStreamsOwner } from './negotiating-streams.ts'
import type { OutboundRequest, Requester } from './requested-streams.ts'
import type { StreamDesk } from './stream-desk.ts'

/** A stream that the host wants for one of its own services. */
export interface HostStreamRequest {
  readonly protocols: readonly string[]
  /** Milliseconds until it fails. Default: the option `outboundTimeoutMs`. */
  readonly timeoutMs?: number | undefined
  /** Passed on to the muxer. */
  readonly options?: unknown
  /** Comes back with the outcome, and names the request for `cancelHostStream`. */
  readonly token: unknown
}

type Outbound<Stream> = NegotiatingStream<Stream, DialerNegotiation, OutboundRequest<Stream>>

/**
 * Requests for streams, from asking to the one outcome of each (S5.4 to S5.7): they wait in a bounded queue, are opened at
 * the muxer, negotiated and upgraded, all under one deadline that runs from the request.
 */
export class OutboundStreams<Stream, FromBehaviour, ToBehaviour> {
  readonly #desk: StreamDesk<Stream, FromBehaviour, ToBehaviour>
  readonly #config: ConnectionConfig
  readonly #limits: NegotiationLimits
  readonly #muxer: MuxerPort
  readonly #requested: RequestedStreams<Stream>
  readonly #negotiating: NegotiatingStreams<Stream, DialerNegotiation, OutboundRequest<Stream>>
  /** Outcomes that came with an input: handlers are told inside a poll only. */
  readonly #failed: BoundedQueue<{ readonly request: OutboundRequest<Stream>, readonly cause: unknown }> = new BoundedQueue(Infinity)
  readonly #owner: NegotiatingStreamsOwner

  constructor (desk: StreamDesk<Stream, FromBehaviour, ToBehaviour>, config: ConnectionConfig, muxer: MuxerPort, owner: NegotiatingStreamsOwner) {
    this.#desk = desk
    this.#config = config
    this.#limits = { maxFrameLength: config.maxFrameLength, maxRounds: config.maxNegotiationRounds }
    this.#muxer = muxer
    this.#requested = new RequestedStreams(config.maxQueuedOutboundRequests)
    this.#negotiating = new NegotiatingStreams(owner)
    this.#owner = owner
  }

  /** Whether any request has no outcome yet. */
  get isBusy (): boolean {
    return this.#negotiating.size > 0 || this.#failed.size > 0 || this.#requested.isBusy
  }

  get (port: StreamPort<Stream>): Outbound<Stream> | undefined {
    return this.#negotiating.get(port)
  }

  /** A handler asks. */
  request (request: OutboundStreamRequest<unknown, unknown>): void {
    const { protocols, timeoutMs, info, token, upgrade } = request
    this.#ask({ type: 'handler', info, token, upgrade, hop: hopOf(request) }, protocols, timeoutMs)
  }

  /** The host asks. */
  requestForHost ({ protocols, timeoutMs, options, token }: HostStreamRequest): void {
    this.#ask({ type: 'host', token, options }, protocols, timeoutMs)
  }

  /** Ends the requests of one requester that have no outcome yet; `isMeant` tells them. */
  cancel (isMeant: (requester: Requester<Stream>) => boolean): void {
    this.#endRequested(({ requester }) => isMeant(requester), failure => abortOf('Cancelled', failure))
    for (const stream of this.#negotiating.all()) {
      if (isMeant(stream.ticket.requester)) {
        this.#failStream(stream, 'aborted', abortOf('Cancelled', this.#failureOf(stream)))
      }
    }
  }

  /** Step 8: asks the muxer for the stream of the oldest request. */
  openNext (): boolean {
    if (this.#requested.waiting === 0 || this.#requested.opening + this.#negotiating.slots >= this.#config.maxNegotiatingOutboundStreams) {
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

  /** The muxer granted a stream. */
  granted (opening: StreamOpening, port: StreamPort<Stream>): void {
    const request = this.#requested.granted(opening)
    if (request === undefined) {
      port.reset(abortOf('Nobody waits for this stream any more', this.#desk.outlet.failure('open', [], 'outbound', this.#desk.outlet.now)))
      return
    }
    const stream = this.#negotiating.add(port, request.machine, request)
    port.start()
    stream.wake()
  }

  /** The muxer could not open a stream. */
  openingFailed (opening: StreamOpening, cause: unknown): void {
    const request = this.#requested.failed(opening)
    if (request !== undefined) {
      this.#failed.push({ request, cause })
    }
  }

  /** Step 5: moves one stream on, or tells one outcome. */
  advance (): boolean {
    const failed = this.#failed.shift()
    if (failed !== undefined) {
      const failure = this.#failureAt('open', failed.request)
      this.#tell(failed.request.requester, 'io', failure, errorOf({ type: 'reset' }, failure, failed.cause))
      return true
    }
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

  /** Step 2: ends the requests whose deadline passed. */
  expire (now: Instant): void {
    this.#endRequested(({ deadline }) => deadline <= now, timeoutOf)
    for (const stream of this.#negotiating.expired(now)) {
      this.#failStream(stream, 'timeout', timeoutOf(this.#failureOf(stream)))
    }
  }

  /** Ends every request: the connection closes. */
  endAll (): void {
    for (let failed = this.#failed.shift(); failed !== undefined; failed = this.#failed.shift()) {
      this.#tell(failed.request.requester, 'connection-closed', this.#failureAt('open', failed.request), failed.cause)
    }
    for (const stream of this.#negotiating.all()) {
      this.#failStream(stream, 'connection-closed', abortOf('The connection closes', this.#failureOf(stream)))
    }
    this.#endRequested(() => true, failure => abortOf('The connection closes', failure), 'connection-closed')
  }

  /** The earliest deadline of all requests here. */
  nextDeadline (): Instant {
    return earliest(this.#requested.nextDeadline(), this.#negotiating.nextDeadline())
  }

  #ask (requester: Requester<Stream>, protocols: readonly string[], timeoutMs: number = this.#config.outboundTimeoutMs): void {
    const { now } = this.#desk.outlet
    const failure = this.#desk.outlet.failure('queue', [], 'outbound', now)
    let request: OutboundRequest<Stream>
    try {
      checkTimeout(timeoutMs)
      request = { requester, machine: new DialerNegotiation(protocols, this.#limits), startedAt: now, deadline: addDuration(now, timeoutMs) }
    } catch (thrown) {
      this.#tell(requester, 'invalid-request', failure, thrown)
      return
    }
    if (!this.#requested.push(request)) {
      this.#tell(requester, 'limit', failure, new RangeError(`there may be ${this.#config.maxQueuedOutboundRequests} waiting requests (maxQueuedOutboundRequests)`))
      this.#desk.outlet.limitReached('maxQueuedOutboundRequests', this.#config.maxQueuedOutboundRequests)
      return
    }
    this.#owner.deadlineAdded(request.deadline)
  }

  #negotiate (stream: Outbound<Stream>): void {
    const outcome = this.#desk.negotiate(stream)
    if (outcome === PENDING) {
      return
    }
    if (outcome.type !== 'ok') {
      const error = errorOf(outcome, this.#failureOf(stream), stream.cause)
      this.#failStream(stream, kindOf(error), error)
      return
    }
    const { protocol, rest } = outcome
    const { requester } = stream.ticket
    stream.port.accept(protocol)
    if (requester.type === 'host') {
      this.#giveToHost(stream, requester.token, protocol, rest)
      return
    }
    try {
      const upgrade = requester.upgrade?.(stream.port.stream, protocol)
      if (upgrade !== undefined) {
        this.#negotiating.upgrade(stream, { protocol, info: requester.info, upgrade })
        if (rest !== undefined) {
          stream.port.unread(rest)
        }
        return
      }
    } catch (thrown) {
      this.#failStream(stream, 'apply', HandlerFault.of(thrown, 'upgrade').cause)
      return
    }
    this.#handOver(stream, protocol, undefined, rest)
  }

  #giveToHost (stream: Outbound<Stream>, token: unknown, protocol: string, rest: Uint8Array | undefined): void {
    const { port } = stream
    this.#negotiating.remove(stream)
    if (!stream.hasEnded) {
      this.#desk.counted.add(port, isCountedHostProtocol(protocol))
    }
    if (rest !== undefined) {
      port.unread(rest)
    }
    this.#desk.outlet.outputs.push({ type: 'host-stream-opened', token, port, protocol })
  }

  #upgrade (stream: Outbound<Stream>): void {
    const { upgrading } = stream
    if (upgrading === undefined) {
      return
    }
    if (stream.hasEnded) {
      this.#failStream(stream, 'io', errorOf({ type: 'reset' }, this.#failureOf(stream), stream.cause))
      return
    }
    try {
      const done = this.#desk.pollUpgrade(stream)
      if (done !== PENDING) {
        this.#handOver(stream, upgrading.protocol, done.output, undefined)
      }
    } catch (thrown) {
      this.#failStream(stream, 'apply', HandlerFault.of(thrown, 'upgrade').cause)
    }
  }

  #handOver (stream: Outbound<Stream>, protocol: string, output: unknown, rest: Uint8Array | undefined): void {
    const { requester } = stream.ticket
    this.#negotiating.remove(stream)
    if (requester.type === 'handler') {
      const event = { type: 'fully-negotiated-outbound', stream: stream.port.stream, protocol, info: requester.info, output } as const
      this.#desk.handOver(stream, setRoute(event, requester.hop), rest)
    }
  }

  /** All that the request held is free before its outcome is told (S5.6). */
  #failStream (stream: Outbound<Stream>, kind: StreamUpgradeErrorKind, cause: unknown): void {
    const failure = this.#failureOf(stream)
    this.#negotiating.remove(stream)
    stream.reset(asError(cause))
    this.#tell(stream.ticket.requester, kind, failure, cause)
  }

  #endRequested (
    matches: (request: OutboundRequest<Stream>) => boolean,
    errorOf: (failure: StreamFailure) => AbortError | TimeoutError,
    kind?: StreamUpgradeErrorKind
  ): void {
    for (const { request, opening } of this.#requested.end(matches)) {
      if (opening !== undefined) {
        this.#muxer.cancelOpening(opening)
      }
      const failure = this.#failureAt(opening === undefined ? 'queue' : 'open', request)
      const cause = errorOf(failure)
      this.#tell(request.requester, kind ?? kindOf(cause), failure, cause)
    }
  }

  #tell (requester: Requester<Stream>, kind: StreamUpgradeErrorKind, failure: StreamFailure, cause: unknown): void {
    const error = upgradeError(kind, failure, cause)
    const { outlet, root } = this.#desk
    if (requester.type === 'host') {
      outlet.outputs.push({ type: 'host-stream-failed', token: requester.token, error })
    } else {
      const event = setRoute({ type: 'dial-upgrade-error', info: requester.info, error }, requester.hop)
      outlet.task(root.onConnectionEvent(event), undefined)
    }
  }

  #failureOf (stream: Outbound<Stream>): StreamFailure {
    const phase = stream.upgrading === undefined ? stream.machine.phase : 'upgrade'
    return this.#desk.outlet.failure(phase, stream.machine.tried, 'outbound', stream.ticket.startedAt)
  }

  #failureAt (phase: StreamPhase, request: OutboundRequest<Stream>): StreamFailure {
    return this.#desk.outlet.failure(phase, [], 'outbound', request.startedAt)
  }
}

function checkTimeout (timeoutMs: number): void {
  if (!(timeoutMs >= 0)) {
    throw new RangeError(`timeoutMs must be milliseconds of at least 0, received ${timeoutMs}`)
  }
}
