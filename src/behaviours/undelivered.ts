import { ConnectionClosedError, StreamUpgradeError } from '../errors.ts'
import type { UndeliveredReason } from '../behaviour/from-swarm.ts'
import type { CallTarget } from './calls.ts'

/** What a call ends with when its handler never heard of it. */
export function undeliveredError (action: string, { peer, connection: connectionId = '' }: CallTarget, reason: UndeliveredReason): Error {
  const failure = { phase: 'queue', tried: [], direction: 'outbound', peer, connectionId, elapsedMs: 0 } as const
  switch (reason) {
    case 'queue-full':
      return new StreamUpgradeError(`${action}: too many messages wait for the handler (maxQueuedBehaviourEvents)`, 'limit', failure)
    case 'disabled':
      return new StreamUpgradeError(`${action}: the behaviour is disabled`, 'aborted', failure)
    case 'closing':
    case 'no-connection':
      return new ConnectionClosedError(`${action}: the connection closes`)
  }
}
