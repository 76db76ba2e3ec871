import type { Stream } from '@libp2p/interface'

/** What streams of the host deliver by: whatever comes goes through it, and it asks the stream whether it is paused. */
const DELIVER = 'dispatchReadBuffer'

/**
 * Shows a stream as paused to all but the host, who goes on delivering: the answer of the peer has to be read first (S2.28).
 * Streams that deliver in another way are shown as they are, as they would not deliver any more.
 */
export class PauseMask {
  readonly #stream: Stream
  #readStatus: Stream['readStatus']
  #isLifted = false
  readonly #isOn: boolean = false

  /**
   * Puts the mask on.
   *
   * @param stream - readable
   */
  constructor (stream: Stream) {
    this.#stream = stream
    this.#readStatus = stream.readStatus
    const deliver: unknown = Reflect.get(stream, DELIVER)
    if (typeof deliver !== 'function') {
      return
    }
    this.#isOn = true
    Object.defineProperties(stream, {
      readStatus: {
        configurable: true,
        enumerable: true,
        get: () => this.#readStatus === 'readable' && !this.#isLifted ? 'paused' : this.#readStatus,
        set: (status: Stream['readStatus']) => { this.#readStatus = status }
      },
      [DELIVER]: { configurable: true, value: () => { this.lift(() => { deliver.call(stream) }) } }
    })
  }

  /** Shows the stream as it is while `task` runs. */
  lift (task: () => void): void {
    const wasLifted = this.#isLifted
    this.#isLifted = true
    try {
      task()
    } finally {
      this.#isLifted = wasLifted
    }
  }

  /** Takes the mask off. */
  remove (): void {
    if (this.#isOn) {
      Reflect.deleteProperty(this.#stream, DELIVER)
      Object.defineProperty(this.#stream, 'readStatus', { configurable: true, enumerable: true, writable: true, value: this.#readStatus })
    }
  }
}
