import { checkSignal } from '../behaviours/call-options.ts'
import { checkNames, kindOf } from '../core/options.ts'
import { DialerNegotiation } from '../negotiation/dialer-negotiation.ts'
import { ListenerNegotiation } from '../negotiation/listener-negotiation.ts'
import { DEFAULT_LIMITS } from '../negotiation/outcome.ts'
import { negotiateDuplex } from './duplex-negotiation.ts'
import { indexOf } from './named-protocols.ts'
import { negotiateStream } from './stream-negotiation.ts'
import type { AbortOptions, MessageStream } from '@libp2p/interface'
import type { Uint8ArrayList } from 'uint8arraylist'
import type { Direction } from '../core/ids.ts'
import type { NegotiationLimits } from '../negotiation/outcome.ts'
import type { ByteDuplex, NegotiatedDuplex } from './duplex-negotiation.ts'
import type { Negotiation } from './stream-negotiation.ts'

/**
 * Options of {@link select} and {@link handle}; never written to. Those of `@libp2p/multistream-select` that would change
 * what goes over the wire, or that have no effect there either, are accepted without effect.
 */
export interface MultistreamSelectInit extends AbortOptions {
  /**
   * Bounds of the negotiation; what is left out is as by default.
   *
   * @default DEFAULT_LIMITS with 8 frames a turn
   */
  readonly limits?: Partial<NegotiationLimits> | undefined
  /** Without effect. */
  readonly negotiateFully?: boolean | undefined
  /** Without effect: no more than one frame is buffered, see `limits`. */
  readonly maxBufferSize?: number | undefined
  /** Without effect: see `limits`. */
  readonly maxDataLength?: number | undefined
  /** Without effect: a prefix has one or two bytes. */
  readonly maxLengthLength?: number | undefined
  /** Without effect. */
  lengthEncoder? (value: number): Uint8ArrayList | Uint8Array
  /** Without effect. */
  lengthDecoder? (data: Uint8ArrayList): number
}

/** Ours, those of `@libp2p/multistream-select`, and those that the host hands through to it, which are its callers'. */
const OPTIONS: readonly string[] = [
  'signal', 'limits',
  'negotiateFully', 'maxBufferSize', 'maxDataLength', 'maxLengthLength', 'lengthEncoder', 'lengthDecoder',
  'onProgress', 'maxOutboundStreams', 'runOnLimitedConnection',
  'skipEncryption', 'skipProtection', 'muxerFactory', 'initiator', 'remotePeer'
]

const NO_OPTIONS: MultistreamSelectInit = Object.freeze({})

const LIMITS: NegotiationLimits = Object.freeze({ ...DEFAULT_LIMITS, maxFramesPerTurn: 8 })
const LIMIT_NAMES: readonly string[] = ['maxFrameLength', 'maxRounds', 'maxFramesPerTurn', 'ls']

/**
 * Proposes protocols on a stream until the other side agrees on one: `select` of `@libp2p/multistream-select`, by our rules.
 *
 * @param stream - a stream or connection of js-libp2p; bytes that come behind the negotiation stay in it
 * @param protocols - what to propose, in order; copied
 * @param options - a signal that ends it, and bounds
 * @returns the agreed name. Rejects with a {@link MultistreamSelectError}, and then the stream was reset; or with a
 * `TypeError` or `RangeError` for a list that is not valid (S2.18) or an option that is unknown or not valid, and then nothing was done to the stream
 */
export function select (stream: MessageStream, protocols: string | readonly string[], options?: MultistreamSelectInit): Promise<string>
/**
 * The same on a duplex of the `it-pipe` kind.
 *
 * @returns the agreed name, and the duplex to use from then on
 */
export function select (stream: ByteDuplex, protocols: string | readonly string[], options?: MultistreamSelectInit): Promise<NegotiatedDuplex>
export function select (
  stream: MessageStream | ByteDuplex, protocols: string | readonly string[], options?: MultistreamSelectInit
): Promise<string | NegotiatedDuplex> {
  return negotiate(stream, protocols, 'outbound', options)
}

/**
 * Answers proposals on a stream until one is among `protocols`: `handle` of `@libp2p/multistream-select`, by our rules.
 *
 * @param stream - a stream or connection of js-libp2p; bytes that come behind the negotiation stay in it
 * @param protocols - what is accepted. Names that are not valid are left out. A frozen list is indexed once: give the same
 * one for every stream, and its length does not matter
 * @param options - a signal that ends it, and bounds
 * @returns the agreed name. Rejects with a {@link MultistreamSelectError}, and then the stream was reset; or with a
 * `TypeError` or `RangeError` for an option that is unknown or not valid, and then nothing was done to the stream
 */
export function handle (stream: MessageStream, protocols: string | readonly string[], options?: MultistreamSelectInit): Promise<string>
/**
 * The same on a duplex of the `it-pipe` kind.
 *
 * @returns the agreed name, and the duplex to use from then on
 */
export function handle (stream: ByteDuplex, protocols: string | readonly string[], options?: MultistreamSelectInit): Promise<NegotiatedDuplex>
export function handle (
  stream: MessageStream | ByteDuplex, protocols: string | readonly string[], options?: MultistreamSelectInit
): Promise<string | NegotiatedDuplex> {
  return negotiate(stream, protocols, 'inbound', options)
}

function negotiate (
  stream: MessageStream | ByteDuplex, protocols: string | readonly string[], direction: Direction,
  options: MultistreamSelectInit | null | undefined
): Promise<string | NegotiatedDuplex> {
  try {
    const { limits, signal } = checked(options ?? NO_OPTIONS)
    checkArguments(stream, protocols, signal)
    const negotiation = negotiationOf(protocols, direction, complete(limits))
    return 'sink' in stream ? negotiateDuplex(stream, direction, negotiation, signal) : negotiateStream(stream, negotiation, signal)
  } catch (error) {
    // Not an async function, as that would take two turns of the promises more to hand on a promise.
    return Promise.reject(error)
  }
}

function negotiationOf (protocols: string | readonly string[], direction: Direction, limits: NegotiationLimits): Negotiation {
  return direction === 'inbound'
    ? new ListenerNegotiation(indexOf(protocols), limits)
    : new DialerNegotiation(typeof protocols === 'string' ? [protocols] : protocols, limits)
}

function complete (limits: Partial<NegotiationLimits> | undefined): NegotiationLimits {
  if (limits === undefined) {
    return LIMITS
  }
  checkNames(limits, LIMIT_NAMES, 'Cannot negotiate')
  const {
    maxFrameLength = LIMITS.maxFrameLength, maxRounds = LIMITS.maxRounds, maxFramesPerTurn = LIMITS.maxFramesPerTurn, ls
  } = limits
  return { maxFrameLength, maxRounds, maxFramesPerTurn, ls }
}

function checked (options: MultistreamSelectInit): MultistreamSelectInit {
  if (options !== NO_OPTIONS) {
    checkNames(options, OPTIONS, 'Cannot negotiate')
  }
  return options
}

/** What is no stream would show only when the event loop has turned, where nobody catches it. */
function checkArguments (stream: unknown, protocols: unknown, signal: unknown): void {
  if (!isStream(stream)) {
    throw new TypeError(`Cannot negotiate: stream must be a stream of js-libp2p, or a duplex with source and sink, received ${kindOf(stream)}`)
  }
  if (typeof protocols !== 'string' && !Array.isArray(protocols)) {
    throw new TypeError(`Cannot negotiate: protocols must be a name or an array of names, received ${kindOf(protocols)}`)
  }
  checkSignal(signal, 'Cannot negotiate')
}

function isStream (value: unknown): boolean {
  return typeof value === 'object' && value !== null && (
    ('sink' in value && typeof value.sink === 'function' && 'source' in value && isAsyncIterable(value.source))
    || ('send' in value && typeof value.send === 'function' && 'addEventListener' in value && typeof value.addEventListener === 'function')
  )
}

function isAsyncIterable (value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
