import { InvalidStateError } from '../errors.ts'
import type { Part } from './part.ts'
import type { Listing } from './route.ts'

/** Whose a name was. */
export interface Owner {
  readonly part: Part
  /** The part's own listing of that time: what it needs to find the owner inside itself. */
  readonly listing: Listing
}

/** The listing of a composition, and who owned each name by any listing that is still in use (S4.13). */
export class Owners {
  #listing: Listing = Object.freeze([])
  readonly #owners: WeakMap<Listing, ReadonlyMap<string, Owner>> = new WeakMap()

  /** What the parts list now, in their order; a frozen array that is made anew by `update` only. */
  get listing (): Listing {
    return this.#listing
  }

  /** A name of a part, or the owner of one, changed. */
  update (parts: Iterable<Part>): void {
    const names: string[] = []
    const owners = new Map<string, Owner>()
    for (const part of parts) {
      const { names: listing } = part
      for (const name of listing) {
        // A second mention tells the connection that the name is shadowed.
        names.push(name)
        if (!owners.has(name)) {
          owners.set(name, { part, listing })
        }
      }
    }
    this.#listing = Object.freeze(names)
    this.#owners.set(this.#listing, owners)
  }

  /**
   * Whose `protocol` was when `listing` was in force; of a listing that is not one of these, as a wrapper may make it, whose
   * it is now.
   *
   * @throws InvalidStateError when no part listed it
   */
  of (protocol: string, listing: Listing): Owner {
    const owner = (this.#owners.get(listing) ?? this.#owners.get(this.#listing))?.get(protocol)
    if (owner === undefined) {
      throw new InvalidStateError(`Cannot find the owner of an inbound stream: no part lists "${protocol}"`)
    }
    return owner
  }
}
