import { WokenPart } from '../core/woken-parts.ts'
import { LastListing } from '../protocols/last-listing.ts'
import { isProtocolList } from '../protocols/protocol-list.ts'
import { HandlerFault } from './handler-fault.ts'
import { ListLink } from './list-link.ts'
import { REFUSED } from './refused.ts'
import { RELEASE, SETS, hopOf, pollLast, setsOf, withRoute } from './route.ts'
import { asTask, taskOf } from './tasks.ts'
import { InvalidStateError } from '../errors.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { WokenParts } from '../core/woken-parts.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'
import type { PartEvent } from './composed-handler.ts'
import type { ConnectionEvent, DialUpgradeError, FullyNegotiatedOutbound, HandlerOutput } from './connection-handler.ts'
import type { Hop, RoutedHandler } from './route.ts'

const NOTHING: readonly string[] = Object.freeze([])

/** The composition that holds a part. */
export interface PartOwner {
  readonly woken: WokenParts<Part>
}

/**
 * ```
 *  new ──greeted──▶ in ──removed──▶ leaving ──had its last word──▶ gone
 *                    └────────threw────────┴─────────────────────▶ failed
 * ```
 * `new`: added to a composition on a live connection, and not told yet what the others know.
 */
export type PartPhase = 'new' | 'in' | 'leaving' | 'gone' | 'failed'

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
 * The way that a request came by.
 *
 * @throws InvalidStateError when a wrapper took it off the event
 */
export function partHopOf (event: FullyNegotiatedOutbound<unknown, unknown> | DialUpgradeError<unknown>, owner: PartOwner): PartHop {
  const hop = hopOf(event)
  if (!(hop instanceof PartHop) || hop.part.owner !== owner) {
    throw new InvalidStateError(`Cannot route ${event.type}: pass on the event object itself, or a copy made with spread`)
  }
  return hop
}

/**
 * One handler in a composition, with its own wake bit and deadline and with its last answers, so that a pass asks only the
 * parts that may answer otherwise (S4.8, S4.10). It is the poll context that its handler sees. What few parts need is made
 * when it is needed: a node has as many of these as connections times protocols.
 */
export class Part extends WokenPart<Part> {
  /** Hidden from authors: see {@link RoutedContext}. */
  static {
    Object.defineProperty(this.prototype, SETS, { get (this: Part) { return setsOf(this.owner.woken.cx) } })
  }

  readonly key: string
  readonly handler: RoutedHandler
  readonly owner: PartOwner
  /** After `failed`, as a method threw, it is never called again. */
  phase: PartPhase = 'in'
  /** Polled, told or woken since its answers were cached, and who else is. */
  isStale = false
  nextStale: Part | undefined
  isKeepAlive = false
  /** What the handler listed when it was asked last. */
  names: readonly string[] = NOTHING
  /** Made for the first listing that is no frozen array. */
  #listing: LastListing | undefined
  #link: ListLink | undefined
  #hop: PartHop | undefined
  #innerHops: Map<Hop, PartHop> | undefined

  constructor (key: string, handler: RoutedHandler, owner: PartOwner) {
    super()
    this.key = key
    this.handler = handler
    this.owner = owner
  }

  /** Whether it was removed, whatever is left to be done for it. */
  get hasLeft (): boolean {
    return this.phase === 'leaving' || this.phase === 'gone'
  }

  /** Takes in what the handler lists now; true when `names` is another array than before. */
  list (listing: ProtocolListing): boolean {
    const { names } = this
    if (listing === names && this.#link === undefined) {
      return false
    }
    this.#follow(listing)
    if (this.#listing === undefined) {
      if (!isProtocolList(listing) && Object.isFrozen(listing)) {
        this.names = listing
        return listing !== names
      }
      this.#listing = new LastListing(names)
    }
    this.#listing = this.#listing.next(listing)
    this.names = this.#listing.names
    return this.names !== names
  }

  /** The handler has ended, or the connection closes: no list wakes it any more. */
  release (): void {
    this.#link?.release()
    this.handler[RELEASE]?.()
  }

  /** Asks for a poll; one that is not called any more gets none. */
  wake (): void {
    if (this.#isCalled) {
      this.owner.woken.woke(this)
    }
  }

  /** Tells the handler something; `isFatal`: a throw ends the connection, and not just a stream. */
  tell (event: ConnectionEvent<unknown, unknown>, isFatal: boolean): PromiseLike<void> | undefined {
    if (this.phase === 'failed') {
      return undefined
    }
    if (this.#isCalled) {
      this.owner.woken.touch(this)
    }
    const task = this.guard('onConnectionEvent', () => asTask(this.handler.onConnectionEvent(event)), isFatal)
    return task === undefined ? undefined : taskOf(task, reason => this.faultOf('onConnectionEvent', reason, isFatal))
  }

  /** Its next output while it leaves or its connection closes, or undefined when it has ended. */
  pollLast (cx: PollContext): Poll<HandlerOutput<unknown, unknown, unknown> | undefined> {
    this.now = cx.now
    const { handler } = this
    return this.guard(handler.pollClose === undefined ? 'poll' : 'pollClose', () => pollLast(handler, this), true)
  }

  /**
   * Calls the handler.
   *
   * @throws HandlerFault
   */
  guard<Result> (method: string, call: () => Result, isFatal: boolean = false): Result {
    try {
      return call()
    } catch (thrown) {
      throw this.faultOf(method, thrown, isFatal)
    }
  }

  /** A fatal one is the last that was heard of the part; a composition below has marked its own thrower already (S4.15). */
  faultOf (method: string, thrown: unknown, isFatal: boolean): HandlerFault {
    if (isFatal && !HandlerFault.is(thrown)) {
      this.phase = 'failed'
      this.release()
    }
    return HandlerFault.of(thrown, method, this.key)
  }

  /**
   * A stream has come for it.
   *
   * @throws HandlerFault which is a refusal, if it has left
   */
  refuseStreams (): void {
    if (this.hasLeft) {
      throw new HandlerFault(this.key, 'onConnectionEvent', REFUSED)
    }
  }

  /**
   * What the handler gave, as the composition passes it on: events get the key, everything else the way back.
   *
   * @throws HandlerFault when it cannot be read
   */
  outputOf (output: HandlerOutput<unknown, unknown, unknown>): HandlerOutput<PartEvent, unknown, unknown> {
    try {
      return output.type === 'notify-behaviour'
        ? { type: 'notify-behaviour', event: { handler: this.key, event: output.event } }
        : checkOwn(withRoute(output, this.hopTo(hopOf(output))))
    } catch (thrown) {
      throw this.faultOf('poll', thrown, true)
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
    if (this.#isCalled) {
      this.owner.woken.wakesAt(this)
    }
  }

  get #isCalled (): boolean {
    return this.phase !== 'failed' && this.phase !== 'gone'
  }

  #follow (listing: ProtocolListing): void {
    if (this.#link === undefined && isProtocolList(listing)) {
      this.#link = new ListLink(this)
    }
    this.#link?.follow(listing)
  }
}

/** A copy has the own fields of an output alone. */
function checkOwn<Output extends { readonly type?: unknown }> (copy: Output): Output {
  if (copy.type === undefined) {
    throw new TypeError('poll must return an output whose fields are its own: inherited ones are lost on the way')
  }
  return copy
}
