import { ConnectionClosedError } from '@libp2p/interface'
import { isCountedProtocol } from '../connection/counted-streams.ts'
import { show } from '../core/printable.ts'
import { brokenProtocolRule } from '../protocols/stream-protocol.ts'
import { HostRequests } from './host-requests.ts'
import { isAdopted, isOfBehaviour } from './adopted-stream.ts'
import { StreamAdapter } from './stream-adapter.ts'
import type { CreateStreamOptions, Stream } from '@libp2p/interface'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { Connection } from '../connection/connection.ts'
import type { HostStreamFailed, HostStreamOpened, HostStreamOutput } from '../connection/connection-output.ts'
import type { StreamPort } from '../connection/muxer-port.ts'
import type { HostStreamRequest } from '../connection/outbound-wish.ts'
import type { Instant } from '../core/instant.ts'
import type { ConnectionTurns } from './connection-turns.ts'
import type { HostProtocolFeed } from './host-protocols.ts'
import type { HostRequestsComponents } from './host-requests.ts'
import type { NegotiatedMuxer } from './negotiated-muxer.ts'
import type { Scheduler } from './scheduler.ts'
import type { StreamInputs } from './stream-inputs.ts'
import type { StreamSource } from './stream-source.ts'
import type { SwarmConfig } from './swarm-options.ts'

/** What the connections of a node share here. */
export interface HostStreamsComponents {
  readonly scheduler: Scheduler
  readonly config: SwarmConfig
  readonly hostProtocols: HostProtocolFeed
}

/** The streams of the node's other services on one connection, as far as the swarm has to do with them. */
export class HostStreams implements HostRequestsComponents {
  readonly #components: HostStreamsComponents
  readonly #machine: Connection<NegotiatedStream>
  readonly #turns: ConnectionTurns
  readonly #streams: StreamInputs
  readonly #source: StreamSource
  readonly #muxer: NegotiatedMuxer | undefined

  /**
   * @param components - of the node
   * @param machine - of the connection
   * @param turns - of the connection
   * @param streams - of the connection
   * @param source - of the connection
   * @param muxer - of the connection; undefined in hosted mode
   */
  constructor (
    components: HostStreamsComponents, machine: Connection<NegotiatedStream>, turns: ConnectionTurns, streams: StreamInputs,
    source: StreamSource, muxer: NegotiatedMuxer | undefined
  ) {
    this.#components = components
    this.#machine = machine
    this.#turns = turns
    this.#streams = streams
    this.#source = source
    this.#muxer = muxer
  }

  /** See {@link HostRequestsComponents}. */
  get scheduler (): Scheduler {
    return this.#components.scheduler
  }

  /** See {@link HostRequestsComponents}. */
  request (request: HostStreamRequest): void {
    this.#turns.command(() => { this.#machine.requestHostStream(request, this.scheduler.now()) })
  }

  /** See {@link HostRequestsComponents}. */
  cancel (token: unknown): void {
    this.#turns.command(() => { this.#machine.cancelHostStream(token) })
  }

  /** A service wants a stream. A name that no peer of ours would propose is left to the host, which is less strict. */
  async open ({ protocol = '', ...options }: CreateStreamOptions): Promise<Stream> {
    const { config } = this.#components
    if (this.#machine.status.phase !== 'open') {
      throw new ConnectionClosedError(`Cannot open a stream for "${show(protocol)}": the connection closes`)
    }
    if (brokenProtocolRule(protocol, config.connection.maxFrameLength - 1) === undefined) {
      return await this.#requests.open(protocol, options)
    }
    const stream = await this.#source.open({ protocols: [protocol], options })
    this.passedThrough(stream)
    return stream
  }

  /** The host negotiates `stream` by itself, or has done so. */
  passedThrough (stream: Stream): void {
    const port = this.#adopt(stream)
    this.#turns.input(() => { this.#machine.handleForeignStream(port, stream.direction) })
  }

  /** See `MuxerOwner`. */
  isHidden (stream: Stream): boolean {
    return isOfBehaviour(stream) && this.#components.hostProtocols.has(stream.protocol)
  }

  /** What the machine has for the host; called in a drain. */
  act (output: HostStreamOutput<NegotiatedStream> | HostStreamOpened<NegotiatedStream> | HostStreamFailed): void {
    switch (output.type) {
      case 'host-stream':
        this.#leave(output.port)
        this.#muxer?.emit(output.port.stream)
        break
      case 'host-stream-opened':
        this.#leave(output.port)
        this.#requests.opened(output.token, output.port.stream)
        break
      case 'host-stream-failed':
        this.#requests.failed(output.token, output.error)
    }
  }

  /**
   * In hosted mode nobody tells of the streams that the peer opens to other services, nor of those that the host still negotiates,
   * so they are looked for when they matter: before the end of an idle time closes the connection. To be called before the
   * machine is polled.
   */
  countUntold (now: Instant): void {
    const { status } = this.#machine
    if (this.#muxer !== undefined || status.phase !== 'open' || status.activity !== 'idle' || now < status.until) {
      return
    }
    const { hostProtocols } = this.#components
    for (const stream of this.#source.streams) {
      const isOfHost = stream.direction === 'outbound' || hostProtocols.has(stream.protocol)
      if (isOfHost && !isAdopted(stream) && isCountedProtocol(stream.protocol)) {
        this.#machine.handleForeignStream(this.#adopt(stream), stream.direction)
      }
    }
  }

  /** It has no state, so none is kept. */
  get #requests (): HostRequests {
    return new HostRequests(this)
  }

  #adopt (stream: Stream): StreamAdapter {
    const port = new StreamAdapter(stream, this.#streams)
    this.#leave(port)
    return port
  }

  /** In hosted mode the host's streams stay as they are. */
  #leave (port: StreamPort<NegotiatedStream>): void {
    if (port instanceof StreamAdapter) {
      port.giveToHost(this.#muxer !== undefined && this.#components.config.correctHostIterators)
    }
  }
}
