import { openingOf } from '../negotiation/known-openings.ts'
import { LocalProtocols } from '../protocols/local-protocols.ts'
import { MAX_PROTOCOL_BYTES, brokenProtocolRule } from '../protocols/stream-protocol.ts'
import type { ProtocolEntry, ProtocolIndex } from '../negotiation/listener-negotiation.ts'

/** By frozen list: its names, indexed once for all streams. */
const indexed = new WeakMap<readonly string[], ProtocolIndex>()

/**
 * The names that `handle` accepts, as its callers give them. Invalid ones are left out. A frozen list is indexed once, so a
 * proposal costs one look-up whatever their number; any other list may change, so it is copied and searched.
 */
export function indexOf (protocols: string | readonly string[]): ProtocolIndex {
  if (typeof protocols === 'string') {
    return new SearchedNames([protocols])
  }
  if (!Object.isFrozen(protocols)) {
    return new SearchedNames([...protocols])
  }
  let index = indexed.get(protocols)
  if (index === undefined) {
    const local = new LocalProtocols({ maxProtocols: Infinity, maxNameBytes: MAX_PROTOCOL_BYTES })
    local.update(protocols, [])
    index = local.snapshot()
    indexed.set(protocols, index)
  }
  return index
}

class SearchedNames implements ProtocolIndex {
  readonly #names: readonly string[]

  constructor (names: readonly string[]) {
    this.#names = names
  }

  get names (): readonly string[] {
    return [...new Set(this.#names)].filter(isValid)
  }

  find (name: string): ProtocolEntry | undefined {
    return this.#names.includes(name) && isValid(name) ? { name, frame: openingOf(name) } : undefined
  }
}

function isValid (name: string): boolean {
  return brokenProtocolRule(name, MAX_PROTOCOL_BYTES) === undefined
}
