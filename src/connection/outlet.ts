import { BoundedQueue } from '../core/bounded-queue.ts'
import { NEVER, addDuration, earliest } from '../core/instant.ts'
import { toError } from '../core/to-error.ts'
import { Reports } from './reports.ts'
import type { AbruptReason } from '../core/close-reason.ts'
import type { Direction } from '../core/ids.ts'
import type { Instant } from '../core/instant.ts'
import type { StreamFailure, StreamPhase } from '../errors.ts'
import type { HandlerFault } from '../handler/handler-fault.ts'
import type { ConnectionComponents } from './connection-components.ts'
import type { ConnectionMeter } from './connection-meter.ts'
import type { ConnectionOutput, ConnectionReport } from './connection-output.ts'
import type { StreamPort } from './muxer-port.ts'

/** One report per limit and this many milliseconds: a flood must not become a flood of reports. */
const LIMIT_REPORT_INTERVAL_MS = 1000

interface LimitCount {
  limit: number
  /** Times that were not reported yet. */
  count: number
  nextAt: Instant
}

/** What the parts of a connection share of its components. */
export type OutletComponents<Stream> = Pick<ConnectionComponents<never, unknown, Stream>, 'id' | 'peer' | 'meter' | 'interest' | 'muxer' | 'hostProtocols'>

/** Where the parts of a connection leave what is to come out of it, and the facts that they share. */
export class Outlet<Stream, ToBehaviour> {
  /** Who the connection works with: kept as they were given, and nothing of them anywhere else. */
  readonly components: OutletComponents<Stream>
  /** The instant of the current drain. */
  now: Instant
  readonly outputs: BoundedQueue<ConnectionOutput<Stream, ToBehaviour>> = new BoundedQueue(Infinity)
  /** A throw of the handler that ends the connection as soon as the current step is done. */
  fatal: HandlerFault | undefined
  /** What ends the connection without a flush as soon as the current step is done; the first one counts. */
  abrupt: { readonly reason: AbruptReason, readonly error: Error } | undefined
  /** When {@link reportLimits} has something to do. */
  limitsDueAt: Instant = NEVER
  /** There while any waits. */
  #reports: Reports | undefined
  /** Made when the first limit is met: most connections meet none. */
  #limits: Map<string, LimitCount> | undefined

  constructor (components: OutletComponents<Stream>, now: Instant) {
    this.components = components
    this.now = now
  }

  /** Counts, if anybody does. */
  get meter (): ConnectionMeter<Stream> | undefined {
    return this.components.meter
  }

  /** Where and when a stream failed. */
  failure (phase: StreamPhase, tried: readonly string[], direction: Direction, startedAt: Instant): StreamFailure {
    const { peer, id: connectionId } = this.components
    return { phase, tried, direction, peer, connectionId, elapsedMs: this.now - startedAt }
  }

  /** Something for whoever watches. */
  report (report: ConnectionReport): void {
    this.#reports ??= new Reports()
    this.#reports.push(report)
  }

  /** Takes the oldest report out. */
  takeReport (): ConnectionReport | undefined {
    const report = this.#reports?.shift()
    if (this.#reports?.isEmpty === true) {
      this.#reports = undefined
    }
    return report
  }

  /** User code threw. */
  handlerError (fault: HandlerFault): void {
    this.report({ type: 'handler-error', handler: fault.path, method: fault.method, cause: fault.cause })
  }

  /** A handler answered with a thenable. */
  task (promise: PromiseLike<void> | undefined, port: StreamPort<Stream> | undefined): void {
    if (promise !== undefined) {
      this.outputs.push({ type: 'handler-task', promise, port })
    }
  }

  /** Calls the muxer or one of its streams, which must not throw: if one does, nothing is known of any of them (S5.11). */
  tellMuxer (call: () => void): void {
    try {
      call()
    } catch (thrown) {
      this.abrupt ??= { reason: 'io-error', error: toError(thrown) }
    }
  }

  /** A limit was met: reported at once the first time, then with a count once per second as long as there is one (S9.1). */
  limitReached (option: string, limit: number, times: number = 1): void {
    const limits = this.#limits ??= new Map<string, LimitCount>()
    const known = limits.get(option) ?? { limit, count: 0, nextAt: this.now }
    limits.set(option, known)
    known.count += times
    if (this.now >= known.nextAt) {
      this.#tellLimit(option, known)
    } else {
      this.limitsDueAt = earliest(this.limitsDueAt, known.nextAt)
    }
  }

  /** Reports the limits that were met since their last report, if that is long enough ago: what came last is not forgotten. */
  reportLimits (): void {
    if (this.now < this.limitsDueAt) {
      return
    }
    this.limitsDueAt = NEVER
    for (const [option, known] of this.#limits ?? []) {
      if (known.count > 0 && this.now >= known.nextAt) {
        this.#tellLimit(option, known)
      } else if (known.count > 0) {
        this.limitsDueAt = earliest(this.limitsDueAt, known.nextAt)
      }
    }
  }

  /** Reports all of them, as nothing follows. */
  flushLimits (): void {
    this.limitsDueAt = NEVER
    for (const [option, known] of this.#limits ?? []) {
      if (known.count > 0) {
        this.#tellLimit(option, known)
      }
    }
  }

  #tellLimit (option: string, known: LimitCount): void {
    this.report({ type: 'limit-reached', option, limit: known.limit, count: known.count })
    known.count = 0
    known.nextAt = addDuration(this.now, LIMIT_REPORT_INTERVAL_MS)
  }
}
