/**
 * The machine that polls everything on one connection.
 *
 * It does no I/O. Tell it one thing: a `handle*` call for something that came from the network or the clock, or a command.
 * Then call `poll(now)` until it answers PENDING, acting on each value, read `pollReport()` until PENDING, and arm one
 * timer for `pollTimeout()`. One input, one full drain, then the next input. The `wake` component asks for another drain;
 * twice is as good as once. `handle*` and `poll` from inside `poll` throw.
 *
 * One pass goes through the steps of S5.1. After progress it starts again at the top: local work before remote work,
 * outbound before inbound.
 */

import { earliest } from '../core/instant.ts'
import { PENDING } from '../core/poll.ts'
import { ConnectionClosedError } from '../errors.ts'
import { HandlerFault } from '../handler/handler-fault.ts'
import { parseConnectionConfig, remoteLimits } from './connection-config.ts'
import { ConnectionStreams } from './connection-streams.ts'
import { HandlerOutputs } from './handler-outputs.ts'
import { HostNews } from './host-news.ts'
import { Inbox } from './inbox.ts'
import { Lifecycle } from './lifecycle.ts'
import { Outlet } from './outlet.ts'
import { ProtocolSets } from './protocol-sets.ts'
import { RootHandler } from './root-handler.ts'
import { Turn } from './turn.ts'
import type { ConnectionId, Direction } from '../core/ids.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll } from '../core/poll.ts'
import type { RemoteReportChange } from '../protocols/remote-protocols.ts'
import type { ConnectionComponents, ReadonlyProtocols } from './connection-components.ts'
import type { ConnectionInit } from './connection-config.ts'
import type { ConnectionLoad } from './connection-meter.ts'
import type { ConnectionOutput, ConnectionReport, HandlerTask } from './connection-output.ts'
import type { StreamOpening, StreamPort } from './muxer-port.ts'
import type { HostStreamRequest } from './outbound-wish.ts'
import type { OpeningFailure } from './request-outcomes.ts'
import type { ConnectionStatus } from './shutdown.ts'

export type { ConnectionComponents, HostProtocols, ReadonlyProtocols } from './connection-components.ts'

/** One connection: see above for how to drive it, and `ConnectionInit` for its options. */
export class Connection<Stream, FromBehaviour = unknown, ToBehaviour = unknown> {
  readonly #components: Pick<ConnectionComponents<FromBehaviour, ToBehaviour, Stream>, 'id' | 'peer' | 'direction'>
  readonly #outlet: Outlet<Stream, ToBehaviour>
  readonly #root: RootHandler<FromBehaviour, ToBehaviour>
  readonly #sets: ProtocolSets<Stream, FromBehaviour, ToBehaviour>
  readonly #streams: ConnectionStreams<Stream, FromBehaviour, ToBehaviour>
  readonly #inbox: Inbox<FromBehaviour>
  readonly #outputs: HandlerOutputs<Stream, FromBehaviour, ToBehaviour>
  readonly #news: HostNews<Stream, FromBehaviour, ToBehaviour>
  readonly #lifecycle: Lifecycle<Stream, FromBehaviour, ToBehaviour>
  readonly #turn: Turn
  #isPeerKept = false
  /** A step moved in this turn: only then has any of them to hear of its end. */
  #hasMoved = false

  /**
   * @param components - who it works with; the handler gets its first notice before this returns (S3.13)
   * @param init - options; see {@link ConnectionInit}
   * @param now - the instant of creation
   * @throws TypeError or RangeError for an option out of its range
   */
  constructor (components: ConnectionComponents<FromBehaviour, ToBehaviour, Stream>, init: ConnectionInit, now: Instant) {
    const { handler, muxer, hostProtocols } = components
    const config = parseConnectionConfig(init)
    const turn = new Turn(components)
    const outlet = new Outlet<Stream, ToBehaviour>(components, now)
    const root = new RootHandler<FromBehaviour, ToBehaviour>(handler, outlet, turn)
    const sets = new ProtocolSets({ outlet, root, config, waker: turn })
    const streams = new ConnectionStreams({ outlet, root, config, muxer, local: sets.local, remote: sets.remote, hostProtocols, waker: turn })
    const inbox = new Inbox<FromBehaviour>(config.maxQueuedBehaviourEvents)
    this.#components = components
    this.#turn = turn
    this.#outlet = outlet
    this.#root = root
    this.#sets = sets
    this.#streams = streams
    this.#inbox = inbox
    this.#outputs = new HandlerOutputs(outlet, root, sets, streams, config.maxHandlerEventsPerTurn)
    this.#news = new HostNews(outlet, root, sets, config.remoteReportsPerSecond, remoteLimits(config))
    this.#lifecycle = new Lifecycle({ outlet, root, streams, inbox, muxer, config })
    sets.diff()
    turn.wake()
  }

  // ---------------------------------------------------------------------------------------------------- getters

  /** As it was given. */
  get id (): ConnectionId {
    return this.#components.id
  }

  /** Who is at the other end, as it was given. */
  get peer (): unknown {
    return this.#components.peer
  }

  /** Who opened it, as it was given. */
  get direction (): Direction {
    return this.#components.direction
  }

  /** What this side accepts on this connection now. */
  get localProtocols (): ReadonlyProtocols {
    return this.#sets.local
  }

  /** What the peer speaks, as far as it was reported on this connection. */
  get remoteProtocols (): ReadonlyProtocols {
    return this.#sets.remote
  }

  /** Whether anybody has reported about the peer: only then does an absent name mean "no". */
  get hasRemoteReport (): boolean {
    return this.#sets.remote.hasReport()
  }

  /** Whether more was reported of the peer than is kept: then an absent name may be among what was cut off (S3.21). */
  get isRemoteCut (): boolean {
    return this.#sets.remote.isCut
  }

  /** Busy, idle until an instant, closing or closed. */
  get status (): ConnectionStatus {
    return this.#lifecycle.status
  }

  /** What waits and what is being negotiated. */
  get load (): ConnectionLoad {
    return this.#streams.load
  }

  /** All negotiated streams until their end, whether they hold the connection open or not, and who opened them. */
  get openStreams (): Iterable<{ readonly port: StreamPort<Stream>, readonly isInbound: boolean }> {
    return this.#streams.counted.all()
  }

  /** The negotiated streams that hold the connection open, oldest first. */
  get streams (): Iterable<StreamPort<Stream>> {
    return this.#streams.counted.counted()
  }

  // ---------------------------------------------------------------------------------------------------- inputs

  /** The peer opened a stream. Its deadline is that of now, and its names are those of the turn that follows (S2.11, S5.9). */
  handleInboundStream (port: StreamPort<Stream>, now: Instant): void {
    this.#input(now)
    if (this.#lifecycle.isOpen) {
      this.#streams.arrived(port)
    } else {
      this.#outlet.tellMuxer(() => { port.reset(new ConnectionClosedError('The connection closes')) })
    }
  }

  /**
   * The peer opened a stream, and the host has agreed on `protocol` (hosted mode): it goes to whoever lists that name in the
   * turn that follows, without a queue, and is reset if nobody does.
   */
  handleNegotiatedInbound (port: StreamPort<Stream>, protocol: string, now: Instant): void {
    this.#input(now)
    if (this.#lifecycle.isOpen) {
      this.#streams.agreed(port, protocol)
    } else {
      this.#outlet.tellMuxer(() => { port.reset(new ConnectionClosedError('The connection closes')) })
    }
  }

  /** The muxer holds back a stream of the peer, to be had by its `pollInbound`. */
  handleInboundReady (): void {
    this.#input()
  }

  /**
   * The muxer answers an opening with a stream.
   *
   * @param protocol - the name that was agreed, by a muxer that negotiates
   */
  handleOutboundStream (opening: StreamOpening, port: StreamPort<Stream>, protocol?: string): void {
    this.#input()
    this.#streams.granted(opening, port, protocol)
  }

  /**
   * The muxer could not open a stream.
   *
   * @param error - the cause of what the requester gets
   * @param reason - why, if the muxer negotiates. Default: the stream was reset
   */
  handleOutboundStreamFailure (opening: StreamOpening, error: unknown, reason?: OpeningFailure): void {
    this.#input()
    this.#streams.outbound.openingFailed(opening, error, reason)
  }

  /**
   * A stream that the host negotiates by itself: it holds the connection open until it ends (S6.3).
   *
   * @param direction - `inbound`: the peer opened it
   */
  handleForeignStream (port: StreamPort<Stream>, direction: Direction): void {
    this.#input()
    if (this.#lifecycle.isOpen) {
      this.#streams.counted.add(port, { isCounted: true, isInbound: direction === 'inbound', slot: undefined })
    }
  }

  /** Bytes for a stream that was started and not handed over yet; they may be reused after the call, but for left-over ones. */
  handleStreamData (port: StreamPort<Stream>, bytes: Uint8Array): void {
    this.#input()
    this.#streams.data(port, bytes)
  }

  /** The peer ended its side, after the last byte that was delivered. */
  handleStreamEnd (port: StreamPort<Stream>): void {
    this.#input()
    this.#streams.remoteEnded(port)
  }

  /** The stream was reset, or lost with its connection; bytes delivered before it count (S2.6). */
  handleStreamReset (port: StreamPort<Stream>, error?: Error): void {
    this.#input()
    this.#streams.ended(port, error)
  }

  /** Both directions have ended in good order. */
  handleStreamClosed (port: StreamPort<Stream>): void {
    this.#input()
    this.#streams.remoteEnded(port)
    this.#streams.ended(port, undefined)
  }

  /** This side closed the stream, or reads it no longer: if the peer does not end its own side in time, it is reset. */
  handleStreamClosing (port: StreamPort<Stream>, now: Instant): void {
    this.#input(now)
    this.#streams.closing(port)
  }

  /** The promise of a `handler-task` rejected: that counts as a throw of its event (S4.15). */
  handleTaskFailure (task: HandlerTask<Stream>, error: unknown): void {
    this.#input()
    if (task.port === undefined) {
      this.#root.failed('onConnectionEvent', error)
    } else {
      this.#streams.taskFailed(task.port, error)
    }
  }

  /** A listener of a stream, or of what is none, threw `cause`: that harms this stream only (S4.15). `method` is for the report. */
  handleListenerFault (port: StreamPort<Stream> | undefined, method: string, cause: unknown): void {
    const fault = new HandlerFault('', method, cause)
    this.#input()
    if (port === undefined) {
      this.#outlet.handlerError(fault)
    } else {
      this.#streams.taskFailed(port, fault)
    }
  }

  /** The host learnt the protocols of the peer (S3.20). */
  handleRemoteReport (change: RemoteReportChange, protocols: readonly string[]): void {
    this.#input()
    this.#news.report(change, protocols)
  }

  /** The remote address of the connection changed. */
  handleAddressChange (address: unknown): void {
    this.#input()
    this.#news.moved(address)
  }

  /** The remote ended the muxer: nothing can be flushed. */
  handleMuxerEnd (): void {
    this.#input()
    this.#lifecycle.muxerEnded()
  }

  /** The muxer or its transport failed. */
  handleMuxerError (error: Error): void {
    this.#input()
    this.#outlet.abrupt ??= { reason: 'io-error', error }
  }

  /** The muxer is gone: the answer to `close` of the port, or the end of a connection that nobody closed here. */
  handleMuxerClosed (): void {
    this.#input()
    this.#lifecycle.muxerClosed()
  }

  /** Whether the host wants the peer kept, which holds the connection open (S6.2). */
  handlePeerTag (isKept: boolean): void {
    this.#input()
    this.#isPeerKept = isKept
  }

  // ---------------------------------------------------------------------------------------------------- commands

  /**
   * A message for the handler; false, and not kept, when the inbox is full or the connection closes.
   *
   * @param token - given: it comes back with `handler-notified` when the handler has taken the message
   */
  onBehaviourEvent (event: FromBehaviour, token?: unknown): boolean {
    if (!this.#lifecycle.isOpen) {
      return false
    }
    this.#turn.wakeForCommand()
    return this.#inbox.push(event, token)
  }

  /**
   * Asks for a stream for one of the host's own services; answered by `host-stream-opened` or `host-stream-failed`.
   *
   * @throws ConnectionClosedError when the connection closes already
   */
  requestHostStream (request: HostStreamRequest, now: Instant): void {
    if (!this.#lifecycle.isOpen) {
      throw new ConnectionClosedError('Cannot open stream: the connection closes')
    }
    this.#outlet.now = now
    this.#streams.outbound.requestForHost(request)
    this.#turn.wakeForCommand()
  }

  /** Ends the requests of the host with this token that have no outcome yet; their outcome is of kind `aborted`. */
  cancelHostStream (token: unknown): void {
    this.#streams.outbound.cancelForHost(token)
    this.#turn.wakeForCommand()
  }

  /** Takes a stream out of what holds the connection open; idempotent. */
  ignoreForKeepAlive (port: StreamPort<Stream>): void {
    this.#streams.counted.ignore(port)
    this.#turn.wakeForCommand()
  }

  /**
   * Nobody takes what the handler says any more: it is not polled until {@link resume}, so that what fills up is the peer's
   * (S8.3). Everything else goes on; a handler that woke meanwhile holds the connection open. Idempotent.
   */
  stall (): void {
    this.#outputs.stall()
  }

  /** Polls the handler again, if it woke meanwhile; without effect if there is no stall. */
  resume (): void {
    if (this.#outputs.resume()) {
      this.#turn.wakeForCommand()
    }
  }

  /** Closes gracefully, after the behaviour events that are queued already (S6.6). */
  close (): void {
    if (this.#lifecycle.isOpen) {
      this.#inbox.close()
      this.#turn.wakeForCommand()
    }
  }

  /** Closes at once, without flushing (S6.7). */
  abort (error: Error): void {
    this.#outlet.abrupt ??= { reason: 'aborted', error }
    this.#turn.wakeForCommand()
  }

  // ---------------------------------------------------------------------------------------------------- output

  /**
   * The next thing for the owner to act on, or PENDING.
   *
   * @param now - never earlier than at the last call
   * @throws InvalidStateError when called from inside a poll of this connection
   */
  poll (now: Instant): Poll<ConnectionOutput<Stream, ToBehaviour>> {
    const { restsUntil } = this.#lifecycle
    if (this.#turn.isResting && now < restsUntil && now < this.#streams.nextDeadline && now < this.#root.wakeInstant
      && now < this.#news.deadline && now < this.#outlet.limitsDueAt) {
      this.#outlet.now = now
      return PENDING
    }
    this.#turn.enter()
    this.#outlet.now = now
    try {
      const output = this.#drain()
      if (output === PENDING) {
        this.#endTurn()
      }
      return output
    } finally {
      this.#turn.leave()
    }
  }

  /**
   * The next thing for whoever watches, or PENDING. For a reader who lets more than 1024 wait, changes of protocol sets are
   * folded into one per side, and the others are dropped and counted.
   *
   * @throws InvalidStateError when called from inside a poll of this connection
   */
  pollReport (): Poll<ConnectionReport> {
    this.#turn.refuse()
    return this.#outlet.takeReport() ?? PENDING
  }

  /** When to poll again if nothing happens before; `Infinity` for never. */
  pollTimeout (): Instant {
    const { deadline, isOpen } = this.#lifecycle
    return isOpen ? earliest(deadline, earliest(this.#news.deadline, this.#outlet.limitsDueAt)) : deadline
  }

  // ---------------------------------------------------------------------------------------------------- the loop

  #drain (): Poll<ConnectionOutput<Stream, ToBehaviour>> {
    for (;;) {
      if (this.#outlet.outputs.size > 0) {
        return this.#nextOutput()
      }
      if (!(this.#turn.isStirred ? this.#pass() : this.#quietPass())) {
        return PENDING
      }
      this.#hasMoved = true
    }
  }

  #nextOutput (): Poll<ConnectionOutput<Stream, ToBehaviour>> {
    const output = this.#outlet.outputs.shift() ?? PENDING
    if (output !== PENDING && output.type === 'closed') {
      this.#end()
    }
    return output
  }

  /** One pass; true as soon as a step moved, which starts the next one at the top. */
  #pass (): boolean {
    // What stirs a step meanwhile that the pass is past is for another one.
    this.#turn.isStirred = false
    if (!(this.#lifecycle.isOpen ? this.#openPass() : this.#closingPass())) {
      return false
    }
    this.#turn.isStirred = true
    return true
  }

  /** The steps of S5.1. */
  #openPass (): boolean {
    return this.#lifecycle.endIfDue()
      || this.#serveInbox() // 1
      || this.#expire() // 2
      || this.#outputs.takeNext() // 3
      || this.#sets.diff() // 4
      || this.#streams.outbound.advance() // 5
      || this.#streams.inbound.advance() // 6
      || this.#news.tellNext() // 7
      || this.#streams.outbound.openNext() // 8
      || this.#streams.inbound.acceptNext() // 9
      || this.#lifecycle.checkActivity(this.#root.isKeepAlive || this.#isPeerKept, this.#outputs.isHeld) // 10
  }

  /** Those of them that may have something to do when nothing but the handler woke, which is what most turns are about. */
  #quietPass (): boolean {
    if (this.#isDue || !this.#lifecycle.isOpen || this.#news.deadline <= this.#outlet.now) {
      return this.#pass()
    }
    if (this.#outputs.takeNext() || this.#sets.diff() || this.#turn.isStirred) { // 3, 4
      return true
    }
    const isKept = this.#root.isKeepAlive || this.#isPeerKept
    return (!isKept || !this.#lifecycle.isBusy) && this.#lifecycle.checkActivity(isKept, this.#outputs.isHeld) // 10
  }

  /** Streams in use go on until the muxer closes, so the answers that some of them wait for still count. */
  #closingPass (): boolean {
    return this.#streams.outbound.unconfirmed?.advance() === true || this.#lifecycle.advance()
  }

  #serveInbox (): boolean {
    this.#inbox.reportRefused(this.#outlet)
    const command = this.#inbox.shift()
    switch (command?.type) {
      case undefined:
        return false
      case 'close':
        this.#lifecycle.begin('local-close', undefined)
        return true
      case 'event':
        this.#deliver(command.event, command.token)
        return true
    }
  }

  /** Only senders with a token hear of a message that was taken (S7.11). */
  #deliver (event: FromBehaviour, token: unknown): void {
    const outcome = this.#root.onBehaviourEvent(event)
    if (outcome === 'refused' || (outcome === 'taken' && token !== undefined)) {
      this.#outlet.outputs.push({ type: 'handler-notified', token, event, delivered: outcome === 'taken' })
    }
  }

  #expire (): boolean {
    if (!this.#isDue) {
      return false
    }
    const { now } = this.#outlet
    this.#outlet.reportLimits()
    this.#root.expire(now)
    this.#streams.expire(now)
    return true
  }

  get #isDue (): boolean {
    const { now } = this.#outlet
    return now >= this.#streams.nextDeadline || now >= this.#root.wakeInstant || now >= this.#outlet.limitsDueAt
  }

  // ---------------------------------------------------------------------------------------------------- turns

  /** Every input comes through here. */
  #input (now: Instant = this.#outlet.now): void {
    this.#turn.refuse()
    this.#outlet.now = now
    this.#turn.wake()
  }

  #endTurn (): void {
    const isMoreLeft = this.#hasMoved && this.#endSteps()
    const isHandlerLater = this.#root.endTurn() && !this.#outputs.isHeld
    this.#turn.end(isHandlerLater || isMoreLeft)
  }

  /** True when one of them is to go on in another turn. */
  #endSteps (): boolean {
    this.#hasMoved = false
    this.#outputs.endTurn()
    const areStreamsLater = this.#streams.endTurn()
    return this.#sets.endTurn() || areStreamsLater
  }

  /** The last output is on its way: nothing wakes this connection any more. */
  #end (): void {
    this.#turn.close()
    this.#sets.release()
  }
}
