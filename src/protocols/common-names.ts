import { isSameByPosition } from './last-listing.ts'
import type { LastListing } from './last-listing.ts'
import type { IndexedListing } from './listing-snapshot.ts'

/** The names that some connections began with, in what they share: all of it is made once and never changed. */
export interface CommonNames {
  /** The listings of the handlers and of the host that brought them. */
  readonly handlers: LastListing
  readonly host: LastListing
  /** The names in force, each with the parity of a first update. */
  readonly marks: ReadonlyMap<string, boolean>
  /** What streams may be agreed on, made for the first one that comes. */
  snapshot: IndexedListing | undefined
}

let last: CommonNames | undefined

/** `names`, or what a connection before had that is no different: nearly all connections of a process begin with the same names. */
export function common (names: CommonNames): CommonNames {
  if (last === undefined || !isSame(last, names)) {
    last = names
  }
  return last
}

function isSame (left: CommonNames, right: CommonNames): boolean {
  return !left.handlers.differsFrom(right.handlers) && !left.host.differsFrom(right.host)
    && isSameByPosition([...left.marks.keys()], [...right.marks.keys()])
}
