import type { PeerId } from '@libp2p/interface'
import type { ConnectionId, Direction } from '../core/ids.ts'

/** How many connections there are of each kind. */
export interface ConnectionCounts {
  /** Peers that are connecting, and have not passed the last gate yet. */
  readonly pendingIncoming: number
  /** Dials of the swarm that have not led to a connection yet. */
  readonly pendingOutgoing: number
  readonly establishedIncoming: number
  readonly establishedOutgoing: number
  /** Both directions. */
  readonly established: number
}

/**
 * What is known of one connection, by the stages that were committed and not taken back:
 *
 * ```
 * pending ──▶ established ──▶ closed
 *    ▲────────────┘ taken back: another address may still lead to the peer
 * ```
 */
interface Held {
  readonly direction: Direction
  /** Whom a dial is for; undefined: nobody knows. */
  readonly target: PeerId | undefined
  /** Whether there was an attempt before. */
  readonly hasAttempt: boolean
  /** Whose connection it is; undefined: it is pending. */
  readonly peer: PeerId | undefined
}

type Counter = Exclude<keyof ConnectionCounts, 'established'>

/** Counts connections by their stage, but for those that are not to be counted. Every method may be called again without effect. */
export class ConnectionCounter {
  readonly #isExempt: (peer: PeerId) => boolean
  readonly #held = new Map<ConnectionId, Held>()
  readonly #perPeer = new Map<string, number>()
  readonly #counts: Record<Counter, number> = { pendingIncoming: 0, pendingOutgoing: 0, establishedIncoming: 0, establishedOutgoing: 0 }

  /**
   * @param isExempt - tells those who are not counted; see {@link recount}
   */
  constructor (isExempt: (peer: PeerId) => boolean) {
    this.#isExempt = isExempt
  }

  /** The counts now. */
  get counts (): ConnectionCounts {
    const { establishedIncoming, establishedOutgoing } = this.#counts
    return Object.freeze({ ...this.#counts, established: establishedIncoming + establishedOutgoing })
  }

  /** Established connections of `peer`, in both directions. */
  of (peer: PeerId): number {
    return this.#perPeer.get(peer.toString()) ?? 0
  }

  /**
   * An attempt begins.
   *
   * @param target - whom a dial is for; of an inbound connection nothing is known that could be trusted
   */
  pending (id: ConnectionId, direction: Direction, target: PeerId | undefined): void {
    this.#change(id, () => ({ direction, target, hasAttempt: true, peer: undefined }))
  }

  /** An attempt, or a connection that came without one, is of `peer`. */
  established (id: ConnectionId, direction: Direction, peer: PeerId): void {
    this.#change(id, (held = { direction, target: undefined, hasAttempt: false, peer }) => ({ ...held, peer }))
  }

  /** Established is taken back; an attempt, if there was one, goes on. */
  establishedUndone (id: ConnectionId): void {
    this.#change(id, (held) => held?.hasAttempt === true ? { ...held, peer: undefined } : undefined)
  }

  /** The attempt came to nothing, or the connection has closed. */
  ended (id: ConnectionId): void {
    this.#change(id, () => undefined)
  }

  /** Counts anew after `change`, which decides who is exempt. */
  recount<Result> (change: () => Result): Result {
    for (const held of this.#held.values()) {
      this.#count(held, -1)
    }
    try {
      return change()
    } finally {
      for (const held of this.#held.values()) {
        this.#count(held, 1)
      }
    }
  }

  #change (id: ConnectionId, next: (held: Held | undefined) => Held | undefined): void {
    const before = this.#held.get(id)
    const after = next(before)
    if (before !== undefined) {
      this.#count(before, -1)
      this.#held.delete(id)
    }
    if (after !== undefined) {
      this.#held.set(id, after)
      this.#count(after, 1)
    }
  }

  #count ({ direction, target, peer }: Held, by: 1 | -1): void {
    const owner = peer ?? target
    if (owner !== undefined && this.#isExempt(owner)) {
      return
    }
    if (peer === undefined) {
      this.#counts[direction === 'inbound' ? 'pendingIncoming' : 'pendingOutgoing'] += by
      return
    }
    this.#counts[direction === 'inbound' ? 'establishedIncoming' : 'establishedOutgoing'] += by
    const count = this.of(peer) + by
    if (count === 0) {
      this.#perPeer.delete(peer.toString())
    } else {
      this.#perPeer.set(peer.toString(), count)
    }
  }
}
