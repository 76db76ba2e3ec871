import { isSameByPosition } from '../protocols/last-listing.ts'
import { InvalidStateError } from '../errors.ts'
import type { Part } from './part.ts'
import type { PartTable } from './part-table.ts'
import type { Listing } from './route.ts'

/** Whose a name was, or some names. */
export interface Owner {
  readonly part: Part
  /** The part's own listing of that time: what it needs to find the owner inside itself. */
  readonly listing: Listing
}

const NOTHING: Listing = Object.freeze([])

/**
 * The answers of the parts of a composition as one: what they list, who owned each name by any listing that is still in use
 * (S4.13), and whether any of them holds the connection open. Only the parts that may answer otherwise are asked (S4.10).
 */
export class PartAnswers {
  #listing: Listing = NOTHING
  /** Of the listing in force. */
  #owners: ListingOwners | undefined
  /** Of those before it, as streams that arrived then still ask. */
  #earlier: WeakMap<Listing, ListingOwners> | undefined
  #keepAliveCount = 0
  /** Whose answers are to be asked again. */
  #stale: Part | undefined

  /** What the parts listed when they were asked last, in their order; a frozen array that is made anew only when that changed. */
  get listing (): Listing {
    return this.#listing
  }

  /** Whether any part holds the connection open. */
  get isKeepAlive (): boolean {
    return this.#keepAliveCount > 0
  }

  /** `part` may answer otherwise. */
  touched (part: Part): void {
    if (!part.isStale) {
      part.isStale = true
      part.nextStale = this.#stale
      this.#stale = part
    }
  }

  /**
   * Asks the parts that may answer otherwise.
   *
   * @param parts - all of them, in the order in which they list
   */
  refresh (parts: PartTable): void {
    if (this.#stale !== undefined) {
      this.#refreshStale(this.#stale, parts)
    }
  }

  /**
   * Whose `protocol` was when `listing` was in force; of a listing that is not one of these, as a wrapper may make it, whose
   * it is now.
   */
  findOwner (protocol: string, listing: Listing = this.#listing): Owner | undefined {
    const owners = (listing === this.#listing ? undefined : this.#earlier?.get(listing)) ?? this.#owners
    return owners?.find(protocol)
  }

  /**
   * As {@link findOwner}.
   *
   * @throws InvalidStateError when no part listed it
   */
  ownerOf (protocol: string, listing?: Listing): Owner {
    const owner = this.findOwner(protocol, listing)
    if (owner === undefined) {
      throw new InvalidStateError(`Cannot find the owner of an inbound stream: no part lists "${protocol}"`)
    }
    return owner
  }

  #refreshStale (first: Part, parts: PartTable): void {
    let isChanged = false
    for (let part: Part | undefined = first; part !== undefined; part = this.#stale) {
      this.#stale = part.nextStale
      part.nextStale = undefined
      part.isStale = false
      isChanged = this.#refreshPart(part) || isChanged
    }
    if (isChanged) {
      this.#update(parts)
    }
  }

  #refreshPart (part: Part): boolean {
    if (part.phase !== 'in') {
      return part.phase !== 'failed' && this.#withdraw(part)
    }
    // Without closures: this is on the path of every turn.
    let method = 'keepAlive'
    try {
      this.#keep(part, part.handler.keepAlive?.() === true)
      method = 'listenProtocols'
      // One that removed itself in there is not asked again.
      return !part.hasLeft && part.list(part.handler.listenProtocols())
    } catch (thrown) {
      throw part.faultOf(method, thrown, true)
    }
  }

  /** A part that has left, or is not in yet, counts for nothing. */
  #withdraw (part: Part): boolean {
    this.#keep(part, false)
    return part.list(NOTHING)
  }

  #keep (part: Part, isKeepAlive: boolean): void {
    if (isKeepAlive !== part.isKeepAlive) {
      part.isKeepAlive = isKeepAlive
      this.#keepAliveCount += isKeepAlive ? 1 : -1
    }
  }

  #update (parts: PartTable): void {
    let owners: Owners | undefined
    let names = NOTHING
    for (const part of [...parts.values()].reverse()) {
      const { names: listing } = part
      if (listing.length > 0) {
        owners = { part, listing, next: owners }
        names = listing.concat(names)
      }
    }
    if (this.#owners !== undefined) {
      this.#earlier ??= new WeakMap()
      this.#earlier.set(this.#listing, this.#owners)
    }
    // A second mention tells the connection that the name is shadowed. Only the first listing can be shared with others, as
    // each that follows has to be told from those before it.
    this.#listing = this.#owners === undefined ? commonListing(names) : Object.freeze(names.slice())
    this.#owners = new ListingOwners(owners)
  }
}

let common: Listing = NOTHING

/** `names`, frozen, or the same as a composition had before: nearly all connections of a process begin with the same names. */
function commonListing (names: Listing): Listing {
  if (!isSameByPosition(names, common)) {
    common = Object.freeze(names.slice())
  }
  return common
}

/** An owner, and those who list behind it. */
interface Owners extends Owner {
  readonly next: Owners | undefined
}

/** Who owned each name by one listing. */
class ListingOwners {
  readonly #first: Owners | undefined
  /** Made for the first stream. */
  #byName: Map<string, Owner> | undefined

  /**
   * @param first - of those who list, in their order: the first one that lists a name owns it
   */
  constructor (first: Owners | undefined) {
    this.#first = first
  }

  find (protocol: string): Owner | undefined {
    this.#byName ??= this.#index()
    return this.#byName.get(protocol)
  }

  #index (): Map<string, Owner> {
    const index = new Map<string, Owner>()
    for (let owner = this.#first; owner !== undefined; owner = owner.next) {
      for (const name of owner.listing) {
        if (!index.has(name)) {
          index.set(name, owner)
        }
      }
    }
    return index
  }
}
