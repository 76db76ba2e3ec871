import { StreamResetError, describeFailure } from '../errors.ts'
import type { StreamFailure } from '../errors.ts'

/** Whether `error` is what the stream of the host rejects with after a reset: it bears the name of ours, and says nothing else. */
export function isBareReset (error: Error): boolean {
  return error.name === 'StreamResetError' && !('phase' in error)
}

/** What a request ends with when its stream was reset under way. */
export function peerResetError (failure: StreamFailure, cause: Error): StreamResetError {
  const text = `Cannot request: the peer reset the stream (${describeFailure(failure)}): it refused, failed to serve it, or the path broke`
  return new StreamResetError(text, failure, { cause })
}
