import { kindOf } from '../core/options.ts'
import { checkPeer } from './call-options.ts'
import type { PeerId } from '@libp2p/interface'

/** Peers, each once, in order of addition. */
export class PeerSet {
  readonly #peers = new Map<string, PeerId>()
  #list: readonly PeerId[] | undefined

  /**
   * @param action - what the caller was doing, for messages: `Cannot block`
   * @param peers - what is in it at first. Default none
   * @throws TypeError for what is no iterable of peer ids
   */
  constructor (action: string, peers: Iterable<PeerId> = []) {
    for (const peer of iterable(peers, action)) {
      this.add(peer, action)
    }
  }

  /** The same frozen array until the set changes. */
  get list (): readonly PeerId[] {
    this.#list ??= Object.freeze([...this.#peers.values()])
    return this.#list
  }

  /** Whether `peer` is in it. */
  has (peer: PeerId): boolean {
    return this.#peers.has(peer.toString())
  }

  /**
   * Adds `peer`, at the end; false if it was there, and then it keeps its place.
   *
   * @param action - for messages, as in the constructor
   * @throws TypeError for what is no peer id
   */
  add (peer: PeerId, action: string): boolean {
    checkPeer(peer, action)
    const isNew = !this.has(peer)
    if (isNew) {
      this.#peers.set(peer.toString(), peer)
    }
    return this.#changed(isNew)
  }

  /**
   * Takes `peer` out; false if it was not there.
   *
   * @param action - for messages, as in the constructor
   * @throws TypeError for what is no peer id
   */
  delete (peer: PeerId, action: string): boolean {
    checkPeer(peer, action)
    return this.#changed(this.#peers.delete(peer.toString()))
  }

  #changed (isChanged: boolean): boolean {
    if (isChanged) {
      this.#list = undefined
    }
    return isChanged
  }
}

/** A single peer id, or an object of them, is a mistake that would show late. */
function iterable (peers: Iterable<PeerId>, action: string): Iterable<PeerId> {
  const given: unknown = peers
  if (typeof given !== 'object' || given === null || !(Symbol.iterator in given)) {
    throw new TypeError(`${action}: peers must be an array of peer ids, received ${kindOf(given)}`)
  }
  return peers
}
