import { InvalidStateError } from '../errors.ts'
import type { Part } from './part.ts'
import type { Listing } from './route.ts'

/** Whose a name was. */
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
  readonly #parts: ReadonlyMap<string, Part>
  #listing: Listing = NOTHING
  readonly #owners: WeakMap<Listing, ReadonlyMap<string, Owner>> = new WeakMap()
  #keepAliveCount = 0
  /** Whose answers are to be asked again. */
  #stale: Part | undefined

  /**
   * @param parts - in the order in which they list
   */
  constructor (parts: ReadonlyMap<string, Part>) {
    this.#parts = parts
  }

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

  /** Asks the parts that may answer otherwise. */
  refresh (): void {
    if (this.#stale !== undefined) {
      this.#refreshStale(this.#stale)
    }
  }

  /**
   * Whose `protocol` was when `listing` was in force; of a listing that is not one of these, as a wrapper may make it, whose
   * it is now.
   */
  findOwner (protocol: string, listing: Listing = this.#listing): Owner | undefined {
    return (this.#owners.get(listing) ?? this.#owners.get(this.#listing))?.get(protocol)
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

  #refreshStale (first: Part): void {
    let isChanged = false
    for (let part: Part | undefined = first; part !== undefined; part = this.#stale) {
      this.#stale = part.nextStale
      part.nextStale = undefined
      part.isStale = false
      isChanged = this.#refreshPart(part) || isChanged
    }
    if (isChanged) {
      this.#update()
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

  #update (): void {
    const names: string[] = []
    const owners = new Map<string, Owner>()
    for (const part of this.#parts.values()) {
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
}
