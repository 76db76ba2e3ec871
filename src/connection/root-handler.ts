import { NEVER, checkInstant } from '../core/instant.ts'
import { PENDING } from '../core/poll.ts'
import { checkOutput } from '../handler/check-output.ts'
import { HandlerFault } from '../handler/handler-fault.ts'
import { ListLink } from '../handler/list-link.ts'
import { REFUSED } from '../handler/refused.ts'
import { ATTACH, HAS_LEFT, RELEASE, SETS, pollLast } from '../handler/route.ts'
import { asTask } from '../handler/tasks.ts'
import { isProtocolList } from '../protocols/protocol-list.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { AnyHandler, ConnectionEvent, HandlerOutput } from '../handler/connection-handler.ts'
import type { BothSets, Listing, RoutedHandler } from '../handler/route.ts'
import type { StreamUpgrade } from '../handler/stream-upgrade.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'
import type { Outlet } from './outlet.ts'
import type { Turn } from './turn.ts'

const NOTHING: readonly string[] = Object.freeze([])

/**
 * The handler of a connection as the connection calls it: with its wake bit and deadline, and with nothing that it throws
 * coming through. It is the poll context that the handler sees.
 */
export class RootHandler<FromBehaviour, ToBehaviour> implements PollContext {
  /** Hidden from authors: see `RoutedContext`. */
  static {
    Object.defineProperty(this.prototype, SETS, { get (this: RootHandler<unknown, unknown>) { return this.sets } })
  }

  /** The names of both sides, for parts that come late; set when they are known. */
  sets: BothSets | undefined
  now: Instant = 0
  wakeInstant: Instant = NEVER
  isWoken = true
  /** Polled, told or woken since its listing and keep-alive were read. */
  isStale = true
  isKeepAlive = false
  readonly #handler: RoutedHandler
  readonly #outlet: Outlet<unknown, ToBehaviour>
  readonly #turn: Turn
  /** Made for the first `ProtocolList` that it lists. */
  #link: ListLink | undefined
  #listing: ProtocolListing = NOTHING
  #isPolling = false
  /** Woke itself during a poll in which it had nothing to say: that means the next turn (S4.8). */
  #wokeItself = false
  #hasFailed = false
  #isReleased = false

  /**
   * @param outlet - gets the throw that ends the connection
   * @param turn - woken when there is something to poll, or another deadline
   */
  constructor (handler: AnyHandler<FromBehaviour, ToBehaviour>, outlet: Outlet<unknown, ToBehaviour>, turn: Turn) {
    this.#handler = handler
    this.#outlet = outlet
    this.#turn = turn
    this.#handler[ATTACH]?.(this)
  }

  /** How long inbound streams may take at least, in milliseconds (S4.5). */
  get inboundTimeoutMs (): number {
    const timeoutMs = this.#call('inboundTimeoutMs', () => this.#handler.inboundTimeoutMs) ?? 0
    return timeoutMs > 0 ? timeoutMs : 0
  }

  /** What it listed when it was read last. */
  get listing (): ProtocolListing {
    return this.#listing
  }

  /** See {@link PollContext}. */
  wake (): void {
    if (this.#isPolling) {
      this.#wokeItself = true
    } else if (!this.#isReleased) {
      this.#told()
      this.#turn.wakeForHandler()
    }
  }

  /** See {@link PollContext}. */
  wakeAt (instant: Instant): void {
    checkInstant(instant)
    if (this.#isReleased) {
      return
    }
    this.wakeInstant = instant
    if (!this.#isPolling) {
      this.#turn.wakeForHandler()
    } else if (instant <= this.now) {
      this.wakeInstant = NEVER
      this.#wokeItself = true
    }
  }

  /** Wakes it if its own deadline has come. */
  expire (now: Instant): void {
    if (this.wakeInstant <= now) {
      this.wakeInstant = NEVER
      this.isWoken = true
    }
  }

  /** Whether it is to be polled in another turn. */
  endTurn (): boolean {
    this.isWoken ||= this.#wokeItself
    this.#wokeItself = false
    return this.isWoken && !this.#isReleased
  }

  /** Reads listing and keep-alive again (S4.10), without closures, as on the path of every turn. */
  refresh (): void {
    this.isStale = false
    if (this.#hasFailed) {
      this.isKeepAlive = false
      return
    }
    let method = 'listenProtocols'
    try {
      this.#list(this.#handler.listenProtocols())
      method = 'keepAlive'
      this.isKeepAlive = this.#handler.keepAlive?.() === true
    } catch (thrown) {
      this.isKeepAlive = false
      this.failed(method, thrown)
    }
  }

  /** Its next output. */
  poll (now: Instant): Poll<HandlerOutput<ToBehaviour, unknown, unknown>> {
    // Without closures and calls in between: this is on the path of every turn.
    let output: Poll<HandlerOutput<ToBehaviour, unknown, unknown>> = PENDING
    this.now = now
    this.isStale = true
    this.#wokeItself = false
    this.#isPolling = true
    try {
      if (this.#handler.poll !== undefined && !this.#hasFailed) {
        output = checkOutput(this.#handler.poll(this))
      }
    } catch (thrown) {
      output = PENDING
      this.failed('poll', thrown)
    }
    this.#isPolling = false
    this.isWoken = output !== PENDING
    return output
  }

  /** Its next output while the connection closes, or undefined when it has ended (S4.11). */
  pollLast (now: Instant): Poll<HandlerOutput<ToBehaviour, unknown, unknown> | undefined> {
    this.now = now
    this.#wokeItself = false
    this.#isPolling = true
    const output = this.#pollLast()
    this.#isPolling = false
    this.isWoken = output !== PENDING
    return output
  }

  /** Passes on what its behaviour says; `refused`: a handler that was switched off does not take it. */
  onBehaviourEvent (event: FromBehaviour): 'taken' | 'refused' | 'failed' {
    this.#told()
    return this.#call('onBehaviourEvent', () => this.#handler.onBehaviourEvent?.(event) === REFUSED ? 'refused' : 'taken') ?? 'failed'
  }

  /** Tells it something about no stream of its own: a throw ends the connection. */
  onConnectionEvent (event: ConnectionEvent<unknown, unknown>): PromiseLike<void> | undefined {
    this.#told()
    return this.#call('onConnectionEvent', () => asTask(this.#handler.onConnectionEvent(event)))
  }

  /**
   * Hands a stream over.
   *
   * @throws HandlerFault which harms that stream only
   */
  onStream (event: ConnectionEvent<unknown, unknown>): PromiseLike<void> | undefined {
    this.#told()
    return this.#callForStream('onConnectionEvent', () => asTask(this.#handler.onConnectionEvent(event)))
  }

  /** @throws HandlerFault which harms that stream only */
  inboundInfo (protocol: string, listing: Listing): unknown {
    return this.#callForStream('inboundInfo', () => this.#handler.inboundInfo?.(protocol, listing))
  }

  /** @throws HandlerFault which harms that stream only */
  inboundUpgrade (stream: unknown, protocol: string, listing: Listing): StreamUpgrade<unknown> | undefined {
    return this.#callForStream('inboundUpgrade', () => this.#handler.inboundUpgrade?.(stream, protocol, listing))
  }

  /** Whether the owner of `protocol` by `listing` has left its composition. */
  hasOwnerLeft (protocol: string, listing: Listing): boolean {
    return this.#handler[HAS_LEFT]?.(protocol, listing) === true
  }

  /** A thrower is not called again; a composition that threw has marked the part, and its other parts are still well. */
  failed (method: string, thrown: unknown): void {
    this.#hasFailed ||= !HandlerFault.is(thrown)
    const fault = HandlerFault.of(thrown, method)
    this.#outlet.handlerError(fault)
    this.#outlet.fatal ??= fault
    this.#turn.wake()
  }

  /** It had its last word: nothing wakes it any more. */
  release (): void {
    this.#isReleased = true
    this.wakeInstant = NEVER
    this.#link?.release()
    this.#handler[RELEASE]?.()
  }

  #told (): void {
    this.isWoken = true
    this.isStale = true
  }

  #list (listing: ProtocolListing): void {
    if (listing !== this.#listing) {
      if (this.#link === undefined && isProtocolList(listing)) {
        this.#link = new ListLink(this)
      }
      this.#link?.follow(listing)
      this.#listing = listing
    }
  }

  /** After the throw of one part of a composition its siblings are still to be heard. */
  #pollLast (): Poll<HandlerOutput<ToBehaviour, unknown, unknown> | undefined> {
    while (!this.#hasFailed) {
      try {
        return pollLast(this.#handler, this) as Poll<HandlerOutput<ToBehaviour, unknown, unknown> | undefined>
      } catch (thrown) {
        this.failed(this.#handler.pollClose === undefined ? 'poll' : 'pollClose', thrown)
      }
    }
    return undefined
  }

  #call<Result> (method: string, call: () => Result): Result | undefined {
    if (this.#hasFailed) {
      return undefined
    }
    try {
      return call()
    } catch (thrown) {
      this.failed(method, thrown)
      return undefined
    }
  }

  #callForStream<Result> (method: string, call: () => Result): Result | undefined {
    try {
      return this.#hasFailed ? undefined : call()
    } catch (thrown) {
      throw HandlerFault.of(thrown, method)
    }
  }
}
