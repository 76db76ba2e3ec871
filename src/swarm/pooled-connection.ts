import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { ConnectionOutput, ConnectionReport } from '../connection/connection-output.ts'
import type { ConnectionStatus } from '../connection/shutdown.ts'
import type { ConnectionId } from '../core/ids.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll } from '../core/poll.ts'

/**
 * What the swarm needs of a connection. A `Connection` fits; a driver may put itself in between, for instance to re-arm
 * its timer whenever `poll` gave PENDING.
 */
export interface PooledConnection {
  readonly id: ConnectionId
  readonly status: ConnectionStatus
  /** A message for the handler, with what its receipt is to bear, if one is wanted; false when it cannot take any more. */
  onBehaviourEvent (event: unknown, token: unknown): boolean
  /** Holds the handler's outputs back until `resume` (S8.3); everything else goes on. */
  stall (): void
  /** Goes on; wakes by itself if something was held. */
  resume (): void
  close (): void
  abort (error: Error): void
  poll (now: Instant): Poll<ConnectionOutput<NegotiatedStream, unknown>>
  pollReport (): Poll<ConnectionReport>
}
