import { isPending } from '../behaviour/network-behaviour.ts'
import { NotConnectedError } from '../errors.ts'
import { checkPeer } from './call-options.ts'
import type { ConnectionLimits, PeerId } from '@libp2p/interface'
import type { ConnectionClosed, FromSwarm } from '../behaviour/from-swarm.ts'
import type { EstablishedConnection, PendingConnection } from '../behaviour/network-behaviour.ts'
import type { ConnectionId } from '../core/ids.ts'

/** Whether a behaviour should take part in a connection with these limits; a relayed one has some (S7.18). */
export function mayRun (limits: ConnectionLimits | undefined, runOnLimitedConnection: boolean): boolean {
  return limits === undefined || runOnLimitedConnection
}

/** The connections on which a behaviour has a handler, so that a command finds one. */
export class OwnConnections {
  /** Oldest first. */
  readonly #byPeer = new Map<string, Set<ConnectionId>>()
  /** Peers to which there is a connection, with the behaviour or without. */
  readonly #connected = new Set<string>()

  /** The behaviour made a handler for `connection`. */
  add ({ id, peer }: EstablishedConnection): void {
    const key = peer.toString()
    const ids = this.#byPeer.get(key) ?? new Set()
    this.#byPeer.set(key, ids.add(id))
  }

  /** Notes that there is a connection, and forgets one that closed. */
  onSwarmEvent (event: FromSwarm): void {
    if (event.type === 'connection-established') {
      this.#connected.add(event.peer.toString())
    } else if (event.type === 'connection-closed') {
      this.#closed(event.peer.toString(), event)
    }
  }

  /** Takes {@link add} back, for a connection that came to nothing. */
  rollback (attempt: PendingConnection | EstablishedConnection): void {
    if (!isPending(attempt)) {
      this.#forget(attempt.peer.toString(), attempt.id)
    }
  }

  /** The oldest connection to `peer`; undefined: there is none yet, and to dial may help. */
  find (peer: PeerId, action: string): ConnectionId | undefined {
    checkPeer(peer, action)
    return this.#connected.has(peer.toString()) ? this.oldest(peer, action) : undefined
  }

  /**
   * The oldest connection to `peer`.
   *
   * @param action - for the message: `Cannot ping`
   * @throws TypeError when `peer` is no peer id
   * @throws NotConnectedError when there is none
   */
  oldest (peer: PeerId, action: string): ConnectionId {
    checkPeer(peer, action)
    for (const id of this.#byPeer.get(peer.toString()) ?? []) {
      return id
    }
    throw new NotConnectedError(`${action}: there is no connection to ${peer.toString()} on which this behaviour runs`)
  }

  #closed (peer: string, { connection, remaining }: ConnectionClosed): void {
    if (remaining === 0) {
      this.#connected.delete(peer)
    }
    this.#forget(peer, connection)
  }

  #forget (peer: string, id: ConnectionId): void {
    const ids = this.#byPeer.get(peer)
    ids?.delete(id)
    if (ids?.size === 0) {
      this.#byPeer.delete(peer)
    }
  }
}
