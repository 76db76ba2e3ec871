/** What `LocalProtocols` is measured against: the same question, whether a listing changed, answered in other ways. */

/** Takes one listing after the other and says how it differs from the one before. */
export interface Differ {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /** The number of names in force. */
  readonly size: number
  /** Whether the set of names changed. */
  update (listing: readonly string[]): boolean
}

/** The slow twin: a new `Set` each time, compared with the one before. */
export class CloningDiffer implements Differ {
  added: readonly string[] = []
  removed: readonly string[] = []
  #names: ReadonlySet<string> = new Set()

  get size (): number {
    return this.#names.size
  }

  update (listing: readonly string[]): boolean {
    const before = this.#names
    const next = new Set(listing)
    const added: string[] = []
    const removed: string[] = []
    for (const name of next) {
      if (!before.has(name)) {
        added.push(name)
      }
    }
    for (const name of before) {
      if (!next.has(name)) {
        removed.push(name)
      }
    }
    this.#names = next
    this.added = added
    this.removed = removed
    return added.length + removed.length > 0
  }
}

/** Mark and sweep with a pass that resets all marks first, in place of the parity that makes them old by itself. */
export class ResettingDiffer implements Differ {
  readonly added: string[] = []
  readonly removed: string[] = []
  readonly #marks = new Map<string, boolean>()

  get size (): number {
    return this.#marks.size
  }

  update (listing: readonly string[]): boolean {
    if (this.added.length > 0) {
      this.added.length = 0
    }
    if (this.removed.length > 0) {
      this.removed.length = 0
    }
    const marks = this.#marks
    for (const name of marks.keys()) {
      marks.set(name, false)
    }
    let distinct = 0
    for (let at = 0; at < listing.length; at++) {
      const name = listing[at]
      const mark = name === undefined ? true : marks.get(name)
      if (name === undefined || mark === true) {
        continue
      }
      if (mark === undefined) {
        this.added.push(name)
      }
      marks.set(name, true)
      distinct++
    }
    if (distinct < marks.size) {
      for (const [name, mark] of marks) {
        if (!mark) {
          marks.delete(name)
          this.removed.push(name)
        }
      }
    }
    return this.added.length + this.removed.length > 0
  }
}
