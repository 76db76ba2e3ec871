import { NotConnectedError } from '../errors.ts'
import { checkPeer } from './call-options.ts'
import type { ConnectionLimits, PeerId } from '@libp2p/interface'
import type { FromSwarm } from '../behaviour/from-swarm.ts'
import type { EstablishedConnection } from '../behaviour/network-behaviour.ts'
import type { ConnectionId } from '../core/ids.ts'

/** Whether a behaviour should take part in a connection with these limits; a relayed one has some (S7.18). */
export function mayRun (limits: ConnectionLimits | undefined, runOnLimitedConnection: boolean): boolean {
  return limits === undefined || runOnLimitedConnection
}

/** The connections on which a behaviour has a handler, so that a command finds one. */
export class OwnConnections {
  /** Oldest first. */
  readonly #byPeer = new Map<string, Set<ConnectionId>>()

  /** The behaviour made a handler for `connection`. */
  add ({ id, peer }: EstablishedConnection): void {
    const key = peer.toString()
    const ids = this.#byPeer.get(key) ?? new Set()
    this.#byPeer.set(key, ids.add(id))
  }

  /** Forgets a connection that closed. */
  onSwarmEvent (event: FromSwarm): void {
    if (event.type !== 'connection-closed') {
      return
    }
    const key = event.peer.toString()
    const ids = this.#byPeer.get(key)
    ids?.delete(event.connection)
    if (ids?.size === 0) {
      this.#byPeer.delete(key)
    }
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
}
