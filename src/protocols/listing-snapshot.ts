/** One name that inbound streams may propose, as a listener finds it. */
export interface ListedProtocol {
  readonly name: string
  /** True when no handler lists the name: its streams belong to the host's own services. */
  readonly isHost: boolean
  /** Free for the negotiation, which keeps the encoded confirmation here. */
  frame: Uint8Array | undefined
}

/**
 * What inbound streams may be agreed on: immutable, so a negotiation keeps the one that was in force when its stream was
 * accepted, without a copy (S2.11).
 */
export interface ListingSnapshot {
  /** Distinct valid names in listing order, those of the handlers first; frozen. */
  readonly names: readonly string[]
  /**
   * The handlers' listing: the very array that they returned, if it is frozen, so that a composition can tell by it who
   * owns a name; else the snapshot of their `ProtocolList`, or a copy.
   */
  readonly listing: readonly string[]
  /** One look-up, whatever the number of names. */
  find (name: string): ListedProtocol | undefined
  /** Free for the negotiation, which keeps what it found last here. */
  latest: ListedProtocol | undefined
}

/** The one implementation of {@link ListingSnapshot}. */
export class IndexedListing implements ListingSnapshot {
  readonly names: readonly string[]
  readonly listing: readonly string[]
  latest: ListedProtocol | undefined
  readonly #index: ReadonlyMap<string, ListedProtocol>

  /**
   * @param listing - the handlers' listing, as it is handed back to them
   * @param index - the names in listing order
   * @param names - the keys of `index`, frozen; made from it if nobody has them yet
   */
  constructor (
    listing: readonly string[],
    index: ReadonlyMap<string, ListedProtocol>,
    names: readonly string[] = Object.freeze([...index.keys()])
  ) {
    this.names = names
    this.listing = listing
    this.#index = index
  }

  find (name: string): ListedProtocol | undefined {
    return this.#index.get(name)
  }

  /** The same names, listed by another array. */
  withListing (listing: readonly string[]): IndexedListing {
    return listing === this.listing ? this : new IndexedListing(listing, this.#index, this.names)
  }
}
