import { isProtocolList } from './protocol-list.ts'
import type { ProtocolListing } from './protocol-list.ts'

const NO_NAMES: readonly string[] = Object.freeze([])

/**
 * The last listing of one origin, which tells at the least cost whether the next one differs (S3.6): the same frozen array or
 * the same version of a list is not looked at; anything else is compared by position. It never changes, so that the many
 * connections that list the same share one.
 */
export class LastListing {
  /** The names: a frozen array as it was listed, the snapshot of a list, or a copy of an array that may yet change. */
  readonly names: readonly string[]
  /**
   * The list that gave `names`, or the array that was last found not to be frozen: that is asked once per reference, as it
   * costs more than all the rest.
   */
  readonly #origin: ProtocolListing | undefined
  /** That of the list, then. */
  readonly #version: number

  constructor (names: readonly string[] = NO_NAMES, origin?: ProtocolListing, version: number = 0) {
    this.names = names
    this.#origin = origin
    this.#version = version
  }

  /**
   * Takes the next listing; itself if nothing is to be known of that. A frozen array is kept also when it holds the same names: it
   * is the one that may come again.
   */
  next (listing: ProtocolListing): LastListing {
    if (listing === this.names) {
      return this
    }
    if (isProtocolList(listing)) {
      const { version } = listing
      return listing === this.#origin && version === this.#version ? this : new LastListing(listing.snapshot, listing, version)
    }
    if (listing !== this.#origin && Object.isFrozen(listing)) {
      return new LastListing(listing)
    }
    const isSame = isSameByPosition(listing, this.names)
    return isSame && listing === this.#origin ? this : new LastListing(isSame ? this.names : listing.slice(), listing)
  }

  /** Whether the names, or their order, are others. */
  differsFrom (other: LastListing): boolean {
    return !isSameByPosition(this.names, other.names)
  }

  /** `other`, if that holds the very same, so that this one can go. */
  orSame (other: LastListing): LastListing {
    return this.names === other.names && this.#origin === other.#origin && this.#version === other.#version ? other : this
  }
}

/** That of who has listed nothing yet. */
export const NO_LISTING: LastListing = new LastListing()

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
