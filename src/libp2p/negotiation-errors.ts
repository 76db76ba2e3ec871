import { abortOf, errorOf, timeoutOf } from '../connection/stream-failure.ts'
import { isError } from '../core/to-error.ts'
import type { Disagreement, StreamError } from '../connection/stream-failure.ts'
import type { ConnectionId, Direction } from '../core/ids.ts'
import type { FailedOutcome, StreamFailure, StreamPhase } from '../errors.ts'

/** What the host calls an outcome, where it has a word of its own (S2.39). */
const HOST_NAMES: Partial<Record<FailedOutcome, string>> = {
  failed: 'UnsupportedProtocolError',
  invalid: 'InvalidMessageError',
  'too-long': 'InvalidDataLengthError'
}

/**
 * What `select` and `handle` reject with. `name` is the host's, so that callers of `@libp2p/multistream-select` find what
 * they look for:
 *
 * | `outcome`   | `name`                     | what to do                                              |
 * |-------------|----------------------------|---------------------------------------------------------|
 * | `failed`    | `UnsupportedProtocolError` | offer another protocol, or none                         |
 * | `invalid`   | `InvalidMessageError`      | the peer broke the protocol: consider another           |
 * | `too-long`  | `InvalidDataLengthError`   | the same                                                |
 * | `eof`       | `UnexpectedEOFError`       | may be repeated                                         |
 * | `reset`     | `StreamResetError`         | may be repeated; `cause.cause` is what the stream said  |
 * | `timeout`   | `TimeoutError`             | the signal was one of a deadline: give more time        |
 * | `aborted`   | `AbortError`               | nothing: `cause.cause` is the reason of the signal      |
 *
 * `cause` is the same failure by our own name.
 */
export class MultistreamSelectError extends Error implements StreamFailure {
  override readonly name: string
  readonly outcome: FailedOutcome
  readonly phase: StreamPhase
  readonly tried: readonly string[]
  readonly direction: Direction
  readonly peer: unknown
  readonly connectionId: ConnectionId
  readonly elapsedMs: number

  constructor (error: StreamError) {
    super(error.message, { cause: error })
    this.name = HOST_NAMES[error.outcome] ?? error.name
    this.outcome = error.outcome
    this.phase = error.phase
    this.tried = error.tried
    this.direction = error.direction
    this.peer = error.peer
    this.connectionId = error.connectionId
    this.elapsedMs = error.elapsedMs
  }
}

/** The error for a negotiation that ended without an agreement. */
export function negotiationError (outcome: Disagreement, failure: StreamFailure, cause: unknown): MultistreamSelectError {
  return new MultistreamSelectError(errorOf(outcome, failure, cause))
}

/** The error for a signal that aborted: a deadline of the caller, or the caller's wish. */
export function cancellationError (reason: unknown, failure: StreamFailure): MultistreamSelectError {
  const isTimeout = isError(reason) && reason.name === 'TimeoutError'
  return new MultistreamSelectError(isTimeout ? timeoutOf(failure) : abortOf('Cancelled', failure, reason))
}
