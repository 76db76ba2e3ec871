import { Uint8ArrayList } from 'uint8arraylist'
import type { AbortOptions, MessageStream } from '@libp2p/interface'
import type { Scheduler } from './scheduler.ts'

/** What waits for company at most: enough for hundreds of small frames, and below what is encrypted as one message. */
const JOINED_BYTES = 16_384

/**
 * Joins what the muxer sends in a row into one write of the wire. Each write costs an encryption and a call of the system,
 * which is most of what a short stream costs, and one event of the socket often leads to frames of many streams.
 *
 * Nothing waits for longer than a microtask, nor once the wire is full: whoever sends much hears of that as ever.
 */
export class WireWriting {
  readonly #wire: MessageStream
  readonly #scheduler: Pick<Scheduler, 'soon'>
  readonly #send: MessageStream['send']
  #joined: Uint8ArrayList | undefined
  readonly #flushSoon = (): void => { this.#tryFlush() }

  /**
   * @param wire - gets another `send` and another `close`, by {@link follow}
   * @param scheduler - of the node
   */
  constructor (wire: MessageStream, scheduler: Pick<Scheduler, 'soon'>) {
    this.#wire = wire
    this.#scheduler = scheduler
    this.#send = wire.send.bind(wire)
  }

  /** From now on. */
  follow (): void {
    const wire = this.#wire
    const close = wire.close.bind(wire)
    wire.send = (data) => this.#join(data)
    wire.close = async (options?: AbortOptions) => {
      this.#tryFlush()
      await close(options)
    }
  }

  #join (data: Uint8Array | Uint8ArrayList): boolean {
    const { status, writableNeedsDrain } = this.#wire
    if (this.#joined === undefined) {
      if (status !== 'open' || writableNeedsDrain || data.byteLength > JOINED_BYTES) {
        return this.#send(data)
      }
      this.#joined = new Uint8ArrayList(data)
      this.#scheduler.soon(this.#flushSoon)
      return true
    }
    this.#joined.append(data)
    return writableNeedsDrain || this.#joined.byteLength > JOINED_BYTES ? this.#flush() : true
  }

  #flush (): boolean {
    const joined = this.#joined
    this.#joined = undefined
    return joined === undefined || this.#send(joined)
  }

  #tryFlush (): void {
    try {
      this.#flush()
    } catch {
      // The wire was ended meanwhile, or ends by this very error: its muxer hears of that, and so do all streams.
    }
  }
}
