import { NEVER, addDuration, earliest } from '../core/instant.ts'
import { ConnectionClosedError } from '../errors.ts'
import { Closing } from './closing.ts'
import { BUSY, nextActivity } from './shutdown.ts'
import type { CloseReason } from '../core/close-reason.ts'
import type { Instant } from '../core/instant.ts'
import type { ConnectionConfig } from './connection-config.ts'
import type { ConnectionStreams } from './connection-streams.ts'
import type { Inbox } from './inbox.ts'
import type { MuxerPort } from './muxer-port.ts'
import type { Outlet } from './outlet.ts'
import type { RootHandler } from './root-handler.ts'
import type { Activity, ConnectionStatus } from './shutdown.ts'

/** What begins and ends with a connection. */
export interface LifecycleParts<Stream, FromBehaviour, ToBehaviour> {
  readonly outlet: Outlet<Stream, ToBehaviour>
  readonly root: RootHandler<FromBehaviour, ToBehaviour>
  readonly streams: ConnectionStreams<Stream, FromBehaviour, ToBehaviour>
  readonly inbox: Inbox<FromBehaviour>
  readonly muxer: MuxerPort<unknown>
  readonly config: ConnectionConfig
}

/** The phases of a connection and how it gets from one to the next (S6.4); see `shutdown.ts` for the diagram. */
export class Lifecycle<Stream, FromBehaviour, ToBehaviour> {
  /** Before that, a poll that nobody asked for has nothing to do here; while it closes, it may have at any time. */
  restsUntil: Instant = NEVER
  readonly #parts: LifecycleParts<Stream, FromBehaviour, ToBehaviour>
  #status: ConnectionStatus = BUSY
  /** The idle time so far, which a negotiation may interrupt; it goes on unless something comes of that. */
  #interrupted: Activity | undefined
  #closing: Closing<Stream, FromBehaviour, ToBehaviour> | undefined
  #undelivered: readonly FromBehaviour[] | undefined

  constructor (parts: LifecycleParts<Stream, FromBehaviour, ToBehaviour>) {
    this.#parts = parts
  }

  /** Busy, idle until an instant, closing or closed. */
  get status (): ConnectionStatus {
    return this.#status
  }

  /** Whether streams, requests and messages are taken. */
  get isOpen (): boolean {
    return this.#status.phase === 'open'
  }

  /** Whether it is open, and was busy when that was looked at last. */
  get isBusy (): boolean {
    return this.#status === BUSY
  }

  /** When something happens by itself. */
  get deadline (): Instant {
    const { root, streams } = this.#parts
    switch (this.#status.phase) {
      case 'open': {
        const idleUntil = this.#status.activity === 'idle' ? this.#status.until : NEVER
        return earliest(idleUntil, earliest(streams.nextDeadline, root.wakeInstant))
      }
      case 'closing':
        return earliest(this.#closing?.deadline ?? NEVER, root.wakeInstant)
      case 'closed':
        return NEVER
    }
  }

  /** The remote ended the muxer. */
  muxerEnded (): void {
    const error = new ConnectionClosedError('The remote ended the connection')
    if (this.#closing === undefined) {
      this.#parts.outlet.abrupt ??= { reason: 'remote-close', error }
    } else {
      this.#closing.muxerEnded(error)
    }
  }

  /** The muxer is gone. */
  muxerClosed (): void {
    if (this.#closing === undefined) {
      this.muxerEnded()
    } else {
      this.#closing.muxerClosed()
    }
  }

  /** Begins the end that something in the last step, or since the last turn, made necessary. */
  endIfDue (): boolean {
    const { abrupt, fatal } = this.#parts.outlet
    if (abrupt !== undefined) {
      this.begin(abrupt.reason, abrupt.error)
    } else if (fatal !== undefined) {
      this.begin('handler-error', fatal.cause)
    }
    return !this.isOpen
  }

  /**
   * Step 10: follows whether anything holds the connection open.
   *
   * @param isKept - somebody wants it open
   * @param isWaiting - what the handler wants is not known yet: not the end, and no use of the connection either
   */
  checkActivity (isKept: boolean, isWaiting: boolean): boolean {
    const { outlet, streams, config } = this.#parts
    if (outlet.abrupt !== undefined || outlet.fatal !== undefined || this.#status.phase !== 'open') {
      return true
    }
    const isHeld = streams.counted.takeHeld() || isKept
    const before = isHeld ? BUSY : this.#interrupted ?? this.#status
    const next = nextActivity(before, isKept || isWaiting || streams.isBusy, outlet.now, config.idleTimeoutMs)
    if (next === 'close') {
      this.begin('keep-alive-timeout', undefined)
      return true
    }
    if (next !== before && next.activity === 'idle') {
      outlet.report({ type: 'connection-idle', until: next.until })
      outlet.outputs.trim()
    }
    this.#interrupted = before.activity === 'idle' ? before : undefined
    this.#status = next
    this.restsUntil = next.activity === 'idle' ? next.until : NEVER
    return false
  }

  /** S6.6 (a) and (b); what follows is the affair of {@link Closing}. */
  begin (reason: CloseReason, cause: unknown): void {
    const { outlet, root, streams, inbox, muxer, config } = this.#parts
    this.#status = { phase: 'closing', reason, cause }
    this.restsUntil = -Infinity
    streams.endAll()
    inbox.reportRefused(outlet)
    this.#undelivered = inbox.takeEvents()
    const deadline = addDuration(outlet.now, config.closeTimeoutMs)
    this.#closing = new Closing({ outlet, root, outbound: streams.outbound, muxer, config }, deadline)
  }

  /** While it closes: goes on by one value or one step; false when it waits. */
  advance (): boolean {
    const closing = this.#closing
    if (this.#status.phase !== 'closing' || closing === undefined) {
      return false
    }
    const { outlet, streams } = this.#parts
    if (outlet.abrupt !== undefined) {
      closing.abort(outlet.abrupt.error)
    }
    if (closing.advance()) {
      return true
    }
    if (!closing.isDone) {
      return false
    }
    const { reason, cause } = this.#status
    this.#status = { phase: 'closed', reason, cause }
    streams.forget()
    outlet.flushLimits()
    outlet.outputs.push({ type: 'closed', reason, cause, undelivered: this.#undelivered ?? [] })
    return true
  }
}
