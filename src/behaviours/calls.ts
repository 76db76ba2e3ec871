/**
 * Promises handed to the application. Each is settled once: by a result, an error, the caller's signal, its deadline, or
 * the end of its connection.
 */

import { AbortError, StreamUpgradeError, TimeoutError, describeFailure } from '../errors.ts'
import { checkCallOptions } from './call-options.ts'
import { SignalWatch } from './signal-watch.ts'
import { TimedSet } from './timed-set.ts'
import type { PeerId } from '@libp2p/interface'
import type { ConnectionId } from '../core/ids.ts'
import type { Instant } from '../core/instant.ts'
import type { PollContext } from '../core/poll.ts'
import type { StreamFailure, StreamPhase } from '../errors.ts'
import type { CallOptions } from './call-options.ts'
import type { Abortable } from './signal-watch.ts'

/** Where a call goes. */
export interface CallTarget {
  readonly peer: PeerId
  /** Undefined: there is none yet. */
  readonly connection: ConnectionId | undefined
}

/** What {@link Calls} need. */
export interface CallsInit<Result> {
  /** For messages: `Cannot ping`. */
  readonly action: string
  /** Most calls that are open at a time; the next one fails with kind `limit`. */
  readonly maxOpen: number
  /** A call ended without its handler: by its signal or its deadline. */
  readonly onAbandoned?: ((call: Call<Result>, error: Error) => void) | undefined
}

interface Settle<Result> {
  resolve (result: Result): void
  reject (error: unknown): void
}

/** One promise of a caller. */
export class Call<Result> implements Abortable {
  readonly promise: Promise<Result>
  readonly peer: PeerId
  /** Undefined: it waits for one. */
  connection: ConnectionId | undefined
  readonly timeoutMs: number
  /** The caller's, if there is one. */
  readonly signal: AbortSignal | undefined
  /** How far it came: `queue` until a stream is asked for, then `open`, and `upgrade` once there is one. */
  phase: StreamPhase = 'queue'
  /** The names proposed so far, as far as they are known here. */
  tried: readonly string[] = []
  /** As of the first poll after it began: the time is known in a poll only. */
  startedAt: Instant | undefined
  readonly #calls: Calls<Result>
  #settle: Settle<Result> | undefined

  constructor (calls: Calls<Result>, target: CallTarget, signal: AbortSignal | undefined, timeoutMs: number) {
    this.#calls = calls
    this.peer = target.peer
    this.connection = target.connection
    this.timeoutMs = timeoutMs
    this.signal = signal
    this.promise = new Promise((resolve, reject) => { this.#settle = { resolve, reject } })
  }

  /** Whether the promise has its outcome. */
  get isSettled (): boolean {
    return this.#settle === undefined
  }

  /** Ends the call well; false when it had ended before. */
  resolve (result: Result): boolean {
    const settle = this.#end()
    settle?.resolve(result)
    return settle !== undefined
  }

  /** Ends the call with an error; false when it had ended before. */
  reject (error: unknown): boolean {
    const settle = this.#end()
    settle?.reject(error)
    return settle !== undefined
  }

  /** See {@link Abortable}. */
  aborted (reason: unknown, at: Instant): void {
    const elapsedMs = Math.max(0, at - (this.startedAt ?? at))
    this.#calls.abandon(this, this.#calls.abortError(this.failure(elapsedMs), reason))
  }

  /** Where it ends, if it ends now. */
  failure (elapsedMs: number): StreamFailure {
    const { phase, tried, peer, connection: connectionId = '' } = this
    return { phase, tried, direction: 'outbound', peer, connectionId, elapsedMs }
  }

  #end (): Settle<Result> | undefined {
    const settle = this.#settle
    this.#settle = undefined
    this.#calls.forget(this)
    return settle
  }
}

/** The open calls of one behaviour. */
export class Calls<Result> {
  readonly #init: CallsInit<Result>
  readonly #open = new TimedSet<Call<Result>>()
  readonly #signals = new SignalWatch()
  /** Those that no poll has dated yet. */
  #undated: Array<Call<Result>> = []

  constructor (init: CallsInit<Result>) {
    this.#init = init
  }

  /**
   * Begins a call; poll afterwards.
   *
   * @throws AbortError when the signal has aborted already
   * @throws TypeError or RangeError for options that are none, see {@link checkCallOptions}
   * @throws StreamUpgradeError of kind `limit` when too many calls are open
   */
  start (target: CallTarget, options: CallOptions, defaultTimeoutMs: number): Call<Result> {
    const { action, maxOpen } = this.#init
    checkCallOptions(options, action)
    const { signal, timeoutMs: timeout = defaultTimeoutMs } = options
    const failure = { phase: 'queue', tried: [], direction: 'outbound', peer: target.peer, connectionId: target.connection ?? '', elapsedMs: 0 } as const
    if (signal?.aborted === true) {
      throw this.abortError(failure, signal.reason)
    }
    if (this.#open.size >= maxOpen) {
      throw new StreamUpgradeError(`${action}: ${maxOpen} calls are open already`, 'limit', failure)
    }
    const call = new Call(this, target, signal, timeout)
    this.#open.add(call, timeout)
    this.#undated.push(call)
    if (signal !== undefined) {
      this.#signals.add(signal, call)
    }
    return call
  }

  /** Ends the calls whose deadline passed, and asks to be polled at the next one. */
  poll (cx: PollContext): void {
    if (this.#undated.length > 0) {
      this.#undated.forEach((call) => { call.startedAt = cx.now })
      this.#undated = []
    }
    for (const call of this.#open.takeExpired(cx)) {
      const failure = call.failure(call.timeoutMs)
      this.abandon(call, new TimeoutError(`${this.#init.action}: ${call.timeoutMs} ms have passed (${describeFailure(failure)})`, failure))
    }
  }

  /** Ends the calls on one connection well. */
  resolveAll (connection: ConnectionId, result: Result): void {
    for (const call of this.#of(connection)) {
      call.resolve(result)
    }
  }

  /** Ends the calls on one connection with an error. */
  rejectAll (connection: ConnectionId, error: unknown): void {
    for (const call of this.#of(connection)) {
      call.reject(error)
    }
  }

  /** A call ends without its handler, which is told. */
  abandon (call: Call<Result>, error: Error): void {
    if (call.reject(error)) {
      this.#init.onAbandoned?.(call, error)
    }
  }

  /** The call has ended. */
  forget (call: Call<Result>): void {
    this.#open.delete(call)
    if (call.signal !== undefined) {
      this.#signals.delete(call.signal, call)
    }
  }

  /** What a call ends with when its signal aborts. */
  abortError (failure: StreamFailure, reason: unknown): AbortError {
    return new AbortError(`${this.#init.action}: the signal aborted (${describeFailure(failure)})`, failure, { cause: reason })
  }

  #of (connection: ConnectionId): Array<Call<Result>> {
    return [...this.#open].filter(call => call.connection === connection)
  }
}
