/**
 * The `./request-response` entry: bytes in, bytes out, one stream per request.
 *
 * @packageDocumentation
 */

import { takesOptions } from '../behaviour/attach.ts'
import { checkNames, count, duration, flag, parseOptions } from '../core/options.ts'
import { PENDING } from '../core/poll.ts'
import { Outbox } from '../handler/outbox.ts'
import { checkCallOptions } from './call-options.ts'
import { parseListing } from './listing.ts'
import { mayRun } from './own-connections.ts'
import { PeerCalls } from './peer-calls.ts'
import { checkCallback } from './stream-callback.ts'
import { RequestHandler } from './request-handler.ts'
import type { PeerId } from '@libp2p/interface'
import type { FromSwarm } from '../behaviour/from-swarm.ts'
import type { EstablishedConnection, NetworkBehaviour, PendingConnection } from '../behaviour/network-behaviour.ts'
import type { EmitEvent, ToSwarm } from '../behaviour/to-swarm.ts'
import type { ConnectionId } from '../core/ids.ts'
import type { OptionTable } from '../core/options.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'
import type { CallOptions, LazyOptions } from './call-options.ts'
import type { RequestCommand, RequestEvent, RequestResponseConfig, RequestResponseLimits, Serve } from './request-handler.ts'

export type { CallOptions, LazyOptions, SignalOptions } from './call-options.ts'
export type { ReceivedRequest } from './inbound-request.ts'
export type { InboundFailure, RequestEvent, Serve } from './request-handler.ts'
export type { HandlerContext, StreamContext } from './stream-callback.ts'

/** Options of {@link requestResponse}. */
export interface RequestResponseInit {
  /** One name, several, or a `ProtocolList` that may change; a request proposes them in this order. */
  protocols: string | ProtocolListing
  /**
   * Answers requests, several at a time. What it throws resets that stream and is reported as `handler-error`. Absent:
   * requests come as events of type `request`.
   */
  serve?: Serve | undefined
  /** Longest request, in bytes; a longer one is refused without being read. @default 1_048_576 */
  maxRequestBytes?: number | undefined
  /** Longest response, in bytes; a longer one fails its request. @default 10_485_760 */
  maxResponseBytes?: number | undefined
  /** Requests that a peer may have under way on a connection; the next one is reset, with an `inbound-failure`. @default 100 */
  maxInboundRequests?: number | undefined
  /** Our requests under way on a connection; the next ones wait, while their time runs. @default 100 */
  maxOutboundRequests?: number | undefined
  /** Milliseconds from a request to its response, in either direction; `Infinity` for no limit. @default 10_000 */
  timeoutMs?: number | undefined
  /** Whether to run on relayed connections, which have limits. @default false, as in js-libp2p */
  runOnLimitedConnection?: boolean | undefined
}

/** Options of a request. */
export interface RequestOptions extends CallOptions, LazyOptions {}

/** A request-response behaviour; its events are {@link RequestEvent}. */
export interface RequestResponse extends NetworkBehaviour<RequestEvent, unknown, unknown> {
  /**
   * Sends a request to `peer`, on the oldest connection, and resolves with the response; without a connection the peer is
   * dialed. `request` must not change meanwhile. Every request has exactly one outcome. It rejects with
   *
   * - `NotConnectedError`: this behaviour runs on no connection to the peer, or the dial failed; `cause` is then the
   *   `DialFailureError`
   * - `StreamUpgradeError`: no stream could be had (`negotiation-failed`: the peer does not speak the protocol), or 1024
   *   requests are open (`limit`)
   * - `RemoteProtocolError`: the response is longer than `maxResponseBytes`
   * - the error of the stream, such as `StreamResetError`: the peer refused, or failed; with `lazy` also `NegotiationError`:
   *   it had announced the protocol, and does not speak it
   * - `ConnectionClosedError`, `AbortError` of the signal, `TimeoutError` after `timeoutMs` (default: the option)
   * - `TypeError` or `RangeError`: the request is no bytes, or longer than `maxRequestBytes`
   */
  request (peer: PeerId, request: Uint8Array, options?: RequestOptions): Promise<Uint8Array>
}

interface RequestResponseOptions extends RequestResponseLimits {
  readonly runOnLimitedConnection: boolean
}

const OPTIONS: OptionTable<RequestResponseOptions> = {
  maxRequestBytes: count(1_048_576),
  maxResponseBytes: count(10_485_760),
  maxInboundRequests: count(100),
  maxOutboundRequests: count(100, 1),
  timeoutMs: duration(10_000),
  runOnLimitedConnection: flag(false)
}

const NAMES: readonly string[] = ['protocols', 'serve', ...Object.keys(OPTIONS)]
const ACTION = 'Cannot make a request-response behaviour'

/** Requests that may be open at a time, those that wait included. */
const MAX_OPEN_CALLS = 1024

/**
 * Requests with one response each, as bytes: the requester writes the request and ends its side, the responder writes the
 * response and ends its side. What a peer can make this node hold is `maxInboundRequests` times `maxRequestBytes` per
 * connection, plus one response for each request of ours.
 *
 * @param init - see {@link RequestResponseInit}
 * @throws TypeError or RangeError for an option that is missing, unknown or out of range, and for a name that is none
 *
 * @example
 * const files = requestResponse({
 *   protocols: '/files/1.0.0',
 *   serve: async (request, { peer }) => await readFile(request, peer)
 * })
 */
export function requestResponse (init: RequestResponseInit): RequestResponse {
  checkNames(init, NAMES, ACTION)
  const { protocols, serve, ...rest } = init
  const { runOnLimitedConnection, ...limits } = parseOptions(OPTIONS, rest, ACTION)
  checkCallback('serve', serve, ACTION)
  return new RequestResponseBehaviour({ protocols: parseListing(protocols, ACTION), serve, limits }, runOnLimitedConnection)
}

takesOptions(requestResponse, 'requestResponse')

class RequestResponseBehaviour implements NetworkBehaviour<RequestEvent, RequestCommand, RequestEvent> {
  readonly #config: RequestResponseConfig
  readonly #runOnLimitedConnection: boolean
  readonly #peers = new PeerCalls<Uint8Array, RequestCommand>({
    action: 'Cannot request',
    maxOpen: MAX_OPEN_CALLS,
    toCancel: (call, error) => ({ type: 'cancel', call, error })
  })

  /** Not bounded here: the swarm takes each event before the next one. */
  readonly #outbox = new Outbox<EmitEvent<RequestEvent>>(Infinity)

  constructor (config: RequestResponseConfig, runOnLimitedConnection: boolean) {
    this.#config = config
    this.#runOnLimitedConnection = runOnLimitedConnection
  }

  get protocols (): ProtocolListing {
    return this.#config.protocols
  }

  commitEstablished (connection: EstablishedConnection): RequestHandler | undefined {
    if (!mayRun(connection.limits, this.#runOnLimitedConnection)) {
      return undefined
    }
    this.#peers.add(connection)
    return new RequestHandler(this.#config, connection)
  }

  rollback (attempt: PendingConnection | EstablishedConnection): void {
    this.#peers.rollback(attempt)
  }

  onSwarmEvent (event: FromSwarm): void {
    this.#peers.onSwarmEvent(event)
  }

  onHandlerEvent (peer: PeerId, connection: ConnectionId, event: RequestEvent): void {
    this.#outbox.push({ type: 'event', peer, connection, event })
  }

  poll (cx: PollContext): Poll<ToSwarm<RequestEvent, RequestCommand>> {
    const command = this.#peers.poll(cx)
    return command === PENDING ? this.#outbox.poll(cx) : command
  }

  async request (peer: PeerId, request: Uint8Array, options: RequestOptions = {}): Promise<Uint8Array> {
    checkCallOptions(options, 'Cannot request', ['lazy'])
    const { lazy } = options
    const { maxRequestBytes, timeoutMs } = this.#config.limits
    checkRequest(request, maxRequestBytes)
    return await this.#peers.call(peer, options, timeoutMs, (call) => ({ type: 'send', request, call, lazy }))
  }
}

function checkRequest (request: unknown, maxBytes: number): void {
  if (!(request instanceof Uint8Array)) {
    throw new TypeError(`Cannot request: the request must be a Uint8Array, received ${typeof request}`)
  }
  if (request.byteLength > maxBytes) {
    throw new RangeError(`Cannot request: a request must have at most ${maxBytes} bytes, received ${request.byteLength}`)
  }
}
