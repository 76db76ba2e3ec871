import type { ProtocolsChange } from './protocols-change.ts'

/**
 * The set that a handler keeps of what its peer, or its own side, speaks (S3.17). Every method that changes it tells
 * whether it did.
 *
 * @example
 * const remote = new SupportedProtocols()
 * if (event.type === 'remote-protocols-change' && remote.apply(event.change)) {
 *   isUseful = remote.has('/files/1.0.0')
 * }
 */
export class SupportedProtocols implements Iterable<string> {
  readonly #names = new Set<string>()

  /** Distinct names held. */
  get size (): number {
    return this.#names.size
  }

  /** Whether `protocol` is held. */
  has (protocol: string): boolean {
    return this.#names.has(protocol)
  }

  /** Adds or removes what `change` says; true if the set changed. To be called while the change is valid. */
  apply (change: ProtocolsChange): boolean {
    return change.type === 'added' ? this.add(change.protocols) : this.remove(change.protocols)
  }

  /** True if one of `names` was missing. */
  add (names: Iterable<string>): boolean {
    const before = this.#names.size
    for (const name of names) {
      this.#names.add(name)
    }
    return this.#names.size > before
  }

  /** True if one of `names` was there. */
  remove (names: Iterable<string>): boolean {
    const before = this.#names.size
    for (const name of names) {
      this.#names.delete(name)
    }
    return this.#names.size < before
  }

  /** In the order in which the names came. */
  [Symbol.iterator] (): Iterator<string> {
    return this.#names.values()
  }
}
