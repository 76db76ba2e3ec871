import { withRoute } from '../handler/route.ts'
import { upgradeError } from './stream-failure.ts'
import type { StreamFailure, StreamPhase, StreamUpgradeErrorKind } from '../errors.ts'
import type { Outlet } from './outlet.ts'
import type { OutboundRequest, Requester } from './requested-streams.ts'
import type { RootHandler } from './root-handler.ts'

/** Tells whoever asked for a stream that it is not to be had: the one outcome of that request (S5.5). */
export class RequestOutcomes<Stream, FromBehaviour, ToBehaviour> {
  readonly #outlet: Outlet<Stream, ToBehaviour>
  readonly #root: RootHandler<FromBehaviour, ToBehaviour>

  constructor (outlet: Outlet<Stream, ToBehaviour>, root: RootHandler<FromBehaviour, ToBehaviour>) {
    this.#outlet = outlet
    this.#root = root
  }

  /** All that the request held is free by now (S5.6). */
  failed (requester: Requester<Stream>, kind: StreamUpgradeErrorKind, failure: StreamFailure, cause: unknown): void {
    const error = upgradeError(kind, failure, cause)
    if (requester.type === 'host') {
      this.#outlet.outputs.push({ type: 'host-stream-failed', token: requester.token, error })
    } else {
      const event = withRoute({ type: 'dial-upgrade-error', info: requester.info, error }, requester.hop)
      this.#outlet.task(this.#root.onConnectionEvent(event), undefined)
    }
  }

  /** Where and when a request without a stream failed. */
  failureAt (phase: StreamPhase, { startedAt }: Pick<OutboundRequest<Stream>, 'startedAt'>): StreamFailure {
    return this.#outlet.failure(phase, [], 'outbound', startedAt)
  }
}
