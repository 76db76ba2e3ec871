import { checkPeer } from '../behaviours/call-options.ts'
import { unknownName } from '../core/known-names.ts'
import { kindOf } from '../core/options.ts'
import { show } from '../core/printable.ts'
import { InvalidStateError } from '../errors.ts'
import { streamProtocol } from '../protocols/stream-protocol.ts'
import { ChangeSubscribers } from './change-subscribers.ts'
import { frozenSet } from './frozen-set.ts'
import { Wait } from './wait.ts'
import type { PeerId } from '@libp2p/interface'
import type { CallOptions } from '../behaviours/call-options.ts'
import type { ConnectionId } from '../core/ids.ts'
import type { ChangeCallback, ProtocolFilter } from './change-subscribers.ts'
import type { PeerProtocolsChange } from './peer-protocols-change.ts'
import type { KnownConnection } from './known-sets.ts'
import type { Subscription } from '../subscriptions/subscription.ts'
import type { Scheduler } from './scheduler.ts'

/** A connection on which a peer speaks a protocol. */
export interface ProtocolSupport {
  readonly peer: PeerId
  readonly connection: ConnectionId
}

/** Who speaks what, now and from now on: `swarm.protocols`. */
export interface SwarmProtocols {
  /**
   * Calls `callback` with each change of the protocol sets of connections that passes `filter`, synchronously; with
   * `replay: true` first with the present state, before it returns.
   *
   * @throws TypeError for a filter of the wrong shape, a protocol that is none, or a callback that is no function
   */
  subscribe (filter: ProtocolFilter, callback: ChangeCallback): Subscription
  /**
   * Resolves with the first connection on which `peer` speaks `protocol`, now or later. It does not dial, and it outlives
   * reconnects. Rejects with `AbortError`, `TimeoutError`, or `InvalidStateError` when the node stops, and with `TypeError` for
   * a peer or a protocol that is none.
   */
  whenSupports (peer: PeerId, protocol: string, options?: CallOptions): Promise<ProtocolSupport>
  /**
   * Whether `peer` speaks `protocol`; undefined when no open connection of it has a report yet, or when the name may be among
   * those that were cut off at `maxRemoteProtocols`.
   *
   * @throws TypeError or RangeError for a peer or a protocol that is none
   */
  supports (peer: PeerId, protocol: string): boolean | undefined
  /**
   * A frozen snapshot of what `peer` speaks: the union over its open connections.
   *
   * @throws TypeError for a peer that is none
   */
  of (peer: PeerId): ReadonlySet<string>
  /**
   * The peers that speak `protocol` now, each once: frozen.
   *
   * @throws TypeError or RangeError for a protocol that is none
   */
  peers (protocol: string): readonly PeerId[]
}

/** What is asked of one open connection. */
export interface ProtocolHolder extends KnownConnection {
  readonly remoteProtocols: { has (protocol: string): boolean, toArray (): readonly string[] }
  /** Whether anybody reported what the peer speaks. */
  readonly isRemoteKnown: boolean
  /** Whether more was reported than is kept, so that an absent name may be among the rest. */
  readonly isRemoteCut: boolean
}

/** Collaborators of {@link ProtocolChanges}. */
export interface ProtocolChangesComponents {
  readonly scheduler: Scheduler
  /** The open connections, oldest first. */
  connections (): Iterable<ProtocolHolder>
  /** Told what a subscriber threw. */
  onError (cause: unknown): void
}

/** The one implementation of {@link SwarmProtocols}; fed with the changes that connections report. */
export class ProtocolChanges implements SwarmProtocols {
  readonly #components: ProtocolChangesComponents
  readonly #subscribers: ChangeSubscribers
  /** The calls of `whenSupports` that wait. */
  readonly #waiting = new Set<Wait<ProtocolSupport>>()
  #isClosed = false

  constructor (components: ProtocolChangesComponents) {
    this.#components = components
    this.#subscribers = new ChangeSubscribers(() => components.connections(), (cause) => { components.onError(cause) })
  }

  /** Whether anybody listens. */
  get isWatched (): boolean {
    return this.#subscribers.size > 0
  }

  /** Tells the subscribers of a change. */
  publish (change: PeerProtocolsChange): void {
    this.#subscribers.publish(change)
  }

  /** A connection has ended. Must follow its last change. */
  ended (connection: ConnectionId): void {
    this.#subscribers.ended(connection)
  }

  /** The node runs. */
  reopen (): void {
    this.#isClosed = false
  }

  /** The node stops: whoever waits is told, and so is whoever wants to wait before it runs again. */
  close (): void {
    this.#isClosed = true
    for (const wait of [...this.#waiting]) {
      wait.reject(new InvalidStateError(STOPPED))
    }
  }

  /** See {@link SwarmProtocols}. */
  subscribe (filter: ProtocolFilter, callback: ChangeCallback): Subscription {
    checkFilter(filter)
    if (typeof callback !== 'function') {
      throw new TypeError(`Cannot subscribe: callback must be a function, received ${typeof callback}`)
    }
    return this.#subscribers.add(filter, callback)
  }

  /** See {@link SwarmProtocols}. */
  async whenSupports (peer: PeerId, protocol: string, options?: CallOptions): Promise<ProtocolSupport> {
    checkPeer(peer, 'Cannot wait until a peer supports a protocol')
    streamProtocol(protocol)
    if (this.#isClosed) {
      throw new InvalidStateError(STOPPED)
    }
    const action = `Cannot wait until ${peer.toString()} supports "${show(protocol)}"`
    const { scheduler } = this.#components
    const wait: Wait<ProtocolSupport> = new Wait({ scheduler, action, peer }, options)
    const subscription = this.#subscribers.add({ side: 'remote', protocol, peer }, ({ added, connection }) => {
      if (added.length > 0) {
        wait.resolve({ peer, connection })
      }
    })
    this.#waiting.add(wait)
    for (const connection of this.#of(peer)) {
      if (connection.remoteProtocols.has(protocol)) {
        wait.resolve({ peer, connection: connection.id })
      }
    }
    try {
      return await wait.promise
    } finally {
      subscription.unsubscribe()
      this.#waiting.delete(wait)
    }
  }

  /** See {@link SwarmProtocols}. */
  supports (peer: PeerId, protocol: string): boolean | undefined {
    checkPeer(peer, 'Cannot tell whether a peer supports a protocol')
    streamProtocol(protocol)
    let isKnown = false
    let isCut = false
    for (const connection of this.#of(peer)) {
      if (connection.remoteProtocols.has(protocol)) {
        return true
      }
      isKnown ||= connection.isRemoteKnown
      isCut ||= connection.isRemoteCut
    }
    return isKnown && !isCut ? false : undefined
  }

  /** See {@link SwarmProtocols}. */
  of (peer: PeerId): ReadonlySet<string> {
    checkPeer(peer, 'Cannot tell the protocols of a peer')
    return frozenSet(Array.from(this.#of(peer), ({ remoteProtocols }) => remoteProtocols.toArray()).flat())
  }

  /** See {@link SwarmProtocols}. */
  peers (protocol: string): readonly PeerId[] {
    streamProtocol(protocol)
    const peers = new Map<string, PeerId>()
    for (const { peer, remoteProtocols } of this.#components.connections()) {
      if (remoteProtocols.has(protocol)) {
        peers.set(peer.toString(), peer)
      }
    }
    return Object.freeze([...peers.values()])
  }

  * #of (peer: PeerId): Generator<ProtocolHolder, void, undefined> {
    for (const connection of this.#components.connections()) {
      if (connection.peer.equals(peer)) {
        yield connection
      }
    }
  }
}

const STOPPED = 'Cannot wait until a peer supports a protocol: the node stopped'

const FILTER_KEYS: readonly string[] = ['side', 'protocol', 'peer', 'connection', 'scope', 'replay']

function checkFilter (filter: ProtocolFilter | null): void {
  if (typeof filter !== 'object' || filter === null) {
    throw new TypeError(`Cannot subscribe: the filter must be an object, received ${kindOf(filter)}`)
  }
  for (const key of Object.keys(filter)) {
    if (!FILTER_KEYS.includes(key)) {
      throw new TypeError(`Cannot subscribe: ${unknownName('filter', show(key), FILTER_KEYS)}`)
    }
  }
  checkWord('side', filter.side, 'local', 'remote')
  checkWord('scope', filter.scope, 'connection', 'peer')
  const replay: unknown = filter.replay
  if (replay !== undefined && typeof replay !== 'boolean') {
    throw new TypeError(`Cannot subscribe: replay must be true or false, received ${kindOf(replay)}`)
  }
  const connection: unknown = filter.connection
  if (connection !== undefined && typeof connection !== 'string') {
    throw new TypeError(`Cannot subscribe: connection must be the id of one, received ${kindOf(connection)}`)
  }
  if (filter.peer !== undefined) {
    checkPeer(filter.peer, 'Cannot subscribe')
  }
  for (const name of typeof filter.protocol === 'string' ? [filter.protocol] : filter.protocol ?? []) {
    streamProtocol(name)
  }
}

function checkWord (name: string, given: unknown, one: string, other: string): void {
  if (given !== undefined && given !== one && given !== other) {
    throw new TypeError(`Cannot subscribe: ${name} must be "${one}" or "${other}", received ${typeof given === 'string' ? `"${show(given)}"` : kindOf(given)}`)
  }
}
