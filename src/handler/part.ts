import { NEVER, checkInstant } from '../core/instant.ts'
import { ListLink } from './list-link.ts'
import { RELEASE } from './route.ts'
import { LastListing } from '../protocols/last-listing.ts'
import type { Instant } from '../core/instant.ts'
import type { PollContext } from '../core/poll.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'
import type { Hop, RoutedHandler } from './route.ts'

/** What a part asks of the composition that holds it. */
export interface PartOwner {
  /** The part wants to be polled. */
  partWoke (part: Part): void
  /** The part wants to be polled at `part.wakeInstant`. */
  partWakesAt (part: Part): void
}

/** The way from a composition into one of its parts, and on. */
export class PartHop implements Hop {
  readonly part: Part
  readonly inner: Hop | undefined
  readonly path: string

  constructor (part: Part, inner: Hop | undefined) {
    this.part = part
    this.inner = inner
    this.path = inner === undefined ? part.key : `${part.key}.${inner.path}`
  }
}

/**
 * One handler in a composition, with its own wake bit and deadline and with its last answers, so that a pass asks only the
 * parts that may answer otherwise (S4.8, S4.10). It is the poll context that its handler sees.
 */
export class Part implements PollContext {
  readonly key: string
  readonly handler: RoutedHandler
  readonly owner: PartOwner
  now: Instant = 0
  wakeInstant: Instant = NEVER
  /** In the queue of parts to poll. */
  isQueued = false
  /** Woke itself during its running or last poll. */
  hasWokenItself = false
  /** Polled, told or woken since its answers were cached. */
  isStale = false
  /** A method threw: it is never called again. */
  hasFailed = false
  isKeepAlive = false
  readonly #listing: LastListing = new LastListing()
  readonly #link: ListLink
  readonly #hop: PartHop
  readonly #innerHops: Map<Hop, PartHop> = new Map()

  constructor (key: string, handler: RoutedHandler, owner: PartOwner) {
    this.key = key
    this.handler = handler
    this.owner = owner
    this.#link = new ListLink(this)
    this.#hop = new PartHop(this, undefined)
  }

  /** The names as of the last `list`: the same array until a name or, in a composition below, an owner changed. */
  get names (): readonly string[] {
    return this.#listing.names
  }

  /** Takes in what the handler lists now; true when `names` is another array than before. */
  list (listing: ProtocolListing): boolean {
    this.#link.follow(listing)
    const before = this.#listing.names
    this.#listing.update(listing)
    return this.#listing.names !== before
  }

  /** The handler has ended, or the connection closes: no list wakes it any more. */
  release (): void {
    this.#link.release()
    this.handler[RELEASE]?.()
  }

  wake (): void {
    this.owner.partWoke(this)
  }

  wakeAt (instant: Instant): void {
    this.wakeInstant = checkInstant(instant)
    this.owner.partWakesAt(this)
  }

  /** The one hop for a path: equal paths give the same object. */
  hopTo (inner: Hop | undefined): PartHop {
    if (inner === undefined) {
      return this.#hop
    }
    let hop = this.#innerHops.get(inner)
    if (hop === undefined) {
      hop = new PartHop(this, inner)
      this.#innerHops.set(inner, hop)
    }
    return hop
  }
}
