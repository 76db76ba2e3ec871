import type { PollContext } from 'libp2p-behaviours'
import type { SpinningHandler } from './spinning-handler.ts'

/**
 * The slow twin of a connection whose handlers' listings do not change: on each poll it puts all of them in a new `Set` and
 * compares that with the one before. It does nothing else that a connection does.
 */
export class CloningTwin {
  readonly #parts: readonly Part[]
  #names: ReadonlySet<string>

  constructor (handlers: readonly SpinningHandler[]) {
    this.#parts = handlers.map(handler => new Part(handler))
    this.#names = this.#clone()
    this.poll()
  }

  /** Whether a handler asks to be polled. */
  get isWoken (): boolean {
    return this.#parts.some(part => part.isWoken)
  }

  /** Polls the handlers that woke; returns whether the set of names changed. */
  poll (): boolean {
    for (const part of this.#parts) {
      if (part.isWoken) {
        part.isWoken = false
        part.handler.poll(part)
      }
    }
    const before = this.#names
    this.#names = this.#clone()
    return this.#names.size !== before.size || !isSubset(this.#names, before)
  }

  #clone (): ReadonlySet<string> {
    const names = new Set<string>()
    for (const { handler } of this.#parts) {
      for (const name of handler.listenProtocols()) {
        names.add(name)
      }
    }
    return names
  }
}

/** One handler and its wake bit. */
class Part implements PollContext {
  readonly handler: SpinningHandler
  readonly now = 0
  isWoken = true

  constructor (handler: SpinningHandler) {
    this.handler = handler
  }

  wake (): void {
    this.isWoken = true
  }

  wakeAt (): void {
    // No handler here waits for an instant.
  }
}

function isSubset (names: ReadonlySet<string>, of: ReadonlySet<string>): boolean {
  for (const name of names) {
    if (!of.has(name)) {
      return false
    }
  }
  return true
}
