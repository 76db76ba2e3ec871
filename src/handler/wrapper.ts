import { PENDING } from '../core/poll.ts'
import { ATTACH, HAS_LEFT, POLL_LAST, RELEASE, lastEventOf, pollLast } from './route.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'
import type { ConnectionEvent, HandlerOutput } from './connection-handler.ts'
import type { Listing, RoutedHandler } from './route.ts'
import type { StreamUpgrade } from './stream-upgrade.ts'

/** What any handler gives. */
export type AnyOutput = HandlerOutput<unknown, unknown, unknown>

/**
 * A handler around another one: every call goes through (S4.14), with the hidden fields by which compositions find their
 * parts. A subclass changes what it has to.
 */
export abstract class HandlerWrapper implements RoutedHandler {
  /** The hidden methods; a class whose declarations are published cannot have their names in its body. */
  static {
    Object.defineProperties(this.prototype, {
      [POLL_LAST]: { value (this: HandlerWrapper, cx: PollContext) { return this.pollLast(cx) } },
      [RELEASE]: { value (this: HandlerWrapper) { this.release() } },
      [ATTACH]: { value (this: HandlerWrapper, cx: PollContext) { this.inner[ATTACH]?.(cx) } },
      [HAS_LEFT]: { value (this: HandlerWrapper, protocol: string, listing?: Listing) { return this.inner[HAS_LEFT]?.(protocol, listing) === true } }
    })
  }

  /** The handler inside. */
  protected inner: RoutedHandler

  constructor (inner: RoutedHandler) {
    this.inner = inner
  }

  get inboundTimeoutMs (): number {
    return this.inner.inboundTimeoutMs ?? 0
  }

  listenProtocols (): ProtocolListing {
    return this.inner.listenProtocols()
  }

  keepAlive (): boolean {
    return this.inner.keepAlive?.() === true
  }

  inboundInfo (protocol: string, listing?: Listing): unknown {
    return this.inner.inboundInfo?.(protocol, listing)
  }

  inboundUpgrade (stream: unknown, protocol: string, listing?: Listing): StreamUpgrade<unknown> | undefined {
    return this.inner.inboundUpgrade?.(stream, protocol, listing)
  }

  poll (cx: PollContext): Poll<AnyOutput> {
    return this.inner.poll?.(cx) ?? PENDING
  }

  /** The last events, for wrappers of other makes; connections ask for all last outputs. */
  pollClose (cx: PollContext): Poll<unknown> {
    return lastEventOf(() => this.pollLast(cx))
  }

  onConnectionEvent (event: ConnectionEvent<unknown, unknown>): void | PromiseLike<void> {
    return this.inner.onConnectionEvent(event)
  }

  onBehaviourEvent (event: unknown): unknown {
    return this.inner.onBehaviourEvent?.(event)
  }

  /** The next output while the connection closes, or undefined for none any more. */
  protected pollLast (cx: PollContext): Poll<AnyOutput | undefined> {
    return pollLast(this.inner, cx)
  }

  /** The connection closes: no list wakes the handler any more. */
  protected release (): void {
    this.inner[RELEASE]?.()
  }
}
