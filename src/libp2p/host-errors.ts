import {
  AbortError, ConnectionClosedError, InvalidMessageError, InvalidParametersError, StreamResetError, TimeoutError,
  TooManyOutboundProtocolStreamsError, UnsupportedProtocolError
} from '@libp2p/interface'
import { isError } from '../core/to-error.ts'
import { UnexpectedEOFError } from '../errors.ts'
import type { StreamUpgradeError } from '../errors.ts'

/** A length prefix above the limit, by the name that the host's own negotiation gives it. */
class InvalidDataLengthError extends Error {
  override readonly name = 'InvalidDataLengthError'
}

/**
 * A failed request of a stock service, as the host itself would have failed it: callers tell errors apart by the host's
 * names (S2.39). What the muxer threw goes through as it is; else our own error, which says more, is the `cause`.
 */
export function toHostError (error: StreamUpgradeError): Error {
  return ofMuxer(error) ?? Object.assign(byKind(error), { cause: error })
}

function ofMuxer ({ kind, phase, cause }: StreamUpgradeError): Error | undefined {
  const thrown = kind === 'io' && phase === 'open' && isError(cause) ? cause.cause : undefined
  return isError(thrown) ? thrown : undefined
}

function byKind (error: StreamUpgradeError): Error {
  const { kind, message } = error
  switch (kind) {
    case 'negotiation-failed':
      return new UnsupportedProtocolError(message)
    case 'io':
    case 'apply':
      return byOutcome(error)
    case 'timeout':
      return new TimeoutError(message)
    case 'aborted':
      return new AbortError(message)
    case 'limit':
      return new TooManyOutboundProtocolStreamsError(message)
    case 'invalid-request':
      return new InvalidParametersError(message)
    case 'connection-closed':
      return new ConnectionClosedError(message)
  }
}

function byOutcome ({ cause, message }: StreamUpgradeError): Error {
  const outcome: unknown = typeof cause === 'object' && cause !== null && 'outcome' in cause ? cause.outcome : undefined
  switch (outcome) {
    case 'invalid':
      return new InvalidMessageError(message)
    case 'too-long':
      return new InvalidDataLengthError(message)
    case 'eof':
      return new UnexpectedEOFError(message)
    default:
      return new StreamResetError(message)
  }
}
