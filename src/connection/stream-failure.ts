/** From outcomes of negotiations to the errors that requesters and logs get (S2.35, S2.36). */

import { isError } from '../core/to-error.ts'
import {
  AbortError, NegotiationError, RemoteProtocolError, StreamResetError, StreamUpgradeError, TimeoutError, UnexpectedEOFError,
  describeFailure
} from '../errors.ts'
import type { StreamFailure, StreamUpgradeErrorKind } from '../errors.ts'
import type { NegotiationOutcome } from '../negotiation/outcome.ts'

/** A negotiation that did not end in an agreement. */
export type Disagreement = Exclude<NegotiationOutcome<unknown>, { type: 'ok' }>

/** What a stream failed with. */
export type StreamError =
  NegotiationError | RemoteProtocolError | UnexpectedEOFError | StreamResetError | TimeoutError | AbortError

/** Why a stream of a part is given up that has left its composition. */
export const HANDLER_LEFT = 'The handler was removed'

const DETAILS = {
  refused: 'the peer has none of them',
  rounds: 'too many proposals',
  'early-data': 'the peer sent data instead of a proposal after its protocol was refused',
  fin: 'the peer ended the stream',
  'not-offered': 'the host agreed on a name that this connection does not offer'
} as const

/** The error of `outcome`. */
export function errorOf (outcome: Disagreement, failure: StreamFailure, cause?: unknown): StreamError {
  const options = cause === undefined ? undefined : { cause }
  switch (outcome.type) {
    case 'failed':
      return new NegotiationError(`No protocol agreed: ${DETAILS[outcome.detail]} (${describeFailure(failure)})`, failure, options)
    case 'invalid':
    case 'too-long':
      return new RemoteProtocolError(`Protocol broken by the peer: ${outcome.detail} (${describeFailure(failure)})`, outcome.type, failure, options)
    case 'eof':
      return new UnexpectedEOFError(`The stream ended inside a message (${describeFailure(failure)})`, failure, options)
    case 'reset':
      return new StreamResetError(`The stream was reset (${describeFailure(failure)})`, failure, options)
  }
}

/** The error of a stream whose deadline passed. */
export function timeoutOf (failure: StreamFailure): TimeoutError {
  return new TimeoutError(`Timed out after ${Math.round(failure.elapsedMs)} ms (${describeFailure(failure)})`, failure)
}

/** The error of a stream that this side gave up. */
export function abortOf (reason: string, failure: StreamFailure, cause?: unknown): AbortError {
  return new AbortError(`${reason} (${describeFailure(failure)})`, failure, cause === undefined ? undefined : { cause })
}

/** Which kind of failed request an error makes. */
export function kindOf (error: StreamError): StreamUpgradeErrorKind {
  switch (error.name) {
    case 'NegotiationError':
      return 'negotiation-failed'
    case 'TimeoutError':
      return 'timeout'
    case 'AbortError':
      return 'aborted'
    case 'RemoteProtocolError':
    case 'UnexpectedEOFError':
    case 'StreamResetError':
      return 'io'
  }
}

/** The one error that a requester gets. */
export function upgradeError (kind: StreamUpgradeErrorKind, failure: StreamFailure, cause: unknown): StreamUpgradeError {
  const reason = isError(cause) ? cause.message : `${kind} (${describeFailure(failure)})`
  return new StreamUpgradeError(`Cannot open stream: ${reason}`, kind, failure, { cause })
}
