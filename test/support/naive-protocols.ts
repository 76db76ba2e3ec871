/**
 * The protocol sets as one would write them first: every name looked at and every set cloned, on every poll. Slow, plainly
 * right, and so the oracle of the fast forms in `src/protocols`, and the baseline of their benches.
 */

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** S3.1, by encoding the name. */
export function isName (name: string, maxBytes: number): boolean {
  const bytes = encoder.encode(name)
  return /^\/[^\n]*$/.test(name) && decoder.decode(bytes) === name && name !== '/multistream/1.0.0' && bytes.length <= maxBytes
}

/** One change of a set. */
export interface NaiveChange {
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

/** What a set keeps of its old names, in their old order, then its new ones: the order in which names were added. */
function renew (current: ReadonlySet<string>, next: ReadonlySet<string>): { set: Set<string>, change: NaiveChange } {
  const added = [...next].filter(name => !current.has(name))
  const removed = [...current].filter(name => !next.has(name))
  const kept = [...current].filter(name => next.has(name))
  return { set: new Set([...kept, ...added]), change: { added, removed } }
}

/** Twin of `LocalProtocols`. */
export class NaiveLocalProtocols {
  /** Distinct valid names in listing order. */
  listed: readonly string[] = []
  names: ReadonlySet<string> = new Set()
  readonly #maxProtocols: number
  readonly #maxNameBytes: number

  constructor (init: { maxProtocols: number, maxNameBytes: number }) {
    this.#maxProtocols = init.maxProtocols
    this.#maxNameBytes = init.maxNameBytes
  }

  update (handlers: readonly string[], host: readonly string[]): NaiveChange {
    const valid = [...handlers, ...host].filter(name => isName(name, this.#maxNameBytes))
    this.listed = [...new Set(valid)].slice(0, this.#maxProtocols)
    const { set, change } = renew(this.names, new Set(this.listed))
    this.names = set
    return change
  }
}

/** Twin of `RemoteProtocols`. */
export class NaiveRemoteProtocols {
  names: ReadonlySet<string> = new Set()
  readonly sources = new Map<unknown, readonly string[]>()
  readonly #limits: { maxNames: number, maxBytes: number, maxNameBytes: number }

  constructor (limits: { maxNames: number, maxBytes: number, maxNameBytes: number }) {
    this.#limits = limits
  }

  apply (source: unknown, change: 'added' | 'removed' | 'replaced', protocols: readonly string[]): NaiveChange {
    const held = this.sources.get(source) ?? []
    const wanted = change === 'removed'
      ? held.filter(name => !protocols.includes(name))
      : [...new Set([...change === 'added' ? held : [], ...protocols])]
    this.sources.set(source, this.#capped(wanted))
    return this.#renew()
  }

  withdraw (source: unknown): NaiveChange {
    this.sources.delete(source)
    return this.#renew()
  }

  #capped (names: readonly string[]): readonly string[] {
    const { maxNames, maxBytes, maxNameBytes } = this.#limits
    const valid = names.filter(name => isName(name, maxNameBytes))
    const fits = (count: number): boolean => count <= maxNames && encoder.encode(valid.slice(0, count).join('')).length <= maxBytes
    const beyond = valid.findIndex((_, at) => !fits(at + 1))
    return beyond === -1 ? valid : valid.slice(0, beyond)
  }

  #renew (): NaiveChange {
    const { set, change } = renew(this.names, new Set([...this.sources.values()].flat()))
    this.names = set
    return change
  }
}
