import { PENDING } from '../core/poll.ts'
import { POLL_LAST, RELEASE, pollLast } from './route.ts'
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

  /** The last events, for wrappers of other makes; connections ask for {@link POLL_LAST}. */
  pollClose (cx: PollContext): Poll<unknown> {
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

  onConnectionEvent (event: ConnectionEvent<unknown, unknown>): void | PromiseLike<void> {
    return this.inner.onConnectionEvent(event)
  }

  onBehaviourEvent (event: unknown): unknown {
    return this.inner.onBehaviourEvent?.(event)
  }

  [POLL_LAST] (cx: PollContext): Poll<AnyOutput | undefined> {
    return pollLast(this.inner, cx)
  }

  [RELEASE] (): void {
    this.inner[RELEASE]?.()
  }
}
