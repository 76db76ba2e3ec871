import { TypedEventEmitter } from '@libp2p/interface'
import { fakeStreams } from './fake-stream.ts'
import type { AbortOptions, CreateStreamOptions, Stream, StreamMuxer, StreamMuxerEvents } from '@libp2p/interface'
import type { FakeStream } from './fake-stream.ts'

/** A muxer of the host without a wire: it writes down what it is asked for, and the test opens its inbound streams. */
export class FakeMuxer extends TypedEventEmitter<StreamMuxerEvents> implements StreamMuxer {
  readonly protocol = '/fake/1.0.0'
  streams: Stream[] = []
  status: StreamMuxer['status'] = 'open'
  readonly asked: unknown[] = []
  /** Rejects `close`. */
  closeError: Error | undefined

  async createStream (options?: CreateStreamOptions): Promise<Stream> {
    this.asked.push(['createStream', options])
    return this.#add('outbound')
  }

  async close (options?: AbortOptions): Promise<void> {
    this.asked.push(['close', options])
    if (this.closeError !== undefined) {
      throw this.closeError
    }
    this.status = 'closed'
  }

  abort (error: Error): void {
    this.asked.push(['abort', error.message])
    this.status = 'closed'
  }

  /** The remote opens a stream. */
  open (protocol = ''): FakeStream {
    const stream = this.#add('inbound')
    stream.protocol = protocol
    this.safeDispatchEvent('stream', { detail: stream })
    return stream
  }

  #add (direction: 'inbound' | 'outbound'): FakeStream {
    const [outbound, inbound] = fakeStreams((deliver) => { deliver() })
    const stream = direction === 'outbound' ? outbound : inbound
    this.streams.push(stream)
    return stream
  }
}
