import { kindOf } from '../core/options.ts'
import type { PeerId } from '@libp2p/interface'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { ConnectionId } from '../core/ids.ts'

/** What a callback of `protocolHandler` is told about its stream. */
export interface HandlerContext {
  /** The name that was agreed. */
  readonly protocol: string
  /**
   * Made on first use. Aborts when the stream is reset or its connection ends, and after an orderly end of both sides once
   * everything was read.
   */
  readonly signal: AbortSignal
}

/** What a callback of `protocolBehaviour` is told about its stream. */
export interface StreamContext extends HandlerContext {
  readonly peer: PeerId
  readonly connection: ConnectionId
}

/**
 * Serves one stream: an async function, or an async generator whose yields are events. The next event is asked for when the
 * last one was taken.
 *
 * When its promise resolves or its generator ends, the stream is closed; a callback that returns nothing keeps the stream.
 * What it throws, also by rejecting later, resets the stream and is reported as `handler-error` (S4.15), unless the stream
 * had failed before. A generator gets `return()` when its stream is reset or its connection ends.
 */
export type StreamCallback<Event, Context> =
  // eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- a callback may be plain, async, or an async generator
  (stream: NegotiatedStream, context: Context) => AsyncIterable<Event> | PromiseLike<void> | void

/**
 * Checks an option that may be left out.
 *
 * @throws TypeError when it is given and no function
 */
export function checkCallback (name: string, callback: unknown, action: string): void {
  if (callback !== undefined && typeof callback !== 'function') {
    throw new TypeError(`${action}: ${name} must be a function, received ${kindOf(callback)}`)
  }
}
