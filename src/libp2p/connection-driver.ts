import { Connection } from '../connection/connection.ts'
import { PENDING } from '../core/poll.ts'
import { ConnectionTurns } from './connection-turns.ts'
import { HostedMuxer, failureOf } from './hosted-muxer.ts'
import { HostStreams } from './host-streams.ts'
import { MuxerAdapter } from './muxer-adapter.ts'
import { StreamInputs } from './stream-inputs.ts'
import { InnerMuxer } from './stream-source.ts'
import { Wait } from './wait.ts'
import type { AbortOptions, Connection as HostConnection, CreateStreamOptions, PeerId, Stream, StreamCloseEvent } from '@libp2p/interface'
import type { AnyHandler } from '../behaviour/connection-handler.ts'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { LazySignal } from '../behaviours/lazy-signal.ts'
import type { ReadonlyProtocols } from '../connection/connection.ts'
import type { ConnectionLoad, ConnectionMeter } from '../connection/connection-meter.ts'
import type { ConnectionOutput, ConnectionReport, HandlerTask, ReportInterest } from '../connection/connection-output.ts'
import type { StreamOpening, StreamPort } from '../connection/muxer-port.ts'
import type { ConnectionStatus } from '../connection/shutdown.ts'
import type { ConnectionId } from '../core/ids.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll } from '../core/poll.ts'
import type { HostOutput } from '../swarm/swarm-event.ts'
import type { ConnectionMode } from './connection-mode.ts'
import type { HostProtocolFeed } from './host-protocols.ts'
import type { MuxerUser } from './muxer-adapter.ts'
import type { MuxerOwner, NegotiatedMuxer } from './negotiated-muxer.ts'
import type { NextTurn } from './next-turn.ts'
import type { OwnDial } from './own-dial.ts'
import type { ProtocolHolder } from './protocol-changes.ts'
import type { Scheduler, Timer } from './scheduler.ts'
import type { StreamAdapter } from './stream-adapter.ts'
import type { StreamSource } from './stream-source.ts'
import type { SwarmConfig } from './swarm-options.ts'
import type { DrainedConnection, Turns } from './swarm-driver.ts'
import type { TurnBudget } from './turn-budget.ts'

/** What all connections of a node share. */
export interface ConnectionDriverComponents {
  readonly driver: Turns
  readonly scheduler: Scheduler
  readonly budget: TurnBudget
  /** Streams that this side closed. */
  readonly closing: NextTurn<StreamAdapter>
  readonly config: SwarmConfig
  readonly hostProtocols: HostProtocolFeed
  readonly interest: ReportInterest
  /** Counts what happens on the connections. */
  readonly meter: ConnectionMeter<NegotiatedStream> | undefined
}

/** One connection, before it is driven. */
export interface DrivenConnection {
  readonly id: ConnectionId
  readonly host: HostConnection
  /** Undefined in hosted mode: the muxer is not wrapped. */
  readonly muxer: NegotiatedMuxer | undefined
  /** Ends with the connection. */
  readonly lifetime: LazySignal
  /** The dial of the swarm that it came from. */
  readonly dial: OwnDial | undefined
}

/**
 * Drives one connection: what happens to the host's connection, its muxer and its streams becomes inputs of the machine,
 * and what the machine wants is done to them. It has one timer, which is armed anew whenever a drain is over.
 */
export class ConnectionDriver implements DrainedConnection, MuxerOwner, MuxerUser, ProtocolHolder {
  readonly host: HostConnection
  readonly #muxer: NegotiatedMuxer | undefined
  readonly #lifetime: LazySignal
  readonly #dial: OwnDial | undefined
  readonly #machine: Connection<NegotiatedStream>
  readonly #turns: ConnectionTurns
  readonly #streams: StreamInputs
  readonly #timer: Timer
  readonly #hostStreams: HostStreams
  readonly #port: MuxerAdapter
  readonly #components: ConnectionDriverComponents
  /** Made when somebody waits for the end. */
  #closed: Wait<void> | undefined
  #hasClosed = false

  /**
   * @param components - what all connections of the node share
   * @param connection - the one to drive
   * @param handler - what the behaviours made for it
   * @param wake - asks the swarm to poll it
   */
  constructor (components: ConnectionDriverComponents, { id, host, muxer, lifetime, dial }: DrivenConnection, handler: AnyHandler, wake: () => void) {
    const { driver, scheduler, config, hostProtocols, interest, meter } = components
    this.host = host
    const source: StreamSource = muxer === undefined ? new HostedMuxer(host, this) : new InnerMuxer(muxer)
    this.#turns = new ConnectionTurns(driver, this)
    this.#timer = scheduler.timer(() => { this.#turns.input(wake) })
    this.#components = components
    this.#muxer = muxer
    this.#lifetime = lifetime
    this.#dial = dial
    this.#port = new MuxerAdapter(host, source, scheduler, this)
    this.#machine = new Connection(
      { id, peer: host.remotePeer, direction: host.direction, handler, muxer: this.#port, wake, hostProtocols, interest, meter },
      config.connection,
      scheduler.now()
    )
    this.#streams = new StreamInputs(this.#machine, this.#turns, components)
    this.#hostStreams = new HostStreams(components, this.#machine, this.#turns, this.#streams, source, muxer)
    if (muxer !== undefined) {
      muxer.owner = this
      muxer.joinWrites(scheduler)
    }
    host.addEventListener('close', this)
  }

  // ---------------------------------------------------------------------------------------------------- getters

  /** See {@link DrainedConnection}. */
  get id (): ConnectionId {
    return this.#machine.id
  }

  /** Who is at the other end. */
  get peer (): PeerId {
    return this.host.remotePeer
  }

  /** Who negotiates its streams: the swarm, or the host (S1.5). */
  get mode (): ConnectionMode {
    return this.#muxer === undefined ? 'hosted' : 'native'
  }

  /** See {@link DrainedConnection}. */
  get isDrained (): boolean {
    return this.#turns.isDrained
  }

  /** What this side accepts. */
  get localProtocols (): ReadonlyProtocols {
    return this.#machine.localProtocols
  }

  /** What the peer speaks. */
  get remoteProtocols (): ReadonlyProtocols {
    return this.#machine.remoteProtocols
  }

  /** See {@link ProtocolHolder}. */
  get isRemoteKnown (): boolean {
    return this.#machine.hasRemoteReport
  }

  /** See {@link ProtocolHolder}. */
  get isRemoteCut (): boolean {
    return this.#machine.isRemoteCut
  }

  /** Busy, idle, closing or closed. */
  get status (): ConnectionStatus {
    return this.#machine.status
  }

  /** The negotiated streams that hold the connection open. */
  get streams (): Iterable<StreamPort<NegotiatedStream>> {
    return this.#machine.streams
  }

  /** What waits and what is being negotiated. */
  get load (): ConnectionLoad {
    return this.#machine.load
  }

  /** All negotiated streams, and who opened them. */
  get openStreams (): Iterable<{ readonly port: StreamPort<NegotiatedStream>, readonly isInbound: boolean }> {
    return this.#machine.openStreams
  }

  // ------------------------------------------------------------------------------ for the swarm: DrainedConnection

  /** See {@link DrainedConnection}. */
  onBehaviourEvent (event: unknown, token: unknown): boolean {
    return this.#machine.onBehaviourEvent(event, token)
  }

  /** See {@link DrainedConnection}. */
  poll (now: Instant): Poll<ConnectionOutput<NegotiatedStream, unknown>> {
    this.#hostStreams.countUntold(now)
    const output = this.#machine.poll(now)
    if (output === PENDING) {
      this.#turns.drained()
      this.#timer.arm(this.#machine.pollTimeout())
    } else if (output.type === 'closed') {
      this.#timer.clear()
      this.host.removeEventListener('close', this)
      this.#hasClosed = true
      this.#closed?.resolve()
    }
    return output
  }

  /** See {@link DrainedConnection}. */
  pollReport (): Poll<ConnectionReport> {
    return this.#machine.pollReport()
  }

  /** See {@link DrainedConnection}. */
  stall (): void {
    this.#machine.stall()
  }

  /** See {@link DrainedConnection}. */
  resume (): void {
    this.#machine.resume()
  }

  /** Closes gracefully; begins with the next drain. */
  close (): void {
    this.#turns.command(() => { this.#machine.close() })
  }

  /** Closes at once; begins with the next drain. */
  abort (error: Error): void {
    this.#turns.command(() => { this.#machine.abort(error) })
  }

  // ------------------------------------------------------------------------------------- for the host: MuxerOwner

  /** See {@link MuxerOwner}. */
  get isOpen (): boolean {
    return this.status.phase === 'open'
  }

  /** See {@link MuxerOwner}. */
  inboundStream (stream: Stream): void {
    this.#streams.arrived(stream)
  }

  /** See {@link MuxerOwner}. */
  async openHostStream (options: CreateStreamOptions): Promise<Stream> {
    return await this.#hostStreams.open(options)
  }

  /** See {@link MuxerOwner}. */
  passedThrough (stream: Stream): void {
    this.#hostStreams.passedThrough(stream)
  }

  /** See {@link MuxerOwner}. */
  isHidden (stream: Stream): boolean {
    return this.#hostStreams.isHidden(stream)
  }

  /** See {@link MuxerOwner}. */
  async closeMuxer (options: AbortOptions): Promise<void> {
    await this.#port.closeMuxer(options)
  }

  /** See {@link MuxerOwner}. */
  abortMuxer (error: Error): void {
    this.#port.abortMuxer(error)
  }

  /** See {@link MuxerOwner}. */
  listenerThrew (type: string, cause: unknown): void {
    this.#turns.input(() => { this.#machine.handleListenerFault(undefined, `listener for ${type} of the muxer`, cause) })
  }

  /** Listener of the host's connection: the one sign that its muxer is gone. */
  handleEvent ({ error }: StreamCloseEvent): void {
    this.#port.hostClosed()
    this.#turns.input(() => {
      if (error !== undefined) {
        this.#machine.handleMuxerError(error)
      }
      this.#machine.handleMuxerClosed()
    })
  }

  // ------------------------------------------------------------------------------------- for the muxer: MuxerUser

  /** See {@link MuxerUser}. */
  streamOpened (opening: StreamOpening, stream: Stream): void {
    this.#streams.opened(opening, stream, this.mode === 'hosted' ? stream.protocol : undefined)
  }

  /** See {@link MuxerUser}. */
  openingFailed (opening: StreamOpening, error: unknown): void {
    const reason = this.mode === 'hosted' ? failureOf(error) : undefined
    this.#turns.input(() => { this.#machine.handleOutboundStreamFailure(opening, error, reason) })
  }

  // ------------------------------------------------------------------------------------------- for the service

  /** Acts on what the machine has for the host; called in a drain. */
  act (output: HostOutput): void {
    if (output.type === 'handler-task') {
      this.#watch(output)
    } else {
      this.#hostStreams.act(output)
    }
  }

  /** The peer opened `stream`, and the host has agreed on its name, which is one that we registered. */
  agreedStream (stream: Stream): void {
    this.#streams.agreed(stream)
  }

  /** The host learnt all protocols of the peer, on this very connection. */
  remoteReport (protocols: readonly string[]): void {
    this.#turns.input(() => { this.#machine.handleRemoteReport('replaced', protocols) })
  }

  /** Whether the host wants the peer kept. */
  peerTag (isKept: boolean): void {
    this.#turns.input(() => { this.#machine.handlePeerTag(isKept) })
  }

  /** All that it had to say has been taken: tells whoever holds a signal of its life. */
  ended (cause: unknown): void {
    this.#lifetime.abort(cause)
    this.#dial?.abort(cause)
  }

  /** Resolves when the connection has ended. */
  async whenClosed (): Promise<void> {
    if (!this.#hasClosed) {
      this.#closed ??= new Wait({ scheduler: this.#components.scheduler, action: 'Cannot close a connection' })
      await this.#closed.promise
    }
  }

  /** A promise that a handler returned: its rejection counts as a throw (S4.15). */
  #watch (task: HandlerTask<NegotiatedStream>): void {
    Promise.resolve(task.promise).catch((error: unknown) => {
      this.#turns.input(() => { this.#machine.handleTaskFailure(task, error) })
    })
  }
}
