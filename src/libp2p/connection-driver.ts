import { ConnectionClosedError } from '@libp2p/interface'
import { Connection } from '../connection/connection.ts'
import { PENDING } from '../core/poll.ts'
import { show } from '../core/printable.ts'
import { brokenProtocolRule } from '../protocols/stream-protocol.ts'
import { ConnectionTurns } from './connection-turns.ts'
import { HostRequests } from './host-requests.ts'
import { MuxerAdapter } from './muxer-adapter.ts'
import { StreamAdapter, isOfBehaviour } from './stream-adapter.ts'
import { StreamInputs } from './stream-inputs.ts'
import { Wait } from './wait.ts'
import type { AbortOptions, Connection as HostConnection, CreateStreamOptions, PeerId, Stream, StreamCloseEvent } from '@libp2p/interface'
import type { AnyHandler } from '../behaviour/connection-handler.ts'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { ReadonlyProtocols } from '../connection/connection.ts'
import type { ConnectionOutput, ConnectionReport, HandlerTask, ReportInterest } from '../connection/connection-output.ts'
import type { StreamOpening, StreamPort } from '../connection/muxer-port.ts'
import type { ConnectionStatus } from '../connection/shutdown.ts'
import type { ConnectionId } from '../core/ids.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll } from '../core/poll.ts'
import type { HostOutput } from '../swarm/swarm-event.ts'
import type { HostProtocolFeed } from './host-protocols.ts'
import type { MuxerUser } from './muxer-adapter.ts'
import type { MuxerOwner, NegotiatedMuxer } from './negotiated-muxer.ts'
import type { ProtocolHolder } from './protocol-changes.ts'
import type { Scheduler, Timer } from './scheduler.ts'
import type { SwarmConfig } from './swarm-options.ts'
import type { DrainedConnection, Turns } from './swarm-driver.ts'

/** What all connections of a node share. */
export interface ConnectionDriverComponents {
  readonly driver: Turns
  readonly scheduler: Scheduler
  readonly config: SwarmConfig
  readonly hostProtocols: HostProtocolFeed
  readonly interest: ReportInterest
}

/** One connection, before it is driven. */
export interface DrivenConnection {
  readonly id: ConnectionId
  readonly host: HostConnection
  readonly muxer: NegotiatedMuxer
}

/**
 * Drives one connection: what happens to the host's connection, its muxer and its streams becomes inputs of the machine,
 * and what the machine wants is done to them. It has one timer, which is armed anew whenever a drain is over.
 */
export class ConnectionDriver implements DrainedConnection, MuxerOwner, MuxerUser, ProtocolHolder {
  readonly id: ConnectionId
  readonly peer: PeerId
  readonly host: HostConnection
  readonly #components: ConnectionDriverComponents
  readonly #muxer: NegotiatedMuxer
  readonly #machine: Connection<NegotiatedStream>
  readonly #turns: ConnectionTurns
  readonly #streams: StreamInputs
  readonly #timer: Timer
  readonly #requests: HostRequests
  readonly #port: MuxerAdapter
  readonly #closed: Wait<void>

  /**
   * @param components - what all connections of the node share
   * @param connection - the one to drive
   * @param handler - what the behaviours made for it
   * @param wake - asks the swarm to poll it
   */
  constructor (components: ConnectionDriverComponents, { id, host, muxer }: DrivenConnection, handler: AnyHandler, wake: () => void) {
    const { driver, scheduler, config, hostProtocols, interest } = components
    this.id = id
    this.peer = host.remotePeer
    this.host = host
    this.#components = components
    this.#muxer = muxer
    this.#turns = new ConnectionTurns(driver, this)
    this.#timer = scheduler.timer(() => { this.#turns.input(wake) })
    this.#closed = new Wait({ scheduler, action: 'Cannot close a connection' })
    this.#port = new MuxerAdapter(host, muxer, scheduler, this)
    this.#machine = new Connection(
      { id, peer: host.remotePeer, direction: host.direction, handler, muxer: this.#port, wake, hostProtocols, interest },
      config.connection,
      scheduler.now()
    )
    this.#streams = new StreamInputs(this.#machine, this.#turns, scheduler, config)
    this.#requests = new HostRequests({
      scheduler,
      request: (request) => { this.#turns.command(() => { this.#machine.requestHostStream(request, scheduler.now()) }) },
      cancel: (token) => { this.#turns.command(() => { this.#machine.cancelHostStream(token) }) }
    })
    muxer.owner = this
    host.addEventListener('close', this)
  }

  // ---------------------------------------------------------------------------------------------------- getters

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

  // ------------------------------------------------------------------------------ for the swarm: DrainedConnection

  /** See {@link DrainedConnection}. */
  onBehaviourEvent (event: unknown, token: unknown): boolean {
    return this.#machine.onBehaviourEvent(event, token)
  }

  /** See {@link DrainedConnection}. */
  poll (now: Instant): Poll<ConnectionOutput<NegotiatedStream, unknown>> {
    const output = this.#machine.poll(now)
    if (output === PENDING) {
      this.#turns.drained()
      this.#timer.arm(this.#machine.pollTimeout())
    } else if (output.type === 'closed') {
      this.#timer.clear()
      this.host.removeEventListener('close', this)
      this.#closed.resolve()
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

  /** See {@link MuxerOwner}. A name that no peer of ours would propose is left to the host, which is less strict. */
  async openHostStream ({ protocol = '', ...options }: CreateStreamOptions): Promise<Stream> {
    if (!this.isOpen) {
      throw new ConnectionClosedError(`Cannot open a stream for "${show(protocol)}": the connection closes`)
    }
    if (brokenProtocolRule(protocol, this.#components.config.connection.maxFrameLength - 1) === undefined) {
      return await this.#requests.open(protocol, options)
    }
    const stream = await this.#muxer.inner.createStream(options)
    this.passedThrough(stream)
    return stream
  }

  /** See {@link MuxerOwner}. */
  passedThrough (stream: Stream): void {
    const port = new StreamAdapter(stream, this.#streams)
    this.#giveToHost(port)
    this.#turns.input(() => { this.#machine.handleForeignStream(port) })
  }

  /** See {@link MuxerOwner}. */
  isHidden (stream: Stream): boolean {
    return isOfBehaviour(stream) && this.#components.hostProtocols.has(stream.protocol)
  }

  /** See {@link MuxerOwner}. */
  async closeMuxer (options: AbortOptions): Promise<void> {
    await this.#port.closeMuxer(options)
  }

  /** See {@link MuxerOwner}. */
  abortMuxer (error: Error): void {
    this.#port.abortMuxer(error)
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
    this.#streams.opened(opening, stream)
  }

  /** See {@link MuxerUser}. */
  openingFailed (opening: StreamOpening, error: unknown): void {
    this.#turns.input(() => { this.#machine.handleOutboundStreamFailure(opening, error) })
  }

  // ------------------------------------------------------------------------------------------- for the service

  /** Acts on what the machine has for the host; called in a drain. */
  act (output: HostOutput): void {
    switch (output.type) {
      case 'host-stream':
        this.#giveToHost(output.port)
        this.#muxer.emit(output.port.stream)
        break
      case 'host-stream-opened':
        this.#giveToHost(output.port)
        this.#requests.opened(output.token, output.port.stream)
        break
      case 'host-stream-failed':
        this.#requests.failed(output.token, output.error)
        break
      case 'handler-task':
        this.#watch(output)
    }
  }

  /** The host learnt all protocols of the peer, on this very connection. */
  remoteReport (protocols: readonly string[]): void {
    this.#turns.input(() => { this.#machine.handleRemoteReport('replaced', protocols) })
  }

  /** Whether the host wants the peer kept. */
  peerTag (isKept: boolean): void {
    this.#turns.input(() => { this.#machine.handlePeerTag(isKept) })
  }

  /** Resolves when the connection has ended. */
  async whenClosed (): Promise<void> {
    await this.#closed.promise
  }

  /** A promise that a handler returned: its rejection counts as a throw (S4.15). */
  #watch (task: HandlerTask<NegotiatedStream>): void {
    Promise.resolve(task.promise).catch((error: unknown) => {
      this.#turns.input(() => { this.#machine.handleTaskFailure(task, error) })
    })
  }

  #giveToHost (port: StreamPort<NegotiatedStream>): void {
    if (port instanceof StreamAdapter) {
      port.giveToHost(this.#components.config.correctHostIterators)
    }
  }
}
