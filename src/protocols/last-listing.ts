import { isProtocolList } from './protocol-list.ts'
import type { ProtocolList, ProtocolListing } from './protocol-list.ts'

const NO_NAMES: readonly string[] = Object.freeze([])

/**
 * Remembers the last listing of one origin, and tells at the least cost whether the next one differs (S3.6): the same
 * frozen array or the same version of a list is not looked at; anything else is compared by position.
 */
export class LastListing {
  #names = NO_NAMES
  /** The list that gave `#names`, if one did, and its version then. */
  #list: ProtocolList | undefined
  #version = 0
  /** The array that was last found not to be frozen: asked once per reference, as it costs more than all the rest. */
  #unfrozen: readonly string[] | undefined

  /** The names: a frozen array as it was listed, the snapshot of a list, or a copy of an array that may yet change. */
  get names (): readonly string[] {
    return this.#names
  }

  /** Takes the next listing; true if its names, or their order, differ from the last one. */
  update (listing: ProtocolListing): boolean {
    if (listing === this.#names) {
      return false
    }
    if (isProtocolList(listing)) {
      return this.#updateList(listing)
    }
    this.#list = undefined
    if (listing !== this.#unfrozen && Object.isFrozen(listing)) {
      return this.#adopt(listing)
    }
    this.#unfrozen = listing
    const isDifferent = !isSameByPosition(listing, this.#names)
    if (isDifferent) {
      this.#names = listing.slice()
    }
    return isDifferent
  }

  #updateList (list: ProtocolList): boolean {
    if (list === this.#list && list.version === this.#version) {
      return false
    }
    this.#list = list
    this.#version = list.version
    return this.#adopt(list.snapshot)
  }

  /** Keeps a frozen array as it is, also when it holds the same names: it is the one that may come again. */
  #adopt (names: readonly string[]): boolean {
    const isDifferent = !isSameByPosition(names, this.#names)
    this.#names = names
    return isDifferent
  }
}

function isSameByPosition (left: readonly string[], right: readonly string[]): boolean {
  if (left.length !== right.length) {
    return false
  }
  for (let at = 0; at < left.length; at++) {
    if (left[at] !== right[at]) {
      return false
    }
  }
  return true
}
