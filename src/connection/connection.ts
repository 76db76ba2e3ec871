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

import { BoundedQueue } from '../core/bounded-queue.ts'
import { NEVER, addDuration, earliest } from '../core/instant.ts'
import { PENDING } from '../core/poll.ts'
import { ConnectionClosedError, InvalidStateError } from '../errors.ts'
import { HandlerFault } from '../handler/handler-fault.ts'
import { hopOf } from '../handler/route.ts'
import { Closing } from './closing.ts'
import { parseConnectionConfig } from './connection-config.ts'
import { CountedStreams } from './counted-streams.ts'
import { InboundStreams } from './inbound-streams.ts'
import { OutboundStreams } from './outbound-streams.ts'
import { Outlet } from './outlet.ts'
import { HOST_SOURCE, ProtocolSets } from './protocol-sets.ts'
import { RootHandler } from './root-handler.ts'
import { BUSY, isAbrupt, nextActivity } from './shutdown.ts'
import { StreamDesk, asError } from './stream-desk.ts'
import type { ConnectionId, Direction } from '../core/ids.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll, Waker } from '../core/poll.ts'
import type { AnyHandler, HandlerOutput } from '../handler/connection-handler.ts'
import type { ProtocolList } from '../protocols/protocol-list.ts'
import type { RemoteReportChange } from '../protocols/remote-protocols.ts'
import type { ConnectionConfig, ConnectionInit } from './connection-config.ts'
import type { ConnectionOutput, ConnectionReport, HandlerTask, ReportInterest } from './connection-output.ts'
import type { MuxerPort, StreamOpening, StreamPort } from './muxer-port.ts'
import type { HostStreamRequest } from './outbound-streams.ts'
import type { CloseReason, ConnectionStatus } from './shutdown.ts'

/** Names that the host's other services accept, offered after those of the handlers (S3.3). */
export interface HostProtocols {
  readonly list: ProtocolList
  /** Asked about a proposed name that is on no list, in case `list` is behind; must not throw. */
  offers (protocol: string): boolean
}

/** One side of the protocol sets, as of now. */
export interface ReadonlyProtocols {
  readonly size: number
  has (protocol: string): boolean
  /** A frozen copy, in the order in which the names were added. */
  toArray (): readonly string[]
}

/** Who a connection works with. */
export interface ConnectionComponents<FromBehaviour = unknown, ToBehaviour = unknown> {
  readonly id: ConnectionId
  /** Who is at the other end; shown in errors, never looked into. */
  readonly peer: unknown
  readonly direction: Direction
  readonly handler: AnyHandler<FromBehaviour, ToBehaviour>
  readonly muxer: MuxerPort
  /** Asks the owner for a drain; called once per turn at most. During a `poll` of this connection it means: the next turn. */
  readonly wake: () => void
  readonly hostProtocols?: HostProtocols | undefined
  readonly interest?: ReportInterest | undefined
}

type Command<FromBehaviour> = { readonly type: 'event', readonly event: FromBehaviour } | { readonly type: 'close' }

const MUXER_ENDED = 'The remote ended the connection'

export class Connection<Stream, FromBehaviour = unknown, ToBehaviour = unknown> {
  readonly id: ConnectionId
  readonly peer: unknown
  readonly direction: Direction
  readonly #config: ConnectionConfig
  readonly #muxer: MuxerPort
  readonly #wakeOwner: () => void
  readonly #outlet: Outlet<Stream, ToBehaviour>
  readonly #root: RootHandler<FromBehaviour, ToBehaviour>
  readonly #sets: ProtocolSets<Stream, FromBehaviour, ToBehaviour>
  readonly #counted: CountedStreams<Stream>
  readonly #inbound: InboundStreams<Stream, FromBehaviour, ToBehaviour>
  readonly #outbound: OutboundStreams<Stream, FromBehaviour, ToBehaviour>
  readonly #hostList: ProtocolList | undefined
  readonly #hostWaker: Waker = { wake: () => { this.#wake() } }
  readonly #inbox: BoundedQueue<Command<FromBehaviour>> = new BoundedQueue(Infinity)
  #inboxEvents = 0
  #status: ConnectionStatus = BUSY
  #closing: Closing<Stream, FromBehaviour, ToBehaviour> | undefined
  #undelivered: readonly unknown[] = []
  /** What came from the muxer or the host and waits for its step. */
  #newAddress: { readonly address: unknown } | undefined
  #hostReports: Array<{ readonly change: RemoteReportChange, readonly protocols: readonly string[] }> = []
  #abrupt: { readonly reason: CloseReason, readonly error: Error } | undefined
  #isPeerKept = false
  /** No deadline of a stream or request is earlier than this. */
  #nextDeadline: Instant = NEVER
  #isPolling = false
  /** Between the first poll after PENDING and the next PENDING. */
  #isInTurn = false
  #isWakeAsked = false
  #needsTurn = false
  #handlerOutputs = 0

  /**
   * @param components - who it works with; the handler gets its first notice before this returns (S3.13)
   * @param init - options; see {@link ConnectionInit}
   * @param now - the instant of creation
   * @throws TypeError or RangeError for an option out of its range
   */
  constructor (components: ConnectionComponents<FromBehaviour, ToBehaviour>, init: ConnectionInit, now: Instant) {
    const { id, peer, direction, handler, muxer, wake, hostProtocols, interest } = components
    this.id = id
    this.peer = peer
    this.direction = direction
    this.#config = parseConnectionConfig(init)
    this.#muxer = muxer
    this.#wakeOwner = wake
    this.#hostList = hostProtocols?.list
    const streams = { streamWoke: () => { this.#wake() }, deadlineAdded: (instant: Instant) => { this.#nextDeadline = earliest(this.#nextDeadline, instant) } }
    this.#outlet = new Outlet(id, peer, now)
    this.#root = new RootHandler(handler, {
      rootWoke: isOwn => { this.#rootWoke(isOwn) },
      rootFailed: fault => { this.#rootFailed(fault) }
    })
    this.#counted = new CountedStreams(this.#config.streamCloseTimeoutMs)
    const desk = new StreamDesk(this.#outlet, this.#root, this.#counted)
    this.#inbound = new InboundStreams(desk, this.#config, hostProtocols === undefined ? undefined : protocol => hostProtocols.offers(protocol), streams)
    this.#outbound = new OutboundStreams(desk, this.#config, muxer, streams)
    this.#sets = new ProtocolSets(this.#outlet, this.#root, this.#config, this.#hostList, interest)
    this.#hostList?.attach(this.#hostWaker)
    this.#sets.diff()
    this.#wake()
  }

  // ---------------------------------------------------------------------------------------------------- getters

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

  /** Busy, idle until an instant, closing or closed. */
  get status (): ConnectionStatus {
    return this.#status
  }

  /** The negotiated streams that hold the connection open, oldest first. */
  get streams (): Iterable<StreamPort<Stream>> {
    return this.#counted.counted()
  }

  // ---------------------------------------------------------------------------------------------------- inputs

  /** The peer opened a stream. Its deadline and its list of names are those of now (S2.11, S5.9). */
  handleInboundStream (port: StreamPort<Stream>, now: Instant): void {
    this.#input(now)
    if (this.#status.phase === 'open') {
      this.#inbound.arrive(port, this.#sets.local.snapshot())
    } else {
      port.reset(new ConnectionClosedError('The connection closes'))
    }
  }

  /** The muxer answers an opening with a stream. */
  handleOutboundStream (opening: StreamOpening, port: StreamPort<Stream>): void {
    this.#input()
    this.#outbound.granted(opening, port)
  }

  /** The muxer could not open a stream. */
  handleOutboundStreamFailure (opening: StreamOpening, error: unknown): void {
    this.#input()
    this.#outbound.openingFailed(opening, error)
  }

  /** A stream that the host negotiates by itself: it holds the connection open until it ends (S6.3). */
  handleForeignStream (port: StreamPort<Stream>): void {
    this.#input()
    this.#counted.add(port, true)
  }

  /** Bytes for a stream that was started and not handed over yet; they may be reused after the call, but for left-over ones. */
  handleStreamData (port: StreamPort<Stream>, bytes: Uint8Array): void {
    this.#input()
    const stream = this.#negotiating(port)
    if (stream?.upgrading === undefined) {
      stream?.machine.handleData(bytes)
      stream?.wake()
    }
  }

  /** The peer ended its side, after the last byte that was delivered. */
  handleStreamEnd (port: StreamPort<Stream>): void {
    this.#input()
    const stream = this.#negotiating(port)
    stream?.machine.handleFin()
    stream?.wake()
  }

  /** The stream was reset, or lost with its connection; bytes delivered before it count (S2.6). */
  handleStreamReset (port: StreamPort<Stream>, error?: Error): void {
    this.#input()
    this.#streamEnded(port, error)
  }

  /** Both directions have ended in good order. */
  handleStreamClosed (port: StreamPort<Stream>): void {
    this.#input()
    this.#negotiating(port)?.machine.handleFin()
    this.#streamEnded(port, undefined)
  }

  /** This side closed both directions: if the peer does not end the stream in time, it is reset. */
  handleStreamClosing (port: StreamPort<Stream>, now: Instant): void {
    this.#input(now)
    this.#nextDeadline = earliest(this.#nextDeadline, this.#counted.closing(port, now))
  }

  /** The promise of a `handler-task` rejected: that counts as a throw of its event (S4.15). */
  handleTaskFailure (task: HandlerTask<Stream>, error: unknown): void {
    this.#input()
    const fault = HandlerFault.of(error, 'onConnectionEvent')
    if (task.port === undefined) {
      this.#rootFailed(fault)
      return
    }
    this.#outlet.handlerError(fault)
    if (this.#counted.remove(task.port)) {
      task.port.reset(asError(fault.cause))
    }
  }

  /** The host learnt the protocols of the peer (S3.20). */
  handleRemoteReport (change: RemoteReportChange, protocols: readonly string[]): void {
    this.#input()
    if (change === 'replaced') {
      this.#hostReports = []
    }
    this.#hostReports.push({ change, protocols })
  }

  handleAddressChange (address: unknown): void {
    this.#input()
    this.#newAddress = { address }
  }

  /** The remote ended the muxer: nothing can be flushed. */
  handleMuxerEnd (): void {
    this.#input()
    this.#abrupt ??= { reason: 'remote-close', error: new ConnectionClosedError(MUXER_ENDED) }
  }

  /** The muxer or its transport failed. */
  handleMuxerError (error: Error): void {
    this.#input()
    this.#abrupt ??= { reason: 'io-error', error }
  }

  /** The muxer is gone: the answer to `close` of the port, or the end of a connection that nobody closed here. */
  handleMuxerClosed (): void {
    this.#input()
    if (this.#closing === undefined) {
      this.#abrupt ??= { reason: 'remote-close', error: new ConnectionClosedError(MUXER_ENDED) }
    } else {
      this.#closing.muxerClosed()
    }
  }

  /** Whether the host wants the peer kept, which holds the connection open (S6.2). */
  handlePeerTag (isKept: boolean): void {
    this.#input()
    this.#isPeerKept = isKept
  }

  // ---------------------------------------------------------------------------------------------------- commands

  /** A message for the handler; false, and not kept, when the inbox is full or the connection closes. */
  onBehaviourEvent (event: FromBehaviour): boolean {
    if (this.#status.phase !== 'open' || this.#inboxEvents >= this.#config.maxQueuedBehaviourEvents) {
      return false
    }
    this.#inboxEvents++
    this.#inbox.push({ type: 'event', event })
    this.#wake()
    return true
  }

  /**
   * Asks for a stream for one of the host's own services; answered by `host-stream-opened` or `host-stream-failed`.
   *
   * @throws ConnectionClosedError when the connection closes already
   */
  requestHostStream (request: HostStreamRequest, now: Instant): void {
    if (this.#status.phase !== 'open') {
      throw new ConnectionClosedError('Cannot open stream: the connection closes')
    }
    this.#outlet.now = now
    this.#outbound.requestForHost(request)
    this.#wake()
  }

  /** Ends a request of the host that has no outcome yet; its outcome is of kind `aborted`. */
  cancelHostStream (token: unknown): void {
    this.#outbound.cancel(requester => requester.type === 'host' && requester.token === token)
    this.#wake()
  }

  /** Takes a stream out of what holds the connection open; idempotent. */
  ignoreForKeepAlive (port: StreamPort<Stream>): void {
    this.#counted.ignore(port)
    this.#wake()
  }

  /** Closes gracefully, after the behaviour events that are queued already (S6.6). */
  close (): void {
    this.#inbox.push({ type: 'close' })
    this.#wake()
  }

  /** Closes at once, without flushing (S6.7). */
  abort (error: Error): void {
    this.#abrupt ??= { reason: 'aborted', error }
    this.#wake()
  }

  // ---------------------------------------------------------------------------------------------------- output

  /**
   * The next thing for the owner to act on, or PENDING.
   *
   * @param now - never earlier than at the last call
   * @throws InvalidStateError when called from inside a poll of this connection
   */
  poll (now: Instant): Poll<ConnectionOutput<Stream, ToBehaviour>> {
    this.#refuseWhilePolling()
    this.#outlet.now = now
    this.#isPolling = true
    this.#isInTurn = true
    try {
      const output = this.#drain()
      if (output === PENDING) {
        this.#endTurn()
      }
      return output
    } finally {
      this.#isPolling = false
    }
  }

  /** The next thing for whoever watches, or PENDING. A reader that never reads loses the newest beyond 1024. */
  pollReport (): Poll<ConnectionReport> {
    return this.#outlet.reports.shift() ?? PENDING
  }

  /** When to poll again if nothing happens before; `Infinity` for never. */
  pollTimeout (): Instant {
    switch (this.#status.phase) {
      case 'open': {
        const idleUntil = this.#status.activity === 'idle' ? this.#status.until : NEVER
        return earliest(earliest(this.#nextDeadline, this.#root.wakeInstant), idleUntil)
      }
      case 'closing':
        return earliest(this.#closing?.deadline ?? NEVER, this.#root.wakeInstant)
      case 'closed':
        return NEVER
    }
  }

  // ---------------------------------------------------------------------------------------------------- the loop

  #drain (): Poll<ConnectionOutput<Stream, ToBehaviour>> {
    for (;;) {
      const output = this.#outlet.outputs.shift()
      if (output !== undefined) {
        return output
      }
      if (this.#status.phase !== 'open') {
        if (this.#advanceClosing()) continue
        return PENDING
      }
      if (this.#endAbruptly()) continue
      if (this.#serveInbox()) continue // 1
      if (this.#expire()) continue // 2
      if (this.#pollHandler()) continue // 3
      if (this.#sets.diff()) continue // 4
      if (this.#outbound.advance()) continue // 5
      if (this.#inbound.advance()) continue // 6
      if (this.#readMuxer()) continue // 7
      if (this.#outbound.openNext()) continue // 8
      if (this.#inbound.acceptNext()) continue // 9
      if (this.#outlet.fatal === undefined && this.#checkActivity()) continue // 10
      if (this.#outlet.fatal === undefined) return PENDING // 11
    }
  }

  #serveInbox (): boolean {
    const command = this.#inbox.shift()
    if (command === undefined) {
      return false
    }
    if (command.type === 'close') {
      this.#beginClosing('local-close', undefined)
    } else {
      this.#inboxEvents--
      this.#root.onBehaviourEvent(command.event)
    }
    return true
  }

  #expire (): boolean {
    const { now } = this.#outlet
    if (now < this.#nextDeadline && now < this.#root.wakeInstant) {
      return false
    }
    if (this.#root.wakeInstant <= now) {
      this.#root.wakeInstant = NEVER
      this.#root.isWoken = true
    }
    this.#outbound.expire(now)
    this.#inbound.expire(now)
    for (const port of this.#counted.expire(now)) {
      port.reset(new ConnectionClosedError('The peer did not end the stream in time after it was closed'))
    }
    this.#nextDeadline = earliest(this.#outbound.nextDeadline(), earliest(this.#inbound.nextDeadline(), this.#counted.nextDeadline()))
    return true
  }

  #pollHandler (): boolean {
    if (!this.#root.isWoken) {
      return false
    }
    if (this.#handlerOutputs >= this.#config.maxHandlerEventsPerTurn) {
      this.#needsTurn = true
      return false
    }
    const output = this.#root.poll(this.#outlet.now)
    if (output === PENDING) {
      return false
    }
    this.#handlerOutputs++
    this.#take(output)
    return true
  }

  #take (output: HandlerOutput<ToBehaviour, unknown, unknown>): void {
    switch (output.type) {
      case 'notify-behaviour':
        this.#outlet.outputs.push({ type: 'handler-event', event: output.event })
        return
      case 'outbound-stream-request':
        this.#outbound.request(output)
        return
      case 'cancel-outbound-request': {
        const hop = hopOf(output)
        this.#outbound.cancel(requester => requester.type === 'handler' && requester.hop === hop && requester.token === output.token)
        return
      }
      case 'report-remote-protocols':
        this.#sets.report(hopOf(output) ?? this.#root, output.change, output.protocols)
    }
  }

  #readMuxer (): boolean {
    const report = this.#hostReports.shift()
    if (report !== undefined) {
      this.#sets.report(HOST_SOURCE, report.change, report.protocols)
      return true
    }
    if (this.#newAddress === undefined) {
      return false
    }
    const { address } = this.#newAddress
    this.#newAddress = undefined
    this.#outlet.task(this.#root.onConnectionEvent({ type: 'address-change', address }), undefined)
    this.#outlet.reports.push({ type: 'address-change', address })
    return true
  }

  #checkActivity (): boolean {
    if (this.#status.phase !== 'open') {
      return false
    }
    const next = nextActivity(this.#status, this.#isBusy(), this.#outlet.now, this.#config.idleTimeoutMs)
    if (next === 'close') {
      this.#beginClosing('keep-alive-timeout', undefined)
      return true
    }
    if (next !== this.#status && next.activity === 'idle') {
      this.#outlet.reports.push({ type: 'connection-idle', until: next.until })
    }
    this.#status = next
    return false
  }

  #isBusy (): boolean {
    return this.#counted.size > 0 || this.#root.isKeepAlive || this.#isPeerKept || this.#inbound.isBusy || this.#outbound.isBusy
  }

  // ---------------------------------------------------------------------------------------------------- the end

  #endAbruptly (): boolean {
    const { fatal } = this.#outlet
    if (this.#abrupt !== undefined) {
      this.#beginClosing(this.#abrupt.reason, this.#abrupt.error)
    } else if (fatal !== undefined) {
      this.#beginClosing('handler-error', fatal.cause)
    }
    return this.#status.phase !== 'open'
  }

  /** S6.6 (a) and (b); what follows is the affair of {@link Closing}. */
  #beginClosing (reason: CloseReason, cause: unknown): void {
    this.#status = { phase: 'closing', reason, cause }
    this.#inbound.endAll()
    this.#outbound.endAll()
    this.#undelivered = Object.freeze([...this.#inbox].flatMap(command => command.type === 'event' ? [command.event] : []))
    this.#inbox.clear()
    this.#nextDeadline = NEVER
    const parts = { outlet: this.#outlet, root: this.#root, muxer: this.#muxer, config: this.#config }
    const deadline = addDuration(this.#outlet.now, this.#config.closeTimeoutMs)
    this.#closing = new Closing(parts, deadline, isAbrupt(reason) ? asError(cause) : undefined)
  }

  #advanceClosing (): boolean {
    const { status: { phase }, closing } = { status: this.#status, closing: this.#closing }
    if (phase === 'closed' || closing === undefined) {
      return false
    }
    if (this.#abrupt !== undefined) {
      closing.abort(this.#abrupt.error)
    }
    if (this.#root.wakeInstant <= this.#outlet.now) {
      this.#root.wakeInstant = NEVER
      this.#root.isWoken = true
    }
    if (closing.advance()) {
      return true
    }
    if (closing.isDone) {
      this.#end()
      return true
    }
    return false
  }

  #end (): void {
    if (this.#status.phase !== 'closing') {
      return
    }
    const { reason, cause } = this.#status
    this.#status = { phase: 'closed', reason, cause }
    this.#counted.clear()
    this.#root.release()
    this.#hostList?.detach(this.#hostWaker)
    this.#outlet.outputs.push({ type: 'closed', reason, cause, undelivered: this.#undelivered })
  }

  // ---------------------------------------------------------------------------------------------------- wakes

  /** Every input comes through here; one from inside a poll is a mistake of the driver (S1.3). */
  #input (now: Instant = this.#outlet.now): void {
    this.#refuseWhilePolling()
    this.#outlet.now = now
    this.#wake()
  }

  #refuseWhilePolling (): void {
    if (this.#isPolling) {
      throw new InvalidStateError('Cannot call this from inside a poll of the connection: queue it until the drain is over')
    }
  }

  /** In a turn there is nothing to ask for: the loop comes by again before it is over. */
  #wake (): void {
    if (!this.#isInTurn && !this.#isWakeAsked) {
      this.#isWakeAsked = true
      this.#wakeOwner()
    }
  }

  #rootWoke (isOwn: boolean): void {
    if (isOwn) {
      this.#needsTurn = true
    } else {
      this.#wake()
    }
  }

  #rootFailed (fault: HandlerFault): void {
    this.#outlet.handlerError(fault)
    this.#outlet.fatal ??= fault
    this.#wake()
  }

  #endTurn (): void {
    this.#isInTurn = false
    this.#isWakeAsked = false
    this.#handlerOutputs = 0
    if (this.#needsTurn) {
      this.#needsTurn = false
      this.#root.isWoken = true
      this.#wake()
    }
  }

  #negotiating (port: StreamPort<Stream>): ReturnType<InboundStreams<Stream, FromBehaviour, ToBehaviour>['get']> | ReturnType<OutboundStreams<Stream, FromBehaviour, ToBehaviour>['get']> {
    return this.#outbound.get(port) ?? this.#inbound.get(port)
  }

  #streamEnded (port: StreamPort<Stream>, error: Error | undefined): void {
    this.#counted.remove(port)
    const stream = this.#negotiating(port)
    if (stream === undefined) {
      this.#inbound.ended(port)
      return
    }
    stream.hasEnded = true
    stream.cause = error
    stream.machine.handleReset()
    stream.wake()
  }
}
