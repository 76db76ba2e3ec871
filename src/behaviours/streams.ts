/**
 * The `./streams` entry: plain streams for application code, opened and accepted at run time.
 *
 * @packageDocumentation
 */

import { takesOptions } from '../behaviour/attach.ts'
import { checkNames, count, flag, kindOf, parseOptions } from '../core/options.ts'
import { streamProtocol } from '../protocols/stream-protocol.ts'
import { checkCallOptions, checkSignal } from './call-options.ts'
import { ProtocolBehaviour } from './protocol-behaviour.ts'
import { StreamAcceptors } from './stream-acceptors.ts'
import type { PeerId } from '@libp2p/interface'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { FromSwarm } from '../behaviour/from-swarm.ts'
import type { NetworkBehaviour } from '../behaviour/network-behaviour.ts'
import type { OptionTable } from '../core/options.ts'
import type { AcceptLimits, AcceptedStreams } from './accepted-streams.ts'
import type { CallOptions, LazyOptions, SignalOptions } from './call-options.ts'
import type { StreamCallback, StreamContext } from './stream-callback.ts'
import type { Serving } from './stream-serving.ts'

export type { AcceptedStream, AcceptedStreams } from './accepted-streams.ts'
export type { CallOptions, LazyOptions, SignalOptions } from './call-options.ts'
export type { HandlerContext, StreamCallback, StreamContext } from './stream-callback.ts'
export type { Serving } from './stream-serving.ts'

/** Options of {@link streams}. */
export interface StreamsInit {
  /** Whether to run on relayed connections, which have limits. @default false, as in js-libp2p */
  runOnLimitedConnection?: boolean | undefined
}

/** Options of {@link Streams.open}. */
export interface OpenStreamOptions extends CallOptions, LazyOptions {}

/** Options of {@link Streams.accept}. */
export interface AcceptOptions extends SignalOptions {
  /** Streams that may wait to be taken; the next one is reset. @default 256 */
  maxWaiting?: number | undefined
  /** Streams of one peer that may wait to be taken, so that no peer takes the place of all; the next one is reset. @default 32 */
  maxWaitingPerPeer?: number | undefined
}

/**
 * A stream was reset because too many wait to be taken from an {@link AcceptedStreams}. Told once per peer until one is
 * taken; `rejected` of the iteration counts all.
 */
export interface StreamRejected {
  readonly type: 'stream-rejected'
  readonly protocol: string
}

/** A behaviour that opens and accepts streams for the application; its events are {@link StreamRejected}. */
export interface Streams extends NetworkBehaviour<StreamRejected, unknown, unknown> {
  /**
   * Opens a stream to `peer`, on its oldest connection; without a connection the peer is dialed. The stream is the caller's:
   * it holds the connection open until both sides are closed. It rejects with
   *
   * - `NotConnectedError`: this behaviour runs on no connection to the peer, or the dial failed; `cause` is then the
   *   `DialFailureError`
   * - `StreamUpgradeError`: no stream could be had (`negotiation-failed`: the peer speaks none of the protocols; `timeout`
   *   after `timeoutMs`, by default the option `outboundTimeoutMs`), or 1024 calls are open (`limit`)
   * - `TimeoutError` when the dial has taken `timeoutMs` (default: as long as it takes), `AbortError` of the signal
   * - `TypeError` or `RangeError`: a name is none, or there is no name; nobody is dialed then
   *
   * @param protocol - a name, or several, proposed in this order; `stream.protocol` tells which one it is
   */
  open (peer: PeerId, protocol: string | readonly string[], options?: OpenStreamOptions): Promise<NegotiatedStream>

  /**
   * Offers `protocol` from now on, on all connections, those that are there included (on hosted ones as soon as the host has
   * registered it), and gives the streams that peers open for it. They wait until they are taken: paused, so that the muxer
   * holds back what the peer writes (mplex cannot, and resets a stream of which 4 MiB are unread), and counted as open
   * streams of their connection. When too many wait, the newest is reset, with an event {@link StreamRejected}. A stream that
   * its peer resets while it waits is never seen.
   *
   * The iteration ends, and the name is offered no more, with `break`, `return()`, `await using`, the signal, or when the
   * node stops; streams that still wait are reset.
   *
   * A connection gives the streams of a name to the first part in composition order that lists it then (S3.4). So a name that
   * a later behaviour has as well, or another service of the node, is taken over while it is accepted, and given back after
   * that; of one that an earlier behaviour has nothing comes. Either is logged as a warning.
   *
   * @throws DuplicateProtocolError when the name is accepted, or served, already
   * @throws InvalidStateError when the node has stopped, until it is started again
   * @throws TypeError or RangeError for a name that is none, or an option that is unknown or out of range
   *
   * @example
   * for await (const { peer, stream } of swarm.behaviours.streams.accept('/chat/1.0.0')) {
   *   void chatWith(peer, stream)
   * }
   */
  accept (protocol: string, options?: AcceptOptions): AcceptedStreams

  /**
   * Offers `protocol` as {@link Streams.accept} does, and has `callback` serve each stream as soon as it is there, many at a
   * time. {@link StreamCallback} says what becomes of a stream at its end: it is closed, and what `callback` throws resets it
   * and is reported as `handler-error`.
   *
   * @returns what ends it; a node that stops does not, for it may be started again
   * @throws DuplicateProtocolError when the name is accepted, or served, already
   * @throws TypeError or RangeError for a name that is none, an unknown option, or a callback that is no function
   */
  serve (protocol: string, callback: StreamCallback<never, StreamContext>, options?: SignalOptions): Serving
}

const ACCEPT = 'Cannot accept streams'
const OPTIONS: OptionTable<{ readonly runOnLimitedConnection: boolean }> = { runOnLimitedConnection: flag(false) }

/** A burst of 32 is what js-libp2p lets a peer have open of a protocol; eight such peers fill the queue. */
const ACCEPT_OPTIONS: OptionTable<AcceptLimits> = { maxWaiting: count(256, 1), maxWaitingPerPeer: count(32, 1) }

/**
 * Plain streams, for an application that has no protocol behaviour of its own: opened to any peer, accepted by name, both
 * at run time.
 *
 * @param init - see {@link StreamsInit}
 * @throws TypeError for an option that is unknown or of the wrong type
 *
 * @example
 * const node = await createLibp2p(withSwarm(options, { behaviours: { streams: streams() } }))
 * const stream = await node.services.swarm.behaviours.streams.open(peer, '/chat/1.0.0')
 */
export function streams (init: StreamsInit = {}): Streams {
  const { runOnLimitedConnection } = parseOptions(OPTIONS, init, 'Cannot make a streams behaviour')
  return new StreamsBehaviour(new StreamAcceptors(), runOnLimitedConnection)
}

takesOptions(streams, 'streams')

class StreamsBehaviour extends ProtocolBehaviour<StreamRejected> implements Streams {
  readonly #acceptors: StreamAcceptors

  constructor (acceptors: StreamAcceptors, runOnLimitedConnection: boolean) {
    super({ protocols: acceptors.names, inbound: (stream, context) => acceptors.take(stream, context), runOnLimitedConnection })
    this.#acceptors = acceptors
  }

  override onSwarmEvent (event: FromSwarm): void {
    super.onSwarmEvent(event)
    if (event.type === 'swarm-stopped') {
      this.#acceptors.stop()
    } else if (event.type === 'swarm-restarted') {
      this.#acceptors.restart()
    }
  }

  async open (peer: PeerId, protocol: string | readonly string[], options: OpenStreamOptions = {}): Promise<NegotiatedStream> {
    checkCallOptions(options, 'Cannot open stream', ['lazy'])
    return await this.openStream(peer, { ...options, protocols: parseNames(protocol) })
  }

  accept (protocol: string, options: AcceptOptions = {}): AcceptedStreams {
    const limits = parseOptions(ACCEPT_OPTIONS, options, ACCEPT, ['signal'])
    checkSignal(options.signal, ACCEPT)
    return this.#acceptors.accept(protocol, limits, options.signal, ({ peer, connection }) => {
      this.onHandlerEvent(peer, connection, { type: 'stream-rejected', protocol })
    })
  }

  serve (protocol: string, callback: StreamCallback<never, StreamContext>, options: SignalOptions = {}): Serving {
    checkNames(options, ['signal'], ACCEPT)
    checkSignal(options.signal, ACCEPT)
    checkServer(callback)
    return this.#acceptors.serve(protocol, callback, options.signal)
  }
}

/** At once, not when a peer has been dialed. */
function parseNames (protocol: string | readonly string[]): readonly string[] {
  const names: unknown = typeof protocol === 'string' ? [protocol] : protocol
  if (!Array.isArray(names) || names.length === 0) {
    throw new TypeError(`Cannot open stream: protocol must be a name, or an array of at least one, received ${Array.isArray(names) ? 'none' : kindOf(names)}`)
  }
  return names.map((name: string) => streamProtocol(name))
}

function checkServer (callback: unknown): void {
  if (typeof callback !== 'function') {
    throw new TypeError(`${ACCEPT}: the callback must be a function, received ${kindOf(callback)}`)
  }
}
