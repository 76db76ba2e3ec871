import { declaredBy } from '../behaviour/joined-listing.ts'
import { andAllComplete } from '../concurrency/when-all.ts'
import { ConnectionClosedError } from '../errors.ts'
import { Admissions } from './admissions.ts'
import { Advertiser } from './advertise.ts'
import { ConnectionDriver } from './connection-driver.ts'
import { keep } from './connection-gater.ts'
import { Dialer } from './dialer.ts'
import { followAddresses } from './host-addresses.ts'
import { HostOrders } from './host-orders.ts'
import { HostProtocolFeed } from './host-protocols.ts'
import { feedIdentify } from './identify-feed.ts'
import { refuseSecondIdentify } from './identify-provider.ts'
import { listenToHost } from './host-listener.ts'
import { muxerOf } from './negotiated-muxer.ts'
import { NextTurn } from './next-turn.ts'
import { followPeerTags, readPeerTags } from './peer-tags.ts'
import { isAdopted } from './adopted-stream.ts'
import { SwarmDriver } from './swarm-driver.ts'
import { TurnBudget } from './turn-budget.ts'
import type { Connection as HostConnection, IdentifyResult, PeerId, Stream } from '@libp2p/interface'
import type { GateStage } from '../behaviour/connection-denied.ts'
import type { AnyHandler } from '../behaviour/connection-handler.ts'
import type { ConnectionClosed, FromSwarm } from '../behaviour/from-swarm.ts'
import type { KeyedEvent } from '../behaviour/inference.ts'
import type { EstablishedConnection, NetworkBehaviour } from '../behaviour/network-behaviour.ts'
import type { SwarmComponents } from '../behaviour/swarm-components.ts'
import type { DialTarget } from '../behaviour/to-swarm.ts'
import type { ReportInterest } from '../connection/connection-output.ts'
import type { ConnectionId } from '../core/ids.ts'
import type { Admission } from './admission.ts'
import type { ConnectionDriverComponents } from './connection-driver.ts'
import type { Log } from './contained-log.ts'
import type { DialOptions } from './dialer.ts'
import type { NegotiatedMuxer } from './negotiated-muxer.ts'
import type { Scheduler } from './scheduler.ts'
import type { StreamAdapter } from './stream-adapter.ts'
import type { SwarmMetrics } from './swarm-metrics.ts'
import type { DrivenEvent } from './swarm-driver.ts'
import type { SwarmConfig } from './swarm-options.ts'
import type { VerdictTerms } from './verdict.ts'

const SWARM_STOPPED: FromSwarm = Object.freeze({ type: 'swarm-stopped' })
const SWARM_RESTARTED: FromSwarm = Object.freeze({ type: 'swarm-restarted' })

/** Collaborators of a {@link HostLink}. */
export interface HostLinkComponents {
  /** Those of the node. */
  readonly node: SwarmComponents
  readonly root: NetworkBehaviour<KeyedEvent<string, unknown>, unknown, unknown, Error>
  readonly config: SwarmConfig
  readonly scheduler: Scheduler
  readonly log: Log
  /** Which reports somebody wants. */
  readonly interest: ReportInterest
  /** Counts what happens, if the node counts anything. */
  readonly metrics: SwarmMetrics | undefined
  /** Takes each event of the swarm, after the host got what is its. Called inside a drain. */
  onEvent (event: DrivenEvent): void
  /** Told what should never have been thrown. Must not throw. */
  onError (cause: unknown): void
}

/**
 * Joins the swarm machine to its node: connections pass the gates and become driven ones, what identify learns reaches
 * them, what they offer is announced, and what behaviours want of the node is done.
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
  /** Connections that are open for the host, while a behaviour takes its time over them. */
  readonly #opening = new WeakMap<HostConnection, Promise<void>>()
  /** What identify learnt about those meanwhile. */
  readonly #early = new WeakMap<HostConnection, IdentifyResult>()
  readonly #admissions: Admissions
  readonly #dialer: Dialer
  readonly #orders: HostOrders

  constructor (components: HostLinkComponents) {
    const { node, root, config, scheduler, log, interest, metrics } = components
    this.#components = components
    this.#protocols = new HostProtocolFeed(node.registrar, (stream, host) => this.#serve(stream, host))
    this.#advertiser = new Advertiser({
      peerId: node.peerId,
      peerStore: node.peerStore,
      registrar: node.registrar,
      host: this.#protocols,
      scheduler,
      log,
      declared: () => declaredBy(root)
    })
    const budget = new TurnBudget(scheduler, config.turnBudgetMs)
    this.#driver = new SwarmDriver({
      root,
      scheduler,
      turnBudgetMs: config.turnBudgetMs,
      onYield: metrics === undefined ? undefined : () => { metrics.yielded('budget') },
      onUndelivered: metrics === undefined ? undefined : (reason, count) => { metrics.undelivered(reason, count) },
      onEvent: (event) => { this.#onEvent(event) },
      onIdle: () => { this.#advertiser.schedule() },
      onError: (cause) => { components.onError(cause) }
    })
    const closing = new NextTurn<StreamAdapter>((stream) => { stream.tellClosing() }, scheduler)
    this.#shared = { driver: this.#driver, scheduler, budget, closing, config, hostProtocols: this.#protocols, interest, meter: metrics }
    const terms: VerdictTerms = {
      scheduler,
      gateTimeoutMs: config.gateTimeoutMs,
      onRejection: (behaviour, { stage }, cause) => { this.#gateRejected(behaviour, stage, cause) }
    }
    this.#dialer = new Dialer({
      node,
      driver: this.#driver,
      terms,
      isConnected: (peer) => this.#isConnected(peer),
      driven: async (host) => await this.#driven(host)
    })
    const onError = (cause: unknown): void => { components.onError(cause) }
    this.#orders = new HostOrders({
      node,
      dialer: this.#dialer,
      addresses: followAddresses({ node, tell: (changes) => { this.#tell(changes) }, onError }),
      terms,
      turn: (input) => { this.#driver.turn(input) },
      tell: (event) => { this.#tell([event]) },
      onError
    })
    this.#admissions = new Admissions({ driver: this.#driver, terms, findDial: (peer, address) => this.#dialer.find(peer, address) })
    keep(node.connectionGater, this.#admissions)
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

  /** See `stall` of the swarm machine. */
  stall (): void {
    this.#driver.swarm.stall()
  }

  /** See `resume` of the swarm machine. */
  resume (): void {
    this.#driver.swarm.resume()
  }

  /**
   * Announces what the behaviours serve. To be called when all services have registered theirs. Rejects when identify is
   * among both.
   */
  async announce (): Promise<void> {
    refuseSecondIdentify(this.#components.root, (protocol) => this.#protocols.isForeign(protocol))
    this.#refreshProtocols()
    await this.#advertiser.start()
  }

  /** See `swarm.dial()`. */
  async dial (target: DialTarget, options: DialOptions | undefined): Promise<ConnectionDriver> {
    return await this.#dialer.dial(target, options)
  }

  /** The node is being started; tells the behaviours if it was stopped before. */
  reopen (): void {
    if (this.#dialer.reopen()) {
      this.#tell([SWARM_RESTARTED])
    }
  }

  /** Ends all dials, closes all connections in good order, takes back what was announced, and tells the behaviours. */
  async close (): Promise<void> {
    await this.#dialer.close()
    await andAllComplete(Array.from(this.#connections.values(), async (connection) => {
      connection.close()
      await connection.whenClosed()
    }))
    await this.#advertiser.stop()
    this.#tell([SWARM_STOPPED])
  }

  #listen (): void {
    const { node: { events }, config } = this.#components
    const onError = (cause: unknown): void => { this.#components.onError(cause) }
    listenToHost(events, 'connection:open', (connection) => { this.#onOpen(connection) }, onError)
    listenToHost(events, 'peer:identify', (result) => { this.#onIdentify(result) }, onError)
    listenToHost(events, 'self:peer:update', () => { this.#refreshProtocols() }, onError)
    if (config.connection.idleTimeoutMs !== Infinity) {
      listenToHost(events, 'peer:update', ({ peer }) => { followPeerTags(this.#connections.values(), peer) }, onError)
    }
  }

  /** A connection whose muxer is not wrapped is a hosted one. */
  #onOpen (host: HostConnection): void {
    const muxer = muxerOf(host)
    this.#protocols.refresh()
    const opening = this.#admissions.open(host, (admission, connection) => { this.#establish(host, muxer, admission, connection) })
    if (opening !== undefined) {
      this.#opening.set(host, opening)
    }
  }

  #establish (host: HostConnection, muxer: NegotiatedMuxer | undefined, admission: Admission, established: EstablishedConnection): void {
    const { id, lifetime, dial } = admission
    const connect = (handler: AnyHandler, wake: () => void): ConnectionDriver => {
      const driver = new ConnectionDriver(this.#shared, { id, host, muxer, lifetime, dial }, handler, wake)
      this.#connections.set(id, driver)
      this.#byHost.set(host, driver)
      return driver
    }
    this.#driver.turn(() => {
      this.#driver.swarm.establish(established, connect, dial?.failedBefore(host.remoteAddr))
    })
    this.#established(host)
  }

  #established (host: HostConnection): void {
    const { node, config } = this.#components
    const driver = this.#byHost.get(host)
    if (driver !== undefined && config.connection.idleTimeoutMs !== Infinity) {
      void readPeerTags(driver, node.peerStore)
    }
    const early = this.#early.get(host)
    if (early !== undefined) {
      this.#onIdentify(early)
    }
  }

  #onIdentify (result: IdentifyResult): void {
    const { connection } = result
    if (this.#opening.has(connection) && !this.#byHost.has(connection)) {
      this.#early.set(connection, result)
    } else {
      feedIdentify(result, (host) => this.#byHost.get(host))
    }
  }

  /**
   * The host has agreed on one of our names and looks for whom to give the stream: the connection that it came over. Somebody's
   * middleware for the name makes the host call this for outbound streams too, and several times for each (HOST 9.5).
   */
  async #serve (stream: Stream, host: HostConnection): Promise<void> {
    await this.#opening.get(host)
    if (stream.direction === 'outbound' || isAdopted(stream)) {
      return
    }
    const driver = this.#byHost.get(host)
    if (driver === undefined) {
      stream.abort(new ConnectionClosedError(`Cannot serve "${stream.protocol}": the swarm has not taken the connection`))
    } else {
      driver.agreedStream(stream)
    }
  }

  async #driven (host: HostConnection): Promise<ConnectionDriver> {
    await this.#opening.get(host)
    const driver = this.#byHost.get(host)
    if (driver === undefined) {
      throw new ConnectionClosedError('The swarm has not taken the connection: it was denied, or has closed')
    }
    return driver
  }

  #isConnected (peer: PeerId): boolean {
    const { connectionManager } = this.#components.node
    return connectionManager.getConnections(peer).some((host) => this.#byHost.get(host)?.status.phase === 'open')
  }

  #gateRejected (behaviour: string, stage: GateStage, cause: unknown): void {
    const method = stage === 'pending' ? 'checkPending' : 'checkEstablished'
    this.#components.onEvent({ type: 'handler-error', behaviour, method, cause, peer: undefined, connection: undefined })
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
      case 'dial':
      case 'listen-on':
      case 'remove-listener':
      case 'external-address-candidate':
      case 'external-address-confirmed':
      case 'external-address-expired':
      case 'peer-external-address':
      case 'await-check':
        this.#orders.obey(event)
        return
      case 'connection-closed':
        this.#onClosed(event)
        return
      case 'behaviour-event':
      case 'connection-established':
      case 'connection-denied':
      case 'dial-failure':
      case 'listen-failure':
      case 'handler-error':
      case 'connection-idle':
      case 'protocols-truncated':
      case 'limit-reached':
      case 'inbound-failure':
      case 'address-change':
      case 'protocol-warning':
    }
    this.#components.onEvent(event)
  }

  /** Who is told of the end may still ask for the connection. */
  #onClosed (event: ConnectionClosed): void {
    const { connection: id, cause } = event
    const connection = this.#connections.get(id)
    connection?.ended(cause)
    if (connection !== undefined && this.#components.config.advertise === 'union') {
      this.#advertiser.offersChanged([], connection.localProtocols.toArray())
    }
    try {
      this.#components.onEvent(event)
    } finally {
      this.#connections.delete(id)
    }
  }
}
