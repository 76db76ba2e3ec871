import { checkCallOptions } from '../behaviours/call-options.ts'
import { addDuration } from '../core/instant.ts'
import { AbortError, TimeoutError } from '../errors.ts'
import type { StreamFailure } from '../errors.ts'
import type { Instant } from '../core/instant.ts'
import type { CallOptions } from '../behaviours/call-options.ts'
import type { Scheduler, Timer } from './scheduler.ts'

/** What a {@link Wait} is about. */
export interface WaitInit {
  /** Whose clock runs. */
  readonly scheduler: Scheduler
  /** For messages: `Cannot wait until ...`. */
  readonly action: string
  /** Whom it is about, if that is known. */
  readonly peer?: unknown
}

interface Settle<Value> {
  resolve (value: Value): void
  reject (error: Error): void
}

/** One wait of a caller: ends once, in whatever way, and leaves no listener and no timer behind. */
export class Wait<Value> {
  /** Rejects with `AbortError` or `TimeoutError` when the caller's options end it. */
  readonly promise: Promise<Value>
  readonly #init: WaitInit
  readonly #signal: AbortSignal | undefined
  readonly #timer: Timer | undefined
  readonly #startedAt: Instant
  #settle: Settle<Value> | undefined
  readonly #abort = (): void => {
    this.reject(new AbortError(`${this.#init.action}: the signal aborted`, this.#failure(), { cause: this.#signal?.reason }))
  }

  /**
   * @throws TypeError or RangeError for options that are none, see {@link checkCallOptions}
   */
  constructor (init: WaitInit, options: CallOptions = {}) {
    checkCallOptions(options, init.action)
    const { signal, timeoutMs = Infinity } = options
    this.#init = init
    this.#startedAt = init.scheduler.now()
    this.#signal = signal
    this.promise = new Promise((resolve, reject) => { this.#settle = { resolve, reject } })
    if (signal?.aborted === true) {
      this.#abort()
      return
    }
    signal?.addEventListener('abort', this.#abort)
    if (timeoutMs !== Infinity) {
      this.#timer = init.scheduler.timer(() => { this.reject(new TimeoutError(`${init.action}: ${timeoutMs} ms have passed`, this.#failure())) })
      this.#timer.arm(addDuration(this.#startedAt, timeoutMs))
    }
  }

  /** Ends the wait well; false, and without effect, after the end. */
  resolve (value: Value): boolean {
    const settle = this.#end()
    settle?.resolve(value)
    return settle !== undefined
  }

  /** Ends the wait with an error; without effect after the end. */
  reject (error: Error): void {
    this.#end()?.reject(error)
  }

  /** No stream has been asked for yet. */
  #failure (): StreamFailure {
    const { scheduler, peer } = this.#init
    return { phase: 'queue', tried: [], direction: 'outbound', peer, connectionId: '', elapsedMs: scheduler.now() - this.#startedAt }
  }

  #end (): Settle<Value> | undefined {
    const settle = this.#settle
    if (settle !== undefined) {
      this.#settle = undefined
      this.#signal?.removeEventListener('abort', this.#abort)
      this.#timer?.clear()
    }
    return settle
  }
}
