/**
 * Many handlers as one (S4.13).
 *
 * - A poll serves the woken parts only, oldest wake first; a part that gave a value goes to the end of the queue, so it
 *   delays another by at most one value. A part that wakes itself during its own poll waits for the next turn.
 * - Listings and keep-alive answers are cached per part and asked again after the part was polled, told or woken.
 * - The listing is a frozen array of its own, made anew only when a name changed its place or its owner; the owner of an
 *   inbound stream is found by the listing that was in force when the stream arrived.
 * - A part that throws is not called again; its siblings go on.
 */

import { BoundedQueue } from '../core/bounded-queue.ts'
import { NEVER, earliest } from '../core/instant.ts'
import { PENDING } from '../core/poll.ts'
import { HandlerFault } from './handler-fault.ts'
import { Part, PartHop } from './part.ts'
import { hopOf, listingOf, setRoute, withHop } from './route.ts'
import { joinTasks, taskOf } from './tasks.ts'
import { InvalidStateError } from '../errors.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { AnyHandler, ConnectionEvent, ConnectionHandler, HandlerOutput } from './connection-handler.ts'
import type { PartOwner } from './part.ts'
import type { Listing, RoutedHandler } from './route.ts'
import type { StreamUpgrade } from './stream-upgrade.ts'

type Values<Of> = Of[keyof Of]
type Keys<Of> = keyof Of & string
type Member<Of, Key extends PropertyKey> = Key extends keyof Of ? Of[Key] : never
type Returned<Method> = NonNullable<Method> extends (...args: never[]) => infer Result ? Result : never

/** What the behaviour may tell this handler. */
export type FromBehaviourOf<Handler> =
  NonNullable<Member<Handler, 'onBehaviourEvent'>> extends (event: infer Event) => void ? Event : never
/** What this handler tells its behaviour; read from `poll`, so it needs no other declaration. */
export type ToBehaviourOf<Handler> =
  Extract<Returned<Member<Handler, 'poll'>>, { type: 'notify-behaviour' }> extends { event: infer Event } ? Event : never

type Keyed<Key extends string, Event> = [Event] extends [never] ? never : { readonly handler: Key, readonly event: Event }

/** An event of one part of a composition, by its key. */
export interface PartEvent {
  readonly handler: string
  readonly event: unknown
}

/** The handler that {@link composeHandlers} makes of `Parts`. */
export type ComposedHandler<Parts> = ConnectionHandler<
  Values<{ [Key in Keys<Parts>]: Keyed<Key, FromBehaviourOf<Parts[Key]>> }>,
  Values<{ [Key in Keys<Parts>]: Keyed<Key, ToBehaviourOf<Parts[Key]>> }>
>

/**
 * Composes handlers into one; events in and out are `{ handler: key, event }`.
 *
 * @param parts - the handlers by key; the first one that lists a name owns it. An empty record does nothing
 */
export function composeHandlers<const Parts extends Readonly<Record<string, AnyHandler>>> (parts: Parts): ComposedHandler<Parts> {
  return new Composition(parts) as unknown as ComposedHandler<Parts>
}

interface Owner {
  readonly part: Part
  /** The part's own listing of that time: what it needs to find the owner inside itself. */
  readonly listing: Listing
}

class Composition implements RoutedHandler, PartOwner {
  readonly #parts: Map<string, Part>
  #ready: BoundedQueue<Part>
  /** Parts that woke themselves during their own poll. */
  #later: BoundedQueue<Part>
  readonly #stale: Part[] = []
  #polled: Part | undefined
  #cx: PollContext | undefined
  /** No part's deadline is earlier than this. */
  #nextDeadline: Instant = NEVER
  #keepAliveCount = 0
  #listing: Listing = Object.freeze([])
  readonly #owners: WeakMap<Listing, Map<string, Owner>> = new WeakMap()
  #closed = 0

  constructor (parts: Readonly<Record<string, AnyHandler>>) {
    this.#parts = new Map(Object.entries(parts).map(([key, handler]) => [key, new Part(key, handler, this)]))
    this.#ready = new BoundedQueue(Infinity)
    this.#later = new BoundedQueue(Infinity)
    for (const part of this.#parts.values()) {
      this.#touch(part)
    }
  }

  /** The longest that a part asks for (S4.5). */
  get inboundTimeoutMs (): number {
    let longest = 0
    for (const { handler } of this.#parts.values()) {
      longest = Math.max(longest, handler.inboundTimeoutMs ?? 0)
    }
    return longest
  }

  partWoke (part: Part): void {
    if (part === this.#polled) {
      if (!part.isQueued) {
        part.isQueued = true
        this.#later.push(part)
      }
    } else {
      this.#touch(part)
    }
    this.#cx?.wake()
  }

  partWakesAt (part: Part): void {
    if (part.wakeInstant < this.#nextDeadline) {
      this.#nextDeadline = part.wakeInstant
      this.#cx?.wakeAt(part.wakeInstant)
    }
  }

  listenProtocols (): Listing {
    this.#refresh()
    return this.#listing
  }

  keepAlive (): boolean {
    this.#refresh()
    return this.#keepAliveCount > 0
  }

  inboundInfo (protocol: string, listing: Listing = this.#listing): unknown {
    const { part, listing: own } = this.#ownerOf(protocol, listing)
    return this.#guard(part, 'inboundInfo', () => part.handler.inboundInfo?.(protocol, own))
  }

  inboundUpgrade (stream: unknown, protocol: string, listing: Listing = this.#listing): StreamUpgrade<unknown> | undefined {
    const { part, listing: own } = this.#ownerOf(protocol, listing)
    return this.#guard(part, 'inboundUpgrade', () => part.handler.inboundUpgrade?.(stream, protocol, own))
  }

  poll (cx: PollContext): Poll<HandlerOutput<PartEvent, unknown, unknown>> {
    this.#attach(cx)
    if (cx.now >= this.#nextDeadline) {
      this.#wakeDue(cx)
    }
    for (let part = this.#ready.shift(); part !== undefined; part = this.#ready.shift()) {
      part.isQueued = false
      if (part.hasFailed || part.handler.poll === undefined) {
        continue
      }
      const output = this.#pollPart(part, cx)
      if (output !== PENDING) {
        this.#touch(part)
        return toOutput(part, output)
      }
    }
    const later = this.#later
    this.#later = this.#ready
    this.#ready = later
    return PENDING
  }

  pollClose (cx: PollContext): Poll<PartEvent | undefined> {
    this.#attach(cx)
    const parts = [...this.#parts.values()]
    for (let part = parts[this.#closed]; part !== undefined; part = parts[++this.#closed]) {
      const event = part.hasFailed ? undefined : this.#pollPartClose(part, cx)
      if (event === PENDING) {
        return PENDING
      }
      if (event !== undefined) {
        return { handler: part.key, event: event.value }
      }
      part.release()
    }
    return undefined
  }

  onConnectionEvent (event: ConnectionEvent<unknown, unknown>): void | PromiseLike<void> {
    switch (event.type) {
      case 'fully-negotiated-inbound':
      case 'listen-upgrade-error': {
        const { part, listing } = this.#ownerOf(event.protocol, listingOf(event) ?? this.#listing)
        return this.#tell(part, setRoute(event, listing))
      }
      case 'fully-negotiated-outbound':
      case 'dial-upgrade-error': {
        const hop = hopOf(event)
        if (!(hop instanceof PartHop) || hop.part.owner !== this) {
          throw new InvalidStateError(`Cannot route ${event.type}: pass on the event object itself, or a copy made with spread`)
        }
        return this.#tell(hop.part, setRoute(event, hop.inner))
      }
      case 'local-protocols-change':
      case 'remote-protocols-change':
      case 'address-change':
        return this.#tellAll(event)
    }
  }

  onBehaviourEvent ({ handler: key, event }: PartEvent): void {
    const part = this.#parts.get(key)
    if (part === undefined || part.hasFailed) {
      return
    }
    this.#touch(part)
    this.#guard(part, 'onBehaviourEvent', () => part.handler.onBehaviourEvent?.(event), true)
  }

  #attach (cx: PollContext): void {
    if (this.#cx === cx) {
      return
    }
    this.#cx = cx
    if (this.#nextDeadline !== NEVER) {
      cx.wakeAt(this.#nextDeadline)
    }
  }

  #touch (part: Part): void {
    if (!part.isStale) {
      part.isStale = true
      this.#stale.push(part)
    }
    if (!part.isQueued) {
      part.isQueued = true
      this.#ready.push(part)
    }
  }

  #wakeDue (cx: PollContext): void {
    this.#nextDeadline = NEVER
    for (const part of this.#parts.values()) {
      if (part.wakeInstant <= cx.now) {
        part.wakeInstant = NEVER
        this.#touch(part)
      }
      this.#nextDeadline = earliest(this.#nextDeadline, part.wakeInstant)
    }
    cx.wakeAt(this.#nextDeadline)
  }

  #pollPart (part: Part, cx: PollContext): Poll<HandlerOutput<unknown, unknown, unknown>> {
    part.now = cx.now
    this.#polled = part
    if (!part.isStale) {
      part.isStale = true
      this.#stale.push(part)
    }
    try {
      return part.handler.poll?.(part) ?? PENDING
    } catch (thrown) {
      throw this.#fail(part, 'poll', thrown)
    } finally {
      this.#polled = undefined
    }
  }

  /** The next event of a closing part, undefined when it has ended. A part without `pollClose` is drained (S4.11). */
  #pollPartClose (part: Part, cx: PollContext): Poll<{ readonly value: unknown } | undefined> {
    part.now = cx.now
    const { handler } = part
    if (handler.pollClose !== undefined) {
      const event = this.#guard(part, 'pollClose', () => handler.pollClose?.(part), true)
      return event === PENDING || event === undefined ? event : { value: event }
    }
    for (;;) {
      const output = this.#pollPart(part, cx)
      if (output === PENDING) {
        return undefined
      }
      if (output.type === 'notify-behaviour') {
        return { value: output.event }
      }
    }
  }

  #tell (part: Part, event: ConnectionEvent<unknown, unknown>): void | PromiseLike<void> {
    if (part.hasFailed) {
      return
    }
    this.#touch(part)
    const isAboutStream = event.type === 'fully-negotiated-inbound' || event.type === 'fully-negotiated-outbound'
    const task = this.#guard(part, 'onConnectionEvent', () => part.handler.onConnectionEvent(event), !isAboutStream)
    return task === undefined ? undefined : taskOf(part.key, task)
  }

  /** Each part hears it, also when an earlier one throws; the first throw is passed on at the end. */
  #tellAll (event: ConnectionEvent<unknown, unknown>): void | PromiseLike<void> {
    let fault: unknown
    const tasks: Array<PromiseLike<void>> = []
    for (const part of this.#parts.values()) {
      try {
        const task = this.#tell(part, event)
        if (task !== undefined) {
          tasks.push(task)
        }
      } catch (thrown) {
        fault ??= thrown
      }
    }
    if (fault !== undefined) {
      throw fault
    }
    return joinTasks(tasks)
  }

  #guard<Result> (part: Part, method: string, call: () => Result, isFatal = false): Result {
    try {
      return call()
    } catch (thrown) {
      throw isFatal ? this.#fail(part, method, thrown) : HandlerFault.of(thrown, method, part.key)
    }
  }

  /** A composition below has marked its own thrower already and its other parts are still well. */
  #fail (part: Part, method: string, thrown: unknown): HandlerFault {
    if (!(thrown instanceof HandlerFault)) {
      part.hasFailed = true
      part.release()
    }
    return HandlerFault.of(thrown, method, part.key)
  }

  #refresh (): void {
    let isChanged = false
    for (let part = this.#stale.pop(); part !== undefined; part = this.#stale.pop()) {
      part.isStale = false
      isChanged = this.#refreshPart(part) || isChanged
    }
    if (isChanged) {
      this.#relist()
    }
  }

  #refreshPart (part: Part): boolean {
    if (part.hasFailed) {
      return false
    }
    const isKeepAlive = this.#guard(part, 'keepAlive', () => part.handler.keepAlive?.() ?? false, true)
    if (isKeepAlive !== part.isKeepAlive) {
      part.isKeepAlive = isKeepAlive
      this.#keepAliveCount += isKeepAlive ? 1 : -1
    }
    return this.#guard(part, 'listenProtocols', () => part.list(part.handler.listenProtocols()), true)
  }

  #relist (): void {
    const names: string[] = []
    const owners = new Map<string, Owner>()
    for (const part of this.#parts.values()) {
      const { names: listing } = part
      for (const name of listing) {
        names.push(name)
        if (!owners.has(name)) {
          owners.set(name, { part, listing })
        }
      }
    }
    this.#listing = Object.freeze(names)
    this.#owners.set(this.#listing, owners)
  }

  #ownerOf (protocol: string, listing: Listing): Owner {
    const owner = this.#owners.get(listing)?.get(protocol)
    if (owner === undefined) {
      throw new InvalidStateError(`Cannot find the owner of an inbound stream: no part lists "${protocol}"`)
    }
    return owner
  }
}

/** Events get the key, everything else the way back. */
function toOutput (part: Part, output: HandlerOutput<unknown, unknown, unknown>): HandlerOutput<PartEvent, unknown, unknown> {
  return output.type === 'notify-behaviour'
    ? { type: 'notify-behaviour', event: { handler: part.key, event: output.event } }
    : withHop(output, part.hopTo(hopOf(output)))
}
