/**
 * The `./ping` entry: round-trip times and liveness over `/ipfs/ping/1.0.0`.
 *
 * @packageDocumentation
 */

import { takesOptions } from '../behaviour/attach.ts'
import { count, duration, parseOptions } from '../core/options.ts'
import { ConnectionClosedError } from '../errors.ts'
import { Outbox } from '../handler/outbox.ts'
import { Call, Calls } from './calls.ts'
import { OwnConnections } from './own-connections.ts'
import { PING_PROTOCOLS, PingHandler } from './ping-handler.ts'
import { undeliveredError } from './undelivered.ts'
import type { PeerId } from '@libp2p/interface'
import type { FromSwarm } from '../behaviour/from-swarm.ts'
import type { EstablishedConnection, NetworkBehaviour, PendingConnection } from '../behaviour/network-behaviour.ts'
import type { ToSwarm } from '../behaviour/to-swarm.ts'
import type { ConnectionId } from '../core/ids.ts'
import type { OptionTable } from '../core/options.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { CallOptions } from './call-options.ts'
import type { PingConfig, PingEvent, PingNow, PingReport } from './ping-handler.ts'

export type { CallOptions, SignalOptions } from './call-options.ts'
export type { PingEvent } from './ping-handler.ts'

/** Options of {@link ping}. */
export interface PingInit {
  /** Milliseconds from an answer to the next ping; `Infinity`: ping on command only. @default 15_000 */
  intervalMs?: number | undefined
  /**
   * Milliseconds that an interval may be longer, at random, so that pings to many peers that came at once spread out; at most
   * a day. @default 0
   */
  jitterMs?: number | undefined
  /** Milliseconds that opening the stream, and then an answer, may take. @default 20_000 */
  timeoutMs?: number | undefined
  /**
   * Pings in a row that must fail for the connection to be aborted, with the error of the last one; the free one after a
   * success counts. That a peer does not speak ping is no such failure. `Infinity`: never. @default Infinity
   */
  maxFailures?: number | undefined
}

/** The ping behaviour; its events are {@link PingEvent}. */
export interface Ping extends NetworkBehaviour<PingEvent, unknown, unknown> {
  /**
   * Pings `peer` at once, on its oldest connection; with a ping under way there, the answer to that one counts.
   *
   * Resolves with the round-trip time in milliseconds. Rejects with the error of the failed ping, `NotConnectedError`
   * without a connection, `ConnectionClosedError` when it closes, `AbortError`, or `TimeoutError` after `timeoutMs`
   * (default: the timeout of the ping itself applies), and a `StreamUpgradeError` of kind `limit` when 1024 callers wait.
   */
  ping (peer: PeerId, options?: CallOptions): Promise<number>
}

const PING_OPTIONS: OptionTable<PingConfig> = {
  intervalMs: duration(15_000),
  jitterMs: count(0, 0, 86_400_000),
  timeoutMs: duration(20_000),
  maxFailures: count(Infinity, 1)
}

/** Callers that may wait at a time; they cost a promise each, so that only a loop gets there. */
const MAX_OPEN_CALLS = 1024

/**
 * Measures the round-trip time of every connection, and answers the pings of peers. It never holds a connection open, and
 * runs on relayed connections too.
 *
 * @param init - see {@link PingInit}
 * @throws TypeError for an unknown option, RangeError for a duration that is negative or NaN
 *
 * @example
 * withSwarm(options, { behaviours: { ping: ping({ intervalMs: 30_000 }) } })
 */
export function ping (init: PingInit = {}): Ping {
  return new PingBehaviour(parseOptions(PING_OPTIONS, init, 'Cannot make a ping behaviour'))
}

takesOptions(ping, 'ping')

class PingBehaviour implements NetworkBehaviour<PingEvent, PingNow, PingReport> {
  readonly protocols: readonly string[] = PING_PROTOCOLS
  readonly #config: PingConfig
  readonly #connections = new OwnConnections()
  readonly #calls = new Calls<number>({ action: 'Cannot ping', maxOpen: MAX_OPEN_CALLS })
  /** Not bounded here: commands are bounded as calls, and the swarm takes each event before the next one. */
  readonly #outbox = new Outbox<ToSwarm<PingEvent, PingNow>>(Infinity)

  constructor (config: PingConfig) {
    this.#config = config
  }

  commitEstablished (connection: EstablishedConnection): PingHandler {
    this.#connections.add(connection)
    return new PingHandler(this.#config, random)
  }

  rollback (attempt: PendingConnection | EstablishedConnection): void {
    this.#connections.rollback(attempt)
  }

  onSwarmEvent (event: FromSwarm): void {
    this.#connections.onSwarmEvent(event)
    if (event.type === 'connection-closed') {
      this.#calls.rejectAll(event.connection, new ConnectionClosedError('Cannot ping: the connection closed'))
    } else if (event.type === 'handler-notified' && !event.delivered && event.token instanceof Call) {
      event.token.reject(undeliveredError('Cannot ping', event.token, event.reason))
    }
  }

  onHandlerEvent (peer: PeerId, connection: ConnectionId, { event, isQuiet, isDead }: PingReport): void {
    if (event.type === 'pong') {
      this.#calls.resolveAll(connection, event.rttMs)
    } else {
      this.#calls.rejectAll(connection, event.error)
    }
    if (!isQuiet) {
      this.#outbox.push({ type: 'event', peer, connection, event })
    }
    if (isDead && event.type === 'failure') {
      this.#outbox.push({ type: 'close-connection', peer, connection, abort: event.error })
    }
  }

  poll (cx: PollContext): Poll<ToSwarm<PingEvent, PingNow>> {
    this.#calls.poll(cx)
    return this.#outbox.poll(cx)
  }

  async ping (peer: PeerId, options: CallOptions = {}): Promise<number> {
    const connection = this.#connections.oldest(peer, 'Cannot ping')
    const call = this.#calls.start({ peer, connection }, options, Infinity)
    call.phase = 'open'
    this.#outbox.push({ type: 'notify-handler', peer, connection, event: { type: 'ping-now' }, token: call })
    return await call.promise
  }
}

/** From 0 to below 1. */
function random (): number {
  const [bits = 0] = crypto.getRandomValues(new Uint32Array(1))
  return bits / 2 ** 32
}
