import { WokenPart } from '../core/woken-parts.ts'
import { LastListing } from '../protocols/last-listing.ts'
import { isProtocolList } from '../protocols/protocol-list.ts'
import { ListLink } from './list-link.ts'
import { RELEASE } from './route.ts'
import type { WokenParts } from '../core/woken-parts.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'
import type { Hop, RoutedHandler } from './route.ts'

/** The composition that holds a part. */
export interface PartOwner {
  readonly woken: WokenParts<Part>
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
 * parts that may answer otherwise (S4.8, S4.10). It is the poll context that its handler sees. What few parts need is made
 * when it is needed: a node has as many of these as connections times protocols.
 */
export class Part extends WokenPart<Part> {
  readonly key: string
  readonly handler: RoutedHandler
  readonly owner: PartOwner
  /** Polled, told or woken since its answers were cached, and who else is. */
  isStale = false
  nextStale: Part | undefined
  /** A method threw: it is never called again. */
  hasFailed = false
  isKeepAlive = false
  readonly #listing: LastListing = new LastListing()
  #link: ListLink | undefined
  #hop: PartHop | undefined
  #innerHops: Map<Hop, PartHop> | undefined

  constructor (key: string, handler: RoutedHandler, owner: PartOwner) {
    super()
    this.key = key
    this.handler = handler
    this.owner = owner
  }

  /** What the handler listed when it was asked last. */
  get names (): readonly string[] {
    return this.#listing.names
  }

  /** Takes in what the handler lists now; true when `names` is another array than before. */
  list (listing: ProtocolListing): boolean {
    const before = this.#listing.names
    if (listing === before && this.#link === undefined) {
      return false
    }
    this.#follow(listing)
    this.#listing.update(listing)
    return this.#listing.names !== before
  }

  /** The handler has ended, or the connection closes: no list wakes it any more. */
  release (): void {
    this.#link?.release()
    this.handler[RELEASE]?.()
  }

  /** Asks for a poll; one that has failed gets none. */
  wake (): void {
    if (!this.hasFailed) {
      this.owner.woken.woke(this)
    }
  }

  /** The one hop for a path: equal paths give the same object. */
  hopTo (inner: Hop | undefined): PartHop {
    if (inner === undefined) {
      this.#hop ??= new PartHop(this, undefined)
      return this.#hop
    }
    this.#innerHops ??= new Map()
    let hop = this.#innerHops.get(inner)
    if (hop === undefined) {
      hop = new PartHop(this, inner)
      this.#innerHops.set(inner, hop)
    }
    return hop
  }

  /** Its deadline is another one. */
  protected deadlineMoved (): void {
    this.owner.woken.wakesAt(this)
  }

  #follow (listing: ProtocolListing): void {
    if (this.#link === undefined && isProtocolList(listing)) {
      this.#link = new ListLink(this)
    }
    this.#link?.follow(listing)
  }
}
