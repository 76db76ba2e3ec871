import { isProtocolList } from './protocol-list.ts'
import type { ProtocolListing } from './protocol-list.ts'

const NO_NAMES: readonly string[] = Object.freeze([])

/**
 * Remembers the last listing of one origin, and tells at the least cost whether the next one differs (S3.6): the same
 * frozen array or the same version of a list is not looked at; anything else is compared by position.
 */
export class LastListing {
  /** The names: a frozen array as it was listed, the snapshot of a list, or a copy of an array that may yet change. */
  names: readonly string[] = NO_NAMES
  /**
   * The list that gave `names`, or the array that was last found not to be frozen: that is asked once per reference, as it
   * costs more than all the rest.
   */
  #origin: ProtocolListing | undefined
  /** That of the list, then. */
  #version = 0

  /** Takes the next listing; true if its names, or their order, differ from the last one. */
  update (listing: ProtocolListing): boolean {
    if (listing === this.names) {
      return false
    }
    if (isProtocolList(listing)) {
      const { version } = listing
      if (listing === this.#origin && version === this.#version) {
        return false
      }
      this.#version = version
      this.#origin = listing
      return this.#adopt(listing.snapshot)
    }
    if (listing !== this.#origin && Object.isFrozen(listing)) {
      this.#origin = undefined
      return this.#adopt(listing)
    }
    this.#origin = listing
    const isDifferent = !isSameByPosition(listing, this.names)
    if (isDifferent) {
      this.names = listing.slice()
    }
    return isDifferent
  }

  /** Keeps a frozen array as it is, also when it holds the same names: it is the one that may come again. */
  #adopt (names: readonly string[]): boolean {
    const isDifferent = !isSameByPosition(names, this.names)
    this.names = names
    return isDifferent
  }
}

/** Whether two listings hold the same names in the same order. */
export function isSameByPosition (left: readonly string[], right: readonly string[]): boolean {
  if (left === right) {
    return true
  }
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
