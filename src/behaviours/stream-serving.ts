/// <reference lib="esnext.disposable" preserve="true" />

/** A protocol that is served by a callback; also `Disposable`: `using` ends it with its scope. */
export interface Serving extends Disposable {
  /** The name that is accepted. */
  readonly protocol: string
  /** False once it has ended, and the name is offered no more. */
  readonly isOpen: boolean
  /** Offers the name no more; streams that are served already go on. Calling it again changes nothing. */
  end (): void
}

/** See {@link Serving}. */
export class StreamServing implements Serving, EventListenerObject {
  readonly protocol: string
  readonly #signal: AbortSignal | undefined
  readonly #onEnd: () => void
  #isOpen = true

  /**
   * @param onEnd - the name is to be offered no more
   */
  constructor (protocol: string, signal: AbortSignal | undefined, onEnd: () => void) {
    this.protocol = protocol
    this.#signal = signal
    this.#onEnd = onEnd
    signal?.addEventListener('abort', this)
  }

  get isOpen (): boolean {
    return this.#isOpen
  }

  end (): void {
    if (this.#isOpen) {
      this.#isOpen = false
      this.#signal?.removeEventListener('abort', this)
      this.#onEnd()
    }
  }

  [Symbol.dispose] (): void {
    this.end()
  }

  /** Listener of the signal. */
  handleEvent (): void {
    this.end()
  }
}
