import { FilteredHub } from '../subscriptions/filtered-hub.ts'
import { containResult } from './contained-result.ts'
import type { PeerId } from '@libp2p/interface'
import type { ConnectionId } from '../core/ids.ts'
import type { Subscription } from '../subscriptions/subscription.ts'

/** A protocol set of one connection changed (S8.6). Frozen, as are its arrays, which are disjoint and not both empty. */
export interface PeerProtocolsChange {
  readonly type: 'protocols-change'
  /** `local`: what this node accepts on the connection; `remote`: what the peer speaks on it. */
  readonly side: 'local' | 'remote'
  readonly peer: PeerId
  readonly connection: ConnectionId
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

/** Which changes a subscriber wants; what is left out is not looked at. */
export interface ProtocolFilter {
  side?: 'local' | 'remote' | undefined
  /** One name or several; the changes are cut down to them. */
  protocol?: string | readonly string[] | undefined
  peer?: PeerId | undefined
  connection?: ConnectionId | undefined
}

/** Called with each change that passes the filter; what it throws, or rejects with, is caught and reported. */
export type ChangeCallback = (change: PeerProtocolsChange) => PromiseLike<void> | void

/**
 * Who wants to hear of protocol changes, found by what they filter for: a change costs what it concerns, and those whom it
 * does not concern cost nothing (S8.8).
 */
export class ChangeSubscribers {
  readonly #onError: (cause: unknown) => void
  readonly #hub: FilteredHub<PeerProtocolsChange, 'side' | 'connection' | 'peer' | 'protocol'>

  /**
   * @param onError - told what a callback threw, or rejected with. Must not throw
   */
  constructor (onError: (cause: unknown) => void) {
    this.#onError = onError
    this.#hub = new FilteredHub(['side', 'connection', 'peer', 'protocol'], onError)
  }

  /** Subscriptions that have not ended. */
  get size (): number {
    return this.#hub.size
  }

  /** Adds a subscriber; it hears of changes that are published after this call. */
  add ({ side, connection, peer, protocol }: ProtocolFilter, callback: ChangeCallback): Subscription {
    const protocols = protocol === undefined ? undefined : new Set(typeof protocol === 'string' ? [protocol] : protocol)
    return this.#hub.subscribe(
      { side, connection, peer: peer?.toString(), protocol: protocols === undefined ? undefined : [...protocols] },
      change => { containResult(callback(protocols === undefined ? change : cutTo(protocols, change)), this.#onError) }
    )
  }

  /** Tells those whom `change` concerns, in the order in which they subscribed, over a snapshot. */
  publish (change: PeerProtocolsChange): void {
    const { side, connection, peer, added, removed } = change
    this.#hub.publish({ side, connection, peer: peer.toString(), protocol: [...added, ...removed] }, change)
  }
}

/** Found by one of its protocols, so at least one name is left. */
function cutTo (protocols: ReadonlySet<string>, change: PeerProtocolsChange): PeerProtocolsChange {
  const isWanted = (name: string): boolean => protocols.has(name)
  return Object.freeze({
    ...change,
    added: Object.freeze(change.added.filter(isWanted)),
    removed: Object.freeze(change.removed.filter(isWanted))
  })
}
