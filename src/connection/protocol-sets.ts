import { isUnder } from '../handler/route.ts'
import { LocalProtocols } from '../protocols/local-protocols.ts'
import { ProtocolsNotice } from '../protocols/protocols-change.ts'
import { RemoteProtocols } from '../protocols/remote-protocols.ts'
import { remoteLimits } from './connection-config.ts'
import type { Waker } from '../core/poll.ts'
import type { Hop } from '../handler/route.ts'
import type { ProtocolList } from '../protocols/protocol-list.ts'
import type { LocalProtocolsInit, ProtocolWarning } from '../protocols/local-protocols.ts'
import type { RemoteReportChange } from '../protocols/remote-protocols.ts'
import type { ConnectionConfig } from './connection-config.ts'
import type { Outlet } from './outlet.ts'
import type { RootHandler } from './root-handler.ts'

/** The source of what the host knows about the peer; every handler part is a source of its own (S3.18). */
export const HOST_SOURCE = 'host'

const NOTHING: readonly string[] = Object.freeze([])
/** Far more than reactions to a change lead to; a handler that lists something else each time must not hold the loop (S10.10). */
const MAX_CHANGES_PER_TURN = 64

/** What the protocol sets of a connection work with. */
export interface ProtocolSetsParts<Stream, FromBehaviour, ToBehaviour> {
  readonly outlet: Outlet<Stream, ToBehaviour>
  readonly root: RootHandler<FromBehaviour, ToBehaviour>
  readonly config: ConnectionConfig
  /** Woken when the list of the host changes. */
  readonly waker: Waker
}

/**
 * Which protocols each side of the connection speaks, and telling the handler of every change: the new set is in force
 * before the first callback runs, Added comes before Removed, and nothing is copied unless somebody wants a report (S3).
 */
export class ProtocolSets<Stream, FromBehaviour, ToBehaviour> implements LocalProtocolsInit {
  readonly local: LocalProtocols
  readonly remote: RemoteProtocols
  readonly #outlet: Outlet<Stream, ToBehaviour>
  readonly #root: RootHandler<FromBehaviour, ToBehaviour>
  readonly #waker: Waker
  readonly #config: ConnectionConfig
  #hostVersion = -1
  /** Local changes in this turn. */
  #changes = 0

  constructor ({ outlet, root, config, waker }: ProtocolSetsParts<Stream, FromBehaviour, ToBehaviour>) {
    this.#outlet = outlet
    this.#root = root
    this.#waker = waker
    root.sets = this
    this.#host?.attach(waker)
    this.#config = config
    this.local = new LocalProtocols(this)
    this.remote = new RemoteProtocols(remoteLimits(config))
  }

  /** See {@link LocalProtocolsInit}. */
  get maxProtocols (): number {
    return this.#config.maxLocalProtocols
  }

  /** See {@link LocalProtocolsInit}. */
  get maxNameBytes (): number {
    return this.#config.maxFrameLength - 1
  }

  /** See {@link LocalProtocolsInit}. */
  onLimit (): void {
    this.#outlet.limitReached('maxLocalProtocols', this.maxProtocols)
  }

  /** See {@link LocalProtocolsInit}. */
  onWarning (warning: ProtocolWarning): void {
    const { protocol, reason } = warning
    this.#outlet.report({ type: 'protocol-warning', protocol, reason, rule: reason === 'invalid' ? warning.rule : undefined })
  }

  /** Step 4: compares the listings with the last ones, if they may have changed. */
  diff (): boolean {
    const host = this.#host
    const isHostNew = host !== undefined && host.version !== this.#hostVersion
    if ((!this.#root.isStale && !isHostNew) || this.#changes >= MAX_CHANGES_PER_TURN) {
      return false
    }
    this.#root.refresh()
    return (isHostNew || !this.local.isLast(this.#root.listing)) && this.#update()
  }

  /** The turn is over; true when changes are left for the next one. */
  endTurn (): boolean {
    const areLeft = this.#changes >= MAX_CHANGES_PER_TURN && this.#root.isStale
    this.#changes = 0
    return areLeft
  }

  /** Applies what one source says about the peer. */
  report (source: unknown, change: RemoteReportChange, protocols: readonly string[]): void {
    const isChanged = this.remote.apply(source, change, protocols)
    const { truncated } = this.remote
    if (truncated !== undefined) {
      this.#outlet.report({ type: 'protocols-truncated', source: source === HOST_SOURCE ? 'host' : 'handler', ...truncated })
    }
    if (isChanged) {
      this.#announceRemote()
    }
  }

  /** A part of the handler has left its composition: what it said about the peer, and its own parts, is taken back. */
  partLeft (hop: Hop): void {
    for (const source of this.remote.sources()) {
      if (isUnder(source as Hop, hop) && this.remote.withdraw(source)) {
        this.#announceRemote()
      }
    }
  }

  /** The connection has ended: no list wakes it any more. */
  release (): void {
    this.#host?.detach(this.#waker)
  }

  /** Names that the host's other services accept. */
  get #host (): ProtocolList | undefined {
    return this.#outlet.components.hostProtocols?.list
  }

  #update (): boolean {
    this.#hostVersion = this.#host?.version ?? 0
    if (!this.local.update(this.#root.listing, this.#host ?? NOTHING)) {
      return false
    }
    this.#changes++
    this.#announce('local', this.local.added, this.local.removed)
    this.local.forget()
    return true
  }

  #announceRemote (): void {
    this.#announce('remote', this.remote.added, this.remote.removed)
    this.remote.forget()
  }

  #announce (side: 'local' | 'remote', added: readonly string[], removed: readonly string[]): void {
    this.#outlet.meter?.protocolsChanged(side)
    this.#tell(side, 'added', added)
    this.#tell(side, 'removed', removed)
    if (this.#outlet.components.interest?.protocolChanges === true) {
      this.#outlet.report({ type: 'protocols-change', side, added: Object.freeze([...added]), removed: Object.freeze([...removed]) })
    }
  }

  #tell (side: 'local' | 'remote', type: 'added' | 'removed', names: readonly string[]): void {
    if (names.length === 0) {
      return
    }
    const notice = new ProtocolsNotice(type, names)
    this.#outlet.task(this.#root.onConnectionEvent({ type: `${side}-protocols-change`, change: notice.change }), undefined)
    notice.end()
  }
}
