/**
 * The `./allow-block-list` entry: with whom a node has connections.
 *
 * @packageDocumentation
 */

import { takesOptions } from '../behaviour/attach.ts'
import { ConnectionDenied } from '../behaviour/connection-denied.ts'
import { checkNames } from '../core/options.ts'
import { PENDING } from '../core/poll.ts'
import { checkPeer } from './call-options.ts'
import { PeerSet } from './peer-set.ts'
import type { PeerId } from '@libp2p/interface'
import type { Denied } from '../behaviour/connection-denied.ts'
import type { FromSwarm } from '../behaviour/from-swarm.ts'
import type { EstablishedConnection, NetworkBehaviour, PendingConnection } from '../behaviour/network-behaviour.ts'
import type { CloseConnection } from '../behaviour/to-swarm.ts'
import type { Poll, PollContext } from '../core/poll.ts'

/** The peer is on the block list. Unblock it, or leave it alone. */
export class PeerBlockedError extends Error {
  override readonly name = 'PeerBlockedError'
  readonly peer: PeerId

  constructor (peer: PeerId) {
    super(`Cannot connect: ${peer.toString()} is blocked`)
    this.peer = peer
  }
}

/** The peer is not on the allow list. Allow it, or leave it alone. */
export class PeerNotAllowedError extends Error {
  override readonly name = 'PeerNotAllowedError'
  readonly peer: PeerId

  constructor (peer: PeerId) {
    super(`Cannot connect: ${peer.toString()} is not allowed`)
    this.peer = peer
  }
}

/** Options of {@link allowList} and {@link blockList}. */
export interface PeerListInit {
  /** Who is on the list at first. @default none */
  peers?: Iterable<PeerId> | undefined
}

/** A behaviour that lets in the peers on its list, and nobody else. */
export interface AllowList extends NetworkBehaviour<never, never, never, PeerNotAllowedError> {
  /** Who is allowed, in order of addition; the same frozen array until that changes. */
  list (): readonly PeerId[]
  /** Whether `peer` is on the list. */
  has (peer: PeerId): boolean
  /** Puts `peer` on the list; false if it was on it. */
  allow (peer: PeerId): boolean
  /** Takes `peer` off the list, and aborts its connections; false if it was not on it. */
  disallow (peer: PeerId): boolean
}

/** A behaviour that keeps out the peers on its list. */
export interface BlockList extends NetworkBehaviour<never, never, never, PeerBlockedError> {
  /** Who is blocked, in order of addition; the same frozen array until that changes. */
  list (): readonly PeerId[]
  /** Whether `peer` is on the list. */
  has (peer: PeerId): boolean
  /** Puts `peer` on the list, and aborts its connections; false if it was on it. */
  block (peer: PeerId): boolean
  /** Takes `peer` off the list; false if it was not on it. */
  unblock (peer: PeerId): boolean
}

/**
 * Lets in the peers on a list only, with a {@link PeerNotAllowedError} as cause for the others; an empty list lets nobody
 * in. A dial is denied before it begins if it says for whom it is, every other connection as soon as its peer is known. A
 * peer that is taken off the list loses its connections at once: they are aborted, with the same error.
 *
 * @param init - who is on it at first
 * @throws TypeError for an unknown option, and for what is no peer id
 *
 * @example
 * const friends = allowList({ peers: [alice] })
 * // later: node.services.swarm.behaviours.friends.allow(bob)
 */
export function allowList (init: PeerListInit = {}): AllowList {
  return new AllowListBehaviour(init)
}

/**
 * Keeps out the peers on a list, with a {@link PeerBlockedError} as cause. Otherwise as {@link allowList}: a peer that is put
 * on the list loses its connections at once.
 *
 * @param init - who is on it at first
 * @throws TypeError for an unknown option, and for what is no peer id
 *
 * @example
 * const blocked = blockList()
 * // later: node.services.swarm.behaviours.blocked.block(mallory)
 */
export function blockList (init: PeerListInit = {}): BlockList {
  return new BlockListBehaviour(init)
}

takesOptions(allowList, 'allowList')
takesOptions(blockList, 'blockList')

/** What both lists do; they differ in whom they refuse. */
abstract class PeerListBehaviour<Cause extends Error> implements NetworkBehaviour<never, never, never, Cause> {
  protected readonly peers: PeerSet
  /** Peers whose connections may have to go; whether they do is seen in the poll. */
  readonly #toClose = new Map<string, PeerId>()
  #cx: PollContext | undefined

  constructor (init: PeerListInit, action: string) {
    checkNames(init, ['peers'], action)
    this.peers = new PeerSet(action, init.peers)
  }

  protected abstract refuses (peer: PeerId): boolean
  protected abstract causeFor (peer: PeerId): Cause

  list (): readonly PeerId[] {
    return this.peers.list
  }

  has (peer: PeerId): boolean {
    checkPeer(peer, 'Cannot look a peer up')
    return this.peers.has(peer)
  }

  /** Who an inbound connection is from is not certain yet, whatever its address says. */
  checkPending ({ direction, peer }: PendingConnection): Denied<Cause> {
    return direction === 'outbound' && peer !== undefined ? this.#check(peer) : undefined
  }

  commitPending (attempt: PendingConnection): Denied<Cause> {
    return this.checkPending(attempt)
  }

  checkEstablished ({ peer }: EstablishedConnection): Denied<Cause> {
    return this.#check(peer)
  }

  commitEstablished ({ peer }: EstablishedConnection): Denied<Cause> {
    return this.#check(peer)
  }

  /** Between its last gate and this event a peer may have been refused, when there was no connection to close yet. */
  onSwarmEvent (event: FromSwarm): void {
    if (event.type === 'connection-established') {
      this.changed(event.peer)
    }
  }

  poll (cx: PollContext): Poll<CloseConnection> {
    this.#cx = cx
    for (const [key, peer] of this.#toClose) {
      this.#toClose.delete(key)
      if (this.refuses(peer)) {
        return { type: 'close-connection', peer, connection: 'all', abort: this.causeFor(peer) }
      }
    }
    return PENDING
  }

  /** `peer` may be refused from now on, and have connections. */
  protected changed (peer: PeerId): void {
    if (this.refuses(peer)) {
      this.#toClose.set(peer.toString(), peer)
      this.#cx?.wake()
    }
  }

  #check (peer: PeerId): Denied<Cause> {
    return this.refuses(peer) ? new ConnectionDenied(this.causeFor(peer)) : undefined
  }
}

class AllowListBehaviour extends PeerListBehaviour<PeerNotAllowedError> implements AllowList {
  constructor (init: PeerListInit) {
    super(init, 'Cannot make an allow list')
  }

  allow (peer: PeerId): boolean {
    return this.peers.add(peer, 'Cannot allow')
  }

  disallow (peer: PeerId): boolean {
    const wasAllowed = this.peers.delete(peer, 'Cannot disallow')
    this.changed(peer)
    return wasAllowed
  }

  protected override refuses (peer: PeerId): boolean {
    return !this.peers.has(peer)
  }

  protected override causeFor (peer: PeerId): PeerNotAllowedError {
    return new PeerNotAllowedError(peer)
  }
}

class BlockListBehaviour extends PeerListBehaviour<PeerBlockedError> implements BlockList {
  constructor (init: PeerListInit) {
    super(init, 'Cannot make a block list')
  }

  block (peer: PeerId): boolean {
    const isNew = this.peers.add(peer, 'Cannot block')
    this.changed(peer)
    return isNew
  }

  unblock (peer: PeerId): boolean {
    return this.peers.delete(peer, 'Cannot unblock')
  }

  protected override refuses (peer: PeerId): boolean {
    return this.peers.has(peer)
  }

  protected override causeFor (peer: PeerId): PeerBlockedError {
    return new PeerBlockedError(peer)
  }
}
