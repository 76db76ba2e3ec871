/**
 * A handler that opens one stream for each message of its behaviour, and takes what one stream of the peer brings as one
 * event, as `OneShotHandler` of rust-libp2p does. What goes over the streams is the affair of their upgrades.
 *
 * ```
 *  message ──▶ waits ──▶ dials, at most maxConcurrentDials at once ──▶ sent
 *     └── too many wait ──────────────┴── no stream, upgrade failed, the end ──▶ failed
 * ```
 */

import { BoundedQueue } from '../core/bounded-queue.ts'
import { count, duration, flag, kindOf, parseOptions } from '../core/options.ts'
import { PENDING } from '../core/poll.ts'
import { AbortError, OverflowError } from '../errors.ts'
import { Outbox } from '../handler/outbox.ts'
import { NO_PROTOCOLS, namesOf, parseListing } from './listing.ts'
import { checkCallback } from './stream-callback.ts'
import type { AnyHandler, ConnectionEvent, ConnectionHandler, HandlerOutput } from '../behaviour/connection-handler.ts'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { OptionTable } from '../core/options.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { StreamUpgradeError } from '../errors.ts'
import type { StreamUpgrade } from '../handler/stream-upgrade.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'

/** What {@link oneShotHandler} takes. The upgrades have their streams to themselves, and close them. */
export interface OneShotHandlerInit<Message, Outbound, Inbound> {
  /** One name, several, or a `ProtocolList` that may change: what is proposed, in this order, and with `inbound` accepted. */
  protocols: string | ProtocolListing
  /** Sends a message over its stream; its output comes with the event. */
  outbound (stream: NegotiatedStream, message: Message, protocol: string): StreamUpgrade<Outbound>
  /** Reads what a stream of the peer brings; its output is an event. Absent: the names are not offered. */
  inbound?: ((stream: NegotiatedStream, protocol: string) => StreamUpgrade<Inbound>) | undefined
  /** Milliseconds that a message has for its stream and upgrade, once it is dialled. @default the option `outboundTimeoutMs` of the connection */
  timeoutMs?: number | undefined
  /** Lengthens the deadline of inbound streams, upgrade included, in milliseconds from arrival. @default the option of the connection */
  inboundTimeoutMs?: number | undefined
  /** Messages that have a stream, or ask for one, at the same time; the others wait in order. @default 8 */
  maxConcurrentDials?: number | undefined
  /** Messages that wait; the next one fails at once, with an `OverflowError`. @default 1024 */
  maxQueuedMessages?: number | undefined
  /** Streams of the peer in upgrade, or whose event was not taken yet; the next one is reset, and reported as a `handler-error`. @default 128 */
  maxInboundStreams?: number | undefined
  /** True holds the connection open; otherwise messages do, until they have their outcome, and streams. @default false */
  keepAlive?: boolean | undefined
}

/** A message was sent: its one outcome, as {@link OneShotFailed}. */
export interface OneShotSent<Message, Outbound> {
  readonly type: 'sent'
  readonly message: Message
  /** Of the upgrade. */
  readonly output: Outbound
}

/** A message was not sent, or nobody knows. */
export interface OneShotFailed<Message> {
  readonly type: 'failed'
  readonly message: Message
  /**
   * `StreamUpgradeError`: no stream was to be had, or the upgrade failed. `OverflowError`: too many messages waited.
   * `AbortError`: the handler ended before the message had its turn.
   */
  readonly error: StreamUpgradeError | OverflowError | AbortError
}

/** A stream of the peer brought something. */
export interface OneShotReceived<Inbound> {
  readonly type: 'received'
  readonly protocol: string
  /** Of the upgrade. */
  readonly output: Inbound
}

/** The upgrade of a stream of the peer failed. */
export interface OneShotInboundFailed {
  readonly type: 'inbound-failed'
  readonly protocol: string
  readonly error: StreamUpgradeError
}

/** What the handler tells its behaviour. */
export type OneShotEvent<Message, Outbound, Inbound> =
  | OneShotSent<Message, Outbound>
  | OneShotFailed<Message>
  | OneShotReceived<Inbound>
  | OneShotInboundFailed

/**
 * The handler of one connection that sends each message of its behaviour over a stream of its own, in the order in which they
 * came. Every message has exactly one outcome, `sent` or `failed`, also when the connection closes.
 *
 * @param init - names, upgrades and limits
 * @throws TypeError or RangeError for an option that is missing, unknown or out of range, and for a name that is none
 *
 * @example
 * oneShotHandler({
 *   protocols: '/note/1.0.0',
 *   outbound: (stream, text: string) => asyncUpgrade(async () => {
 *     stream.send(new TextEncoder().encode(text))
 *     await stream.close()
 *   })
 * })
 */
export function oneShotHandler<Message, Outbound = undefined, Inbound = never> (
  init: OneShotHandlerInit<Message, Outbound, Inbound>
): AnyHandler<Message, OneShotEvent<Message, Outbound, Inbound>> {
  return new OneShotHandler(init)
}

interface OneShotOptions {
  readonly timeoutMs: number
  readonly inboundTimeoutMs: number
  readonly maxConcurrentDials: number
  readonly maxQueuedMessages: number
  readonly maxInboundStreams: number
  readonly keepAlive: boolean
}

const OPTIONS: OptionTable<OneShotOptions> = {
  // Absent, it is the connection's.
  timeoutMs: duration(Infinity),
  inboundTimeoutMs: duration(0),
  maxConcurrentDials: count(8, 1),
  maxQueuedMessages: count(1024),
  maxInboundStreams: count(128),
  keepAlive: flag(false)
}

/** The message of a request comes back with its outcome. */
interface Dial<Message> {
  readonly message: Message
}

/** An inbound stream has a place; it comes back with the result of its upgrade. */
const SEAT = 'seat'

type Info<Message> = Dial<Message> | typeof SEAT

class OneShotHandler<Message, Outbound, Inbound> implements ConnectionHandler<
  Message, OneShotEvent<Message, Outbound, Inbound>, Info<Message>, OneShotEvent<Message, Outbound, Inbound>
> {
  readonly inboundTimeoutMs: number
  readonly #init: OneShotHandlerInit<Message, Outbound, Inbound> & { readonly protocols: ProtocolListing }
  readonly #options: OneShotOptions
  readonly #messages: BoundedQueue<Dial<Message>>
  /** Bounded by the messages, which each have one outcome, and by the seats. */
  readonly #events = new Outbox<OneShotEvent<Message, Outbound, Inbound>>(Infinity)
  #dialling = 0
  #seated = 0

  constructor (init: OneShotHandlerInit<Message, Outbound, Inbound>) {
    const action = 'Cannot make a handler'
    this.#options = parseOptions(OPTIONS, init, action, ['protocols', 'outbound', 'inbound'])
    const outbound = new Map<string, unknown>(Object.entries(init)).get('outbound')
    if (typeof outbound !== 'function') {
      throw new TypeError(`${action}: outbound must be a function, received ${kindOf(outbound)}`)
    }
    checkCallback('inbound', init.inbound, action)
    this.#init = { ...init, protocols: parseListing(init.protocols, action) }
    this.#messages = new BoundedQueue(this.#options.maxQueuedMessages)
    this.inboundTimeoutMs = this.#options.inboundTimeoutMs
  }

  listenProtocols (): ProtocolListing {
    return this.#init.inbound === undefined ? NO_PROTOCOLS : this.#init.protocols
  }

  keepAlive (): boolean {
    return this.#options.keepAlive || this.#messages.size > 0
  }

  inboundInfo (): typeof SEAT {
    const { maxInboundStreams } = this.#options
    if (this.#seated >= maxInboundStreams) {
      throw new OverflowError(`There may be ${maxInboundStreams} inbound streams without an event that was taken (maxInboundStreams)`)
    }
    this.#seated++
    return SEAT
  }

  inboundUpgrade (stream: NegotiatedStream, protocol: string): StreamUpgrade<OneShotEvent<Message, Outbound, Inbound>> {
    const upgrade = this.#init.inbound?.(stream, protocol)
    if (upgrade === undefined) {
      throw new AbortError(`Nobody takes streams of "${protocol}" here`)
    }
    return new EventUpgrade(upgrade, output => ({ type: 'received', protocol, output }))
  }

  poll (cx: PollContext): Poll<HandlerOutput<OneShotEvent<Message, Outbound, Inbound>, Info<Message>, OneShotEvent<Message, Outbound, Inbound>>> {
    const event = this.#pollEvent(cx)
    if (event !== PENDING) {
      return { type: 'notify-behaviour', event }
    }
    const dial = this.#dialling < this.#options.maxConcurrentDials ? this.#messages.shift() : undefined
    if (dial === undefined) {
      return PENDING
    }
    this.#dialling++
    const { message } = dial
    return {
      type: 'outbound-stream-request',
      protocols: namesOf(this.#init.protocols),
      timeoutMs: this.#init.timeoutMs,
      info: dial,
      upgrade: (stream, protocol) => new EventUpgrade(this.#init.outbound(stream, message, protocol), output => ({ type: 'sent', message, output }))
    }
  }

  pollClose (cx: PollContext): Poll<OneShotEvent<Message, Outbound, Inbound> | undefined> {
    for (let dial = this.#messages.shift(); dial !== undefined; dial = this.#messages.shift()) {
      this.#failed(dial, new AbortError('Cannot send message: its handler has ended'))
    }
    const event = this.#pollEvent(cx)
    return event === PENDING ? undefined : event
  }

  onConnectionEvent (event: ConnectionEvent<Info<Message>, OneShotEvent<Message, Outbound, Inbound>>): void {
    switch (event.type) {
      case 'fully-negotiated-inbound':
        this.#events.push(event.output)
        break
      case 'fully-negotiated-outbound':
        this.#dialling--
        this.#events.push(event.output)
        break
      case 'dial-upgrade-error':
        if (event.info !== SEAT) {
          this.#dialling--
          this.#failed(event.info, event.error)
        }
        break
      case 'listen-upgrade-error':
        // Of one without a seat the connection tells whoever watches it.
        if (event.info === SEAT) {
          this.#events.push({ type: 'inbound-failed', protocol: event.protocol, error: event.error })
        }
        break
      case 'local-protocols-change':
      case 'remote-protocols-change':
      case 'address-change':
    }
  }

  onBehaviourEvent (message: Message): void {
    const dial = { message }
    if (!this.#messages.push(dial)) {
      const { maxQueuedMessages } = this.#options
      this.#failed(dial, new OverflowError(`Cannot send message: ${maxQueuedMessages} may wait (maxQueuedMessages)`))
    }
  }

  /** The next event; that of an inbound stream gives its seat up. */
  #pollEvent (cx: PollContext): Poll<OneShotEvent<Message, Outbound, Inbound>> {
    const event = this.#events.poll(cx)
    if (event !== PENDING && (event.type === 'received' || event.type === 'inbound-failed')) {
      this.#seated--
    }
    return event
  }

  #failed ({ message }: Dial<Message>, error: OneShotFailed<Message>['error']): void {
    this.#events.push({ type: 'failed', message, error })
  }
}

/** An upgrade whose output is the event that it makes. */
class EventUpgrade<Output, Event> implements StreamUpgrade<Event> {
  readonly #upgrade: StreamUpgrade<Output>
  readonly #toEvent: (output: Output) => Event

  constructor (upgrade: StreamUpgrade<Output>, toEvent: (output: Output) => Event) {
    this.#upgrade = upgrade
    this.#toEvent = toEvent
  }

  poll (cx: PollContext): Poll<Event> {
    const output = this.#upgrade.poll(cx)
    return output === PENDING ? PENDING : this.#toEvent(output)
  }

  end (reason: unknown): void {
    this.#upgrade.end?.(reason)
  }
}
