import { NEVER, addDuration } from '../core/instant.ts'
import type { Instant } from '../core/instant.ts'
import type { StreamPhase } from '../errors.ts'
import type { InboundFailureReport } from './connection-output.ts'
import type { NegotiatingStreamsOwner } from './negotiating-streams.ts'
import type { Outlet } from './outlet.ts'

/** One report in this time: a peer that fails on purpose must not fill logs. */
const REPORT_INTERVAL_MS = 1000

/**
 * Failed streams of the peer on their way to whoever watches the connection (S8.9): the first one is reported at once, then
 * the last one of each second, with the number of those that it stands for.
 */
export class InboundFailures {
  readonly #outlet: Pick<Outlet<unknown, unknown>, 'now' | 'report' | 'meter'>
  readonly #owner: Pick<NegotiatingStreamsOwner, 'deadlineAdded'>
  /** The last failure that was not reported. */
  #last: InboundFailureReport | undefined
  #suppressed = 0
  #nextAt: Instant = -Infinity

  /**
   * @param outlet - gets the reports
   * @param owner - told when {@link expire} has something to do
   */
  constructor (outlet: Pick<Outlet<unknown, unknown>, 'now' | 'report' | 'meter'>, owner: Pick<NegotiatingStreamsOwner, 'deadlineAdded'>) {
    this.#outlet = outlet
    this.#owner = owner
  }

  /** When the last failure is reported. */
  get deadline (): Instant {
    return this.#last === undefined ? NEVER : this.#nextAt
  }

  /** A stream that arrived at `startedAt` came to nothing. */
  failed (phase: StreamPhase, outcome: InboundFailureReport['outcome'], startedAt: Instant, proposed?: string): void {
    this.#suppressed += this.#last === undefined ? 0 : 1
    const elapsedMs = this.#outlet.now - startedAt
    const violation = outcome === 'invalid' || outcome === 'too-long'
    this.#outlet.meter?.inboundFailed(outcome)
    if (violation) {
      this.#outlet.meter?.violated(outcome)
    }
    this.#last = { type: 'inbound-failure', phase, outcome, proposed, elapsedMs, suppressed: 0, violation }
    this.expire()
    this.#owner.deadlineAdded(this.deadline)
  }

  /** Reports the last failure, if it is time to. */
  expire (): void {
    if (this.deadline <= this.#outlet.now) {
      this.flush()
    }
  }

  /** Reports the last failure, as the connection closes. */
  flush (): void {
    if (this.#last !== undefined) {
      this.#outlet.report({ ...this.#last, suppressed: this.#suppressed })
      this.#last = undefined
      this.#suppressed = 0
      this.#nextAt = addDuration(this.#outlet.now, REPORT_INTERVAL_MS)
    }
  }
}
