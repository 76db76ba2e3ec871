import { isPeerId } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import { CODE_P2P, CODE_P2P_CIRCUIT, isMultiaddr } from '@multiformats/multiaddr'
import { kindOf } from '../core/options.ts'
import { show } from '../core/printable.ts'
import type { PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { DialTarget } from '../behaviour/to-swarm.ts'

/** A target, taken apart. */
export interface ParsedTarget {
  /** Undefined: no address names one. */
  readonly peer: PeerId | undefined
  /** Empty: those that are known of the peer. */
  readonly addresses: readonly Multiaddr[]
}

/**
 * Whom a dial is for.
 *
 * @throws TypeError for what is no target, and for addresses of different peers
 */
export function parseTarget (target: DialTarget): ParsedTarget {
  if (isPeerId(target)) {
    return { peer: target, addresses: [] }
  }
  const addresses = Array.isArray(target) ? [...target] : [target]
  const wrongAt = addresses.findIndex((address: unknown) => !isMultiaddr(address))
  if (addresses.length === 0 || wrongAt !== -1) {
    throw new TypeError('Cannot dial: the target must be a PeerId, a Multiaddr, or a list of Multiaddrs that is not empty, '
      + `received ${receivedOf(target, addresses[wrongAt])}; multiaddr(text) of @multiformats/multiaddr makes an address of a text`)
  }
  const peers = new Set(addresses.map((address) => peerNameOf(address)))
  const [name, other] = peers
  if (other !== undefined || peers.size > 1) {
    throw new TypeError('Cannot dial: the addresses must all name the same peer, or none')
  }
  return { peer: name === undefined ? undefined : peerIdFromString(name), addresses: addresses.filter(hasPlace) }
}

/** The peer at the end of `address`, if it names one. */
export function peerOf (address: Multiaddr): PeerId | undefined {
  const name = peerNameOf(address)
  return name === undefined ? undefined : peerIdFromString(name)
}

/** `address` with the peer at its end, as the host shows it. */
export function withPeer (address: Multiaddr, peer: PeerId): Multiaddr {
  return peerNameOf(address) === undefined ? address.encapsulate(`/p2p/${peer.toString()}`) : address
}

/** Whether `address` leads over a relay: only of such connections the host may limit the use. */
export function isRelayed (address: Multiaddr): boolean {
  return address.getComponents().some(({ code }) => code === CODE_P2P_CIRCUIT)
}

/** Each address once, in order of first mention. */
export function distinct (addresses: readonly Multiaddr[]): readonly Multiaddr[] {
  return [...new Map(addresses.map((address) => [address.toString(), address])).values()]
}

/** An address that is a peer and nothing else says whom, but not where. */
function hasPlace (address: Multiaddr): boolean {
  return address.getComponents().some(({ code }) => code !== CODE_P2P)
}

function peerNameOf (address: Multiaddr): string | undefined {
  return address.getComponents().findLast(({ code }) => code === CODE_P2P)?.value
}

/** For the message: what came instead, and of a list which member is none. */
function receivedOf (target: unknown, wrong: unknown): string {
  if (Array.isArray(target)) {
    return target.length === 0 ? 'an empty list' : `a list with ${isPeerId(wrong) ? 'a PeerId' : receivedOf(wrong, wrong)} in it`
  }
  return typeof target === 'string' ? `the string "${show(target)}"` : kindOf(target)
}
