import type { ConnectionId } from '../core/ids.ts'

let connectionsMade = 0

/** Ids are the swarm's own, as the host has none before its gates; unique in the process, so that logs can be joined. */
export function nextConnectionId (): ConnectionId {
  return `connection-${++connectionsMade}`
}
