import { defaultLogger } from '@libp2p/logger'
import { AbstractStream } from '@libp2p/utils'
import type { SendResult } from '@libp2p/utils'
import type { MessageStreamDirection } from '@libp2p/interface'
import type { Uint8ArrayList } from 'uint8arraylist'

/** Has `deliver` done at the other end, after the latency of the link. */
export type Post = (deliver: () => void) => void

/** Two streams of the host's own kind that are each other's remote end; what one sends reaches the other as `post` wants. */
export function fakeStreams (post: Post): [outbound: FakeStream, inbound: FakeStream] {
  const outbound = new FakeStream('outbound', post)
  const inbound = new FakeStream('inbound', post)
  outbound.remote = inbound
  inbound.remote = outbound
  return [outbound, inbound]
}

let streams = 0

/** One end. Everything but the link is the host's: buffers, half-closing, the order of its events. */
export class FakeStream extends AbstractStream {
  remote: FakeStream = this
  /** While true the link takes nothing: `send` answers false, until {@link unclog}. */
  isClogged = false
  readonly #post: Post

  constructor (direction: MessageStreamDirection, post: Post) {
    super({ id: `${++streams}`, direction, log: defaultLogger().forComponent('test:fake-stream') })
    this.#post = post
  }

  /** The link takes bytes again. */
  unclog (): void {
    this.isClogged = false
    this.onMuxerDrain()
  }

  override sendData (data: Uint8ArrayList): SendResult {
    if (this.isClogged) {
      return { sentBytes: 0, canSendMore: false }
    }
    const bytes = data.slice()
    this.#post(() => { this.remote.onData(bytes) })
    return { sentBytes: data.byteLength, canSendMore: true }
  }

  override sendReset (): void {
    this.#post(() => {
      if (this.remote.status === 'open' || this.remote.status === 'closing') {
        this.remote.onRemoteReset()
      }
    })
  }

  override async sendCloseWrite (): Promise<void> {
    this.#post(() => { this.remote.onRemoteCloseWrite() })
  }

  override async sendCloseRead (): Promise<void> {
    this.#post(() => { this.remote.onRemoteCloseRead() })
  }

  override sendPause (): void {
    // What arrives meanwhile is buffered here.
  }

  override sendResume (): void {
    // See sendPause.
  }
}
