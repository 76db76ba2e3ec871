import type { PeerId } from '@libp2p/interface'
import type { ConnectionId } from '../core/ids.ts'

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

/** Called with each change that passes the filter; what it throws is caught and reported. */
export type ChangeCallback = (change: PeerProtocolsChange) => void

/** A handle that ends a subscription. Also `Disposable`: `using` ends it with its scope. */
export interface Subscription extends Disposable {
  /** True once it has ended. */
  readonly closed: boolean
  /** Ends it; calling it again changes nothing. */
  unsubscribe (): void
}

/**
 * Who wants to hear of protocol changes, found by protocol: a change costs what it concerns, and those whom it does not
 * concern cost nothing (S8.8).
 */
export class ChangeSubscribers {
  readonly #onError: (cause: unknown) => void
  readonly #byProtocol = new Map<string, Set<Subscriber>>()
  /** Those without a protocol in their filter. */
  readonly #general = new Set<Subscriber>()
  #made = 0
  #size = 0

  /**
   * @param onError - told what a callback threw. Must not throw
   */
  constructor (onError: (cause: unknown) => void) {
    this.#onError = onError
  }

  /** Subscriptions that have not ended. */
  get size (): number {
    return this.#size
  }

  /** Adds a subscriber; it hears of changes that are published after this call. */
  add (filter: ProtocolFilter, callback: ChangeCallback): Subscription {
    const subscriber = new Subscriber(this.#made++, filter, callback, () => { this.#remove(subscriber) })
    for (const set of this.#setsOf(subscriber)) {
      set.add(subscriber)
    }
    this.#size++
    return subscriber
  }

  /** Tells those whom `change` concerns, in the order in which they subscribed, over a snapshot. */
  publish (change: PeerProtocolsChange): void {
    for (const subscriber of this.#concernedBy(change)) {
      if (!subscriber.closed) {
        try {
          subscriber.tell(change)
        } catch (cause) {
          this.#onError(cause)
        }
      }
    }
  }

  #concernedBy ({ added, removed }: PeerProtocolsChange): Subscriber[] {
    const concerned = new Set(this.#general)
    if (this.#byProtocol.size > 0) {
      for (const name of [...added, ...removed]) {
        for (const subscriber of this.#byProtocol.get(name) ?? []) {
          concerned.add(subscriber)
        }
      }
    }
    return [...concerned].sort((left, right) => left.order - right.order)
  }

  #remove (subscriber: Subscriber): void {
    this.#size--
    this.#general.delete(subscriber)
    for (const name of subscriber.protocols ?? []) {
      const set = this.#byProtocol.get(name)
      set?.delete(subscriber)
      if (set?.size === 0) {
        this.#byProtocol.delete(name)
      }
    }
  }

  * #setsOf ({ protocols }: Subscriber): Generator<Set<Subscriber>, void, undefined> {
    if (protocols === undefined) {
      yield this.#general
      return
    }
    for (const name of protocols) {
      const set = this.#byProtocol.get(name) ?? new Set()
      this.#byProtocol.set(name, set)
      yield set
    }
  }
}

class Subscriber implements Subscription {
  readonly order: number
  readonly protocols: ReadonlySet<string> | undefined
  readonly #filter: ProtocolFilter
  readonly #callback: ChangeCallback
  readonly #onEnd: () => void
  #isClosed = false

  constructor (order: number, filter: ProtocolFilter, callback: ChangeCallback, onEnd: () => void) {
    const { protocol } = filter
    this.order = order
    this.protocols = protocol === undefined ? undefined : new Set(typeof protocol === 'string' ? [protocol] : protocol)
    this.#filter = { ...filter }
    this.#callback = callback
    this.#onEnd = onEnd
  }

  get closed (): boolean {
    return this.#isClosed
  }

  unsubscribe (): void {
    if (!this.#isClosed) {
      this.#isClosed = true
      this.#onEnd()
    }
  }

  [Symbol.dispose] (): void {
    this.unsubscribe()
  }

  tell (change: PeerProtocolsChange): void {
    const { side, peer, connection } = this.#filter
    const isWanted = (side ?? change.side) === change.side
      && (connection ?? change.connection) === change.connection
      && peer?.equals(change.peer) !== false
    if (isWanted) {
      this.#callback(this.protocols === undefined ? change : cutTo(this.protocols, change))
    }
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
