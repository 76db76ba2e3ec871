import { StreamMessageEvent } from '@libp2p/interface'
import { defaultLogger } from '@libp2p/logger'
import { TypedEventEmitter } from 'main-event'
import type {
  EventHandler, Logger, MessageStream, MessageStreamDirection, MessageStreamEvents, MessageStreamStatus, MessageStreamTimeline
} from '@libp2p/interface'
import type { Uint8ArrayList } from 'uint8arraylist'

type Chunk = Uint8Array | Uint8ArrayList

/**
 * Two streams that are each other's remote end, with what a negotiation needs and the events of the host, but without its
 * buffers, half-closing and accounting, which cost more than our negotiation: what is sent is delivered as it is, in a
 * microtask. Nothing of it ends.
 */
export function bareStreams (): [outbound: MessageStream, inbound: MessageStream] {
  const outbound = new BareStream('outbound')
  const inbound = new BareStream('inbound')
  outbound.remote = inbound
  inbound.remote = outbound
  return [outbound, inbound]
}

class BareStream extends TypedEventEmitter<MessageStreamEvents> implements MessageStream {
  remote: BareStream = this
  readonly direction: MessageStreamDirection
  readonly log: Logger
  readonly status: MessageStreamStatus = 'open'
  readonly timeline: MessageStreamTimeline = { open: 0 }
  readonly readableEnded = false
  readonly writableNeedsDrain = false
  readonly writeBufferLength = 0
  readonly maxReadBufferLength = Infinity
  readonly inactivityTimeout = Infinity
  readonly #unread: Chunk[] = []

  constructor (direction: MessageStreamDirection) {
    super()
    this.direction = direction
    this.log = defaultLogger().forComponent(`bench:${direction}`)
  }

  get readBufferLength (): number {
    return this.#unread.reduce((length, chunk) => length + chunk.byteLength, 0)
  }

  override addEventListener<Name extends keyof MessageStreamEvents> (type: Name, listener: EventHandler<MessageStreamEvents[Name]>): void {
    super.addEventListener(type, listener)
    if (type === 'message' && this.#unread.length > 0) {
      queueMicrotask(() => { this.#deliver() })
    }
  }

  send (data: Chunk): boolean {
    const { remote } = this
    queueMicrotask(() => { remote.push(data) })
    return true
  }

  push (data: Chunk): void {
    this.#unread.push(data)
    this.#deliver()
  }

  unshift (data: Chunk): void {
    this.#unread.unshift(data)
    this.#deliver()
  }

  abort (error: Error): void {
    throw error
  }

  pause (): void {}

  resume (): void {}

  async close (): Promise<void> {}

  async onDrain (): Promise<void> {}

  async * [Symbol.asyncIterator] (): AsyncGenerator<Chunk> {
    yield * this.#unread.splice(0)
  }

  #deliver (): void {
    while (this.listenerCount('message') > 0) {
      const chunk = this.#unread.shift()
      if (chunk === undefined) {
        return
      }
      this.dispatchEvent(new StreamMessageEvent(chunk))
    }
  }
}
