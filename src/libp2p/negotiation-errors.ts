import { abortOf, errorOf, kindOf, timeoutOf, upgradeError } from '../connection/stream-failure.ts'
import { toHostError } from './host-errors.ts'
import type { Disagreement, StreamError } from '../connection/stream-failure.ts'
import type { StreamFailure } from '../errors.ts'

/** The error that `select` and `handle` give for `outcome`: by the host's name, with our own, which says more, as its cause. */
export function negotiationError (outcome: Disagreement, failure: StreamFailure, cause: unknown): Error {
  return named(errorOf(outcome, failure, cause), failure)
}

/** The error for a signal that aborted: a deadline of the caller, or the caller's wish. */
export function cancellationError (reason: unknown, failure: StreamFailure): Error {
  const isTimeout = reason instanceof Error && reason.name === 'TimeoutError'
  return named(isTimeout ? timeoutOf(failure) : abortOf('Cancelled', failure, reason), failure)
}

function named (error: StreamError, failure: StreamFailure): Error {
  return Object.assign(toHostError(upgradeError(kindOf(error), failure, error)), failure, { outcome: error.outcome, message: error.message, cause: error })
}
