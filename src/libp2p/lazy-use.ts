import { Uint8ArrayList } from 'uint8arraylist'
import { PauseMask } from './pause-mask.ts'
import type { Stream } from '@libp2p/interface'
import type { StreamEnd } from './stream-reader.ts'

/**
 * What is different for the user of a stream that was opened lazily (S2.26 to S2.28): the first bytes share their write with
 * the opening, and once the peer did not agree, writing fails with the very error that reading fails with. The answer of the
 * peer is read while its user has paused the stream, too; the pause holds for what comes behind it.
 *
 * These methods stay in place after the peer agreed, as somebody may have put another around it by then.
 */
export class LazyUse {
  readonly #stream: Stream
  readonly #end: StreamEnd
  readonly #send: Stream['send']
  readonly #pause: Stream['pause']
  readonly #resume: Stream['resume']
  /** Header and proposal, until they are sent. */
  #opening: Uint8Array | undefined
  #isConfirmed = false
  /** On as long as its user wants nothing, and the answer has not come. */
  #mask: PauseMask | undefined
  #closeReadLater: (() => Promise<void>) | undefined

  /**
   * @param stream - gets another `send`, `pause` and `resume`
   * @param end - what the stream closed with
   * @param opening - what the peer has to see first
   */
  constructor (stream: Stream, end: StreamEnd, opening: Uint8Array) {
    this.#stream = stream
    this.#end = end
    this.#opening = opening
    this.#send = stream.send.bind(stream)
    stream.send = data => this.#write(data)
    this.#pause = stream.pause.bind(stream)
    this.#resume = stream.resume.bind(stream)
    stream.pause = () => { this.#setPaused(true) }
    stream.resume = () => { this.#setPaused(false) }
  }

  /** Whether the opening waits for its user. */
  get isUnsent (): boolean {
    return this.#opening !== undefined
  }

  /** Sends the opening, if nothing has yet: nothing that may be written is waited for any longer. */
  flush (): void {
    const opening = this.#opening
    if (opening === undefined || this.#stream.writeStatus !== 'writable') {
      return
    }
    this.#opening = undefined
    try {
      this.#send(opening)
    } catch {
      // The host has aborted the stream with this error, so its user meets it there.
    }
  }

  /**
   * Ends this side, without waiting for the peer to agree (S2.27).
   *
   * @param close - the host's
   */
  close (close: () => Promise<void>): Promise<void> {
    this.flush()
    return this.#isConfirmed ? close() : this.#closeUnconfirmed(close)
  }

  /**
   * That the peer did not agree is no failure of closing (S2.26); the host's own `close` may reject then, or go on for ever, if it
   * was waiting for the link.
   */
  async #closeUnconfirmed (close: () => Promise<void>): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#stream.addEventListener('close', () => { resolve() }, { once: true })
      close().then(resolve, reject)
    })
  }

  /**
   * Ends reading once the peer agreed: at once it would drop the answer with everything else.
   *
   * @param closeRead - the host's
   */
  async closeRead (closeRead: () => Promise<void>): Promise<void> {
    if (this.#isConfirmed) {
      await closeRead()
    } else {
      this.#closeReadLater = closeRead
    }
  }

  /** Nothing can be taken before {@link readOn}, not even the answer. */
  hold (): void {
    this.#unmasked(() => { this.#pause() })
  }

  /** See {@link hold}. */
  readOn (): void {
    this.#unmasked(() => {
      if (this.#stream.readStatus === 'paused') {
        this.#resume()
      }
    })
  }

  /** The peer agreed. */
  confirmed (): void {
    const isPauseWanted = this.#mask !== undefined
    this.#isConfirmed = true
    this.#unmask()
    if (isPauseWanted && this.#stream.readStatus === 'readable') {
      this.#pause()
    }
    this.#closeReadLater?.().catch(() => {
      // Its user was answered, and does not read any more.
    })
  }

  /** A stream that is not read any more says so itself. */
  #setPaused (isPaused: boolean): void {
    const { readStatus } = this.#stream
    if (!this.#isConfirmed && (readStatus === 'readable' || readStatus === 'paused')) {
      this.#unmask()
      this.#mask = isPaused ? new PauseMask(this.#stream) : undefined
    } else if (isPaused) {
      this.#pause()
    } else {
      this.#resume()
    }
  }

  #unmask (): void {
    this.#mask?.remove()
    this.#mask = undefined
  }

  #unmasked (task: () => void): void {
    if (this.#mask === undefined) {
      task()
    } else {
      this.#mask.lift(task)
    }
  }

  #write (data: Uint8Array | Uint8ArrayList): boolean {
    if (this.#end.failure !== undefined) {
      throw this.#end.failure
    }
    // Throws at what is no bytes, while the opening is still to be sent.
    const bytes = this.#opening === undefined ? data : new Uint8ArrayList(this.#opening, data)
    this.#opening = undefined
    return this.#send(bytes)
  }
}
