import type { Part } from './part.ts'

/** Up to so many parts are looked through one by one, which takes no longer than a look-up, and no map. */
const MAX_SCANNED = 8

/** The parts of a composition by key, in the order in which they came. One per connection, so a few parts take a few words. */
export class PartTable {
  #parts: Part[]
  /** Made for many parts only. */
  #byKey: Map<string, Part> | undefined

  /**
   * @param parts - those to begin with, whose keys differ
   */
  constructor (parts: readonly Part[]) {
    this.#parts = parts.slice()
    this.#index()
  }

  /** How many there are. */
  get size (): number {
    return this.#parts.length
  }

  /** The part with this key. */
  get (key: string): Part | undefined {
    return this.#byKey === undefined ? this.#parts.find(part => part.key === key) : this.#byKey.get(key)
  }

  /** All of them. One that is added meanwhile is among them; so may be one that was removed meanwhile. */
  values (): Iterable<Part> {
    return this.#parts
  }

  /** Appends a part, whose key is free. */
  add (part: Part): void {
    this.#parts.push(part)
    if (this.#byKey === undefined) {
      this.#index()
    } else {
      this.#byKey.set(part.key, part)
    }
  }

  /** Takes a part out. */
  remove (part: Part): void {
    // Not in place: somebody may be going through them.
    this.#parts = this.#parts.filter(other => other !== part)
    this.#byKey?.delete(part.key)
  }

  #index (): void {
    if (this.#parts.length > MAX_SCANNED) {
      this.#byKey = new Map(this.#parts.map(part => [part.key, part]))
    }
  }
}
