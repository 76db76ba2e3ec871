import { defaultLogger } from '@libp2p/logger'
import { AbstractStream } from '@libp2p/utils'
import type { MessageStreamDirection, Stream } from '@libp2p/interface'
import type { SendResult } from '@libp2p/utils'
import type { Uint8ArrayList } from 'uint8arraylist'

/** Two streams that are each other's remote end; what one sends reaches the other in a microtask. Nothing else costs time. */
export function streamPair (): [outbound: Stream, inbound: Stream] {
  const outbound = new PairedStream('outbound')
  const inbound = new PairedStream('inbound')
  outbound.remote = inbound
  inbound.remote = outbound
  return [outbound, inbound]
}

class PairedStream extends AbstractStream {
  remote: PairedStream = this

  constructor (direction: MessageStreamDirection) {
    super({ id: direction, direction, log: defaultLogger().forComponent(`test:stream-pair:${direction}`) })
  }

  override sendData (data: Uint8ArrayList): SendResult {
    queueMicrotask(() => {
      this.remote.onData(data)
    })
    return { sentBytes: data.byteLength, canSendMore: true }
  }

  override sendReset (): void {
    queueMicrotask(() => {
      this.remote.onRemoteReset()
    })
  }

  override async sendCloseWrite (): Promise<void> {
    queueMicrotask(() => {
      this.remote.onRemoteCloseWrite()
    })
  }

  override async sendCloseRead (): Promise<void> {
    queueMicrotask(() => {
      this.remote.onRemoteCloseRead()
    })
  }

  override sendPause (): void {
    // The remote end is not told: what it sends is buffered here.
  }

  override sendResume (): void {
    // See sendPause.
  }
}
