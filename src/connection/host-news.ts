import { NEVER, addDuration } from '../core/instant.ts'
import { utf8Length } from '../core/utf8.ts'
import { foldReports } from './folded-reports.ts'
import { HOST_SOURCE } from './protocol-sets.ts'
import type { Instant } from '../core/instant.ts'
import type { RemoteProtocolsInit, RemoteReportChange } from '../protocols/remote-protocols.ts'
import type { RemoteReport } from './folded-reports.ts'
import type { Outlet } from './outlet.ts'
import type { ProtocolSets } from './protocol-sets.ts'
import type { RootHandler } from './root-handler.ts'

/** Reports that wait one by one. More than this are folded, as the host has full ones only, of which one waits at most. */
const MAX_WAITING = 64

/** What waits: a full report and what came after it, or the latter alone. */
class WaitingReports {
  reports: RemoteReport[] = []
  /**
   * Of the names that came after the full report, each with its length. That one is not counted: there is one at most, and the
   * host has read it as one message.
   */
  bytes = 0

  push (change: RemoteReportChange, protocols: readonly string[]): void {
    this.reports.push({ change, protocols })
    if (change !== 'replaced') {
      this.bytes = protocols.reduce((bytes, name) => bytes + 1 + utf8Length(name), this.bytes)
    }
  }
}

/**
 * What the host learnt about the peer, until it is told to the handler (step 7). Reports about its protocols are applied so
 * many times a second, the first one at once and the last one always: a peer that announces all the time costs little (S3.20).
 */
export class HostNews<Stream, FromBehaviour, ToBehaviour> {
  readonly #outlet: Outlet<Stream, ToBehaviour>
  readonly #root: RootHandler<FromBehaviour, ToBehaviour>
  readonly #sets: ProtocolSets<Stream, FromBehaviour, ToBehaviour>
  /** There while any waits. */
  #waiting: WaitingReports | undefined
  #address: { readonly address: unknown } | undefined
  readonly #reportIntervalMs: number
  readonly #limits: Readonly<RemoteProtocolsInit>
  #nextReportAt: Instant = -Infinity

  /**
   * @param reportsPerSecond - most reports about protocols that are applied in a second
   * @param limits - of what the host may hold: when more waits, it does not wait any longer
   */
  constructor (
    outlet: Outlet<Stream, ToBehaviour>, root: RootHandler<FromBehaviour, ToBehaviour>, sets: ProtocolSets<Stream, FromBehaviour, ToBehaviour>,
    reportsPerSecond: number, limits: Readonly<RemoteProtocolsInit>
  ) {
    this.#reportIntervalMs = 1000 / reportsPerSecond
    this.#limits = limits
    this.#outlet = outlet
    this.#root = root
    this.#sets = sets
  }

  /** When the reports that wait are applied; never, if none does. */
  get deadline (): Instant {
    return this.#waiting === undefined ? NEVER : this.#nextReportAt
  }

  /** What the peer speaks; a full report makes those that wait pointless. */
  report (change: RemoteReportChange, protocols: readonly string[]): void {
    if (change === 'replaced' || this.#waiting === undefined) {
      this.#waiting = new WaitingReports()
    }
    const waiting = this.#waiting
    waiting.push(change, protocols)
    if (waiting.reports.length > MAX_WAITING) {
      waiting.reports = this.#folded(waiting.reports)
    }
    if (waiting.bytes > this.#limits.maxBytes) {
      this.#nextReportAt = -Infinity
    }
  }

  /** Where the peer is; only the last one counts. */
  moved (address: unknown): void {
    this.#address = { address }
  }

  /** Tells one of them. */
  tellNext (): boolean {
    if (this.deadline <= this.#outlet.now) {
      this.#applyReports()
      return true
    }
    if (this.#address === undefined) {
      return false
    }
    const { address } = this.#address
    this.#address = undefined
    this.#outlet.task(this.#root.onConnectionEvent({ type: 'address-change', address }), undefined)
    this.#outlet.report({ type: 'address-change', address })
    return true
  }

  /** What is taken away is bounded by what the set holds; what is added is not, before it is applied. */
  #folded (reports: readonly RemoteReport[]): RemoteReport[] {
    const folded = foldReports(reports, (name) => this.#sets.remote.has(name))
    if ((folded.at(-1)?.protocols.length ?? 0) > this.#limits.maxNames) {
      this.#nextReportAt = -Infinity
    }
    return folded
  }

  /** All that wait, each with a notice of its own (S3.19). */
  #applyReports (): void {
    this.#nextReportAt = addDuration(this.#outlet.now, this.#reportIntervalMs)
    const reports = this.#waiting?.reports ?? []
    this.#waiting = undefined
    for (const { change, protocols } of reports) {
      this.#sets.report(HOST_SOURCE, change, protocols)
    }
  }
}
