import { checkNames, kindOf } from '../core/options.ts'

/** Options of commands that can be cancelled. */
export interface SignalOptions {
  /** Ends the call when it aborts. No listener is left on it when the call has ended. */
  signal?: AbortSignal | undefined
}

/** Options of commands that open a stream. */
export interface LazyOptions {
  /**
   * Whether the stream may be written to before the peer agreed, which saves a round trip. It takes effect for one name that
   * the peer has announced on this connection; if it refuses all the same, reading and writing fail with `NegotiationError`.
   *
   * @default false
   */
  lazy?: boolean | undefined
}

/** Options of commands that wait for something. */
export interface CallOptions extends SignalOptions {
  /** Milliseconds after which the call ends; `Infinity` for never. */
  timeoutMs?: number | undefined
}

const CALL_OPTIONS: readonly string[] = ['signal', 'timeoutMs']

/**
 * Checks the options of a call, before it leaves anything behind.
 *
 * @param others - options that the call has besides those of every call
 * @throws TypeError for an unknown option, or one of the wrong type
 * @throws RangeError when `timeoutMs` is NaN or negative
 */
export function checkCallOptions (options: CallOptions, action: string, others: readonly string[] = []): void {
  if (isSignal(options)) {
    throw new TypeError(`${action}: options must be { signal, timeoutMs }, received an AbortSignal`)
  }
  checkNames(options, [...CALL_OPTIONS, ...others], action)
  checkSignal(options.signal, action)
  const lazy: unknown = 'lazy' in options ? options.lazy : undefined
  if (lazy !== undefined && typeof lazy !== 'boolean') {
    throw new TypeError(`${action}: lazy must be true or false, received ${kindOf(lazy)}`)
  }
  const timeoutMs: unknown = options.timeoutMs
  if (timeoutMs === undefined) {
    return
  }
  if (typeof timeoutMs !== 'number') {
    throw new TypeError(`${action}: timeoutMs must be a number, received ${kindOf(timeoutMs)}`)
  }
  if (!(timeoutMs >= 0)) {
    throw new RangeError(`${action}: timeoutMs must be milliseconds of at least 0, received ${timeoutMs}`)
  }
}

/**
 * Takes signals of any realm or polyfill.
 *
 * @throws TypeError for a value that is neither undefined nor a signal
 */
export function checkSignal (signal: unknown, action: string): asserts signal is AbortSignal | undefined {
  if (signal !== undefined && !isSignal(signal)) {
    throw new TypeError(`${action}: signal must be an AbortSignal, received ${kindOf(signal)}`)
  }
}

function isSignal (value: unknown): boolean {
  return typeof value === 'object' && value !== null
    && 'aborted' in value && typeof value.aborted === 'boolean'
    && 'addEventListener' in value && typeof value.addEventListener === 'function'
}

/**
 * Refuses what is no peer id, such as an address or a text.
 *
 * @throws TypeError
 */
export function checkPeer (peer: unknown, action: string): void {
  if (typeof peer !== 'object' || peer === null || !('toMultihash' in peer)) {
    throw new TypeError(`${action}: the peer must be a PeerId, received ${kindOf(peer)}`)
  }
}
