import { isProtocolList } from '../protocols/protocol-list.ts'
import type { AnyBehaviour } from './network-behaviour.ts'

/** The names that several behaviours declare, joined into one frozen array that is made anew only when a name changed. */
export class JoinedListing {
  #names: readonly string[] = Object.freeze([])

  /** Joins the listings in order; the same array as last time if that gives the same names. */
  join (parts: ReadonlyMap<string, { readonly behaviour: AnyBehaviour }>): readonly string[] {
    let isSame = true
    let size = 0
    for (const { behaviour } of parts.values()) {
      for (const name of declaredBy(behaviour)) {
        isSame &&= this.#names[size] === name
        size++
      }
    }
    if (!isSame || size !== this.#names.length) {
      this.#names = Object.freeze(Array.from(parts.values(), ({ behaviour }) => declaredBy(behaviour)).flat())
    }
    return this.#names
  }
}

/** The names that `behaviour` declares now. */
export function declaredBy ({ protocols }: AnyBehaviour): readonly string[] {
  if (protocols === undefined) {
    return []
  }
  return isProtocolList(protocols) ? protocols.snapshot : protocols
}
