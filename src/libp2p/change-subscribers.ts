import { FilteredHub } from '../subscriptions/filtered-hub.ts'
import { subscription } from '../subscriptions/subscription.ts'
import { containResult } from './contained-result.ts'
import { KnownSets } from './known-sets.ts'
import type { PeerId } from '@libp2p/interface'
import type { ConnectionId } from '../core/ids.ts'
import type { Subscription } from '../subscriptions/subscription.ts'
import type { KnownChange, KnownConnection } from './known-sets.ts'
import type { PeerProtocolsChange } from './peer-protocols-change.ts'

/** Which changes a subscriber wants; what is left out is not looked at. */
export interface ProtocolFilter {
  side?: 'local' | 'remote' | undefined
  /** One name or several; the changes are cut down to them. */
  protocol?: string | readonly string[] | undefined
  peer?: PeerId | undefined
  connection?: ConnectionId | undefined
  /**
   * What is watched: the sets of each connection, of which nothing is told when it closes; or the union over the open
   * connections of each peer, to which a name comes with the first connection that has it, and which it leaves with the last,
   * closing included (S8.7).
   *
   * @default 'connection'
   */
  scope?: 'connection' | 'peer' | undefined
  /** Whether the present state comes first, as `added`, before the call returns. @default false */
  replay?: boolean | undefined
}

/** Called with each change that passes the filter; what it throws, or rejects with, is caught and reported. */
export type ChangeCallback = (change: PeerProtocolsChange) => PromiseLike<void> | void

/** A change as each kind of subscriber sees it; who was told the present state first is not told the same again. */
interface SeenChange extends KnownChange {
  readonly plain: PeerProtocolsChange | undefined
}

type Kind = keyof SeenChange

/**
 * Who wants to hear of protocol changes, found by what they filter for: a change costs what it concerns, and those whom it
 * does not concern cost nothing (S8.8). Unions and present states are looked after only while somebody subscribed to them.
 */
export class ChangeSubscribers {
  readonly #connections: () => Iterable<KnownConnection>
  readonly #onError: (cause: unknown) => void
  readonly #hub: FilteredHub<SeenChange, 'kind' | 'side' | 'connection' | 'peer' | 'protocol'>
  #known: KnownSets | undefined
  /** Subscriptions that need {@link #known}. */
  #knowing = 0

  /**
   * @param connections - the open ones, oldest first
   * @param onError - told what a callback threw, or rejected with. Must not throw
   */
  constructor (connections: () => Iterable<KnownConnection>, onError: (cause: unknown) => void) {
    this.#connections = connections
    this.#onError = onError
    this.#hub = new FilteredHub(['kind', 'side', 'connection', 'peer', 'protocol'], onError)
  }

  /** Subscriptions that have not ended. */
  get size (): number {
    return this.#hub.size
  }

  /** Adds a subscriber; it hears of changes that are published after this call, and of the present state if it wants to. */
  add (filter: ProtocolFilter, callback: ChangeCallback): Subscription {
    const { scope = 'connection', replay = false } = filter
    const kind: Kind = scope === 'peer' ? 'union' : replay ? 'fresh' : 'plain'
    const deliver = this.#deliveryOf(filter, callback)
    if (kind === 'plain') {
      return this.#subscribe(filter, kind, deliver)
    }
    this.#known ??= new KnownSets(this.#connections())
    this.#knowing++
    const state = !replay ? [] : scope === 'peer' ? this.#known.ofPeers() : this.#known.ofConnections()
    // A callback may cause changes, which come after the state that they change.
    let meanwhile: PeerProtocolsChange[] | undefined = state.filter((change) => isFor(filter, change))
    const inner = this.#subscribe(filter, kind, (change) => {
      if (meanwhile === undefined) {
        deliver(change)
      } else {
        meanwhile.push(change)
      }
    })
    for (let change = meanwhile.shift(); change !== undefined; change = meanwhile.shift()) {
      this.#contain(() => { deliver(change) })
    }
    meanwhile = undefined
    return subscription(() => {
      inner.unsubscribe()
      this.#forget()
    })
  }

  /** Tells those whom `change` concerns, in the order in which they subscribed, over a snapshot. */
  publish (change: PeerProtocolsChange): void {
    const known = this.#known?.apply(change)
    this.#publish(change, { plain: change, fresh: known?.fresh, union: known?.union })
  }

  /** A connection has ended: its peer may have lost names by that. Must follow the last change of the connection. */
  ended (connection: ConnectionId): void {
    for (const loss of this.#known?.ended(connection) ?? []) {
      this.#publish(loss, { plain: undefined, fresh: undefined, union: loss })
    }
  }

  #publish ({ side, connection, peer, added, removed }: PeerProtocolsChange, seen: SeenChange): void {
    const kind = KINDS.filter((name) => seen[name] !== undefined)
    this.#hub.publish({ kind, side, connection, peer: peer.toString(), protocol: [...added, ...removed] }, seen)
  }

  #subscribe (filter: ProtocolFilter, kind: Kind, deliver: (change: PeerProtocolsChange) => void): Subscription {
    const { side, connection, peer, protocol } = filter
    return this.#hub.subscribe({ kind, side, connection, peer: peer?.toString(), protocol }, (seen) => {
      const change = seen[kind]
      if (change !== undefined) {
        deliver(change)
      }
    })
  }

  /** What a change is to the callback: cut down to the protocols that it wants. */
  #deliveryOf ({ protocol }: ProtocolFilter, callback: ChangeCallback): (change: PeerProtocolsChange) => void {
    const wanted = protocol === undefined ? undefined : new Set(typeof protocol === 'string' ? [protocol] : protocol)
    return (change) => {
      const rest = wanted === undefined ? change : cutTo(wanted, change)
      if (rest !== undefined) {
        containResult(callback(rest), this.#onError)
      }
    }
  }

  #contain (call: () => void): void {
    try {
      call()
    } catch (cause) {
      this.#onError(cause)
    }
  }

  #forget (): void {
    this.#knowing--
    if (this.#knowing === 0) {
      this.#known = undefined
    }
  }
}

const KINDS: readonly Kind[] = ['plain', 'fresh', 'union']

/** Whether a state passes; its protocols are looked at when it is cut down to them. */
function isFor ({ side, connection, peer }: ProtocolFilter, change: PeerProtocolsChange): boolean {
  return (side ?? change.side) === change.side
    && (connection ?? change.connection) === change.connection
    && (peer === undefined || peer.equals(change.peer))
}

/** Undefined: nothing is left. */
function cutTo (protocols: ReadonlySet<string>, change: PeerProtocolsChange): PeerProtocolsChange | undefined {
  const isWanted = (name: string): boolean => protocols.has(name)
  const [added, removed] = [change.added.filter(isWanted), change.removed.filter(isWanted)]
  return added.length + removed.length === 0 ? undefined : Object.freeze({ ...change, added: Object.freeze(added), removed: Object.freeze(removed) })
}
