/**
 * ```
 *  last-events ──handler done, enough events, or the deadline──▶ muxer ──ended, aborted, or the deadline──▶ done
 * ```
 * The end of a connection once streams and requests have been ended (S6.6 c to e): the last events of the handler, then
 * the muxer, all under one deadline. An abrupt end aborts the muxer instead of closing it, and waits for nothing.
 */

import { PENDING } from '../core/poll.ts'
import { ConnectionClosedError } from '../errors.ts'
import type { Instant } from '../core/instant.ts'
import type { ConnectionConfig } from './connection-config.ts'
import type { MuxerPort } from './muxer-port.ts'
import type { OutboundStreams } from './outbound-streams.ts'
import type { Outlet } from './outlet.ts'
import type { RootHandler } from './root-handler.ts'

/** What a closing connection works with. */
export interface ClosingParts<Stream, FromBehaviour, ToBehaviour> {
  readonly outlet: Outlet<Stream, ToBehaviour>
  readonly root: RootHandler<FromBehaviour, ToBehaviour>
  readonly outbound: OutboundStreams<Stream, FromBehaviour, ToBehaviour>
  readonly muxer: MuxerPort<unknown>
  readonly config: ConnectionConfig
}

/** The steps of the diagram above, one value at a time. */
export class Closing<Stream, FromBehaviour, ToBehaviour> {
  /** When the rest is cut. */
  readonly deadline: Instant
  readonly #parts: ClosingParts<Stream, FromBehaviour, ToBehaviour>
  #step: 'last-events' | 'muxer' | 'done' = 'last-events'
  /** The error to abort the muxer with; undefined while it can end in good order. */
  #abortError: Error | undefined
  #outputs = 0
  #isMuxerAsked = false
  #isMuxerClosed = false

  /**
   * @param deadline - when the rest is cut
   */
  constructor (parts: ClosingParts<Stream, FromBehaviour, ToBehaviour>, deadline: Instant) {
    this.#parts = parts
    this.deadline = deadline
    parts.root.isWoken = true
  }

  /** Nothing is left to wait for. */
  get isDone (): boolean {
    return this.#step === 'done'
  }

  /** Nothing can be flushed any more: the transport is lost, or the user gave up. */
  abort (error: Error): void {
    this.#abortError ??= error
  }

  /** The muxer has ended. */
  muxerClosed (): void {
    this.#isMuxerClosed = true
  }

  /** The remote has ended its side of the muxer: that answers our close, if there was one (S6.8). */
  muxerEnded (error: Error): void {
    if (this.#isMuxerAsked) {
      this.#isMuxerClosed = true
    } else {
      this.abort(error)
    }
  }

  /** Goes on as far as one value or one step; false when it waits. */
  advance (): boolean {
    switch (this.#step) {
      case 'last-events':
        return this.#pollHandler()
      case 'muxer':
        return this.#endMuxer()
      case 'done':
        return false
    }
  }

  #pollHandler (): boolean {
    const { outlet, root, outbound, config: { maxCloseEvents } } = this.#parts
    if (outlet.now >= this.deadline) {
      return this.#endHandler()
    }
    root.expire(outlet.now)
    if (!root.isWoken) {
      return false
    }
    const output = root.pollLast(outlet.now)
    if (output === PENDING) {
      return false
    }
    if (output === undefined) {
      return this.#endHandler()
    }
    if (this.#outputs >= maxCloseEvents) {
      outlet.limitReached('maxCloseEvents', maxCloseEvents)
      return this.#endHandler()
    }
    this.#outputs++
    try {
      if (output.type === 'notify-behaviour') {
        outlet.outputs.push({ type: 'handler-event', event: output.event })
      } else if (output.type === 'outbound-stream-request') {
        outbound.request(output)
      }
    } catch (thrown) {
      // An output is the author's object: to read it may throw.
      root.failed('poll', thrown)
    }
    return true
  }

  #endHandler (): boolean {
    this.#parts.root.release()
    this.#step = 'muxer'
    return true
  }

  #endMuxer (): boolean {
    const { outlet, muxer } = this.#parts
    if (this.#isMuxerClosed) {
      this.#step = 'done'
      return true
    }
    if (outlet.now >= this.deadline) {
      this.abort(new ConnectionClosedError('The connection did not close in time'))
    }
    const error = this.#abortError
    if (error !== undefined) {
      outlet.tellMuxer(() => { muxer.abort(error) })
      this.#step = 'done'
      return true
    }
    if (this.#isMuxerAsked) {
      return false
    }
    this.#isMuxerAsked = true
    outlet.tellMuxer(() => { muxer.close() })
    return true
  }
}
