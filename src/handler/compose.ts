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
 */

import { BoundedQueue } from '../core/bounded-queue.ts'
import { PENDING } from '../core/poll.ts'
import { WokenParts } from '../core/woken-parts.ts'
import { checkOutput } from './check-output.ts'
import { HandlerFault } from './handler-fault.ts'
import { Owners } from './owners.ts'
import { Part, PartHop } from './part.ts'
import { POLL_LAST, RELEASE, hopOf, listingOf, pollLast, withRoute } from './route.ts'
import { asTask, dropTasks, joinTasks, taskOf } from './tasks.ts'
import { InvalidStateError } from '../errors.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { WokenPartsOwner } from '../core/woken-parts.ts'
import type { ComposedHandler, PartEvent } from './composed-handler.ts'
import type { AnyHandler, ConnectionEvent, HandlerOutput } from './connection-handler.ts'
import type { PartOwner } from './part.ts'
import type { Listing, RoutedHandler } from './route.ts'
import type { StreamUpgrade } from './stream-upgrade.ts'

export type { ComposedHandler, PartEvent } from './composed-handler.ts'

/**
 * Composes handlers into one; events in and out are `{ handler: key, event }`.
 *
 * @param parts - the handlers by key; the first one that lists a name owns it. An empty record does nothing
 */
export function composeHandlers<const Parts extends Readonly<Record<string, AnyHandler>>> (parts: Parts): ComposedHandler<Parts> {
  return new Composition(parts) as unknown as ComposedHandler<Parts>
}

/** Polls of one part, on average, in one poll of its composition. */
const MAX_POLLS_PER_PART = 2

class Composition implements RoutedHandler, PartOwner, WokenPartsOwner<Part> {
  readonly woken: WokenParts<Part> = new WokenParts(this)
  readonly #parts: Map<string, Part>
  /** Whose answers are to be asked again. */
  #stale: Part | undefined
  #keepAliveCount = 0
  readonly #owners = new Owners()
  /** Parts that have not had their last word; made when the connection closes. */
  #closing: BoundedQueue<Part> | undefined

  constructor (parts: Readonly<Record<string, AnyHandler>>) {
    this.#parts = new Map(Object.entries(parts).map(([key, handler]) => [key, new Part(key, handler, this)]))
    for (const part of this.#parts.values()) {
      this.woken.touch(part)
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
    if (!part.isStale) {
      part.isStale = true
      part.nextStale = this.#stale
      this.#stale = part
    }
  }

  listenProtocols (): Listing {
    this.#refresh()
    return this.#owners.listing
  }

  keepAlive (): boolean {
    this.#refresh()
    return this.#keepAliveCount > 0
  }

  inboundInfo (protocol: string, listing: Listing = this.#owners.listing): unknown {
    const { part, listing: own } = this.#owners.of(protocol, listing)
    return this.#guard(part, 'inboundInfo', () => part.handler.inboundInfo?.(protocol, own))
  }

  inboundUpgrade (stream: unknown, protocol: string, listing: Listing = this.#owners.listing): StreamUpgrade<unknown> | undefined {
    const { part, listing: own } = this.#owners.of(protocol, listing)
    return this.#guard(part, 'inboundUpgrade', () => part.handler.inboundUpgrade?.(stream, protocol, own))
  }

  poll (cx: PollContext): Poll<HandlerOutput<PartEvent, unknown, unknown>> {
    const { woken } = this
    woken.begin(cx, this.#parts)
    for (let left = this.#parts.size * MAX_POLLS_PER_PART; left > 0; left--) {
      const part = woken.take()
      if (part === undefined) {
        break
      }
      const output = this.#pollPart(part, cx)
      if (output !== PENDING) {
        return toOutput(part, output)
      }
    }
    woken.endTurn(cx)
    return PENDING
  }

  /** The last event of the parts, for wrappers; what else a part without `pollClose` still asks for is not heard. */
  pollClose (cx: PollContext): Poll<PartEvent | undefined> {
    for (;;) {
      const output = this[POLL_LAST](cx)
      if (output === PENDING || output === undefined) {
        return output
      }
      if (output.type === 'notify-behaviour') {
        return output.event
      }
    }
  }

  [POLL_LAST] (cx: PollContext): Poll<HandlerOutput<PartEvent, unknown, unknown> | undefined> {
    this.woken.attach(cx)
    this.#closing ??= this.#beginClosing()
    for (let part = this.#closing.peek(); part !== undefined; part = this.#closing.peek()) {
      const output = part.hasFailed ? undefined : this.#pollPartLast(part, cx)
      if (output === PENDING) {
        return PENDING
      }
      if (output !== undefined) {
        return toOutput(part, output)
      }
      this.#closing.shift()
    }
    return undefined
  }

  [RELEASE] (): void {
    for (const part of this.#parts.values()) {
      part.release()
    }
  }

  onConnectionEvent (event: ConnectionEvent<unknown, unknown>): void | PromiseLike<void> {
    switch (event.type) {
      case 'fully-negotiated-inbound':
      case 'listen-upgrade-error': {
        const { part, listing } = this.#owners.of(event.protocol, listingOf(event) ?? this.#owners.listing)
        return this.#tell(part, withRoute(event, listing))
      }
      case 'fully-negotiated-outbound':
      case 'dial-upgrade-error': {
        const hop = hopOf(event)
        if (!(hop instanceof PartHop) || hop.part.owner !== this) {
          throw new InvalidStateError(`Cannot route ${event.type}: pass on the event object itself, or a copy made with spread`)
        }
        return this.#tell(hop.part, withRoute(event, hop.inner))
      }
      case 'local-protocols-change':
      case 'remote-protocols-change':
      case 'address-change':
        return this.#tellAll(event)
    }
  }

  onBehaviourEvent ({ handler: key, event }: PartEvent): unknown {
    const part = this.#parts.get(key)
    if (part === undefined || part.hasFailed) {
      return undefined
    }
    this.woken.touch(part)
    return this.#guard(part, 'onBehaviourEvent', () => part.handler.onBehaviourEvent?.(event), true)
  }

  #pollPart (part: Part, cx: PollContext): Poll<HandlerOutput<unknown, unknown, unknown>> {
    let output: Poll<HandlerOutput<unknown, unknown, unknown>> = PENDING
    part.now = cx.now
    this.partTouched(part)
    try {
      if (part.handler.poll !== undefined && !part.hasFailed) {
        output = checkOutput(part.handler.poll(part))
      }
    } catch (thrown) {
      this.woken.polled(part, false)
      throw this.#faultOf(part, 'poll', thrown, true)
    }
    this.woken.polled(part, output !== PENDING)
    return output
  }

  #pollPartLast (part: Part, cx: PollContext): Poll<HandlerOutput<unknown, unknown, unknown> | undefined> {
    part.now = cx.now
    const { handler } = part
    return this.#guard(part, handler.pollClose === undefined ? 'poll' : 'pollClose', () => pollLast(handler, part), true)
  }

  #beginClosing (): BoundedQueue<Part> {
    this[RELEASE]()
    const closing = new BoundedQueue<Part>(Infinity)
    for (const part of this.#parts.values()) {
      closing.push(part)
    }
    return closing
  }

  #tell (part: Part, event: ConnectionEvent<unknown, unknown>): PromiseLike<void> | undefined {
    if (part.hasFailed) {
      return undefined
    }
    this.woken.touch(part)
    const isFatal = event.type !== 'fully-negotiated-inbound' && event.type !== 'fully-negotiated-outbound'
    const task = this.#guard(part, 'onConnectionEvent', () => asTask(part.handler.onConnectionEvent(event)), isFatal)
    return task === undefined ? undefined : taskOf(task, reason => this.#faultOf(part, 'onConnectionEvent', reason, isFatal))
  }

  /** Each part hears it, also when an earlier one throws; the first throw is passed on at the end. */
  #tellAll (event: ConnectionEvent<unknown, unknown>): PromiseLike<void> | undefined {
    let fault: HandlerFault | undefined
    const tasks: Array<PromiseLike<void>> = []
    for (const part of this.#parts.values()) {
      try {
        const task = this.#tell(part, event)
        if (task !== undefined) {
          tasks.push(task)
        }
      } catch (thrown) {
        fault ??= HandlerFault.of(thrown, 'onConnectionEvent')
      }
    }
    if (fault !== undefined) {
      dropTasks(tasks)
      throw fault
    }
    return joinTasks(tasks)
  }

  #guard<Result> (part: Part, method: string, call: () => Result, isFatal = false): Result {
    try {
      return call()
    } catch (thrown) {
      throw this.#faultOf(part, method, thrown, isFatal)
    }
  }

  /** A fatal one is the last that was heard of the part; a composition below has marked its own thrower already (S4.15). */
  #faultOf (part: Part, method: string, thrown: unknown, isFatal: boolean): HandlerFault {
    if (isFatal && !(thrown instanceof HandlerFault)) {
      part.hasFailed = true
      part.release()
    }
    return HandlerFault.of(thrown, method, part.key)
  }

  #refresh (): void {
    if (this.#stale !== undefined) {
      this.#refreshStale(this.#stale)
    }
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
      this.#owners.update(this.#parts.values())
    }
  }

  #refreshPart (part: Part): boolean {
    if (part.hasFailed) {
      return false
    }
    // Without closures: this is on the path of every turn.
    let method = 'keepAlive'
    try {
      const isKeepAlive = part.handler.keepAlive?.() === true
      if (isKeepAlive !== part.isKeepAlive) {
        part.isKeepAlive = isKeepAlive
        this.#keepAliveCount += isKeepAlive ? 1 : -1
      }
      method = 'listenProtocols'
      return part.list(part.handler.listenProtocols())
    } catch (thrown) {
      throw this.#faultOf(part, method, thrown, true)
    }
  }
}

/** Events get the key, everything else the way back. */
function toOutput (part: Part, output: HandlerOutput<unknown, unknown, unknown>): HandlerOutput<PartEvent, unknown, unknown> {
  return output.type === 'notify-behaviour'
    ? { type: 'notify-behaviour', event: { handler: part.key, event: output.event } }
    : withRoute(output, part.hopTo(hopOf(output)))
}
