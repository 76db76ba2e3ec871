import type { SpinningHandler } from './spinning-handler.ts'

/**
 * How a connection would find out that protocols changed if it did nothing about the cost: on each poll it puts all names of
 * all handlers in a new `Set`, and compares that with the one before.
 */
export class CloningDiff {
  readonly #handlers: readonly SpinningHandler[]
  #names: ReadonlySet<string> = new Set()

  constructor (handlers: readonly SpinningHandler[]) {
    this.#handlers = handlers
    this.update()
  }

  /** Whether the set of names changed since the last call. */
  update (): boolean {
    const before = this.#names
    this.#names = this.#clone()
    return this.#names.size !== before.size || !isSubset(this.#names, before)
  }

  #clone (): ReadonlySet<string> {
    const names = new Set<string>()
    for (const handler of this.#handlers) {
      for (const name of handler.listenProtocols()) {
        names.add(name)
      }
    }
    return names
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
