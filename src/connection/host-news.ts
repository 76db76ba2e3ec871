import { HOST_SOURCE } from './protocol-sets.ts'
import type { RemoteReportChange } from '../protocols/remote-protocols.ts'
import type { Outlet } from './outlet.ts'
import type { ProtocolSets } from './protocol-sets.ts'
import type { RootHandler } from './root-handler.ts'

/** What the host learnt about the peer, until it is told to the handler (step 7). */
export class HostNews<Stream, FromBehaviour, ToBehaviour> {
  readonly #outlet: Outlet<Stream, ToBehaviour>
  readonly #root: RootHandler<FromBehaviour, ToBehaviour>
  readonly #sets: ProtocolSets<Stream, FromBehaviour, ToBehaviour>
  #reports: Array<{ readonly change: RemoteReportChange, readonly protocols: readonly string[] }> = []
  #address: { readonly address: unknown } | undefined

  constructor (
    outlet: Outlet<Stream, ToBehaviour>, root: RootHandler<FromBehaviour, ToBehaviour>, sets: ProtocolSets<Stream, FromBehaviour, ToBehaviour>
  ) {
    this.#outlet = outlet
    this.#root = root
    this.#sets = sets
  }

  /** What the peer speaks; a full report makes those that wait pointless. */
  report (change: RemoteReportChange, protocols: readonly string[]): void {
    if (change === 'replaced') {
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
    const report = this.#reports.shift()
    if (report !== undefined) {
      this.#sets.report(HOST_SOURCE, report.change, report.protocols)
      return true
    }
    if (this.#address === undefined) {
      return false
    }
    const { address } = this.#address
    this.#address = undefined
    this.#outlet.task(this.#root.onConnectionEvent({ type: 'address-change', address }), undefined)
    this.#outlet.reports.push({ type: 'address-change', address })
    return true
  }
}
