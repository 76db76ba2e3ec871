import { TypedEventEmitter } from 'main-event'
import type { AbortOptions, Stream, StreamMuxer, StreamMuxerEvents, StreamMuxerFactory } from '@libp2p/interface'

/** A muxer that its node does not get: the node dials, secures and closes the connection, and sees none of its streams. */
export class HiddenMuxer {
  /** For the option `streamMuxers` of the node. */
  readonly factory: (components: object) => StreamMuxerFactory
  /** The muxer of the first connection, once that is there. */
  readonly muxer: Promise<StreamMuxer>

  constructor (create: (components: object) => StreamMuxerFactory) {
    let found = (_: StreamMuxer): void => {}
    this.muxer = new Promise((resolve) => { found = resolve })
    this.factory = (components) => {
      const inner = create(components)
      return {
        protocol: inner.protocol,
        createStreamMuxer: (wire) => {
          const muxer = inner.createStreamMuxer(wire)
          found(muxer)
          return new StreamlessMuxer(muxer)
        }
      }
    }
  }
}

/** What the node gets instead. */
class StreamlessMuxer extends TypedEventEmitter<StreamMuxerEvents> implements StreamMuxer {
  readonly streams: Stream[] = []
  readonly protocol: string
  readonly #muxer: StreamMuxer

  constructor (muxer: StreamMuxer) {
    super()
    this.protocol = muxer.protocol
    this.#muxer = muxer
  }

  get status (): StreamMuxer['status'] {
    return this.#muxer.status
  }

  createStream (): never {
    throw new Error('Cannot open a stream: those of this connection are hidden')
  }

  async close (options?: AbortOptions): Promise<void> {
    await this.#muxer.close(options)
  }

  abort (error: Error): void {
    this.#muxer.abort(error)
  }
}
