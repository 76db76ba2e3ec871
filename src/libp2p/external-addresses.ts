import { CODE_P2P } from '@multiformats/multiaddr'
import type { PeerUpdate } from '@libp2p/interface'
import type { NodeAddress } from '@libp2p/interface-internal'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { ExternalAddressChange, FromSwarm, PeerExternalAddress } from '../behaviour/from-swarm.ts'

/** Addresses that are followed; peers say what they see, so that there may be any number. */
const MAX_FOLLOWED = 256

/**
 * Where the node is reached, or may be, beside where it listens: what other services find out (identify, autonat, mappings of a
 * router) reaches behaviours as well. What behaviours say themselves is told by the swarm, and noted here.
 */
export class ExternalAddresses {
  readonly #addresses: () => readonly NodeAddress[]
  /** By their text; whether they are confirmed. */
  #known = new Map<string, { readonly address: Multiaddr, readonly isConfirmed: boolean }>()
  /** Addresses of peers that are being stored because a behaviour said so. */
  readonly #stored = new Set<string>()

  /**
   * @param addresses - all addresses of the node, as it knows them now
   */
  constructor (addresses: () => readonly NodeAddress[]) {
    this.#addresses = addresses
  }

  /** What is new since the last time. */
  refresh (): ExternalAddressChange[] {
    const before = this.#known
    const changes: ExternalAddressChange[] = []
    this.#known = new Map(this.#addresses().filter(({ type }) => type !== 'transport').slice(0, MAX_FOLLOWED).map(({ multiaddr, verified }) => {
      const address = multiaddr.decapsulateCode(CODE_P2P)
      return [address.toString(), { address, isConfirmed: verified }]
    }))
    for (const [text, { address, isConfirmed }] of before) {
      if (isConfirmed && this.#known.get(text)?.isConfirmed !== true) {
        changes.push({ type: 'external-address-expired', address })
      }
    }
    for (const [text, { address, isConfirmed }] of this.#known) {
      const old = before.get(text)
      if (old === undefined || (isConfirmed && !old.isConfirmed)) {
        changes.push({ type: isConfirmed ? 'external-address-confirmed' : 'external-address-candidate', address })
      }
    }
    return changes
  }

  /** A behaviour said so: all have been told. */
  said ({ type, address }: ExternalAddressChange): void {
    const own = address.decapsulateCode(CODE_P2P)
    const text = own.toString()
    switch (type) {
      case 'external-address-candidate':
        if (!this.#known.has(text)) {
          this.#known.set(text, { address: own, isConfirmed: false })
        }
        break
      case 'external-address-confirmed':
        this.#known.set(text, { address: own, isConfirmed: true })
        break
      case 'external-address-expired':
        this.#known.delete(text)
    }
  }

  /** Addresses that became known of a peer, but for those that a behaviour is having stored. */
  ofPeer ({ peer, previous }: PeerUpdate): FromSwarm[] {
    const before = new Set(previous?.addresses.map(({ multiaddr }) => multiaddr.toString()))
    return peer.addresses
      .filter(({ multiaddr }) => !before.has(multiaddr.toString()) && !this.#stored.has(keyOf(peer.id, multiaddr)))
      .map(({ multiaddr: address }) => ({ type: 'peer-external-address', peer: peer.id, address }))
  }

  /** A behaviour said so: all have been told, and `store` puts it where the node finds it. */
  async storing ({ peer, address }: PeerExternalAddress, store: () => Promise<unknown>): Promise<void> {
    const key = keyOf(peer, address.decapsulateCode(CODE_P2P))
    this.#stored.add(key)
    try {
      await store()
    } finally {
      this.#stored.delete(key)
    }
  }
}

function keyOf (peer: { toString (): string }, address: Multiaddr): string {
  return `${peer.toString()} ${address.toString()}`
}
