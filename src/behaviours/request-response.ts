/**
 * The `./request-response` entry: one request and one response on a stream of their own, as bytes or through a codec.
 *
 * @packageDocumentation
 */

import { takesOptions } from '../behaviour/attach.ts'
import { checkNames, count, duration, flag, parseOptions } from '../core/options.ts'
import { checkCallOptions } from './call-options.ts'
import { CallingBehaviour } from './calling-behaviour.ts'
import { BYTES, checkCodec, checkEncoded, decoded } from './codec.ts'
import { parseListing } from './listing.ts'
import { PeerCalls } from './peer-calls.ts'
import { checkCallback } from './stream-callback.ts'
import { RequestHandler } from './request-handler.ts'
import { isProtocolList } from '../protocols/protocol-list.ts'
import type { PeerId } from '@libp2p/interface'
import type { NetworkBehaviour } from '../behaviour/network-behaviour.ts'
import type { OptionTable } from '../core/options.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'
import type { CallOptions, LazyOptions } from './call-options.ts'
import type { Codec } from './codec.ts'
import type { RequestCommand, RequestEvent, RequestResponseConfig, RequestResponseLimits, Serve } from './request-handler.ts'

export type { CallOptions, LazyOptions, SignalOptions } from './call-options.ts'
export type { Codec } from './codec.ts'
export type { ReceivedRequest } from './inbound-request.ts'
export type { InboundFailure, RequestEvent, Serve } from './request-handler.ts'
export type { HandlerContext, StreamContext } from './stream-callback.ts'

/** Options of {@link requestResponse}. */
export interface RequestResponseInit<Request = Uint8Array, Response = Uint8Array> {
  /** One name, several, or a `ProtocolList` that may change; a request proposes them in this order. */
  protocols: string | ProtocolListing
  /**
   * Answers requests, several at a time. What it throws resets that stream and is reported as `handler-error`, as is what
   * the codec throws over its response. Absent: requests come as events of type `request`.
   */
  serve?: Serve<Request, Response> | undefined
  /** Longest request, in bytes, after encoding; reading a longer one ends at the first byte too many. @default 1_048_576 */
  maxRequestBytes?: number | undefined
  /** Longest response, in bytes, after encoding; a longer one fails its request. @default 10_485_760 */
  maxResponseBytes?: number | undefined
  /** Requests of a peer that are read or served at a time, on a connection; the next ones wait, unread, while their time runs. @default 100 */
  maxInboundRequests?: number | undefined
  /** Requests of a peer that wait, on a connection; the next one is reset, with an `inbound-failure`. @default 100 */
  maxQueuedInboundRequests?: number | undefined
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
export interface RequestResponse<Request = Uint8Array, Response = Uint8Array> extends NetworkBehaviour<RequestEvent<Request, Response>, unknown, unknown> {
  /**
   * Sends a request to `peer`, on the oldest connection, and resolves with the response; without a connection the peer is
   * dialed. It is encoded at once; its bytes must not change meanwhile. Every request has exactly one outcome. It rejects with
   *
   * - `NotConnectedError`: this behaviour runs on no connection to the peer, or the dial failed; `cause` is then the
   *   `DialFailureError`
   * - `StreamUpgradeError`: no stream could be had (`negotiation-failed`: the peer does not speak the protocol), or 1024
   *   requests are open (`limit`)
   * - `RemoteProtocolError`: the response is longer than `maxResponseBytes` (`too-long`), or means nothing to the codec
   *   (`invalid`; the cause is what the codec threw)
   * - `StreamResetError`: the peer refused, or failed to serve it, or the path broke; `cause` is the error of the stream
   * - with `lazy` also `NegotiationError`: the peer had announced the protocol, and does not speak it
   * - `ConnectionClosedError`, `AbortError` of the signal, `TimeoutError` after `timeoutMs` (default: the option)
   * - `TypeError` or `RangeError`: the request is no bytes, or longer than `maxRequestBytes`; or what the codec threw over it
   */
  request (peer: PeerId, request: Request, options?: RequestOptions): Promise<Response>
}

interface RequestResponseOptions extends RequestResponseLimits {
  readonly runOnLimitedConnection: boolean
}

const OPTIONS: OptionTable<RequestResponseOptions> = {
  maxRequestBytes: count(1_048_576),
  maxResponseBytes: count(10_485_760),
  maxInboundRequests: count(100, 1),
  maxQueuedInboundRequests: count(100),
  maxOutboundRequests: count(100, 1),
  timeoutMs: duration(10_000),
  runOnLimitedConnection: flag(false)
}

const NAMES: readonly string[] = ['protocols', 'serve', 'codec', ...Object.keys(OPTIONS)]
const ACTION = 'Cannot make a request-response behaviour'

/** Requests that may be open at a time, those that wait included. */
const MAX_OPEN_CALLS = 1024

/**
 * Requests with one response each: the requester writes the request and ends its side, the responder writes the response
 * and ends its side. What a peer can make this node hold is `maxInboundRequests` times `maxRequestBytes` per connection,
 * what the muxer takes for `maxQueuedInboundRequests` streams that are not read, and one response for each request of ours.
 *
 * @param init - see {@link RequestResponseInit}; with `codec` requests and responses have the types that it says, without it
 * they are bytes
 * @throws TypeError or RangeError for an option that is missing, unknown or out of range, and for a name that is none
 *
 * @example
 * const files = requestResponse({
 *   protocols: ['/files/2.0.0', '/files/1.0.0'],
 *   serve: async (request, { peer }) => await readFile(request, peer)
 * })
 */
export function requestResponse (init: RequestResponseInit & { codec?: undefined }): RequestResponse
// The last one, as compilers explain a call that fits none by the last.
export function requestResponse<Request, Response> (
  init: RequestResponseInit<Request, Response> & { codec: Codec<Request, Response> }
): RequestResponse<Request, Response>
export function requestResponse (init: RequestResponseInit & { codec?: Codec<Uint8Array, Uint8Array> | undefined }): RequestResponse {
  checkNames(init, NAMES, ACTION)
  const { protocols, serve, codec = BYTES, ...rest } = init
  const { runOnLimitedConnection, ...limits } = parseOptions(OPTIONS, rest, ACTION)
  checkCallback('serve', serve, ACTION)
  checkCodec(codec, ACTION)
  const listing = parseListing(protocols, ACTION)
  if (!isProtocolList(listing) && listing.length === 0) {
    throw new TypeError(`${ACTION}: protocols must hold at least one name, received none; names that come later go into a ProtocolList`)
  }
  return new RequestResponseBehaviour({ protocols: listing, serve, codec, limits }, runOnLimitedConnection)
}

takesOptions(requestResponse, 'requestResponse')

class RequestResponseBehaviour<Request, Response> extends CallingBehaviour<RequestEvent<Request, Response>, RequestCommand, Uint8Array> {
  readonly #config: RequestResponseConfig<Request, Response>
  readonly #peers: PeerCalls<Uint8Array, RequestCommand>

  constructor (config: RequestResponseConfig<Request, Response>, runOnLimitedConnection: boolean) {
    const peers = new PeerCalls<Uint8Array, RequestCommand>({
      action: 'Cannot request',
      maxOpen: MAX_OPEN_CALLS,
      toCancel: (call, error) => ({ type: 'cancel', call, error })
    })
    super({ peers, runOnLimitedConnection, handlerFor: (connection) => new RequestHandler(config, connection) })
    this.#config = config
    this.#peers = peers
  }

  get protocols (): ProtocolListing {
    return this.#config.protocols
  }

  async request (peer: PeerId, request: Request, options: RequestOptions = {}): Promise<Response> {
    checkCallOptions(options, 'Cannot request', ['lazy'])
    const { lazy } = options
    const { codec, limits } = this.#config
    const bytes: unknown = codec.encodeRequest(request)
    checkEncoded(bytes, limits.maxRequestBytes, 'request', 'Cannot request')
    const response = await this.#peers.call(peer, options, limits.timeoutMs, (call) => ({ type: 'send', request: bytes, call, lazy }))
    return decoded((encoded) => codec.decodeResponse(encoded), response, 'response')
  }
}
