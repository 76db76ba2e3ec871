/** What polling a connection gives: outputs for its owner, and reports for whoever watches (S5.13). */

import type { CloseReason } from '../core/close-reason.ts'
import type { FailedOutcome, StreamPhase, StreamUpgradeError } from '../errors.ts'
import type { Instant } from '../core/instant.ts'
import type { StreamPort } from './muxer-port.ts'

/** The handler tells its behaviour something. */
export interface HandlerEventOutput<ToBehaviour> {
  readonly type: 'handler-event'
  readonly event: ToBehaviour
}

/** What became of a message: the handler took it, if it came with a token, or does not take any (S7.11). */
export interface HandlerNotifiedOutput {
  readonly type: 'handler-notified'
  readonly token: unknown
  readonly event: unknown
  /** False: the handler is switched off, or was removed from its composition. */
  readonly delivered: boolean
}

/** An inbound stream was agreed on a protocol of the host, which is to be given it. */
export interface HostStreamOutput<Stream> {
  readonly type: 'host-stream'
  readonly port: StreamPort<Stream>
  readonly protocol: string
}

/** A stream that the host asked for was negotiated. */
export interface HostStreamOpened<Stream> {
  readonly type: 'host-stream-opened'
  readonly token: unknown
  readonly port: StreamPort<Stream>
  readonly protocol: string
}

/** A stream that the host asked for could not be had. */
export interface HostStreamFailed {
  readonly type: 'host-stream-failed'
  readonly token: unknown
  readonly error: StreamUpgradeError
}

/** A handler answered an event with a thenable: whoever owns promises tells `handleTaskFailure` if it rejects (S4.15). */
export interface HandlerTask<Stream> {
  readonly type: 'handler-task'
  readonly promise: PromiseLike<void>
  /** The stream that the event was about; undefined for events about no stream. */
  readonly port: StreamPort<Stream> | undefined
}

/** The end: exactly once, and the last output. */
export interface ClosedOutput {
  readonly type: 'closed'
  readonly reason: CloseReason
  /** What went wrong, if the reason is an error. */
  readonly cause: unknown
  /** Behaviour events that the handler never got, oldest first (S6.9). */
  readonly undelivered: readonly unknown[]
}

/** What `poll` of a connection gives. */
export type ConnectionOutput<Stream, ToBehaviour> =
  | HandlerEventOutput<ToBehaviour>
  | HandlerNotifiedOutput
  | HostStreamOutput<Stream>
  | HostStreamOpened<Stream>
  | HostStreamFailed
  | HandlerTask<Stream>
  | ClosedOutput

/** A protocol set of this connection changed; both arrays are frozen, disjoint, and not both empty. */
export interface ProtocolsReport {
  readonly type: 'protocols-change'
  readonly side: 'local' | 'remote'
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

/** User code threw; see S4.15 for what follows from it. */
export interface HandlerErrorReport {
  readonly type: 'handler-error'
  /** Keys of the part, joined with dots; empty for a handler that is no composition. */
  readonly handler: string
  readonly method: string
  readonly cause: unknown
}

/**
 * A stream that the peer opened came to nothing before a handler or the host was given it (S8.9). The first failure is
 * reported at once, the later ones at most once a second: each report is of the last failure, and counts those before it.
 */
export interface InboundFailureReport {
  readonly type: 'inbound-failure'
  /** How far the stream had come: `queue` while it waited for a slot. */
  readonly phase: StreamPhase
  readonly outcome: Exclude<FailedOutcome, 'aborted'>
  /** The name that the peer proposed last, escaped and cut; undefined when it proposed none. */
  readonly proposed: string | undefined
  /** Milliseconds from the arrival of the stream. */
  readonly elapsedMs: number
  /** Failures since the last report that have none of their own. */
  readonly suppressed: number
  /** Whether no conforming peer does this: the outcome is `invalid` or `too-long`. */
  readonly violation: boolean
}

/** What `pollReport` of a connection gives. */
export type ConnectionReport =
  | ProtocolsReport
  | HandlerErrorReport
  | InboundFailureReport
  /** Nothing holds the connection open any more; it closes at `until`, `Infinity` for never. */
  | { readonly type: 'connection-idle', readonly until: Instant }
  /** A source reported more of the peer's names than is kept. */
  | { readonly type: 'protocols-truncated', readonly source: 'host' | 'handler', readonly kept: number, readonly dropped: number }
  /**
   * A limit was met `count` times since the last report of it. `maxReports` is no option: so many reports were dropped because
   * 1024 waited to be read.
   */
  | { readonly type: 'limit-reached', readonly option: string, readonly limit: number, readonly count: number }
  | { readonly type: 'address-change', readonly address: unknown }
  /** A listed name is not offered (invalid) or belongs to an earlier part (shadowed); once per name. */
  | { readonly type: 'protocol-warning', readonly protocol: string, readonly reason: 'invalid' | 'shadowed', readonly rule: string | undefined }

/** What the owner wants reported; it may change the fields at any time. Copies for reports are made only on demand. */
export interface ReportInterest {
  protocolChanges: boolean
}
