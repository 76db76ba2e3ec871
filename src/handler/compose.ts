/**
 * Many handlers as one (S4.13).
 *
 * - A poll serves the woken parts only, oldest wake first; a part that gave a value goes to the end of the queue, so it
 *   delays another by at most one value. A part that woke itself during its own poll and then had nothing to say waits for
 *   the next turn, and so do parts that wake each other without end.
 * - Listings and keep-alive answers are cached per part and asked again after the part was polled, told or woken.
 * - The listing is a frozen array of its own, made anew only when a name changed its place or its owner; the owner of an
 *   inbound stream is found by the listing that was in force when the stream arrived.
 * - A part that throws is not called again; its siblings go on.
 * - Parts come and go at any time: see `part-changes.ts`.
 */

import { BoundedQueue } from '../core/bounded-queue.ts'
import { PENDING } from '../core/poll.ts'
import { WokenParts } from '../core/woken-parts.ts'
import { checkOutput } from './check-output.ts'
import { joinCalls } from './join-calls.ts'
import { PartAnswers } from './part-answers.ts'
import { Departures, greet } from './part-changes.ts'
import { Part, partHopOf } from './part.ts'
import { PartTable } from './part-table.ts'
import { REFUSED } from './refused.ts'
import { ATTACH, HAS_LEFT, POLL_LAST, RELEASE, lastEventOf, listingOf, setsOf, withRoute } from './route.ts'
import { InvalidStateError } from '../errors.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { WokenPartsOwner } from '../core/woken-parts.ts'
import type { ComposedHandler, PartEvent } from './composed-handler.ts'
import type { AnyHandler, ConnectionEvent, ConnectionNews, HandlerOutput } from './connection-handler.ts'
import type { PartOwner } from './part.ts'
import type { Listing, RoutedHandler } from './route.ts'
import type { StreamUpgrade } from './stream-upgrade.ts'

export type { ChangingParts, ComposedHandler, PartEvent } from './composed-handler.ts'

/**
 * Composes handlers into one; events in and out are `{ handler: key, event }`. Its methods `add` and `remove` change the
 * parts at any time, on live connections too.
 *
 * @param parts - the handlers by key; the first one that lists a name owns it. An empty record does nothing. For parts that are
 * only added later, name the type of all parts, with those optional
 *
 * @example
 * const handler = composeHandlers<{ chat: ChatHandler, files?: FilesHandler }>({ chat: new ChatHandler() })
 * handler.add('files', new FilesHandler())
 * handler.remove('files')
 */
export function composeHandlers<const Parts extends Readonly<Record<string, AnyHandler | undefined>>> (parts: Parts): ComposedHandler<Parts> {
  return new Composition(parts) as unknown as ComposedHandler<Parts>
}

/** Polls of one part, on average, in one poll of its composition. */
const MAX_POLLS_PER_PART = 2

class Composition implements RoutedHandler, PartOwner, WokenPartsOwner<Part> {
  readonly woken: WokenParts<Part> = new WokenParts(this)
  readonly #parts: PartTable
  readonly #answers: PartAnswers = new PartAnswers()
  /** Whether the names were read: a part that is added from now on has missed what the others were told. */
  #isInUse = false
  /** Made when the first part is removed. */
  #departures: Departures | undefined
  /** Parts that have not had their last word; made when the connection closes. */
  #closing: BoundedQueue<Part> | undefined

  constructor (parts: Readonly<Record<string, AnyHandler | undefined>>) {
    const entries = Object.entries(parts).filter((entry): entry is [string, AnyHandler] => entry[1] !== undefined)
    this.#parts = new PartTable(entries.map(([key, handler]) => new Part(key, handler, this)))
    for (const part of this.#parts.values()) {
      this.woken.rouse(part)
    }
  }

  /** The longest that a part asks for (S4.5). */
  get inboundTimeoutMs (): number {
    let longest = 0
    for (const { handler } of this.#parts.values()) {
      const { inboundTimeoutMs = 0 } = handler
      longest = inboundTimeoutMs > longest ? inboundTimeoutMs : longest
    }
    return longest
  }

  partTouched (part: Part): void {
    this.#answers.touched(part)
  }

  * members (): Iterable<Part> {
    yield * this.#departures?.parts ?? []
    yield * this.#parts.values()
  }

  add (key: string, handler: RoutedHandler): void {
    if (this.#parts.get(key) !== undefined) {
      throw new InvalidStateError(`Cannot add a handler: the key must be free, and "${key}" is in use`)
    }
    const { cx } = this.woken
    const part = new Part(key, handler, this)
    part.phase = this.#isInUse || cx !== undefined ? 'new' : 'in'
    this.#parts.add(part)
    this.woken.rouse(part)
    if (cx !== undefined) {
      handler[ATTACH]?.(part)
    }
  }

  remove (key: string): boolean {
    const part = this.#parts.get(key)
    if (part === undefined) {
      return false
    }
    this.#parts.remove(part)
    // While the connection closes it has its last word with the others.
    if (this.#closing === undefined && part.phase !== 'failed') {
      this.#departures ??= new Departures()
      this.#departures.add(part)
      this.woken.rouse(part)
    }
    return true
  }

  listenProtocols (): Listing {
    this.#isInUse = true
    this.#answers.refresh(this.#parts)
    return this.#answers.listing
  }

  keepAlive (): boolean {
    this.#answers.refresh(this.#parts)
    return this.#answers.isKeepAlive
  }

  inboundInfo (protocol: string, listing?: Listing): unknown {
    const { part, listing: own } = this.#answers.ownerOf(protocol, listing)
    part.refuseStreams()
    return part.guard('inboundInfo', () => part.handler.inboundInfo?.(protocol, own))
  }

  inboundUpgrade (stream: unknown, protocol: string, listing?: Listing): StreamUpgrade<unknown> | undefined {
    const { part, listing: own } = this.#answers.ownerOf(protocol, listing)
    part.refuseStreams()
    return part.guard('inboundUpgrade', () => part.handler.inboundUpgrade?.(stream, protocol, own))
  }

  poll (cx: PollContext): Poll<HandlerOutput<PartEvent, unknown, unknown>> {
    const { woken } = this
    woken.begin(cx)
    for (let left = (this.#parts.size + (this.#departures?.size ?? 0)) * MAX_POLLS_PER_PART; left > 0; left--) {
      const part = woken.take()
      if (part === undefined) {
        break
      }
      const output = this.#pollPart(part, cx)
      if (output !== PENDING) {
        return part.outputOf(output)
      }
    }
    woken.endTurn(cx)
    return PENDING
  }

  pollClose (cx: PollContext): Poll<PartEvent | undefined> {
    return lastEventOf(() => this[POLL_LAST](cx))
  }

  [POLL_LAST] (cx: PollContext): Poll<HandlerOutput<PartEvent, unknown, unknown> | undefined> {
    this.woken.attach(cx)
    this.#closing ??= this.#beginClosing()
    for (let part = this.#closing.peek(); part !== undefined; part = this.#closing.peek()) {
      const output = part.phase === 'failed' ? undefined : part.pollLast(cx)
      if (output === PENDING) {
        return PENDING
      }
      if (output !== undefined) {
        return part.outputOf(output)
      }
      this.#closing.shift()
    }
    return undefined
  }

  [RELEASE] (): void {
    for (const part of this.members()) {
      part.release()
    }
  }

  [ATTACH] (cx: PollContext): void {
    this.woken.attach(cx)
    for (const part of this.#parts.values()) {
      part.handler[ATTACH]?.(part)
    }
  }

  [HAS_LEFT] (protocol: string, listing?: Listing): boolean {
    const owner = this.#answers.findOwner(protocol, listing)
    return owner !== undefined && (owner.part.hasLeft || owner.part.handler[HAS_LEFT]?.(protocol, owner.listing) === true)
  }

  onConnectionEvent (event: ConnectionEvent<unknown, unknown>): void | PromiseLike<void> {
    switch (event.type) {
      case 'fully-negotiated-inbound': {
        const { part, listing } = this.#answers.ownerOf(event.protocol, listingOf(event))
        part.refuseStreams()
        return part.tell(withRoute(event, listing), false)
      }
      case 'listen-upgrade-error': {
        const { part, listing } = this.#answers.ownerOf(event.protocol, listingOf(event))
        return part.hasLeft ? undefined : part.tell(withRoute(event, listing), true)
      }
      case 'fully-negotiated-outbound': {
        const { part, inner } = partHopOf(event, this)
        part.refuseStreams()
        return part.tell(withRoute(event, inner), false)
      }
      case 'dial-upgrade-error': {
        const { part, inner } = partHopOf(event, this)
        return part.tell(withRoute(event, inner), true)
      }
      case 'local-protocols-change':
      case 'remote-protocols-change':
      case 'address-change':
        return this.#tellAll(event)
    }
  }

  onBehaviourEvent ({ handler: key, event }: PartEvent): unknown {
    const part = this.#parts.get(key)
    if (part === undefined) {
      return REFUSED
    }
    this.#greet(part)
    if (part.phase === 'failed') {
      return undefined
    }
    this.woken.touch(part)
    return part.guard('onBehaviourEvent', () => part.handler.onBehaviourEvent?.(event), true)
  }

  #pollPart (part: Part, cx: PollContext): Poll<HandlerOutput<unknown, unknown, unknown>> {
    if (part.phase !== 'in') {
      return this.#pollOther(part, cx)
    }
    let output: Poll<HandlerOutput<unknown, unknown, unknown>> = PENDING
    part.now = cx.now
    this.#answers.touched(part)
    try {
      if (part.handler.poll !== undefined) {
        output = checkOutput(part.handler.poll(part))
      }
    } catch (thrown) {
      this.woken.polled(part, false)
      throw part.faultOf('poll', thrown, true)
    }
    this.woken.polled(part, output !== PENDING)
    return output
  }

  /** A new part is told what it missed, and is polled after that; one that leaves has its last word. */
  #pollOther (part: Part, cx: PollContext): Poll<HandlerOutput<unknown, unknown, unknown>> {
    let output: Poll<HandlerOutput<unknown, unknown, unknown>> = PENDING
    try {
      if (part.phase === 'new') {
        this.#greet(part)
        this.woken.touch(part)
      } else if (part.phase === 'leaving') {
        output = this.#departures?.poll(part, cx) ?? PENDING
      }
    } finally {
      this.woken.polled(part, output !== PENDING)
    }
    return output
  }

  #greet (part: Part): void {
    if (part.phase === 'new') {
      greet(part, setsOf(this.woken.cx))
    }
  }

  #beginClosing (): BoundedQueue<Part> {
    this[RELEASE]()
    const closing = new BoundedQueue<Part>(Infinity)
    for (const part of this.members()) {
      closing.push(part)
    }
    return closing
  }

  #tellAll (event: ConnectionNews): PromiseLike<void> | undefined {
    return joinCalls(this.#parts.values(), (part) => {
      // A call before this one may have removed it.
      if (part.hasLeft) {
        return undefined
      }
      // A new one is told the whole sets instead, when no change is on its way to the others.
      if (part.phase === 'new' && event.type !== 'address-change') {
        return undefined
      }
      this.#greet(part)
      return part.tell(event, true)
    })
  }
}
