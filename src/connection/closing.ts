/**
 * ```
 *  last-events ──handler done, enough events, or the deadline──▶ muxer ──ended, aborted, or the deadline──▶ done
 * ```
 * The end of a connection once streams and requests have been ended (S6.6 c to e): the last events of the handler, then
 * the muxer, all under one deadline. An abrupt end aborts the muxer instead of closing it, and waits for nothing.
 */

import { NEVER } from '../core/instant.ts'
import { PENDING } from '../core/poll.ts'
import { ConnectionClosedError } from '../errors.ts'
import type { Instant } from '../core/instant.ts'
import type { ConnectionConfig } from './connection-config.ts'
import type { MuxerPort } from './muxer-port.ts'
import type { Outlet } from './outlet.ts'
import type { RootHandler } from './root-handler.ts'

/** What a closing connection works with. */
export interface ClosingParts<Stream, FromBehaviour, ToBehaviour> {
  readonly outlet: Outlet<Stream, ToBehaviour>
  readonly root: RootHandler<FromBehaviour, ToBehaviour>
  readonly muxer: MuxerPort
  readonly config: ConnectionConfig
}

export class Closing<Stream, FromBehaviour, ToBehaviour> {
  readonly #parts: ClosingParts<Stream, FromBehaviour, ToBehaviour>
  readonly #deadline: Instant
  #step: 'last-events' | 'muxer' | 'done' = 'last-events'
  /** The error to abort the muxer with; undefined while it can end in good order. */
  #abortError: Error | undefined
  #events = 0
  #isMuxerAsked = false
  #isMuxerClosed = false

  /**
   * @param deadline - when the rest is cut
   * @param abortError - given for an abrupt end
   */
  constructor (parts: ClosingParts<Stream, FromBehaviour, ToBehaviour>, deadline: Instant, abortError: Error | undefined) {
    this.#parts = parts
    this.#deadline = deadline
    this.#abortError = abortError
    parts.root.isWoken = true
  }

  /** When the rest is cut. */
  get deadline (): Instant {
    return this.#step === 'done' ? NEVER : this.#deadline
  }

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
    const { outlet, root, config } = this.#parts
    if (this.#events >= config.maxCloseEvents || outlet.now >= this.#deadline) {
      if (this.#events >= config.maxCloseEvents) {
        outlet.limitReached('maxCloseEvents', config.maxCloseEvents)
      }
      this.#step = 'muxer'
      return true
    }
    if (!root.isWoken) {
      return false
    }
    const last = root.pollClose(outlet.now)
    if (last === PENDING) {
      return false
    }
    if (last === undefined) {
      this.#step = 'muxer'
    } else {
      this.#events++
      outlet.outputs.push({ type: 'handler-event', event: last.event })
    }
    return true
  }

  #endMuxer (): boolean {
    if (!this.#isMuxerClosed) {
      if (this.#parts.outlet.now >= this.#deadline) {
        this.abort(new ConnectionClosedError('The connection did not close in time'))
      }
      if (this.#abortError !== undefined) {
        this.#parts.muxer.abort(this.#abortError)
      } else {
        if (!this.#isMuxerAsked) {
          this.#isMuxerAsked = true
          this.#parts.muxer.close()
        }
        return false
      }
    }
    this.#step = 'done'
    return true
  }
}
