import { addDuration } from '../core/instant.ts'
import { ConnectionClosedError } from '../errors.ts'
import { OpenRate } from './open-rate.ts'
import { abortOf } from './stream-failure.ts'
import type { Instant } from '../core/instant.ts'
import type { AbortError } from '../errors.ts'
import type { ConnectionConfig } from './connection-config.ts'
import type { RejectReason } from './connection-meter.ts'
import type { StreamPort } from './muxer-port.ts'
import type { Outlet } from './outlet.ts'

/** A peer that has opened no stream too many for so long is within its limits again. */
const EXCESS_GAP_MS = 1000

type AdmissionLimit = 'inboundStreamsPerSecond' | 'maxOpenInboundStreams' | 'maxQueuedInboundStreams'

const REASONS: Readonly<Record<AdmissionLimit, RejectReason>> = {
  inboundStreamsPerSecond: 'rate',
  maxOpenInboundStreams: 'open-limit',
  maxQueuedInboundStreams: 'queue-full'
}

/**
 * Which of the streams that the peer opens are taken at all (S5.9 a and d). One that is not is reset and leaves nothing
 * behind but a count; a peer that goes on like that may lose its connection (S6.4).
 */
export class InboundAdmission<Stream> {
  readonly #outlet: Outlet<Stream, unknown>
  readonly #config: ConnectionConfig
  /** Made with the first stream: it is full by then, as it is to begin with. */
  #rate: OpenRate | undefined
  /** One error per limit, as a flood must not cost a stack trace each. */
  #errors: Map<AdmissionLimit, AbortError> | undefined
  /** When streams that were too many began to come, and when the last one did. */
  #excess: { readonly since: Instant, readonly last: Instant } | undefined

  constructor (outlet: Outlet<Stream, unknown>, config: ConnectionConfig) {
    this.#outlet = outlet
    this.#config = config
  }

  /**
   * Whether a stream that arrives now is taken; if not, it is reset.
   *
   * @param open - inbound streams that are open, in whatever state
   * @param hasRoom - whether it has a slot, or a place in the queue
   */
  admit (port: StreamPort<Stream>, open: number, hasRoom: boolean): boolean {
    const limit = this.#limitMet(open, hasRoom)
    if (limit === undefined) {
      return true
    }
    const error = this.#errorOf(limit)
    this.#outlet.tellMuxer(() => { port.reset(error) })
    this.#outlet.limitReached(limit, this.#config[limit])
    this.#outlet.meter?.rejected(REASONS[limit])
    this.#exceeded()
    return false
  }

  #limitMet (open: number, hasRoom: boolean): AdmissionLimit | undefined {
    const { inboundStreamsPerSecond, inboundStreamBurst } = this.#config
    const { now } = this.#outlet
    this.#rate ??= new OpenRate(inboundStreamsPerSecond, inboundStreamBurst, now)
    if (!this.#rate.take(now)) {
      return 'inboundStreamsPerSecond'
    }
    if (open >= this.#config.maxOpenInboundStreams) {
      return 'maxOpenInboundStreams'
    }
    return hasRoom ? undefined : 'maxQueuedInboundStreams'
  }

  #exceeded (): void {
    const { now } = this.#outlet
    const before = this.#excess
    const since = before === undefined || now > addDuration(before.last, EXCESS_GAP_MS) ? now : before.since
    this.#excess = { since, last: now }
    const { closeAfterOverLimitMs } = this.#config
    if (now >= addDuration(since, closeAfterOverLimitMs)) {
      const error = new ConnectionClosedError(`The peer has opened too many streams for ${closeAfterOverLimitMs} ms (closeAfterOverLimitMs)`)
      this.#outlet.abrupt ??= { reason: 'abuse', error }
    }
  }

  #errorOf (limit: AdmissionLimit): AbortError {
    const errors = this.#errors ??= new Map<AdmissionLimit, AbortError>()
    const known = errors.get(limit)
    if (known !== undefined) {
      return known
    }
    const failure = this.#outlet.failure('queue', [], 'inbound', this.#outlet.now)
    const error = abortOf(`Too many inbound streams (${limit})`, failure)
    errors.set(limit, error)
    return error
  }
}
