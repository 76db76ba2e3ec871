import { NEVER } from '../core/instant.ts'
import { PENDING } from '../core/poll.ts'
import { HandlerFault } from '../handler/handler-fault.ts'
import { ListLink } from '../handler/list-link.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { AnyHandler, ConnectionEvent, HandlerOutput } from '../handler/connection-handler.ts'
import type { Listing, RoutedHandler } from '../handler/route.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'

/** What the root handler asks of its connection. */
export interface RootOwner {
  /** The root wants to be polled; `isOwn` when it asked during its own poll, which means the next turn (S4.8). */
  rootWoke (isOwn: boolean): void
  /** A method threw, and what S4.15 says for it other than resetting a stream is to follow. */
  rootFailed (fault: HandlerFault): void
}

const NOTHING: readonly string[] = Object.freeze([])

/**
 * The handler of a connection as the connection calls it: with its wake bit and deadline, and with nothing that it throws
 * coming through. It is the poll context that the handler sees.
 */
export class RootHandler<FromBehaviour, ToBehaviour> implements PollContext {
  now: Instant = 0
  wakeInstant: Instant = NEVER
  isWoken = true
  /** Polled, told or woken since its listing and keep-alive were read. */
  isStale = true
  isKeepAlive = false
  readonly #handler: RoutedHandler
  readonly #owner: RootOwner
  readonly #link: ListLink
  #listing: ProtocolListing = NOTHING
  #isPolling = false
  #hasFailed = false

  constructor (handler: AnyHandler<FromBehaviour, ToBehaviour>, owner: RootOwner) {
    this.#handler = handler
    this.#owner = owner
    this.#link = new ListLink(this)
  }

  /** How long inbound streams may take at least, in milliseconds (S4.5). */
  get inboundTimeoutMs (): number {
    return this.#handler.inboundTimeoutMs ?? 0
  }

  /** What it listed when it was read last. */
  get listing (): ProtocolListing {
    return this.#listing
  }

  wake (): void {
    if (!this.#isPolling) {
      this.isWoken = true
      this.isStale = true
    }
    this.#owner.rootWoke(this.#isPolling)
  }

  wakeAt (instant: Instant): void {
    this.wakeInstant = instant
  }

  /** Reads listing and keep-alive again (S4.10). */
  refresh (): void {
    this.isStale = false
    const listing = this.#call('listenProtocols', () => this.#handler.listenProtocols())
    if (listing !== undefined) {
      this.#listing = listing
      this.#link.follow(listing)
    }
    this.isKeepAlive = this.#call('keepAlive', () => this.#handler.keepAlive?.()) ?? false
  }

  poll (now: Instant): Poll<HandlerOutput<ToBehaviour, unknown, unknown>> {
    this.now = now
    this.isWoken = false
    this.isStale = true
    this.#isPolling = true
    const output = this.#call('poll', () => this.#handler.poll?.(this)) ?? PENDING
    this.#isPolling = false
    this.isWoken = output !== PENDING
    return output
  }

  /** The next last event, or undefined when it has ended; without `pollClose` it is drained through `poll` (S4.11). */
  pollClose (now: Instant): Poll<{ readonly event: ToBehaviour } | undefined> {
    this.now = now
    this.isWoken = false
    if (this.#handler.pollClose === undefined) {
      return this.#drain(now)
    }
    this.#isPolling = true
    const event = this.#call('pollClose', () => this.#handler.pollClose?.(this))
    this.#isPolling = false
    if (event === undefined || event === PENDING) {
      return event
    }
    this.isWoken = true
    return { event }
  }

  onBehaviourEvent (event: FromBehaviour): void {
    this.#told()
    this.#call('onBehaviourEvent', () => this.#handler.onBehaviourEvent?.(event))
  }

  /** Tells it something about no stream of its own: a throw ends the connection. */
  onConnectionEvent (event: ConnectionEvent<unknown, unknown>): PromiseLike<void> | undefined {
    this.#told()
    return this.#call('onConnectionEvent', () => this.#handler.onConnectionEvent(event)) ?? undefined
  }

  /**
   * Hands a stream over.
   *
   * @throws HandlerFault which harms that stream only
   */
  onStream (event: ConnectionEvent<unknown, unknown>): PromiseLike<void> | undefined {
    this.#told()
    try {
      return this.#hasFailed ? undefined : this.#handler.onConnectionEvent(event) ?? undefined
    } catch (thrown) {
      throw HandlerFault.of(thrown, 'onConnectionEvent')
    }
  }

  /** @throws HandlerFault which harms that stream only */
  inboundInfo (protocol: string, listing: Listing): unknown {
    try {
      return this.#handler.inboundInfo?.(protocol, listing)
    } catch (thrown) {
      throw HandlerFault.of(thrown, 'inboundInfo')
    }
  }

  /** @throws HandlerFault which harms that stream only */
  inboundUpgrade (stream: unknown, protocol: string, listing: Listing): ReturnType<NonNullable<RoutedHandler['inboundUpgrade']>> {
    try {
      return this.#handler.inboundUpgrade?.(stream, protocol, listing)
    } catch (thrown) {
      throw HandlerFault.of(thrown, 'inboundUpgrade')
    }
  }

  /** The connection closes: no list wakes it any more. */
  release (): void {
    this.#link.release()
  }

  #told (): void {
    this.isWoken = true
    this.isStale = true
  }

  #drain (now: Instant): Poll<{ readonly event: ToBehaviour } | undefined> {
    for (;;) {
      const output = this.poll(now)
      if (output === PENDING) {
        return undefined
      }
      if (output.type === 'notify-behaviour') {
        return { event: output.event }
      }
    }
  }

  /** A thrower is not called again; a composition that threw has marked the part, and its other parts are still well. */
  #call<Result> (method: string, call: () => Result): Result | undefined {
    if (this.#hasFailed) {
      return undefined
    }
    try {
      return call()
    } catch (thrown) {
      this.#isPolling = false
      this.#hasFailed = !(thrown instanceof HandlerFault)
      this.#owner.rootFailed(HandlerFault.of(thrown, method))
      return undefined
    }
  }
}
