import { isProtocolList } from './protocol-list.ts'
import type { ProtocolListing } from './protocol-list.ts'

const NO_NAMES: readonly string[] = Object.freeze([])

/**
 * Remembers the last listing of one origin, and tells at the least cost whether the next one differs (S3.6): the same
 * frozen array or the same version of a list is not looked at; anything else is compared by position.
 */
export class LastListing {
  #names = NO_NAMES
  #listing: ProtocolListing | undefined
  /** Version of the list, when `#listing` is one. */
  #version = 0
  /** Whether `#listing` is a frozen array: asked once per reference, as it costs more than all the rest. */
  #isFrozen = false

  /** The names: a frozen array as it was listed, the snapshot of a list, or a copy of an array that may yet change. */
  get names (): readonly string[] {
    return this.#names
  }

  /** Takes the next listing; true if its names, or their order, differ from the last one. */
  update (listing: ProtocolListing): boolean {
    if (isProtocolList(listing)) {
      if (listing === this.#listing && listing.version === this.#version) {
        return false
      }
      this.#listing = listing
      this.#version = listing.version
      return this.#take(listing.snapshot, true)
    }
    if (listing !== this.#listing) {
      this.#listing = listing
      this.#isFrozen = Object.isFrozen(listing)
    } else if (this.#isFrozen) {
      return false
    }
    return this.#take(listing, this.#isFrozen)
  }

  #take (names: readonly string[], isLasting: boolean): boolean {
    const isDifferent = !isSameByPosition(names, this.#names)
    if (isLasting) {
      this.#names = names
    } else if (isDifferent) {
      this.#names = names.slice()
    }
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
