import { serviceCapabilities, serviceDependencies } from '@libp2p/interface'
import { attachBehaviour } from '../behaviour/attach.ts'
import { commandsOf } from '../behaviour/commands.ts'
import { composeBehaviours } from '../behaviour/compose.ts'
import { refuseSharedProtocols } from '../behaviour/distinct-protocols.ts'
import { checkCallOptions, checkPeer } from '../behaviours/call-options.ts'
import { andAllComplete } from '../concurrency/when-all.ts'
import { ContainedEmitter } from './contained-emitter.ts'
import { containedLog } from './contained-log.ts'
import { HostLink } from './host-link.ts'
import { identifyRole } from './identify-provider.ts'
import { ProtocolChanges } from './protocol-changes.ts'
import { hostScheduler } from './scheduler.ts'
import { DrivenSwarmConnection } from './swarm-connection.ts'
import { SwarmEventStreams } from './swarm-events.ts'
import { SwarmMetrics } from './swarm-metrics.ts'
import { parseSwarmConfig } from './swarm-options.ts'
import type { Metrics, PeerId, Startable } from '@libp2p/interface'
import type { ConnectionEstablished } from '../behaviour/from-swarm.ts'
import type { KeyedEvent } from '../behaviour/inference.ts'
import type { Behaviours } from '../behaviour/network-behaviour.ts'
import type { SwarmComponents } from '../behaviour/swarm-components.ts'
import type { DialTarget } from '../behaviour/to-swarm.ts'
import type { CallOptions } from '../behaviours/call-options.ts'
import type { ReportInterest } from '../connection/connection-output.ts'
import type { ConnectionId } from '../core/ids.ts'
import type { HandlerError } from '../swarm/swarm-event.ts'
import type { PeerProtocolsChange } from './peer-protocols-change.ts'
import type { ConnectionDriver } from './connection-driver.ts'
import type { Log } from './contained-log.ts'
import type { DialOptions } from './dialer.ts'
import type { EventsIterator } from './event-stream.ts'
import type { Scheduler } from './scheduler.ts'
import type { ConnectionOrigin, Swarm, SwarmConnection, SwarmEvents } from './swarm-api.ts'
import type { DrivenEvent } from './swarm-driver.ts'
import type { EventsOptions } from './swarm-events.ts'
import type { SwarmConfig, SwarmInit } from './swarm-options.ts'

/**
 * A service factory: `services: { swarm: swarm({ behaviours }), ... }`, declared before every other service. Connections on
 * muxers that are wrapped by `negotiated` run in native mode, all others in hosted mode; `withSwarm` sees to order and muxers,
 * and to the gater, without which gates begin at the established stage.
 *
 * @param init - the behaviours, and options; see {@link SwarmInit}
 * @throws TypeError or RangeError for an option that does not exist or is out of its range
 * @example
 * const node = await createLibp2p({
 *   streamMuxers: [negotiated(yamux())],
 *   services: { swarm: swarm({ behaviours: { ping: ping() } }), identify: identify() }
 * })
 */
export function swarm<const Parts extends Behaviours> (init: SwarmInit<Parts>): (components: SwarmComponents) => Swarm<Parts> {
  const config = parseSwarmConfig(init)
  const { behaviours } = init
  // Which key has which events and commands is known to the types of the composition only.
  return (components) => new SwarmService(components, behaviours, config) as unknown as Swarm<Parts>
}

/** One report per source of foreign errors in this time: a subscriber that always throws must not flood the others. */
const REPORT_INTERVAL_MS = 1000

/** The application's side of a swarm: what it may ask, and what it is told. */
class SwarmService extends ContainedEmitter<SwarmEvents<Behaviours>> implements Startable {
  readonly [serviceCapabilities]: string[]
  readonly [serviceDependencies]: string[]
  readonly behaviours: object
  readonly protocols: ProtocolChanges
  readonly #log: Log
  readonly #scheduler: Scheduler
  readonly #streams: SwarmEventStreams<KeyedEvent<string, unknown>>
  readonly #link: HostLink
  readonly #views = new WeakMap<ConnectionDriver, SwarmConnection>()
  readonly #metrics: SwarmMetrics | undefined
  #discarded = 0
  /** When each source of foreign errors was last reported. */
  readonly #reportedAt = new Map<string, number>()

  constructor (node: SwarmComponents, behaviours: Behaviours, config: SwarmConfig) {
    super()
    this.#log = containedLog(node.logger.forComponent('libp2p:behaviours'), (cause) => { this.#reportForeign('logger', cause) })
    this.#scheduler = hostScheduler(config)
    this.#streams = new SwarmEventStreams({
      eventBufferSize: config.eventBufferSize,
      maxStallMs: config.maxStallMs,
      scheduler: this.#scheduler,
      keys: Object.keys(behaviours),
      stall: () => { this.#link.stall() },
      resume: () => { this.#link.resume() }
    })
    const root = composeBehaviours(behaviours)
    attachBehaviour(root, node)
    const { capabilities, dependencies } = identifyRole(root)
    this[serviceCapabilities] = ['libp2p-behaviours', ...capabilities]
    this[serviceDependencies] = [...dependencies]
    if (config.onDuplicate === 'error') {
      refuseSharedProtocols(root)
    }
    this.behaviours = commandsOf(root)
    this.protocols = new ProtocolChanges({
      scheduler: this.#scheduler,
      connections: () => this.#open(),
      onError: (cause) => { this.#reportForeign('protocols.subscribe', cause) }
    })
    this.#metrics = this.#measure(node.metrics)
    this.#link = new HostLink({
      node,
      root,
      metrics: this.#metrics,
      config,
      scheduler: this.#scheduler,
      log: this.#log,
      interest: this.#interest(config),
      onEvent: (event) => { this.#onEvent(event) },
      onError: (cause) => { this.#log.error('unexpected error - %e', cause) }
    })
  }

  get [Symbol.toStringTag] (): string {
    return 'libp2p-behaviours'
  }

  get connections (): readonly SwarmConnection[] {
    return Object.freeze(Array.from(this.#living(), (driver) => this.#viewOf(driver)))
  }

  get discardedEvents (): number {
    return this.#discarded
  }

  events (options: EventsOptions<string> = {}): EventsIterator<KeyedEvent<string, unknown>> {
    return this.#streams.open(options)
  }

  async dial (target: DialTarget, options?: DialOptions): Promise<SwarmConnection> {
    return this.#viewOf(await this.#link.dial(target, options))
  }

  async disconnect (peer: PeerId, options: CallOptions = {}): Promise<void> {
    checkPeer(peer, 'Cannot disconnect')
    checkCallOptions(options, 'Cannot disconnect')
    const own = this.connections.filter((connection) => connection.peer.equals(peer))
    await andAllComplete(own.map(async (connection) => { await connection.close(options) }))
  }

  /** Before other services start, which may use behaviours at once. */
  beforeStart (): void {
    this.#link.reopen()
  }

  /** The life of the service is in the methods around it; the host asks for this one. */
  start (): void {}

  async afterStart (): Promise<void> {
    this.#streams.reopen()
    this.protocols.reopen()
    await this.#link.announce()
  }

  async beforeStop (): Promise<void> {
    await this.#link.close()
  }

  stop (): void {
    this.protocols.close()
    this.#streams.close()
  }

  protected override onListenerError (type: string, cause: unknown): void {
    if (type === 'handler:error') {
      this.#log.error('listener for %s threw - %e', type, cause)
    } else {
      this.#reportForeign(`listener for ${type}`, cause)
    }
  }

  #onEvent (event: DrivenEvent): void {
    switch (event.type) {
      case 'behaviour-event':
        this.#onBehaviourEvent(event.event)
        break
      case 'connection-established':
        this.#onEstablished(event)
        break
      case 'connection-closed':
        this.#metrics?.closed(event.reason)
        this.protocols.ended(event.connection)
        this.announce('connection:close', { ...event, ...this.#originOf(event.connection) })
        break
      case 'connection-denied':
        this.#metrics?.denied(event.behaviour)
        this.announce('connection:denied', event)
        break
      case 'dial-failure':
        this.announce('dial:failure', event)
        break
      case 'listen-failure':
        this.announce('listen:failure', event)
        break
      case 'connection-idle':
        this.announce('connection:idle', event)
        break
      case 'protocols-change':
        this.#onProtocolsChange(event)
        break
      case 'protocols-truncated':
        this.announce('protocols:truncated', event)
        break
      case 'limit-reached':
        this.announce('limit:reached', event)
        break
      case 'inbound-failure':
        this.announce('stream:inbound-failure', event)
        break
      case 'handler-error':
        this.#report(event)
        break
      case 'protocol-warning':
        this.#log('%s protocol %s in a listing for %p: %s', event.reason, event.protocol, event.peer, event.rule ?? 'listed before')
        break
      case 'host-stream':
      case 'host-stream-opened':
      case 'host-stream-failed':
      case 'handler-task':
      case 'address-change':
      case 'dial':
      case 'listen-on':
      case 'remove-listener':
      case 'external-address-candidate':
      case 'external-address-confirmed':
      case 'external-address-expired':
      case 'peer-external-address':
      case 'await-check':
        // The host's, and a change that no host tells of.
    }
  }

  /** Without a receiver it is gone, and counted (S8.3). */
  #onBehaviourEvent (event: KeyedEvent<string, unknown>): void {
    if (!this.#streams.push(event) && this.listenerCount('behaviour:event') === 0) {
      this.#discarded++
      this.#metrics?.undelivered('no-receiver', 1)
    }
    this.announce('behaviour:event', event)
  }

  #onEstablished (event: ConnectionEstablished): void {
    this.announce('connection:open', { ...event, ...this.#originOf(event.connection) })
  }

  #originOf (id: ConnectionId): ConnectionOrigin {
    const driver = this.#link.connection(id)
    return { mode: driver?.mode ?? 'hosted', openedAt: driver?.host.timeline.open ?? 0 }
  }

  #onProtocolsChange (change: PeerProtocolsChange): void {
    Object.freeze(change)
    this.protocols.publish(change)
    this.announce('protocols:change', change)
  }

  /** Copies for reports are made only if somebody looks: announcing the union does, always. */
  #interest (config: SwarmConfig): ReportInterest {
    const { protocols } = this
    const countListeners = (): number => this.listenerCount('protocols:change')
    return {
      get protocolChanges () {
        return config.advertise === 'union' || protocols.isWatched || countListeners() > 0
      }
    }
  }

  /** Without a component nothing is counted; one that cannot even register is as good as none. */
  #measure (metrics: Metrics | undefined): SwarmMetrics | undefined {
    if (metrics === undefined) {
      return undefined
    }
    const onError = (cause: unknown): void => { this.#reportForeign('metrics', cause) }
    try {
      return new SwarmMetrics(metrics, {
        connections: () => this.#living(),
        bufferedEvents: () => this.#streams.length,
        onError
      })
    } catch (cause) {
      onError(cause)
      return undefined
    }
  }

  #report (error: HandlerError): void {
    // An error of the metrics is not counted by them: they would throw again.
    if (error.method !== 'metrics') {
      this.#metrics?.userError(error.behaviour === '' ? error.method : error.behaviour)
    }
    this.#log.error('%s of behaviour "%s" threw - %e', error.method, error.behaviour, error.cause)
    this.announce('handler:error', error)
  }

  #reportForeign (method: string, cause: unknown): void {
    const now = this.#scheduler.now()
    if (now - (this.#reportedAt.get(method) ?? -Infinity) >= REPORT_INTERVAL_MS) {
      this.#reportedAt.set(method, now)
      this.#report({ type: 'handler-error', behaviour: '', method, cause, peer: undefined, connection: undefined })
    }
  }

  /** In a stall `connection-closed` may wait, but not the end itself. */
  * #living (): Generator<ConnectionDriver, void, undefined> {
    for (const driver of this.#link.connections()) {
      if (driver.status.phase !== 'closed') {
        yield driver
      }
    }
  }

  * #open (): Generator<ConnectionDriver, void, undefined> {
    for (const driver of this.#link.connections()) {
      if (driver.status.phase === 'open') {
        yield driver
      }
    }
  }

  #viewOf (driver: ConnectionDriver): SwarmConnection {
    const view = this.#views.get(driver) ?? new DrivenSwarmConnection(driver, this.#scheduler)
    this.#views.set(driver, view)
    return view
  }
}
