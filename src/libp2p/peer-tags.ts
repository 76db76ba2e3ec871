import { KEEP_ALIVE } from '@libp2p/interface'
import type { Peer, PeerId, PeerStore } from '@libp2p/interface'

/** A connection that the host may want kept (S6.2). */
export interface KeepableConnection {
  readonly peer: PeerId
  /** Whether its peer bears a keep-alive tag. */
  peerTag (isKept: boolean): void
}

/** Looks the tags of a new connection's peer up. A peer that the store does not know bears none. */
export async function readPeerTags (connection: KeepableConnection, peerStore: PeerStore): Promise<void> {
  try {
    followPeerTags([connection], await peerStore.get(connection.peer))
  } catch {
    connection.peerTag(false)
  }
}

/** The record of a peer changed: tells its connections. */
export function followPeerTags (connections: Iterable<KeepableConnection>, peer: Peer): void {
  const isKept = [...peer.tags.keys()].some((tag) => tag.startsWith(KEEP_ALIVE))
  for (const connection of connections) {
    if (connection.peer.equals(peer.id)) {
      connection.peerTag(isKept)
    }
  }
}
