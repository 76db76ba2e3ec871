import type { AbortOptions, CreateStreamOptions, Stream } from '@libp2p/interface'
import type { StreamOpening } from '../connection/muxer-port.ts'
import type { NegotiatedMuxer } from './negotiated-muxer.ts'

/** Where the streams of a connection come from, and what ends them: one per mode (S1.5). */
export interface StreamSource {
  /** True: its streams speak the agreed name already. */
  readonly negotiates: boolean
  /** All that are open; the array may be another one later. */
  readonly streams: readonly Stream[]
  open (opening: StreamOpening): Promise<Stream>
  /** Nobody waits for the answer to `opening` any more. */
  cancel (opening: StreamOpening): void
  close (options: AbortOptions): Promise<void>
  abort (error: Error): void
}

/** Native mode: the muxer below a wrapped one. */
export class InnerMuxer implements StreamSource {
  readonly negotiates = false
  readonly #muxer: NegotiatedMuxer

  constructor (muxer: NegotiatedMuxer) {
    this.#muxer = muxer
  }

  /** See {@link StreamSource}. */
  get streams (): readonly Stream[] {
    return this.#muxer.inner.streams
  }

  /** See {@link StreamSource}. */
  open (opening: StreamOpening): Promise<Stream> {
    return this.#muxer.openInner(toCreateOptions(opening.options))
  }

  /** See {@link StreamSource}. A muxer takes no request back: the machine resets the stream that comes of it. */
  cancel (): void {}

  /** See {@link StreamSource}. */
  async close (options: AbortOptions): Promise<void> {
    await this.#muxer.inner.close(options)
    this.#muxer.flush()
  }

  /** See {@link StreamSource}. */
  abort (error: Error): void {
    this.#muxer.inner.abort(error)
    this.#muxer.flush()
  }
}

/** What a request of the host passed on through the machine; the requests of handlers have nothing. */
function toCreateOptions (options: unknown): CreateStreamOptions {
  return typeof options === 'object' && options !== null ? options : {}
}
