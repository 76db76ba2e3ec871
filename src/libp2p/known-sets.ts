import type { PeerId } from '@libp2p/interface'
import type { ConnectionId } from '../core/ids.ts'
import type { PeerProtocolsChange } from './peer-protocols-change.ts'

/** A side of a connection. */
export type Side = PeerProtocolsChange['side']

/** One connection and its protocol sets, as of now. */
export interface KnownConnection {
  readonly id: ConnectionId
  readonly peer: PeerId
  readonly localProtocols: { toArray (): readonly string[] }
  readonly remoteProtocols: { toArray (): readonly string[] }
}

/** What a change means to those who know the sets as they were before it. */
export interface KnownChange {
  /** What is new on the connection: a change of which subscribers were told as of the present state says nothing twice. */
  readonly fresh: PeerProtocolsChange | undefined
  /** What is new for the peer: the union over its connections. */
  readonly union: PeerProtocolsChange | undefined
}

const SIDES: readonly Side[] = ['local', 'remote']

/** How many connections of a peer have each name. */
type Counts = Map<string, number>

interface Known {
  readonly peer: PeerId
  readonly names: Readonly<Record<Side, Set<string>>>
}

interface Union {
  readonly connections: Set<ConnectionId>
  readonly counts: Readonly<Record<Side, Counts>>
}

/**
 * The protocol sets of connections as subscribers know them, and their union per peer (S8.7). Changes are reported after the
 * sets have changed, so that what is read from a connection may be ahead of what was told; this is what was told. It costs
 * memory for each name of each connection, and is made only while somebody needs it.
 */
export class KnownSets {
  readonly #connections = new Map<ConnectionId, Known>()
  readonly #unions = new Map<string, Union>()

  /**
   * @param connections - the open ones, oldest first
   */
  constructor (connections: Iterable<KnownConnection>) {
    for (const { id, peer, localProtocols, remoteProtocols } of connections) {
      this.apply(changeOf('local', peer, id, localProtocols.toArray(), []))
      this.apply(changeOf('remote', peer, id, remoteProtocols.toArray(), []))
    }
  }

  /** Takes a change in. */
  apply (change: PeerProtocolsChange): KnownChange {
    const { side, peer, connection } = change
    const names = this.#knownOf(connection, peer).names[side]
    const counts = this.#unionOf(connection, peer).counts[side]
    const added = change.added.filter((name) => !names.has(name))
    const removed = change.removed.filter((name) => names.delete(name))
    for (const name of added) {
      names.add(name)
    }
    return {
      fresh: cut(change, added, removed),
      union: cut(change, added.filter((name) => count(counts, name, 1) === 1), removed.filter((name) => count(counts, name, -1) === 0))
    }
  }

  /** A connection has ended: what its peer lost by that, for each side that lost anything. */
  ended (connection: ConnectionId): PeerProtocolsChange[] {
    const known = this.#connections.get(connection)
    if (known === undefined) {
      return []
    }
    const { peer, names } = known
    const losses = SIDES.flatMap((side) => this.apply(changeOf(side, peer, connection, [], [...names[side]])).union ?? [])
    this.#connections.delete(connection)
    const { connections } = this.#unionOf(connection, peer)
    connections.delete(connection)
    if (connections.size === 0) {
      this.#unions.delete(peer.toString())
    }
    return losses
  }

  /** The sets of each connection, oldest first, as changes from nothing. */
  ofConnections (): PeerProtocolsChange[] {
    return [...this.#connections].flatMap(([connection, { peer, names }]) =>
      SIDES.flatMap((side) => names[side].size === 0 ? [] : changeOf(side, peer, connection, [...names[side]], [])))
  }

  /** The union of each peer, as changes from nothing on its oldest connection. */
  ofPeers (): PeerProtocolsChange[] {
    return [...this.#unions.values()].flatMap(({ connections: [connection = ''], counts }) => {
      const peer = this.#connections.get(connection)?.peer
      return peer === undefined ? [] : SIDES.flatMap((side) => counts[side].size === 0 ? [] : changeOf(side, peer, connection, [...counts[side].keys()], []))
    })
  }

  #knownOf (connection: ConnectionId, peer: PeerId): Known {
    const known = this.#connections.get(connection) ?? { peer, names: { local: new Set<string>(), remote: new Set<string>() } }
    this.#connections.set(connection, known)
    return known
  }

  #unionOf (connection: ConnectionId, peer: PeerId): Union {
    const key = peer.toString()
    const union = this.#unions.get(key) ?? { connections: new Set<ConnectionId>(), counts: { local: new Map(), remote: new Map() } }
    this.#unions.set(key, union)
    union.connections.add(connection)
    return union
  }
}

function count (counts: Counts, name: string, step: 1 | -1): number {
  const left = (counts.get(name) ?? 0) + step
  if (left === 0) {
    counts.delete(name)
  } else {
    counts.set(name, left)
  }
  return left
}

/** What is left of `change`; the same object if that is all of it. */
function cut (change: PeerProtocolsChange, added: readonly string[], removed: readonly string[]): PeerProtocolsChange | undefined {
  if (added.length + removed.length === 0) {
    return undefined
  }
  return added.length === change.added.length && removed.length === change.removed.length
    ? change
    : changeOf(change.side, change.peer, change.connection, added, removed)
}

function changeOf (side: Side, peer: PeerId, connection: ConnectionId, added: readonly string[], removed: readonly string[]): PeerProtocolsChange {
  return Object.freeze({ type: 'protocols-change', side, peer, connection, added: Object.freeze(added), removed: Object.freeze(removed) })
}
