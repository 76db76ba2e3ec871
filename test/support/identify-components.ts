/** Parts of a host that identify needs, without a host. */

import { generateKeyPair } from '@libp2p/crypto/keys'
import { TypedEventEmitter } from '@libp2p/interface'
import { peerIdFromPrivateKey } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import type { IdentifyResult, Libp2pEvents, PeerId, PrivateKey } from '@libp2p/interface'
import type { SwarmComponents } from '../../src/behaviour/swarm-components.ts'

/** A node with keys, addresses and a peer store. */
export class IdentifyComponents {
  readonly peerId: PeerId
  readonly privateKey: PrivateKey
  readonly nodeInfo = { name: 'test', version: '1.0', userAgent: 'test/1.0' }
  readonly events = new TypedEventEmitter<Libp2pEvents>()
  /** What `peer:identify` told. */
  readonly results: IdentifyResult[] = []
  /** What was stored of each peer, in order. */
  readonly stored: Array<Record<string, unknown>> = []
  readonly observed: string[] = []
  addresses: string[] = ['/ip4/10.0.0.1/tcp/4001']
  isBroken = false
  readonly #records = new Map<string, Record<string, unknown>>()

  constructor (privateKey: PrivateKey) {
    this.privateKey = privateKey
    this.peerId = peerIdFromPrivateKey(privateKey)
    this.events.addEventListener('peer:identify', ({ detail }) => { this.results.push(detail) })
  }

  readonly addressManager = {
    getAddresses: () => this.addresses.map((address) => multiaddr(address)),
    addObservedAddr: (address: unknown) => { this.observed.push(String(address)) }
  }

  readonly connectionManager = { getConnections: () => [] }

  readonly peerStore = {
    has: async (peer: PeerId) => this.#records.has(peer.toString()),
    get: async (peer: PeerId) => this.#records.get(peer.toString()),
    patch: async (peer: PeerId, data: Record<string, unknown>) => { this.#store(peer, data) },
    merge: async (peer: PeerId, data: Record<string, unknown>) => { this.#store(peer, data) }
  }

  /** As a behaviour is given them. */
  get given (): SwarmComponents {
    return this as unknown as SwarmComponents
  }

  /** The addresses of the node are others now. */
  move (...addresses: string[]): void {
    this.addresses = addresses
    this.events.dispatchEvent(new CustomEvent('self:peer:update'))
  }

  #store (peer: PeerId, data: Record<string, unknown>): void {
    if (this.isBroken) {
      throw new Error('the disk is full')
    }
    this.stored.push(data)
    this.#records.set(peer.toString(), { ...this.#records.get(peer.toString()), ...data })
  }
}

/** Another one. */
export async function identifyComponents (): Promise<IdentifyComponents> {
  return new IdentifyComponents(await generateKeyPair('Ed25519'))
}
