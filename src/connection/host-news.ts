import { NEVER, addDuration } from '../core/instant.ts'
import { HOST_SOURCE } from './protocol-sets.ts'
import type { Instant } from '../core/instant.ts'
import type { RemoteReportChange } from '../protocols/remote-protocols.ts'
import type { Outlet } from './outlet.ts'
import type { ProtocolSets } from './protocol-sets.ts'
import type { RootHandler } from './root-handler.ts'

/**
 * What the host learnt about the peer, until it is told to the handler (step 7). Reports about its protocols are applied so
 * many times a second, the first one at once and the last one always: a peer that announces all the time costs little (S3.20).
 */
export class HostNews<Stream, FromBehaviour, ToBehaviour> {
  readonly #outlet: Outlet<Stream, ToBehaviour>
  readonly #root: RootHandler<FromBehaviour, ToBehaviour>
  readonly #sets: ProtocolSets<Stream, FromBehaviour, ToBehaviour>
  /** There while any waits. */
  #reports: Array<{ readonly change: RemoteReportChange, readonly protocols: readonly string[] }> | undefined
  #address: { readonly address: unknown } | undefined
  readonly #reportIntervalMs: number
  #nextReportAt: Instant = -Infinity

  /**
   * @param reportsPerSecond - most reports about protocols that are applied in a second
   */
  constructor (
    outlet: Outlet<Stream, ToBehaviour>, root: RootHandler<FromBehaviour, ToBehaviour>, sets: ProtocolSets<Stream, FromBehaviour, ToBehaviour>,
    reportsPerSecond: number
  ) {
    this.#reportIntervalMs = 1000 / reportsPerSecond
    this.#outlet = outlet
    this.#root = root
    this.#sets = sets
  }

  /** When the reports that wait are applied; never, if none does. */
  get deadline (): Instant {
    return this.#reports === undefined ? NEVER : this.#nextReportAt
  }

  /** What the peer speaks; a full report makes those that wait pointless. */
  report (change: RemoteReportChange, protocols: readonly string[]): void {
    if (change === 'replaced' || this.#reports === undefined) {
      this.#reports = []
    }
    this.#reports.push({ change, protocols })
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

  /** All that wait, each with a notice of its own (S3.19). */
  #applyReports (): void {
    this.#nextReportAt = addDuration(this.#outlet.now, this.#reportIntervalMs)
    const reports = this.#reports ?? []
    this.#reports = undefined
    for (const { change, protocols } of reports) {
      this.#sets.report(HOST_SOURCE, change, protocols)
    }
  }
}
