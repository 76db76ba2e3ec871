import { RemoteProtocolError } from '../errors.ts'
import { routed } from '../handler/route.ts'
import { errorOf, kindOf, timeoutOf, upgradeError } from './stream-failure.ts'
import type { StreamFailure, StreamPhase, StreamUpgradeErrorKind } from '../errors.ts'
import type { Outlet } from './outlet.ts'
import type { OutboundRequest, Requester } from './requested-streams.ts'
import type { RootHandler } from './root-handler.ts'
import type { Disagreement } from './stream-failure.ts'

/** Why the muxer opened no stream: one that negotiates knows more than that the stream is gone. */
export type OpeningFailure = Disagreement | { readonly type: 'limit' }

/** A request whose opening came to nothing. */
export interface FailedOpening<Stream> {
  readonly request: OutboundRequest<Stream>
  readonly cause: unknown
  readonly reason: OpeningFailure
}

/** Tells whoever asked for a stream that it is not to be had: the one outcome of that request (S5.5). */
export class RequestOutcomes<Stream, FromBehaviour, ToBehaviour> {
  readonly #outlet: Outlet<Stream, ToBehaviour>
  readonly #root: RootHandler<FromBehaviour, ToBehaviour>
  readonly #negotiates: boolean

  /**
   * @param negotiates - whether the muxer agrees on the names by itself
   */
  constructor (outlet: Outlet<Stream, ToBehaviour>, root: RootHandler<FromBehaviour, ToBehaviour>, negotiates: boolean) {
    this.#outlet = outlet
    this.#root = root
    this.#negotiates = negotiates
  }

  /** All that the request held is free by now (S5.6). */
  failed (requester: Requester<Stream>, kind: StreamUpgradeErrorKind, failure: StreamFailure, cause: unknown): void {
    this.#outlet.meter?.requestFailed(kind)
    if (kind === 'io') {
      this.judge(cause)
    }
    const error = upgradeError(kind, failure, cause)
    if (requester.type === 'host') {
      this.#outlet.outputs.push({ type: 'host-stream-failed', token: requester.token, error })
    } else {
      const event = routed({ type: 'dial-upgrade-error', info: requester.info, error }, requester.hop)
      this.#outlet.task(this.#root.onConnectionEvent(event), undefined)
    }
  }

  /** Counts a peer that broke the protocol. */
  judge (cause: unknown): void {
    const { meter } = this.#outlet
    if (meter !== undefined && cause instanceof RemoteProtocolError) {
      meter.violated(cause.outcome)
    }
  }

  /** The muxer has no stream for a request. */
  openingFailed ({ request, cause, reason }: FailedOpening<Stream>): void {
    const failure = this.failureAt('open', request)
    if (reason.type === 'limit') {
      this.failed(request.requester, 'limit', failure, cause)
    } else {
      const error = request.deadline <= this.#outlet.now ? timeoutOf(failure) : errorOf(reason, failure, cause)
      this.failed(request.requester, kindOf(error), failure, error)
    }
  }

  /** Where and when a request without a stream failed. A muxer that negotiates had all names, and does not tell how far it came. */
  failureAt (phase: StreamPhase, { startedAt, machine }: Pick<OutboundRequest<Stream>, 'startedAt'> & Partial<OutboundRequest<Stream>>): StreamFailure {
    const tried = phase === 'open' && this.#negotiates ? machine?.protocols : undefined
    return this.#outlet.failure(phase, tried ?? [], 'outbound', startedAt)
  }
}
