import { toError } from '../core/to-error.ts'
import { endStreams } from './end-streams.ts'
import { Wait } from './wait.ts'
import type { AbortOptions, Connection as HostConnection, Stream } from '@libp2p/interface'
import type { MuxerPort, StreamOpening } from '../connection/muxer-port.ts'
import type { Scheduler } from './scheduler.ts'
import type { StreamSource } from './stream-source.ts'

/** Who is told what the muxer answers, and how the host wants the connection to end: the driver of the connection. */
export interface MuxerUser {
  streamOpened (opening: StreamOpening, stream: Stream): void
  openingFailed (opening: StreamOpening, error: unknown): void
  /** Begins the graceful close of the machine, unless it has begun; it answers with `close` or `abort` of the port. */
  close (): void
  /** Begins the abrupt end of the machine; it answers with `abort` of the port. */
  abort (error: Error): void
}

/**
 * The host's muxer and connection as the machine sees them.
 *
 * The end of a connection may begin on either side (HOST 5.4). Each way handlers have their last word first, then the
 * streams end, then the muxer closes, then the transport, which is the host's:
 *
 * ```
 * host.close() ─▶ closeMuxer ─▶ machine closes ─▶ close ─▶ inner muxer closes ─▶ transport closes
 * machine closes ─▶ close ─▶ host.close() ─▶ closeMuxer ─▶ inner muxer closes ─▶ transport closes
 * host.abort() ─▶ abortMuxer ─▶ machine ends, inner muxer is aborted ─▶ transport is aborted
 * machine ends ─▶ abort ─▶ host.abort() ─▶ abortMuxer ─▶ inner muxer is aborted ─▶ transport is aborted
 * ```
 *
 * In hosted mode the host's own `close` and `abort`, which see to muxer and transport, stand in the place of the inner muxer.
 */
export class MuxerAdapter implements MuxerPort {
  readonly #host: HostConnection
  readonly #source: StreamSource
  readonly #scheduler: Scheduler
  readonly #user: MuxerUser
  /** Calls of the host that wait until the muxer may close. */
  #waiting: Set<Wait<void>> | undefined
  /** Of the close that the machine began: it never aborts, and is there in place of the host's own. */
  #endless: AbortSignal | undefined
  /** The handlers had their last word. */
  #mayClose = false
  /** The host ends the connection at once, or has ended it. */
  #isEnding = false

  constructor (host: HostConnection, source: StreamSource, scheduler: Scheduler, user: MuxerUser) {
    this.#host = host
    this.#source = source
    this.#scheduler = scheduler
    this.#user = user
  }

  /** See {@link MuxerPort}. */
  get negotiates (): boolean {
    return this.#source.negotiates
  }

  /** See {@link MuxerPort}. */
  openStream (opening: StreamOpening): void {
    this.#source.open(opening).then(
      (stream) => { this.#user.streamOpened(opening, stream) },
      (error: unknown) => { this.#user.openingFailed(opening, error) }
    )
  }

  /** See {@link MuxerPort}. */
  cancelOpening (opening: StreamOpening): void {
    this.#source.cancel(opening)
  }

  /** See {@link MuxerPort}. */
  close (): void {
    if (!this.#letHostGoOn()) {
      void this.#closeHost()
    }
  }

  /** See {@link MuxerPort}. */
  abort (error: Error): void {
    this.#letHostGoOn()
    if (!this.#isEnding) {
      this.#isEnding = true
      this.#host.abort(error)
    }
  }

  /** The host closes the connection, and the muxer first: resolves when that is done. */
  async closeMuxer (options: AbortOptions): Promise<void> {
    if (!this.#mayClose) {
      await this.#handlersFirst(options)
    }
    try {
      // A stream may listen to its signal several times, and Node takes more than ten listeners for a leak.
      await endStreams(this.#source.streams, this.#scheduler, options.signal === this.#endless ? {} : options)
      await this.#source.close(options)
    } catch (error) {
      // The host leaves the transport open after this.
      this.#host.abort(toError(error))
      throw error
    }
  }

  /** The host ends the connection at once. */
  abortMuxer (error: Error): void {
    if (!this.#isEnding) {
      this.#isEnding = true
      this.#user.abort(error)
    }
    this.#source.abort(error)
  }

  /** The transport has closed. */
  hostClosed (): void {
    this.#isEnding = true
    this.#letHostGoOn()
  }

  async #handlersFirst (options: AbortOptions): Promise<void> {
    const wait = new Wait<void>({ scheduler: this.#scheduler, action: 'Cannot wait for the handlers' }, options)
    this.#waiting ??= new Set()
    this.#waiting.add(wait)
    this.#user.close()
    try {
      await wait.promise
    } catch {
      // The host's time is up: the close of the inner muxer fails by the same signal.
    } finally {
      this.#waiting.delete(wait)
    }
  }

  /** For the host that has begun to close the connection; false if it has not. */
  #letHostGoOn (): boolean {
    this.#mayClose = true
    for (const wait of this.#waiting ?? []) {
      wait.resolve()
    }
    return this.#waiting !== undefined && this.#waiting.size > 0
  }

  /** The deadline is the machine's. The host's own, one second, must not apply, and any signal takes its place. */
  async #closeHost (): Promise<void> {
    this.#endless = new AbortController().signal
    try {
      await this.#host.close({ signal: this.#endless })
    } catch (error) {
      this.#host.abort(toError(error))
    }
  }
}
