import { declaredBy } from '../behaviour/joined-listing.ts'
import { Advertiser } from './advertise.ts'
import { ConnectionDriver } from './connection-driver.ts'
import { HostProtocolFeed } from './host-protocols.ts'
import { feedIdentify } from './identify-feed.ts'
import { listenToHost } from './host-listener.ts'
import { ListenAddresses } from './listen-addresses.ts'
import { muxerOf } from './negotiated-muxer.ts'
import { followPeerTags, readPeerTags } from './peer-tags.ts'
import { SwarmDriver } from './swarm-driver.ts'
import type { Connection as HostConnection, Logger } from '@libp2p/interface'
import type { FromSwarm } from '../behaviour/from-swarm.ts'
import type { KeyedEvent } from '../behaviour/inference.ts'
import type { NetworkBehaviour } from '../behaviour/network-behaviour.ts'
import type { SwarmComponents } from '../behaviour/swarm-components.ts'
import type { ReportInterest } from '../connection/connection-output.ts'
import type { ConnectionId } from '../core/ids.ts'
import type { ConnectionDriverComponents } from './connection-driver.ts'
import type { NegotiatedMuxer } from './negotiated-muxer.ts'
import type { Scheduler } from './scheduler.ts'
import type { DrivenEvent } from './swarm-driver.ts'
import type { SwarmConfig } from './swarm-options.ts'

/** Collaborators of a {@link HostLink}. */
export interface HostLinkComponents {
  /** Those of the node. */
  readonly node: SwarmComponents
  readonly root: NetworkBehaviour<KeyedEvent<string, unknown>, unknown, unknown>
  readonly config: SwarmConfig
  readonly scheduler: Scheduler
  readonly log: Logger
  /** Which reports somebody wants. */
  readonly interest: ReportInterest
  /** Takes each event of the swarm, after the host got what is its. Called inside a drain. */
  onEvent (event: DrivenEvent): void
  /** Told what should never have been thrown. Must not throw. */
  onError (cause: unknown): void
}

/** Ids are the swarm's own, as the host has none before its gates; unique in the process, so that logs can be joined. */
let connectionsMade = 0

/**
 * Joins the swarm machine to its node: connections that open become driven ones, what identify learns reaches them, and
 * what they offer is announced.
 */
export class HostLink {
  readonly #components: HostLinkComponents
  readonly #driver: SwarmDriver<ConnectionDriver>
  readonly #shared: ConnectionDriverComponents
  readonly #protocols: HostProtocolFeed
  readonly #advertiser: Advertiser
  /** Until `connection-closed`, which is the last event of a connection. */
  readonly #connections = new Map<ConnectionId, ConnectionDriver>()
  readonly #byHost = new WeakMap<HostConnection, ConnectionDriver>()
  readonly #addresses = new ListenAddresses()

  constructor (components: HostLinkComponents) {
    const { node, root, config, scheduler, log, interest } = components
    this.#components = components
    this.#protocols = new HostProtocolFeed(node.registrar)
    this.#advertiser = new Advertiser({
      peerId: node.peerId,
      peerStore: node.peerStore,
      registrar: node.registrar,
      host: this.#protocols,
      scheduler,
      log,
      declared: () => declaredBy(root)
    })
    this.#driver = new SwarmDriver({
      root,
      scheduler,
      turnBudgetMs: config.turnBudgetMs,
      onEvent: (event) => { this.#onEvent(event) },
      onIdle: () => { this.#advertiser.schedule() },
      onError: (cause) => { components.onError(cause) }
    })
    this.#shared = { driver: this.#driver, scheduler, config, hostProtocols: this.#protocols, interest }
    this.#listen()
  }

  /** The connections of the swarm, oldest first; closing ones are among them. */
  connections (): Iterable<ConnectionDriver> {
    return this.#connections.values()
  }

  /** The connection with this id, until its `connection-closed`. */
  connection (id: ConnectionId): ConnectionDriver | undefined {
    return this.#connections.get(id)
  }

  /** Announces what the behaviours serve. To be called when all services have registered theirs. */
  async announce (): Promise<void> {
    this.#refreshProtocols()
    await this.#advertiser.start()
  }

  /** Closes all connections in good order, then takes back what was announced. */
  async close (): Promise<void> {
    await Promise.all(Array.from(this.#connections.values(), async (connection) => {
      connection.close()
      await connection.whenClosed()
    }))
    await this.#advertiser.stop()
  }

  #listen (): void {
    const { node: { events }, config } = this.#components
    const onError = (cause: unknown): void => { this.#components.onError(cause) }
    const find = (connection: HostConnection): ConnectionDriver | undefined => this.#byHost.get(connection)
    listenToHost(events, 'connection:open', (connection) => { this.#onOpen(connection) }, onError)
    listenToHost(events, 'peer:identify', (result) => { feedIdentify(result, find) }, onError)
    listenToHost(events, 'self:peer:update', () => { this.#refreshProtocols() }, onError)
    listenToHost(events, 'transport:listening', (listener) => { this.#tell(this.#addresses.opened(listener)) }, onError)
    listenToHost(events, 'transport:close', (listener) => { this.#tell(this.#addresses.closed(listener)) }, onError)
    if (config.connection.idleTimeoutMs !== Infinity) {
      listenToHost(events, 'peer:update', ({ peer }) => { followPeerTags(this.#connections.values(), peer) }, onError)
    }
  }

  /** A connection without a wrapped muxer is the host's alone. */
  #onOpen (host: HostConnection): void {
    const muxer = muxerOf(host)
    if (muxer !== undefined) {
      this.#protocols.refresh()
      this.#driver.turn(() => { this.#establish(host, muxer) })
    }
  }

  #establish (host: HostConnection, muxer: NegotiatedMuxer): void {
    const { node, config } = this.#components
    const id = `connection-${++connectionsMade}`
    const { remotePeer: peer, direction, remoteAddr: address, limits } = host
    const driver = this.#driver.swarm.establish(
      { id, peer, direction, address, limits },
      (handler, wake) => new ConnectionDriver(this.#shared, { id, host, muxer }, handler, wake)
    )
    this.#connections.set(id, driver)
    this.#byHost.set(host, driver)
    if (config.connection.idleTimeoutMs !== Infinity) {
      void readPeerTags(driver, node.peerStore)
    }
  }

  #tell (changes: readonly FromSwarm[]): void {
    for (const change of changes) {
      this.#driver.turn(() => { this.#driver.swarm.onSwarmEvent(change) })
    }
  }

  /** An input to every connection: they follow the list. */
  #refreshProtocols (): void {
    this.#driver.turn(() => { this.#protocols.refresh() })
    this.#advertiser.hostChanged()
  }

  #onEvent (event: DrivenEvent): void {
    const { config } = this.#components
    switch (event.type) {
      case 'host-stream':
      case 'host-stream-opened':
      case 'host-stream-failed':
      case 'handler-task':
        this.connection(event.connection)?.act(event)
        return
      case 'protocols-change':
        if (event.side === 'local' && config.advertise === 'union') {
          this.#advertiser.offersChanged(event.added, event.removed)
        }
        break
      case 'protocols-truncated':
        this.connection(event.connection)?.reportCut()
        break
      case 'connection-closed':
        this.#onClosed(event.connection)
        break
      case 'behaviour-event':
      case 'connection-established':
      case 'handler-error':
      case 'connection-idle':
      case 'limit-reached':
      case 'address-change':
      case 'protocol-warning':
    }
    this.#components.onEvent(event)
  }

  #onClosed (id: ConnectionId): void {
    const connection = this.#connections.get(id)
    this.#connections.delete(id)
    if (connection !== undefined && this.#components.config.advertise === 'union') {
      this.#advertiser.offersChanged([], connection.localProtocols.toArray())
    }
  }
}
