import { NEVER, earliest } from '../core/instant.ts'
import { toError } from '../core/to-error.ts'
import { ConnectionClosedError } from '../errors.ts'
import { HandlerFault } from '../handler/handler-fault.ts'
import { CountedStreams } from './counted-streams.ts'
import { InboundStreams } from './inbound-streams.ts'
import { OutboundStreams } from './outbound-streams.ts'
import { StreamDesk } from './stream-desk.ts'
import type { Instant } from '../core/instant.ts'
import type { Waker } from '../core/poll.ts'
import type { Hop } from '../handler/route.ts'
import type { LocalProtocols } from '../protocols/local-protocols.ts'
import type { RemoteProtocols } from '../protocols/remote-protocols.ts'
import type { HostProtocols } from './connection-components.ts'
import type { ConnectionConfig } from './connection-config.ts'
import type { ConnectionLoad } from './connection-meter.ts'
import type { HandlerTask } from './connection-output.ts'
import type { MuxerPort, StreamOpening, StreamPort } from './muxer-port.ts'
import type { NegotiatingStreamsOwner } from './negotiating-streams.ts'
import type { Outlet } from './outlet.ts'
import type { RootHandler } from './root-handler.ts'

/** What the streams of a connection work with. */
export interface ConnectionStreamsParts<Stream, FromBehaviour, ToBehaviour> {
  readonly outlet: Outlet<Stream, ToBehaviour>
  readonly root: RootHandler<FromBehaviour, ToBehaviour>
  readonly config: ConnectionConfig
  readonly muxer: MuxerPort<Stream>
  readonly local: LocalProtocols
  readonly remote: RemoteProtocols
  readonly hostProtocols: HostProtocols | undefined
  /** Woken when a stream can go on, or there is another deadline. */
  readonly waker: Waker
}

/** All streams of a connection: asked for, arriving, negotiating, and negotiated until their end. */
export class ConnectionStreams<Stream, FromBehaviour, ToBehaviour> implements NegotiatingStreamsOwner {
  readonly counted: CountedStreams<Stream>
  readonly inbound: InboundStreams<Stream, FromBehaviour, ToBehaviour>
  readonly outbound: OutboundStreams<Stream, FromBehaviour, ToBehaviour>
  /** No deadline of a stream or request is earlier than this. */
  nextDeadline: Instant = NEVER
  readonly #outlet: Outlet<Stream, ToBehaviour>
  readonly #waker: Waker

  constructor (parts: ConnectionStreamsParts<Stream, FromBehaviour, ToBehaviour>) {
    const { outlet, root, config, muxer, local, remote, hostProtocols, waker } = parts
    this.#outlet = outlet
    this.#waker = waker
    this.counted = new CountedStreams(config.streamCloseTimeoutMs)
    const desk = new StreamDesk(outlet, root, this.counted)
    this.inbound = new InboundStreams({ desk, config, muxer, local, hostProtocols, owner: this })
    this.outbound = new OutboundStreams({ desk, config, muxer, remote, owner: this })
  }

  /** See {@link NegotiatingStreamsOwner}. */
  streamWoke (): void {
    this.#waker.wake()
  }

  /** See {@link NegotiatingStreamsOwner}. */
  deadlineAdded (instant: Instant): void {
    this.nextDeadline = earliest(this.nextDeadline, instant)
    this.#waker.wake()
  }

  /** Whether any stream or request holds the connection open (S6.2). */
  get isBusy (): boolean {
    return this.counted.size > 0 || this.inbound.isBusy || this.outbound.isBusy
  }

  /** What waits and what is being negotiated. */
  get load (): ConnectionLoad {
    const { inbound, outbound } = this
    return {
      negotiatingInbound: inbound.negotiating,
      negotiatingOutbound: outbound.negotiating,
      queuedInbound: inbound.queued,
      queuedOutbound: outbound.queued
    }
  }

  /** The peer opened a stream; a muxer that tells twice is heard once (S5.11). */
  arrived (port: StreamPort<Stream>): void {
    if (!this.#isKnown(port)) {
      this.inbound.arrive(port)
    }
  }

  /** The host agreed on `protocol` for a stream that the peer opened. */
  agreed (port: StreamPort<Stream>, protocol: string): void {
    if (!this.#isKnown(port)) {
      this.inbound.agreed(port, protocol)
    }
  }

  /** The muxer granted a stream; one that is in use already is none. */
  granted (opening: StreamOpening, port: StreamPort<Stream>, protocol: string | undefined): void {
    if (this.#isKnown(port)) {
      this.outbound.openingFailed(opening, new Error('The muxer granted a stream that is in use'))
    } else {
      this.outbound.granted(opening, port, protocol)
    }
  }

  /** Bytes came; those of a stream that is past its negotiation are its reader's. */
  data (port: StreamPort<Stream>, bytes: Uint8Array): void {
    const stream = this.outbound.unconfirmed?.get(port) ?? this.#negotiating(port)
    if (stream !== undefined && stream.upgrading === undefined) {
      stream.machine.handleData(bytes)
      stream.wake()
    }
  }

  /** The peer ended its side. */
  remoteEnded (port: StreamPort<Stream>): void {
    const stream = this.outbound.unconfirmed?.get(port) ?? this.#negotiating(port)
    stream?.machine.handleFin()
    stream?.wake()
  }

  /** The stream is gone: reset, lost, or closed on both sides. */
  ended (port: StreamPort<Stream>, error: Error | undefined): void {
    this.outbound.unconfirmed?.remove(port)
    if (this.counted.remove(port)) {
      return
    }
    const stream = this.#negotiating(port)
    if (stream === undefined) {
      this.inbound.ended(port)
      return
    }
    stream.hasEnded = true
    stream.cause = error
    stream.machine.handleReset()
    stream.wake()
  }

  /** This side closed the stream both ways. */
  closing (port: StreamPort<Stream>): void {
    this.nextDeadline = earliest(this.nextDeadline, this.counted.closing(port, this.#outlet.now))
  }

  /** What its handler did with a stream failed later on: that harms this stream only (S4.15). */
  taskFailed (port: NonNullable<HandlerTask<Stream>['port']>, reason: unknown): void {
    const fault = HandlerFault.of(reason, 'onConnectionEvent')
    this.#outlet.handlerError(fault)
    if (this.counted.remove(port)) {
      this.outbound.unconfirmed?.remove(port)
      this.#outlet.tellMuxer(() => { port.reset(toError(fault.cause)) })
    }
  }

  /** A part of the handler has left its composition: nothing that was not handed over to it goes on. */
  partLeft (hop: Hop): void {
    this.inbound.ownersLeft()
    this.outbound.partLeft(hop)
  }

  /** Step 2: ends what is overdue. */
  expire (now: Instant): void {
    this.outbound.expire(now)
    this.inbound.expire(now)
    for (const port of this.counted.expire(now)) {
      this.outbound.unconfirmed?.remove(port)
      const error = new ConnectionClosedError('The peer did not end the stream in time after it was closed')
      this.#outlet.tellMuxer(() => { port.reset(error) })
    }
    this.nextDeadline = earliest(this.outbound.nextDeadline(), earliest(this.inbound.nextDeadline(), this.counted.nextDeadline()))
  }

  /** Whether any of them is to go on in another turn. */
  endTurn (): boolean {
    const isInboundLater = this.inbound.endTurn()
    return this.outbound.endTurn() || isInboundLater
  }

  /** The connection closes: nothing that was not handed over goes on. */
  endAll (): void {
    this.inbound.endAll()
    this.outbound.endAll()
    this.nextDeadline = NEVER
  }

  /** The connection has ended, and all streams with it. */
  forget (): void {
    this.counted.clear()
    this.outbound.unconfirmed?.clear()
  }

  #negotiating (port: StreamPort<Stream>): ReturnType<typeof this.inbound.get> | ReturnType<typeof this.outbound.get> {
    return this.outbound.get(port) ?? this.inbound.get(port)
  }

  #isKnown (port: StreamPort<Stream>): boolean {
    return this.#negotiating(port) !== undefined || this.counted.has(port) || this.inbound.isWaiting(port)
  }
}
