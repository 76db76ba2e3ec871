import { Backlog } from './backlog.ts'
import { StreamAdapter } from './stream-adapter.ts'
import type { Stream } from '@libp2p/interface'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { Connection } from '../connection/connection.ts'
import type { StreamOpening } from '../connection/muxer-port.ts'
import type { BacklogLimits } from './backlog.ts'
import type { ConnectionTurns } from './connection-turns.ts'
import type { Scheduler } from './scheduler.ts'
import type { NextTurn, Waiting } from './next-turn.ts'
import type { StreamSink } from './stream-adapter.ts'
import type { TurnBudget } from './turn-budget.ts'

/** What the streams of all connections of a node share. */
export interface StreamInputsComponents {
  readonly scheduler: Scheduler
  readonly budget: TurnBudget
  /** Streams that this side closed. */
  readonly closing: NextTurn<StreamAdapter>
  /** Of what the streams may hold. */
  readonly config: BacklogLimits
}

/** What happens to the streams of one connection, as inputs of its machine. The hot path: outside a drain no closure is made. */
export class StreamInputs implements StreamSink {
  readonly #machine: Connection<NegotiatedStream>
  readonly #turns: ConnectionTurns
  readonly #components: StreamInputsComponents
  /** Made when a stream holds something: most connections do not. */
  #backlog: Backlog | undefined

  /**
   * @param machine - of the connection
   * @param turns - of the connection
   * @param components - of the node
   */
  constructor (machine: Connection<NegotiatedStream>, turns: ConnectionTurns, components: StreamInputsComponents) {
    this.#machine = machine
    this.#turns = turns
    this.#components = components
  }

  /** The peer opened a stream. */
  arrived (stream: Stream): void {
    this.#arrived(new StreamAdapter(stream, this))
  }

  /** The peer opened a stream, and the host has agreed on its name. */
  agreed (stream: Stream): void {
    this.#agreed(new StreamAdapter(stream, this), stream.protocol)
  }

  /** The muxer opened a stream that was asked for, and has agreed on `protocol` if it negotiates. */
  opened (opening: StreamOpening, stream: Stream, protocol: string | undefined): void {
    this.#opened(opening, new StreamAdapter(stream, this), protocol)
  }

  /** See {@link StreamSink}. */
  get isBusy (): boolean {
    return this.#turns.isBusy
  }

  /** See {@link StreamSink}. */
  get backlog (): Backlog {
    this.#backlog ??= new Backlog(this.#components.config, this.#components.scheduler)
    return this.#backlog
  }

  /** See {@link StreamSink}. */
  whenIdle (task: () => void): void {
    this.#turns.whenIdle(task)
  }

  /** See {@link StreamSink}. */
  nextTurn (task: () => void): void {
    this.#components.budget.later(task)
  }

  /** See {@link StreamSink}. */
  streamData (port: StreamAdapter, bytes: Uint8Array): void {
    this.#turns.begin()
    this.#machine.handleStreamData(port, bytes)
    this.#turns.end()
  }

  /** See {@link StreamSink}. */
  streamEnded (port: StreamAdapter): void {
    this.#turns.begin()
    this.#machine.handleStreamEnd(port)
    this.#turns.end()
  }

  /** See {@link StreamSink}. */
  streamClosed (port: StreamAdapter): void {
    this.#turns.begin()
    this.#machine.handleStreamClosed(port)
    this.#turns.end()
  }

  /** See {@link StreamSink}. */
  streamReset (port: StreamAdapter, error: Error): void {
    this.#turns.begin()
    this.#machine.handleStreamReset(port, error)
    this.#turns.end()
  }

  /** See {@link StreamSink}. */
  tellClosingLater (waiting: Waiting<StreamAdapter>): void {
    this.#components.closing.add(waiting)
  }

  /** See {@link StreamSink}. */
  tellClosingNever (waiting: Waiting<StreamAdapter>): void {
    this.#components.closing.remove(waiting)
  }

  /** See {@link StreamSink}. */
  streamClosing (port: StreamAdapter): void {
    this.#turns.begin()
    this.#machine.handleStreamClosing(port, this.#components.scheduler.now())
    this.#turns.end()
  }

  /** See {@link StreamSink}. */
  ignoreForKeepAlive (port: StreamAdapter): void {
    this.#turns.command(() => { this.#machine.ignoreForKeepAlive(port) })
  }

  /** See {@link StreamSink}. */
  listenerThrew (port: StreamAdapter, type: string, cause: unknown): void {
    this.#turns.input(() => { this.#machine.handleListenerFault(port, `listener for ${type} of a stream`, cause) })
  }

  #arrived (port: StreamAdapter): void {
    if (this.isBusy) {
      this.whenIdle(() => { this.#arrived(port) })
      return
    }
    this.#turns.begin()
    this.#machine.handleInboundStream(port, this.#components.scheduler.now())
    this.#turns.end()
  }

  #agreed (port: StreamAdapter, protocol: string): void {
    if (this.isBusy) {
      this.whenIdle(() => { this.#agreed(port, protocol) })
      return
    }
    this.#turns.begin()
    this.#machine.handleNegotiatedInbound(port, protocol, this.#components.scheduler.now())
    this.#turns.end()
    port.checkOver()
  }

  #opened (opening: StreamOpening, port: StreamAdapter, protocol: string | undefined): void {
    if (this.isBusy) {
      this.whenIdle(() => { this.#opened(opening, port, protocol) })
      return
    }
    this.#turns.begin()
    this.#machine.handleOutboundStream(opening, port, protocol)
    this.#turns.end()
    if (protocol !== undefined) {
      port.checkOver()
    }
  }
}
