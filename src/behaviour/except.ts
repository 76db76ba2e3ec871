import type { ConnectionId } from '../core/ids.ts'

/** The union of the connections that a message must not go to; the common case, in which one side is empty, allocates nothing. */
export function unionOf (left: ReadonlySet<ConnectionId>, right: ReadonlySet<ConnectionId> | undefined): ReadonlySet<ConnectionId> | undefined {
  if (left.size === 0) {
    return right
  }
  return right === undefined ? left : new Set([...left, ...right])
}
