/**
 * ```
 *            due, or asked for                negotiated
 *  resting ────────────────────▶ opening ───────────────────▶ waiting
 *   until t ◀── refused, failed ───┘   ▲   (stream is there)    │ │
 *      ▲                               └── free failure ────────┘ │
 *      └──────────────── answered, failed, too late ◀─────────────┘
 * ```
 * The outbound side of ping on one connection: one long-lived stream, one payload under way at a time.
 *
 * - A stream that the peer ended, or that broke, between two pings is no failure: the next ping opens another one. Peers
 *   differ in how long they keep a ping stream.
 * - The first failure after a success is free: nobody hears of it, and another stream is opened at once.
 * - A peer that does not speak ping is reported once, then tried rarely, or at once when it says that it does now. It is
 *   alive all the same: that it refuses never makes the connection a dead one.
 */

import { NEVER, addDuration } from '../core/instant.ts'
import { PENDING } from '../core/poll.ts'
import { toError } from '../core/to-error.ts'
import { TimeoutError } from '../errors.ts'
import { echo } from './echo.ts'
import { PingStream } from './ping-stream.ts'
import type { ConnectionEvent, ConnectionHandler, HandlerOutput } from '../behaviour/connection-handler.ts'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { StreamUpgradeError } from '../errors.ts'

/** The name of the ping protocol. */
export const PING_PROTOCOLS: readonly string[] = Object.freeze(['/ipfs/ping/1.0.0'])

/** What a ping carries, as the protocol says. */
const PAYLOAD_BYTES = 32

/** Inbound ping streams that a peer may hold: one in use, one that it opens before it has ended the other. */
const MAX_INBOUND_STREAMS = 2

/** A peer that does not speak ping is asked again after this many intervals: nodes do change what they offer. */
const UNSUPPORTED_INTERVALS = 10

/** What a ping came to. */
export type PingEvent =
  /** `rttMs`: milliseconds from sending a payload until it was back in full. */
  | { readonly type: 'pong', readonly rttMs: number }
  /**
   * `failures`: pings in a row that failed, the free one included. `error` is a `TimeoutError`, the error of the stream, or
   * a `StreamUpgradeError`; its kind `negotiation-failed` means that the peer does not speak ping.
   */
  | { readonly type: 'failure', readonly error: Error, readonly failures: number }

/** How the behaviour hears of it. */
export interface PingReport {
  readonly event: PingEvent
  /** For callers who wait for a ping only; the application has heard of it already. */
  readonly isQuiet: boolean
  /** Too many pings in a row failed: the connection is of no use. */
  readonly isDead: boolean
}

/** Tells the handler to ping at once; with a ping under way it changes nothing. */
export interface PingNow {
  readonly type: 'ping-now'
}

/** Options of ping, complete. */
export interface PingConfig {
  readonly intervalMs: number
  readonly jitterMs: number
  readonly timeoutMs: number
  readonly maxFailures: number
}

type Output = HandlerOutput<PingReport>

type State =
  | { readonly type: 'resting', readonly until: Instant }
  | { readonly type: 'opening', readonly refusal: StreamUpgradeError | undefined }
  | { readonly type: 'waiting', readonly stream: PingStream, readonly sentAt: Instant, readonly deadline: Instant }

/** Ping on one connection. */
export class PingHandler implements ConnectionHandler<PingNow, PingReport> {
  readonly #config: PingConfig
  readonly #random: () => number
  #state: State
  /** The long-lived stream, while there is one. */
  #stream: PingStream | undefined
  #failures = 0
  #hasSucceeded = false
  #isUnsupported = false
  /** Somebody wants a ping now. */
  #isAsked = false
  #inboundStreams = 0
  #cx: PollContext | undefined

  /**
   * @param config - the options
   * @param random - numbers from 0 to below 1, for the jitter
   */
  constructor (config: PingConfig, random: () => number) {
    this.#config = config
    this.#random = random
    this.#state = { type: 'resting', until: config.intervalMs === NEVER ? NEVER : 0 }
  }

  listenProtocols (): readonly string[] {
    return PING_PROTOCOLS
  }

  poll (cx: PollContext): Poll<Output> {
    this.#cx = cx
    const output = this.#step(cx.now)
    cx.wakeAt(this.#nextInstant())
    return output
  }

  onConnectionEvent (event: ConnectionEvent): void | PromiseLike<void> {
    switch (event.type) {
      case 'fully-negotiated-inbound':
        return this.#accept(event.stream)
      case 'fully-negotiated-outbound':
        this.#stream = new PingStream(event.stream, () => { this.#cx?.wake() })
        break
      case 'dial-upgrade-error':
        this.#state = { type: 'opening', refusal: event.error }
        break
      case 'remote-protocols-change': {
        const { type, protocols } = event.change
        this.#isAsked ||= this.#isUnsupported && type === 'added' && PING_PROTOCOLS.some(name => protocols.has(name))
        break
      }
      case 'listen-upgrade-error':
      case 'local-protocols-change':
      case 'address-change':
    }
    return undefined
  }

  onBehaviourEvent (): void {
    this.#isAsked = true
  }

  #step (now: Instant): Poll<Output> {
    const state = this.#state
    switch (state.type) {
      case 'resting':
        this.#dropIfBroken()
        return this.#isAsked || now >= state.until ? this.#begin(now) : PENDING
      case 'opening':
        if (state.refusal !== undefined) {
          return this.#refused(state.refusal, now)
        }
        return this.#stream === undefined ? PENDING : this.#send(this.#stream, now)
      case 'waiting':
        return this.#wait(state, now)
    }
  }

  #begin (now: Instant): Poll<Output> {
    if (this.#stream !== undefined) {
      return this.#send(this.#stream, now)
    }
    this.#state = { type: 'opening', refusal: undefined }
    return { type: 'outbound-stream-request', protocols: PING_PROTOCOLS, timeoutMs: this.#config.timeoutMs }
  }

  #send (stream: PingStream, now: Instant): Poll<Output> {
    const state: State = { type: 'waiting', stream, sentAt: now, deadline: addDuration(now, this.#config.timeoutMs) }
    this.#state = state
    stream.send(crypto.getRandomValues(new Uint8Array(PAYLOAD_BYTES)))
    return this.#wait(state, now)
  }

  #wait ({ stream, sentAt, deadline }: Extract<State, { type: 'waiting' }>, now: Instant): Poll<Output> {
    if (deadline <= now) {
      return this.#failed(new TimeoutError(`No answer to a ping in ${this.#config.timeoutMs} ms`), now)
    }
    if (stream.isAnswered) {
      this.#failures = 0
      this.#hasSucceeded = true
      this.#isUnsupported = false
      return this.#report({ type: 'pong', rttMs: now - sentAt }, this.#restUntil(now))
    }
    return stream.error === undefined ? PENDING : this.#failed(stream.error, now)
  }

  #failed (error: Error, now: Instant): Poll<Output> {
    this.#stream?.drop(error)
    this.#stream = undefined
    this.#failures++
    if (this.#hasSucceeded && this.#failures === 1) {
      return this.#begin(now)
    }
    return this.#report({ type: 'failure', error, failures: this.#failures }, this.#restUntil(now), { isDead: this.#failures >= this.#config.maxFailures })
  }

  #refused (error: StreamUpgradeError, now: Instant): Poll<Output> {
    if (error.kind === 'connection-closed') {
      this.#state = { type: 'resting', until: NEVER }
      return PENDING
    }
    if (error.kind !== 'negotiation-failed') {
      return this.#failed(error, now)
    }
    const isKnown = this.#isUnsupported
    this.#isUnsupported = true
    this.#failures++
    return this.#report({ type: 'failure', error, failures: this.#failures }, this.#restUntil(now, UNSUPPORTED_INTERVALS), { isQuiet: isKnown })
  }

  /** The end of a ping. */
  #report (event: PingEvent, restUntil: Instant, { isQuiet = false, isDead = false }: Partial<PingReport> = {}): Poll<Output> {
    this.#state = { type: 'resting', until: restUntil }
    this.#isAsked = false
    return { type: 'notify-behaviour', event: { event, isQuiet, isDead } }
  }

  #restUntil (now: Instant, intervals: number = 1): Instant {
    const { intervalMs, jitterMs } = this.#config
    return addDuration(now, intervalMs * intervals + (jitterMs === 0 ? 0 : jitterMs * this.#random()))
  }

  #dropIfBroken (): void {
    const error = this.#stream?.error
    if (error !== undefined) {
      this.#stream?.drop(error)
      this.#stream = undefined
    }
  }

  #nextInstant (): Instant {
    switch (this.#state.type) {
      case 'resting':
        return this.#state.until
      case 'opening':
        return NEVER
      case 'waiting':
        return this.#state.deadline
    }
  }

  /** Serves a stream that the peer opened, for as long as it likes. */
  async #accept (stream: NegotiatedStream): Promise<void> {
    stream.ignoreForKeepAlive()
    if (this.#inboundStreams >= MAX_INBOUND_STREAMS) {
      stream.abort(new RangeError(`A peer may have ${MAX_INBOUND_STREAMS} inbound ping streams`))
      return
    }
    this.#inboundStreams++
    try {
      await echo(stream, PAYLOAD_BYTES)
    } catch (thrown) {
      stream.abort(toError(thrown))
    } finally {
      this.#inboundStreams--
    }
  }
}
