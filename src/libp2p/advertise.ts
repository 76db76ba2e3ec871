import { MAX_PROTOCOL_BYTES, brokenProtocolRule } from '../protocols/stream-protocol.ts'
import type { PeerId, PeerStore, StreamHandlerOptions } from '@libp2p/interface'
import type { Registrar } from '@libp2p/interface-internal'
import type { Log } from './contained-log.ts'
import type { HostProtocolFeed } from './host-protocols.ts'
import type { Scheduler } from './scheduler.ts'

/** The registrar takes a list and stores it at once, although its type speaks of one name. */
interface ListRegistrar {
  unhandle (protocols: string | readonly string[]): Promise<void>
}

/** How many streams there may be, and on which connections, is for the connections and behaviours to say (S5.8, S7.18). */
const ENTRY_OPTIONS: StreamHandlerOptions = { maxInboundStreams: Infinity, maxOutboundStreams: Infinity, runOnLimitedConnection: true }

/** Collaborators of an {@link Advertiser}. */
export interface AdvertiserComponents {
  readonly peerId: PeerId
  readonly peerStore: PeerStore
  readonly registrar: Registrar
  readonly host: HostProtocolFeed
  readonly scheduler: Scheduler
  readonly log: Pick<Log, 'error'>
  /** The names that behaviours declare now: the same array until one of them changes. */
  declared (): readonly string[]
}

/**
 * Announces the names that the swarm serves, the union of what behaviours declare and what connections offer (S3.22).
 *
 * Two places are read by others, the peer store by identify and the registrar by identify-push, so both get each name.
 * Names that another service registered are announced already, and are left alone. An entry in the registrar is also where the
 * host finds whom to give a stream of a hosted connection.
 */
export class Advertiser {
  readonly #components: AdvertiserComponents
  /** How many connections offer each name. */
  readonly #offered = new Map<string, number>()
  #announced: ReadonlySet<string> = new Set()
  #lastDeclared: readonly string[] | undefined
  #isStarted = false
  #isChanged = false
  #isScheduled = false

  constructor (components: AdvertiserComponents) {
    this.#components = components
  }

  /** Announces from now on. To be called when all services have registered their names. */
  async start (): Promise<void> {
    this.#isStarted = true
    this.#isChanged = true
    await this.#update()
  }

  /** Takes everything back. */
  async stop (): Promise<void> {
    this.#isStarted = false
    await this.#guard(async () => { await this.#announce(new Set()) })
  }

  /** A connection offers other names than before. */
  offersChanged (added: Iterable<string>, removed: Iterable<string>): void {
    for (const name of added) {
      this.#offered.set(name, (this.#offered.get(name) ?? 0) + 1)
    }
    for (const name of removed) {
      const left = (this.#offered.get(name) ?? 0) - 1
      if (left > 0) {
        this.#offered.set(name, left)
      } else {
        this.#offered.delete(name)
      }
    }
    this.#isChanged = true
  }

  /** The names of the other services changed. */
  hostChanged (): void {
    this.#isChanged = true
  }

  /** Something happened that may have changed a name: looks once, after everybody had their turn. */
  schedule (): void {
    if (!this.#isScheduled && this.#isStarted) {
      this.#isScheduled = true
      this.#components.scheduler.later(() => {
        this.#isScheduled = false
        void this.#update()
      })
    }
  }

  async #update (): Promise<void> {
    await this.#guard(async () => {
      const declared = this.#components.declared()
      if (this.#isStarted && (this.#isChanged || declared !== this.#lastDeclared)) {
        this.#isChanged = false
        this.#lastDeclared = declared
        await this.#announce(this.#wanted(declared))
      }
    })
  }

  /** A node goes on, starts and stops without an announcement that the peer store would not take. */
  async #guard (work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#components.log.error('could not announce protocols - %e', error)
    }
  }

  /** What the host's list still shows is the host's, even if its service has just left: the connections follow the list. */
  #wanted (declared: readonly string[]): Set<string> {
    const { host } = this.#components
    const wanted = new Set([...declared, ...this.#offered.keys()])
    for (const name of host.list.snapshot) {
      wanted.delete(name)
    }
    for (const name of wanted) {
      if (host.isForeign(name) || brokenProtocolRule(name, MAX_PROTOCOL_BYTES) !== undefined) {
        wanted.delete(name)
      }
    }
    return wanted
  }

  /**
   * One patch with the whole list goes first: what the registrar then stores for each name is there already, so that
   * identify-push hears of one change.
   */
  async #announce (wanted: ReadonlySet<string>): Promise<void> {
    const { peerId, peerStore, registrar, host } = this.#components
    const all = new Set(registrar.getProtocols())
    // Somebody may have removed an entry of ours, or taken it over by force: that one is no longer ours to remove.
    const added = [...wanted].filter((name) => !all.has(name))
    const removed = [...this.#announced].filter((name) => !wanted.has(name) && all.has(name) && !host.isForeign(name))
    this.#announced = wanted
    if (added.length + removed.length === 0) {
      return
    }
    for (const name of added) {
      all.add(name)
    }
    for (const name of removed) {
      all.delete(name)
    }
    const lists: ListRegistrar = registrar
    await Promise.all([
      peerStore.patch(peerId, { protocols: [...all] }),
      ...added.map((name) => registrar.handle(name, host.serve, ENTRY_OPTIONS)),
      removed.length === 0 ? undefined : lists.unhandle(removed)
    ])
  }
}
