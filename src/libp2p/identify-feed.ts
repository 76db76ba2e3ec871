import { isReported } from '../behaviours/identify-protocols.ts'
import type { Connection as HostConnection, IdentifyResult } from '@libp2p/interface'

/** Who takes what identify learnt: the driver of the connection that it came over. */
export interface IdentifyReceiver {
  /** All protocols of the peer, each once. */
  remoteReport (protocols: readonly string[]): void
}

/**
 * Feeds one result of identify, or one push, to the very connection that it came over (S3.20). The list is whole, so what
 * it lacks is gone; one message may hold a name twice. What a handler of ours heard it has reported itself.
 *
 * @param result - the detail of `peer:identify`
 * @param find - the receiver for a connection, if the swarm has it
 */
export function feedIdentify (result: IdentifyResult, find: (connection: HostConnection) => IdentifyReceiver | undefined): void {
  if (!isReported(result)) {
    find(result.connection)?.remoteReport([...new Set(result.protocols)])
  }
}
