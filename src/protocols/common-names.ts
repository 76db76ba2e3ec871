import { isSameByPosition } from './last-listing.ts'
import type { IndexedListing } from './listing-snapshot.ts'

/** The names that some connections began with, in what they share: all of it is made once and never changed. */
export interface CommonNames {
  /** The listings of the handlers and of the host that brought them. */
  readonly handlers: readonly string[]
  readonly host: readonly string[]
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
  return isSameByPosition(left.handlers, right.handlers) && isSameByPosition(left.host, right.host)
    && isSameByPosition([...left.marks.keys()], [...right.marks.keys()])
}
