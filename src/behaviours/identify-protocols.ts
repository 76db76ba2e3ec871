/** What the swarm knows of the identify behaviour, apart from the behaviour itself and all that it needs. */

import type { IdentifyResult } from '@libp2p/interface'

/** The name under which a node is asked. */
export const IDENTIFY_PROTOCOL = '/ipfs/id/1.0.0'

/** The name under which a node tells of changes. */
export const IDENTIFY_PUSH_PROTOCOL = '/ipfs/id/push/1.0.0'

/** Both names. */
export const IDENTIFY_PROTOCOLS: readonly string[] = Object.freeze([IDENTIFY_PROTOCOL, IDENTIFY_PUSH_PROTOCOL])

const reported = new WeakSet<IdentifyResult>()

/** The handler of the connection has reported the protocols of `result` itself. */
export function markReported (result: IdentifyResult): IdentifyResult {
  reported.add(result)
  return result
}

/** Whether the protocols of `result`, the detail of a `peer:identify`, were reported by a handler of ours. */
export function isReported (result: IdentifyResult): boolean {
  return reported.has(result)
}
