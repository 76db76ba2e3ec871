import type { PeerId } from '@libp2p/interface'
import type { ConnectionId } from '../core/ids.ts'

/** A protocol set of one connection, or of a peer, changed (S8.6). Frozen, as are its arrays, which are disjoint and not both empty. */
export interface PeerProtocolsChange {
  readonly type: 'protocols-change'
  /** `local`: what this node accepts on the connection; `remote`: what the peer speaks on it. */
  readonly side: 'local' | 'remote'
  readonly peer: PeerId
  /** Where it happened; with scope `peer` the connection that brought, or took, the last of a name. */
  readonly connection: ConnectionId
  readonly added: readonly string[]
  readonly removed: readonly string[]
}
