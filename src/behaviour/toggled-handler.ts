/**
 * The handler of a connection behind a switch (S4.14). It is there on every connection, so that the behaviour may be
 * switched at any time:
 *
 * ```
 * absent ── join(handler) ─▶ on ◀── enable / disable ──▶ off
 * ```
 *
 * Off, it lists nothing, holds nothing open, polls nothing and takes neither streams nor messages. Its streams are left
 * alone, its requests end as `aborted`, and it still gets the outcomes that are owed to it. When it is on again it first
 * catches up with what it missed.
 */

import { PENDING } from '../core/poll.ts'
import { StreamUpgradeError } from '../errors.ts'
import { IdleHandler } from '../handler/idle-handler.ts'
import { Part } from '../handler/part.ts'
import { REFUSED } from '../handler/refused.ts'
import { hopOf, withRoute } from '../handler/route.ts'
import { asTask, dropTasks } from '../handler/tasks.ts'
import { HandlerWrapper } from '../handler/wrapper.ts'
import { disabled } from './disabled.ts'
import { MissedNews } from './missed-news.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { CancelOutboundRequest, ConnectionEvent, FullyNegotiatedOutbound, OutboundStreamRequest } from '../handler/connection-handler.ts'
import type { Hop } from '../handler/route.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'
import type { AnyHandler } from './connection-handler.ts'
import type { NegotiatedStream } from './negotiated-stream.ts'
import type { EstablishedConnection } from './network-behaviour.ts'
import type { AnyOutput } from '../handler/wrapper.ts'

const NOTHING: readonly string[] = Object.freeze([])

/** A request without an outcome; travels as its `info`, as that comes back with the outcome. */
class OpenRequest {
  readonly info: unknown
  readonly token: unknown
  readonly hop: Hop | undefined

  constructor ({ info, token }: OutboundStreamRequest<unknown, unknown>, hop: Hop | undefined) {
    this.info = info
    this.token = token ?? this
    this.hop = hop
  }
}

/** See above. Both methods that switch it may be called at any time. */
export class ToggledHandler extends HandlerWrapper {
  readonly #connection: EstablishedConnection
  readonly #missed = new MissedNews()
  readonly #open = new Set<OpenRequest>()
  /** Requests that end because it was switched off. */
  readonly #cancelled: OpenRequest[] = []
  #isOn: boolean
  #cx: PollContext | undefined

  /**
   * @param handler - absent: the behaviour has not made one yet
   */
  constructor (connection: EstablishedConnection, handler?: AnyHandler) {
    super(handler ?? new IdleHandler())
    this.#connection = connection
    this.#isOn = handler !== undefined
  }

  /** The behaviour made its handler; one that takes no part gets nothing to do. */
  join (handler: AnyHandler = new IdleHandler()): void {
    this.inner = handler
    this.enable()
  }

  /** On, from the next poll of the connection on. */
  enable (): void {
    this.#isOn = true
    this.#cx?.wake()
  }

  /** Off, at once. */
  disable (): void {
    this.#isOn = false
    this.#cancelled.push(...this.#open)
    this.#cx?.wake()
  }

  override get inboundTimeoutMs (): number {
    return this.#isOn ? super.inboundTimeoutMs : 0
  }

  override listenProtocols (): ProtocolListing {
    return this.#isOn ? super.listenProtocols() : NOTHING
  }

  override keepAlive (): boolean {
    return this.#isOn && super.keepAlive()
  }

  override poll (cx: PollContext): Poll<AnyOutput> {
    this.#cx = cx
    const cancel = this.#nextCancel()
    if (cancel !== undefined) {
      return cancel
    }
    const output = this.#catchUp() ? super.poll(cx) : PENDING
    return output === PENDING ? PENDING : this.#passOn(output)
  }

  override onBehaviourEvent (event: unknown): unknown {
    return this.#isOn ? super.onBehaviourEvent(event) : REFUSED
  }

  override onConnectionEvent (event: ConnectionEvent<unknown, unknown>): void | PromiseLike<void> {
    switch (event.type) {
      case 'fully-negotiated-inbound':
        if (this.#isOn) {
          return super.onConnectionEvent(event)
        }
        abort(event.stream)
        return undefined
      case 'fully-negotiated-outbound':
        return this.#opened(event)
      case 'dial-upgrade-error':
        return super.onConnectionEvent({ ...event, info: this.#settled(event.info) })
      case 'listen-upgrade-error':
        return this.#isOn ? super.onConnectionEvent(event) : undefined
      case 'local-protocols-change':
      case 'remote-protocols-change':
      case 'address-change':
        if (this.#catchUp()) {
          return super.onConnectionEvent(event)
        }
        this.#missed.note(event)
        return undefined
    }
  }

  /** A handler that is off is not polled; one with last words has them all the same. */
  protected override pollLast (cx: PollContext): Poll<AnyOutput | undefined> {
    if (!this.#isOn && this.inner.pollClose === undefined) {
      return undefined
    }
    const output = super.pollLast(cx)
    return output === PENDING || output === undefined ? output : this.#passOn(output)
  }

  /** Takes note of a request, whose outcome then finds its way back. */
  #passOn (output: AnyOutput): AnyOutput {
    if (output.type !== 'outbound-stream-request') {
      return output
    }
    const open = new OpenRequest(output, hopOf(output))
    this.#open.add(open)
    return { ...output, info: open, token: open.token }
  }

  #opened (event: FullyNegotiatedOutbound<unknown, unknown>): void | PromiseLike<void> {
    const info = this.#settled(event.info)
    if (this.#isOn) {
      return super.onConnectionEvent({ ...event, info })
    }
    abort(event.stream)
    const { peer, id: connectionId } = this.#connection
    const failure = { phase: 'upgrade', tried: [event.protocol], direction: 'outbound', peer, connectionId, elapsedMs: 0 } as const
    const error = new StreamUpgradeError('Cannot open stream: the behaviour is disabled', 'aborted', failure, { cause: disabled() })
    return super.onConnectionEvent(withRoute({ type: 'dial-upgrade-error', info, error }, hopOf(event)))
  }

  /** The request has its outcome; gives its own `info` back. */
  #settled (info: unknown): unknown {
    const open = info as OpenRequest
    this.#open.delete(open)
    return open.info
  }

  #nextCancel (): AnyOutput | undefined {
    for (let open = this.#cancelled.shift(); open !== undefined; open = this.#cancelled.shift()) {
      if (this.#open.has(open)) {
        const cancel: CancelOutboundRequest = { type: 'cancel-outbound-request', token: open.token }
        return withRoute(cancel, open.hop)
      }
    }
    return undefined
  }

  /** Tells what was missed, if it is on; false when it is off, also when it was switched off, or removed, by what it was told. */
  #catchUp (): boolean {
    if (this.#isOn) {
      this.#missed.tell((news) => {
        if (this.#mayHear) {
          this.#pass(news)
        } else {
          this.#missed.note(news)
        }
      })
    }
    return this.#mayHear
  }

  /** One that was removed from its composition has its last word, and nothing else (S4.13). */
  get #mayHear (): boolean {
    return this.#isOn && !(this.#cx instanceof Part && this.#cx.hasLeft)
  }

  /** News that come late come inside a poll, which has no place for a promise. */
  #pass (news: ConnectionEvent<unknown, unknown>): void {
    const task = asTask(super.onConnectionEvent(news))
    dropTasks(task === undefined ? [] : [task])
  }
}

function abort (stream: unknown): void {
  (stream as NegotiatedStream).abort(disabled())
}
