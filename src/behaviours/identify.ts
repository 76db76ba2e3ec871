/**
 * The `./identify` entry: who the peers are and what they speak, in place of the stock identify services.
 *
 * @packageDocumentation
 */

import { takesOptions } from '../behaviour/attach.ts'
import { count, duration, flag, kindOf, parseOptions } from '../core/options.ts'
import { utf8Length } from '../core/utf8.ts'
import { ConnectionClosedError } from '../errors.ts'
import { Outbox } from '../handler/outbox.ts'
import { Call, Calls } from './calls.ts'
import { IdentifyHandler } from './identify-handler.ts'
import { IdentifyHost } from './identify-host.ts'
import { IDENTIFY_PROTOCOLS } from './identify-protocols.ts'
import { OwnConnections, mayRun } from './own-connections.ts'
import { undeliveredError } from './undelivered.ts'
import type { PeerId } from '@libp2p/interface'
import type { FromSwarm } from '../behaviour/from-swarm.ts'
import type { EstablishedConnection, NetworkBehaviour, PendingConnection } from '../behaviour/network-behaviour.ts'
import type { SwarmComponents } from '../behaviour/swarm-components.ts'
import type { ToSwarm } from '../behaviour/to-swarm.ts'
import type { ConnectionId } from '../core/ids.ts'
import type { OptionTable } from '../core/options.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { CallOptions } from './call-options.ts'
import type { IdentifyCommand, IdentifyConfig, IdentifyEvent } from './identify-handler.ts'
import type { IdentifyInfo } from './identify-info.ts'

export type { CallOptions, SignalOptions } from './call-options.ts'
export type { IdentifyAction, IdentifyEvent } from './identify-handler.ts'
export type { IdentifyInfo } from './identify-info.ts'

/** Options of {@link identify}. */
export interface IdentifyInit {
  /** What this node calls itself, at most 256 bytes. @default the user agent of the node */
  agentVersion?: string | undefined
  /** The network that it belongs to, at most 256 bytes. @default 'ipfs/0.1.0' */
  protocolVersion?: string | undefined
  /** Milliseconds that an exchange may take. At the limit its stream is reset. @default 10_000 */
  timeoutMs?: number | undefined
  /** Milliseconds until another push may follow, once `pushBurst` of them were sent; at most a day. @default 5000, what go-libp2p takes */
  pushIntervalMs?: number | undefined
  /** Changes that are pushed at once, as far as the peer has taken the last one; what comes then is told together. @default 5 */
  pushBurst?: number | undefined
  /** Longest message that is read, in bytes. At the limit nothing of it counts. @default 8192 */
  maxMessageBytes?: number | undefined
  /** Messages that are read from one stream; the next ones are not. @default 10 */
  maxMessages?: number | undefined
  /** Whether to run on relayed connections, which have limits. @default true, as in js-libp2p */
  runOnLimitedConnection?: boolean | undefined
}

/** The identify behaviour; its events are {@link IdentifyEvent}. */
export interface Identify extends NetworkBehaviour<IdentifyEvent, unknown, unknown> {
  /**
   * Asks `peer` again, on its oldest connection; an exchange that is under way there counts.
   *
   * Resolves with what it says. Rejects with the error of the exchange, `NotConnectedError` without a connection,
   * `ConnectionClosedError` when it closes, `AbortError`, or `TimeoutError` after `timeoutMs` (default: that of the exchange
   * itself applies), and a `StreamUpgradeError` of kind `limit` when 1024 callers wait.
   */
  identify (peer: PeerId, options?: CallOptions): Promise<IdentifyInfo>
}

interface IdentifyOptions extends IdentifyConfig {
  readonly runOnLimitedConnection: boolean
}

const OPTIONS: OptionTable<IdentifyOptions> = {
  timeoutMs: duration(10_000),
  pushIntervalMs: count(5000, 0, 86_400_000),
  pushBurst: count(5, 1, 1000),
  maxMessageBytes: count(8192, 1, 1_048_576),
  maxMessages: count(10, 1, 100),
  runOnLimitedConnection: flag(true)
}

const ACTION = 'Cannot make an identify behaviour'
const PROTOCOL_VERSION = 'ipfs/0.1.0'
const MAX_VERSION_BYTES = 256

/** Callers that may wait at a time; they cost a promise each, so that only a loop gets there. */
const MAX_OPEN_CALLS = 1024

/**
 * Asks every peer who it is and what it speaks, answers the same with the protocols of that very connection, and pushes
 * changes: the first ones at once, more of them at a bounded rate, the last state always. It fills the peer store and tells
 * the other services of the node (`peer:identify`), so that the node needs no stock identify service; a node with both of
 * them does not start.
 *
 * @param init - see {@link IdentifyInit}
 * @returns what makes the behaviour of a node
 * @throws TypeError for an option that is unknown or of the wrong type, RangeError for one that is out of range
 *
 * @example
 * withSwarm(options, { behaviours: { identify: identify() } })
 */
export function identify (init: IdentifyInit = {}): (components: SwarmComponents) => Identify {
  const { runOnLimitedConnection, ...config } = parseOptions(OPTIONS, init, ACTION, ['agentVersion', 'protocolVersion'])
  const agentVersion = parseVersion('agentVersion', init.agentVersion)
  const protocolVersion = parseVersion('protocolVersion', init.protocolVersion) ?? PROTOCOL_VERSION
  return (components) => {
    const host = new IdentifyHost(components, { protocolVersion, agentVersion: agentVersion ?? components.nodeInfo.userAgent })
    const behaviour = new IdentifyBehaviour(config, host, runOnLimitedConnection)
    components.events.addEventListener('self:peer:update', behaviour)
    return behaviour
  }
}

takesOptions(identify, 'identify')

function parseVersion (name: string, version: unknown): string | undefined {
  if (version === undefined) {
    return undefined
  }
  if (typeof version !== 'string') {
    throw new TypeError(`${ACTION}: ${name} must be a string, received ${kindOf(version)}`)
  }
  if (utf8Length(version) > MAX_VERSION_BYTES) {
    throw new RangeError(`${ACTION}: ${name} must have at most ${MAX_VERSION_BYTES} bytes, received ${utf8Length(version)}`)
  }
  return version
}

class IdentifyBehaviour implements NetworkBehaviour<IdentifyEvent, IdentifyCommand, IdentifyEvent>, EventListenerObject {
  readonly protocols: readonly string[] = IDENTIFY_PROTOCOLS
  readonly #config: IdentifyConfig
  readonly #host: IdentifyHost
  readonly #runOnLimitedConnection: boolean
  readonly #connections = new OwnConnections()
  readonly #peers = new Map<ConnectionId, PeerId>()
  readonly #calls = new Calls<IdentifyInfo>({ action: 'Cannot identify', maxOpen: MAX_OPEN_CALLS })
  /** Not bounded here: commands are bounded as calls and by the connections, and the swarm takes each event before the next one. */
  readonly #outbox = new Outbox<ToSwarm<IdentifyEvent, IdentifyCommand>>(Infinity)
  #addressKey: string | undefined

  constructor (config: IdentifyConfig, host: IdentifyHost, runOnLimitedConnection: boolean) {
    this.#config = config
    this.#host = host
    this.#runOnLimitedConnection = runOnLimitedConnection
  }

  commitEstablished (connection: EstablishedConnection): IdentifyHandler | undefined {
    if (!mayRun(connection.limits, this.#runOnLimitedConnection)) {
      return undefined
    }
    this.#addressKey ??= this.#host.addressKey
    this.#connections.add(connection)
    this.#peers.set(connection.id, connection.peer)
    return new IdentifyHandler(this.#config, this.#host, connection)
  }

  rollback (attempt: PendingConnection | EstablishedConnection): void {
    this.#connections.rollback(attempt)
    this.#peers.delete(attempt.id)
  }

  onSwarmEvent (event: FromSwarm): void {
    this.#connections.onSwarmEvent(event)
    if (event.type === 'connection-closed') {
      this.#peers.delete(event.connection)
      this.#calls.rejectAll(event.connection, new ConnectionClosedError('Cannot identify: the connection closed'))
    } else if (event.type === 'handler-notified' && !event.delivered && event.token instanceof Call) {
      event.token.reject(undeliveredError('Cannot identify', event.token, event.reason))
    }
  }

  onHandlerEvent (peer: PeerId, connection: ConnectionId, event: IdentifyEvent): void {
    if (event.type === 'identified') {
      this.#calls.resolveAll(connection, event.info)
    } else if (event.type === 'error' && event.action === 'ask') {
      this.#calls.rejectAll(connection, event.error)
    }
    this.#outbox.push({ type: 'event', peer, connection, event })
  }

  poll (cx: PollContext): Poll<ToSwarm<IdentifyEvent, IdentifyCommand>> {
    this.#calls.poll(cx)
    return this.#outbox.poll(cx)
  }

  /** Listener of the node: its own record changed, maybe its addresses. */
  handleEvent (): void {
    const { addressKey } = this.#host
    if (this.#addressKey !== undefined && this.#addressKey !== addressKey) {
      for (const [connection, peer] of this.#peers) {
        this.#outbox.push({ type: 'notify-handler', peer, connection, event: { type: 'addresses-changed' } })
      }
    }
    this.#addressKey = addressKey
  }

  async identify (peer: PeerId, options: CallOptions = {}): Promise<IdentifyInfo> {
    const connection = this.#connections.oldest(peer, 'Cannot identify')
    const call = this.#calls.start({ peer, connection }, options, Infinity)
    this.#outbox.push({ type: 'notify-handler', peer, connection, event: { type: 'ask-now' }, token: call })
    return await call.promise
  }
}
