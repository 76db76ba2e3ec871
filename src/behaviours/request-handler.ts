/**
 * Requests and responses on one connection, each on a stream of its own: the requester writes the request and ends its
 * side, the responder writes the response and ends its side.
 */

import { BoundedQueue } from '../core/bounded-queue.ts'
import { PENDING } from '../core/poll.ts'
import { toError } from '../core/to-error.ts'
import { AbortError, TimeoutError } from '../errors.ts'
import { Outbox } from '../handler/outbox.ts'
import { InboundRequest } from './inbound-request.ts'
import { namesOf } from './listing.ts'
import { isBareReset, peerResetError } from './peer-reset.ts'
import { Seats } from './seats.ts'
import { readToEnd, writeToEnd } from './stream-io.ts'
import { TimedSet } from './timed-set.ts'
import type { ConnectionEvent, ConnectionHandler, HandlerOutput } from '../behaviour/connection-handler.ts'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { EstablishedConnection } from '../behaviour/network-behaviour.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'
import type { Call } from './calls.ts'
import type { Codec } from './codec.ts'
import type { ReceivedRequest } from './inbound-request.ts'
import type { StreamContext } from './stream-callback.ts'

/** Answers a request: with the response, or a promise of it. */
export type Serve<Request = Uint8Array, Response = Uint8Array> = (request: Request, context: StreamContext) => Response | PromiseLike<Response>

/** Numbers of a request-response behaviour, complete. */
export interface RequestResponseLimits {
  /** Bytes of a request. */
  readonly maxRequestBytes: number
  /** Bytes of a response. */
  readonly maxResponseBytes: number
  /** Requests of the peer that are read or served, per connection. */
  readonly maxInboundRequests: number
  /** Requests of the peer that wait for that, per connection. */
  readonly maxQueuedInboundRequests: number
  /** Requests of ours under way, per connection. */
  readonly maxOutboundRequests: number
  /** Milliseconds from a request to its response. */
  readonly timeoutMs: number
}

/** What every handler of one behaviour works with. */
export interface RequestResponseConfig<Request, Response> {
  readonly protocols: ProtocolListing
  readonly serve: Serve<Request, Response> | undefined
  readonly codec: Codec<Request, Response>
  readonly limits: RequestResponseLimits
}

/** A request of the peer could not be read, or not be answered. */
export interface InboundFailure {
  readonly type: 'inbound-failure'
  /**
   * `TimeoutError`, `RemoteProtocolError` (`too-long`, or `invalid` with what the codec threw as its cause), `RangeError` (too
   * many at a time), or the error of the stream.
   */
  readonly error: Error
}

/** What peers' requests come to, for the application. */
export type RequestEvent<Request = Uint8Array, Response = Uint8Array> = ReceivedRequest<Request, Response> | InboundFailure

/** A request of ours and who waits for its response. */
export interface OutboundRequest {
  readonly type: 'send'
  readonly request: Uint8Array
  readonly call: Call<Uint8Array>
  /** See {@link LazyOptions}. */
  readonly lazy: boolean | undefined
}

/** What the handler may be told. `cancel`: the caller went away. */
export type RequestCommand = OutboundRequest | { readonly type: 'cancel', readonly call: Call<Uint8Array>, readonly error: Error }

/** Most events that wait to be taken, per connection: several times the default of requests that may be under way. */
const MAX_EVENTS = 1024

type Output<Request, Response> = HandlerOutput<RequestEvent<Request, Response>, OutboundRequest>

/** The handler of one connection. Responses of the peer are left as bytes: whoever asked decodes them. */
export class RequestHandler<Request, Response> implements ConnectionHandler<RequestCommand, RequestEvent<Request, Response>, OutboundRequest> {
  readonly #config: RequestResponseConfig<Request, Response>
  readonly #connection: EstablishedConnection
  #cx: PollContext | undefined
  /** Not bounded here: the open calls of the behaviour are. */
  readonly #waiting: BoundedQueue<OutboundRequest> = new BoundedQueue(Infinity)
  /** Requests under way; with their stream, once they have one. */
  readonly #active = new Map<Call<Uint8Array>, NegotiatedStream | undefined>()
  /** Requests whose stream was reset, until a poll: the time is known there only. */
  readonly #reset: Array<{ readonly call: Call<Uint8Array>, readonly cause: Error }> = []
  readonly #inbound = new TimedSet<InboundRequest<Request, Response>>()
  /** For requests of the peer. A `serve` that goes on after the end of its request keeps its seat. */
  readonly #seats: Seats<InboundRequest<Request, Response>>
  /** Not bounded here: the open calls of the behaviour are. */
  readonly #outbox = new Outbox<Output<Request, Response>>(Infinity)
  /** While nobody takes events, a peer could fill it (S8.3). */
  readonly #events = new Outbox<Output<Request, Response>>(MAX_EVENTS)
  /** Failures for which it had no room. */
  #untold = 0

  constructor (config: RequestResponseConfig<Request, Response>, connection: EstablishedConnection) {
    this.#config = config
    this.#seats = new Seats(config.limits.maxInboundRequests, config.limits.maxQueuedInboundRequests)
    this.#connection = connection
  }

  listenProtocols (): ProtocolListing {
    return this.#config.protocols
  }

  poll (cx: PollContext): Poll<Output<Request, Response>> {
    this.#cx = cx
    for (const request of this.#inbound.takeExpired(cx)) {
      request.fail(new TimeoutError(`A request was not answered in ${this.#config.limits.timeoutMs} ms`))
    }
    this.#rejectReset(cx)
    const next = this.#startNext()
    const command = next === PENDING ? this.#outbox.poll(cx) : next
    return command === PENDING ? this.#nextEvent(cx) : command
  }

  onConnectionEvent (event: ConnectionEvent<OutboundRequest>): void | PromiseLike<void> {
    switch (event.type) {
      case 'fully-negotiated-inbound':
        return this.#accept(event.stream, event.protocol)
      case 'fully-negotiated-outbound':
        return this.#exchange(event.stream, event.info)
      case 'dial-upgrade-error':
        event.info.call.reject(event.error)
        this.#active.delete(event.info.call)
        break
      case 'listen-upgrade-error':
      case 'local-protocols-change':
      case 'remote-protocols-change':
      case 'address-change':
    }
    return undefined
  }

  onBehaviourEvent (command: RequestCommand): void {
    switch (command.type) {
      case 'send':
        this.#waiting.push(command)
        break
      case 'cancel':
        this.#cancel(command.call, command.error)
    }
  }

  /** The oldest request that waits, as long as not too many are under way. */
  #startNext (): Poll<Output<Request, Response>> {
    while (this.#active.size < this.#config.limits.maxOutboundRequests) {
      const info = this.#waiting.shift()
      if (info === undefined) {
        break
      }
      const { call, lazy } = info
      if (!call.isSettled) {
        this.#active.set(call, undefined)
        call.phase = 'open'
        const protocols = namesOf(this.#config.protocols)
        return { type: 'outbound-stream-request', protocols, timeoutMs: call.timeoutMs, lazy, info, token: call }
      }
    }
    return PENDING
  }

  async #exchange (stream: NegotiatedStream, { request, call }: OutboundRequest): Promise<void> {
    this.#active.set(call, stream)
    call.phase = 'upgrade'
    call.tried = [stream.protocol]
    try {
      if (call.isSettled) {
        throw new AbortError('The caller went away before the stream was negotiated')
      }
      const response = readToEnd(stream, this.#config.limits.maxResponseBytes, 'response')
      const written = writeToEnd(stream, request)
      call.resolve(await Promise.race([response, written.then(async () => await response)]))
      if (stream.writeStatus === 'writable' || stream.writeBufferLength > 0) {
        stream.abort(new AbortError('The peer answered before it had read the whole request'))
      }
    } catch (thrown) {
      const error = toError(thrown)
      stream.abort(error)
      if (isBareReset(error)) {
        this.#reset.push({ call, cause: error })
      } else {
        call.reject(error)
      }
    } finally {
      this.#active.delete(call)
      if (this.#waiting.size > 0 || this.#reset.length > 0) {
        this.#cx?.wake()
      }
    }
  }

  #rejectReset ({ now }: PollContext): void {
    if (this.#reset.length === 0) {
      return
    }
    for (const { call, cause } of this.#reset.splice(0)) {
      call.reject(peerResetError(call.failure(now - (call.startedAt ?? now)), cause))
    }
  }

  #cancel (call: Call<Uint8Array>, error: Error): void {
    if (!this.#active.has(call)) {
      this.#waiting.remove(waiting => waiting.call === call)
      return
    }
    const stream = this.#active.get(call)
    if (stream === undefined) {
      this.#outbox.push({ type: 'cancel-outbound-request', token: call })
    } else {
      stream.abort(error)
    }
  }

  async #accept (stream: NegotiatedStream, protocol: string): Promise<void> {
    const { limits } = this.#config
    const isSeated = this.#seats.take()
    if (!isSeated && this.#seats.isFull) {
      const error = new RangeError(`A peer may have ${limits.maxInboundRequests} requests under way (maxInboundRequests), `
        + `and ${limits.maxQueuedInboundRequests} that wait (maxQueuedInboundRequests)`)
      stream.abort(error)
      this.#tellFailure(error)
      return
    }
    const inbound = new InboundRequest(stream, protocol, this.#connection, this.#config)
    this.#inbound.add(inbound, limits.timeoutMs)
    void this.#reportEnd(inbound)
    if (!isSeated) {
      inbound.pause()
    }
    if (isSeated || await this.#seats.wait(inbound)) {
      try {
        await this.#serve(inbound)
      } finally {
        this.#seats.free()
      }
    }
  }

  async #serve (inbound: InboundRequest<Request, Response>): Promise<void> {
    const { serve } = this.#config
    const received = await inbound.read()
    if (received === undefined) {
      return
    }
    if (serve === undefined) {
      if (!this.#tell(inbound.toEvent(received.request))) {
        inbound.fail(new RangeError(`${MAX_EVENTS} events of this peer wait to be taken already`))
      }
      await inbound.ended
      return
    }
    try {
      await inbound.answer(await serve(received.request, inbound.context))
    } catch (thrown) {
      // What came after the end, such as the failure of a stream, has been told already; the rest is a mistake of `serve`.
      if (inbound.end()) {
        throw thrown
      }
    }
  }

  async #reportEnd (inbound: InboundRequest<Request, Response>): Promise<void> {
    const error = await inbound.ended
    this.#inbound.delete(inbound)
    this.#seats.leave(inbound)
    if (error !== undefined) {
      this.#tellFailure(error)
    }
  }

  #tellFailure (error: Error): void {
    this.#untold += this.#tell({ type: 'inbound-failure', error }) ? 0 : 1
  }

  #tell (event: RequestEvent<Request, Response>): boolean {
    return this.#events.push({ type: 'notify-behaviour', event })
  }

  /** The oldest event; behind them all, how many there was no room for. */
  #nextEvent (cx: PollContext): Poll<Output<Request, Response>> {
    const event = this.#events.poll(cx)
    if (event !== PENDING || this.#untold === 0) {
      return event
    }
    const error = new RangeError(`${this.#untold} requests of the peer more came to nothing while ${MAX_EVENTS} events waited to be taken`)
    this.#untold = 0
    return { type: 'notify-behaviour', event: { type: 'inbound-failure', error } }
  }
}
