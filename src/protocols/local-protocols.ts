import { show } from '../core/printable.ts'
import { common } from './common-names.ts'
import { NO_LISTING } from './last-listing.ts'
import { IndexedListing } from './listing-snapshot.ts'
import type { CommonNames } from './common-names.ts'
import type { LastListing } from './last-listing.ts'
import type { ListedProtocol, ListingSnapshot } from './listing-snapshot.ts'
import type { ProtocolListing } from './protocol-list.ts'
import { brokenProtocolRule } from './stream-protocol.ts'

const NO_NAMES: readonly string[] = Object.freeze([])
const NO_MARKS: ReadonlyMap<string, boolean> = new Map()

/** A listed name that has no effect: it breaks a rule of S3.1, or was listed already, there or earlier (S3.4). */
export type ProtocolWarning =
  | { readonly reason: 'invalid', readonly protocol: string, readonly rule: string }
  | { readonly reason: 'shadowed', readonly protocol: string }

/** Limits of a {@link LocalProtocols}, and who is told when it leaves something out. */
export interface LocalProtocolsInit {
  /** Most distinct names; those after it in the listing are ignored. */
  maxProtocols: number
  /** Longest name in UTF-8 bytes: `maxFrameLength` - 1. */
  maxNameBytes: number
  /** Called during an update, once per name. `protocol` is shown text. Must not throw. */
  onWarning?: ((warning: ProtocolWarning) => void) | undefined
  /** Called during the first update that ignores names past `maxProtocols`. Must not throw. */
  onLimit?: (() => void) | undefined
}

/**
 * The names that one connection accepts on inbound streams, and how they differ from those before (S3.3 to S3.8).
 *
 * An unchanged listing costs no look-up. A changed one is marked and swept: every name carries the parity of the last
 * listing that held it, and flipping the parity makes all marks old at once, with no pass that resets them.
 */
export class LocalProtocols {
  readonly #init: Readonly<LocalProtocolsInit>
  #handlers: LastListing = NO_LISTING
  #host: LastListing = NO_LISTING
  /** The names in force: shared with other connections while they are those of the first update, then a map of its own. */
  #names: CommonNames | Map<string, boolean> | undefined
  #parity = false
  #added: string[] | undefined
  #removed: string[] | undefined
  #snapshot: IndexedListing | undefined
  #warned: Set<string> | undefined
  #isOverLimit = false

  /**
   * @param init - kept as it is, so that many can share it
   */
  constructor (init: Readonly<LocalProtocolsInit>) {
    this.#init = init
  }

  /** Names that the last update brought, in listing order, until {@link forget}. */
  get added (): readonly string[] {
    return this.#added ?? NO_NAMES
  }

  /** Names that the last update took away, in the order in which they had been added, until {@link forget}. */
  get removed (): readonly string[] {
    return this.#removed ?? NO_NAMES
  }

  /** Distinct names in force. */
  get size (): number {
    return this.#marks.size
  }

  /** Whether `protocol` is accepted now. */
  has (protocol: string): boolean {
    return this.#marks.has(protocol)
  }

  /** The names in force, in the order in which they were added. */
  names (): Iterable<string> {
    return this.#marks.keys()
  }

  /** The names in force as a frozen copy, in the order in which they were added. */
  toArray (): readonly string[] {
    return Object.freeze([...this.#marks.keys()])
  }

  /** Whether `handlers` is the frozen array that was the handlers' listing at the last update: then there is nothing to look at. */
  isLast (handlers: ProtocolListing): boolean {
    return handlers === this.#handlers.names
  }

  /**
   * Takes what the handlers and the host list now.
   *
   * @param handlers - the listing of the root handler
   * @param host - names of the host's other services; those that a handler lists too are the handler's
   * @returns whether the set changed; then {@link added} and {@link removed} say how
   */
  update (handlers: ProtocolListing, host: ProtocolListing): boolean {
    this.forget()
    const lastHandlers = this.#handlers
    const lastHost = this.#host
    this.#handlers = lastHandlers.next(handlers)
    this.#host = lastHost.next(host)
    if (!this.#handlers.differsFrom(lastHandlers) && !this.#host.differsFrom(lastHost)) {
      return false
    }
    this.#snapshot = undefined
    this.#parity = !this.#parity
    const isFirst = this.#names === undefined
    const marks = this.#ownMarks()
    const distinct = this.#mark(marks, this.#host.names, this.#mark(marks, this.#handlers.names, 0))
    if (distinct < marks.size) {
      this.#sweep(marks)
    }
    if (isFirst) {
      const names = common({ handlers: this.#handlers, host: this.#host, marks, snapshot: undefined })
      this.#names = names
      this.#handlers = this.#handlers.orSame(names.handlers)
      this.#host = this.#host.orSame(names.host)
    }
    return this.#added !== undefined || this.#removed !== undefined
  }

  /** What the last update changed is known by all who need to: it takes memory until this, or the next update. */
  forget (): void {
    this.#added = undefined
    this.#removed = undefined
  }

  /** What an inbound stream that arrives now may be agreed on. Made on the first call after a change, then kept. */
  snapshot (): ListingSnapshot {
    const listing = this.#handlers.names
    if (this.#snapshot === undefined) {
      this.#snapshot = this.#makeSnapshot(listing)
    } else if (this.#snapshot.listing !== listing) {
      this.#snapshot = this.#snapshot.withListing(listing)
    }
    return this.#snapshot
  }

  /** Of connections that share their names, the first one that needs it makes the index of all. */
  #makeSnapshot (listing: readonly string[]): IndexedListing {
    const names = this.#names
    if (names === undefined || names instanceof Map) {
      return new IndexedListing(listing, this.#index())
    }
    names.snapshot ??= new IndexedListing(listing, this.#index())
    return names.snapshot.withListing(listing)
  }

  get #marks (): ReadonlyMap<string, boolean> {
    const names = this.#names
    return names instanceof Map ? names : names?.marks ?? NO_MARKS
  }

  /** The marks as a map that is nobody else's. */
  #ownMarks (): Map<string, boolean> {
    const marks = this.#names instanceof Map ? this.#names : new Map(this.#marks)
    this.#names = marks
    return marks
  }

  /** Marks `names` with the current parity; gives `distinct` plus the number of those that did not carry it yet. */
  #mark (marks: Map<string, boolean>, names: readonly string[], distinct: number): number {
    // By index: iterating over a frozen array allocates for each name, and takes half as long again.
    for (let at = 0; at < names.length; at++) {
      const name = names[at]
      if (name === undefined) {
        this.#isBroken(name)
        continue
      }
      const mark = marks.get(name)
      if (mark === this.#parity) {
        this.#warnShadowed(name)
        continue
      }
      if (mark === undefined && this.#isBroken(name)) {
        continue
      }
      if (distinct >= this.#init.maxProtocols) {
        this.#reportLimit()
        continue
      }
      if (mark === undefined) {
        this.#added ??= []
        this.#added.push(name)
      }
      marks.set(name, this.#parity)
      distinct++
    }
    return distinct
  }

  /** Deletes what the last listing did not mark; a map keeps its keys in order of insertion, as S3.7 wants them. */
  #sweep (marks: Map<string, boolean>): void {
    for (const [name, mark] of marks) {
      if (mark !== this.#parity) {
        marks.delete(name)
        this.#removed ??= []
        this.#removed.push(name)
      }
    }
  }

  /** The names in force by listing order, which the marks do not keep, each with its owner. */
  #index (): ReadonlyMap<string, ListedProtocol> {
    const index = new Map<string, ListedProtocol>()
    for (const isHost of [false, true]) {
      for (const name of isHost ? this.#host.names : this.#handlers.names) {
        if (this.#marks.has(name) && !index.has(name)) {
          index.set(name, { name, isHost, frame: undefined })
        }
      }
    }
    return index
  }

  /** Listings come from user code, so a name may be anything. */
  #isBroken (name: unknown): boolean {
    const rule = brokenProtocolRule(name, this.#init.maxNameBytes)
    if (rule === undefined) {
      return false
    }
    const protocol = typeof name === 'string' ? show(name) : `[${typeof name}]`
    this.#warnOnce(typeof name === 'string' ? name : protocol, { reason: 'invalid', protocol, rule })
    return true
  }

  #warnShadowed (name: string): void {
    this.#warnOnce(name, { reason: 'shadowed', protocol: show(name) })
  }

  #warnOnce (key: string, warning: ProtocolWarning): void {
    this.#warned ??= new Set()
    if (!this.#warned.has(key)) {
      this.#warned.add(key)
      this.#init.onWarning?.(warning)
    }
  }

  #reportLimit (): void {
    if (!this.#isOverLimit) {
      this.#isOverLimit = true
      this.#init.onLimit?.()
    }
  }
}
