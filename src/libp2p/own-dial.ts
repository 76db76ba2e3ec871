import type { PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { ConnectionDenied } from '../behaviour/connection-denied.ts'
import type { ConnectionId } from '../core/ids.ts'
import type { ParsedTarget } from './addresses.ts'

/** A dial of the swarm, from the request to its one outcome. */
export class OwnDial {
  readonly id: ConnectionId
  readonly peer: PeerId | undefined
  /** As asked for. */
  readonly given: readonly Multiaddr[]
  /** A connection that is there already does not do. */
  readonly isForced: boolean
  readonly #controller = new AbortController()
  /** Those of the target, of the peer store and of behaviours, once they are known. */
  addresses: readonly Multiaddr[] = []
  /** What the host dials, in order. */
  readonly tried: Multiaddr[] = []
  /** The last one, if behaviours denied what the host had reached. */
  denial: ConnectionDenied | undefined
  /** Callers, and behaviours, that wait for it. */
  waiting = 0
  /** A connection came of it: another one that the host makes for the same peer is not this dial's. */
  isTaken = false

  constructor (id: ConnectionId, { peer, addresses }: ParsedTarget, isForced: boolean) {
    this.id = id
    this.peer = peer
    this.given = addresses
    this.isForced = isForced
  }

  /** Nobody waits any more, or the dial has failed. */
  get isOver (): boolean {
    return this.#controller.signal.aborted
  }

  /** Aborts when it is over. */
  get signal (): AbortSignal {
    return this.#controller.signal
  }

  /** Ends it; its outcome follows. */
  abort (reason: unknown): void {
    this.#controller.abort(reason)
  }

  /** Whether what the host does with `peer` at `address` is this dial. */
  isFor (peer: PeerId | undefined, address: Multiaddr): boolean {
    if (this.peer !== undefined) {
      return peer !== undefined && this.peer.equals(peer)
    }
    const text = address.toString()
    return [...this.addresses, ...this.tried].some((other) => text === other.toString() || text.startsWith(`${other.toString()}/p2p/`))
  }

  /** What the host dialed in vain before it reached `address`; empty if it does not say. */
  failedBefore (address: Multiaddr): readonly Multiaddr[] {
    const text = address.toString()
    return this.tried.slice(0, Math.max(0, this.tried.findIndex((other) => other.toString() === text)))
  }
}
