import { PENDING } from '../core/poll.ts'
import { Connection } from '../connection/connection.ts'
import { ScriptedMuxer, ScriptedStream } from './scripted-muxer.ts'
import { VirtualClock } from './virtual-clock.ts'
import type { ConnectionInit } from '../connection/connection-config.ts'
import type { HostProtocols } from '../connection/connection.ts'
import type { ConnectionMeter } from '../connection/connection-meter.ts'
import type { ConnectionOutput, ConnectionReport, ReportInterest } from '../connection/connection-output.ts'
import type { OpeningFailure } from '../connection/request-outcomes.ts'
import type { AnyHandler } from '../handler/connection-handler.ts'

/** Options of {@link ScriptedConnection}. */
export interface ScriptedConnectionOptions {
  /** Whether the muxer negotiates, as in hosted mode. Default: false. */
  negotiates?: boolean | undefined
  /** Options of the connection. Default: those of a connection. */
  init?: ConnectionInit | undefined
  /** Default: none. */
  hostProtocols?: HostProtocols | undefined
  /** Counts what happens. Default: nobody does. */
  meter?: ConnectionMeter<ScriptedStream> | undefined
}

/** More values than this in one drain mean that something never comes to rest. */
const MAX_VALUES_PER_DRAIN = 100_000

/**
 * One connection on a muxer that does what the test says, in virtual time: the quickest way to see what a handler makes a
 * connection do.
 *
 * @example
 * const test = new ScriptedConnection(handler)
 * const stream = test.offer()
 * test.feed(stream, bytes)
 */
export class ScriptedConnection {
  readonly clock: VirtualClock = new VirtualClock()
  readonly muxer: ScriptedMuxer
  readonly connection: Connection<ScriptedStream>
  /** What `poll` gave so far. */
  readonly outputs: Array<ConnectionOutput<ScriptedStream, unknown>> = []
  /** What `pollReport` gave so far. */
  readonly reports: ConnectionReport[] = []
  /** How often the connection asked to be polled. */
  wakes = 0

  constructor (handler: AnyHandler, options: ScriptedConnectionOptions = {}) {
    this.muxer = new ScriptedMuxer(options.negotiates)
    const interest: ReportInterest = { protocolChanges: true }
    const components = {
      id: 'scripted', peer: 'peer', direction: 'inbound', handler, muxer: this.muxer, interest, hostProtocols: options.hostProtocols, meter: options.meter,
      wake: () => { this.wakes++ }
    } as const
    this.connection = new Connection(components, options.init ?? {}, this.clock.now)
    this.drive()
  }

  /**
   * Polls until nothing moves, and writes down what comes out.
   *
   * @throws RangeError when that does not end
   */
  drive (): void {
    for (let left = MAX_VALUES_PER_DRAIN; left > 0; left--) {
      const output = this.connection.poll(this.clock.now)
      if (output === PENDING) {
        this.#drainReports()
        return
      }
      this.outputs.push(output)
    }
    throw new RangeError(`Cannot drive the connection: it gave ${MAX_VALUES_PER_DRAIN} values and did not come to rest`)
  }

  /** Lets `durationMs` pass, polling now, whenever the connection asked for it, and at the end. */
  advance (durationMs: number): void {
    const end = this.clock.now + durationMs
    this.drive()
    for (let next = this.connection.pollTimeout(); next <= end; next = this.connection.pollTimeout()) {
      this.clock.advanceTo(Math.max(next, this.clock.now))
      this.drive()
    }
    this.clock.advanceTo(end)
    this.drive()
  }

  /** The peer opens a stream. */
  offer (): ScriptedStream {
    const stream = new ScriptedStream()
    this.connection.handleInboundStream(stream, this.clock.now)
    this.drive()
    return stream
  }

  /** The peer opens a stream, and the host has agreed on `protocol` (hosted mode). */
  offerAgreed (protocol: string): ScriptedStream {
    const stream = new ScriptedStream()
    this.connection.handleNegotiatedInbound(stream, protocol, this.clock.now)
    this.drive()
    return stream
  }

  /**
   * The muxer grants the oldest opening.
   *
   * @param protocol - on which it has agreed, if it is one that negotiates
   */
  grant (protocol?: string): ScriptedStream {
    const stream = new ScriptedStream()
    this.connection.handleOutboundStream(this.muxer.takeOpening(), stream, protocol)
    this.drive()
    return stream
  }

  /**
   * The muxer refuses the oldest opening.
   *
   * @param reason - why, if it is one that negotiates
   */
  refuse (error: Error, reason?: OpeningFailure): void {
    this.connection.handleOutboundStreamFailure(this.muxer.takeOpening(), error, reason)
    this.drive()
  }

  /** Bytes arrive. */
  feed (stream: ScriptedStream, bytes: Uint8Array): void {
    this.connection.handleStreamData(stream, bytes)
    this.drive()
  }

  #drainReports (): void {
    for (let report = this.connection.pollReport(); report !== PENDING; report = this.connection.pollReport()) {
      this.reports.push(report)
    }
  }
}
