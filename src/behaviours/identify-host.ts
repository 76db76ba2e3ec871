import { publicKeyToProtobuf } from '@libp2p/crypto/keys'
import { PeerRecord, RecordEnvelope } from '@libp2p/peer-record'
import { isGlobalUnicast, isPrivate } from '@libp2p/utils'
import { CODE_IP6, CODE_IP6ZONE, CODE_P2P } from '@multiformats/multiaddr'
import { IP_OR_DOMAIN, TCP } from '@multiformats/multiaddr-matcher'
import { fromString } from 'uint8arrays/from-string'
import { markReported } from './identify-protocols.ts'
import type { Connection as HostConnection, PeerData, PeerId, SignedPeerRecord } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { SwarmComponents } from '../behaviour/swarm-components.ts'
import type { IdentifyInfo } from './identify-info.ts'
import type { IdentifyMessage } from './identify-message.ts'

/** What this node calls itself. */
export interface NodeVersions {
  readonly protocolVersion: string
  readonly agentVersion: string
}

/** What identify needs of its node: who it is, and where what it learns of others goes. */
export class IdentifyHost {
  readonly #components: SwarmComponents
  readonly #versions: NodeVersions
  /** The last record, and for which addresses. */
  #sealed: { readonly addresses: string, readonly record: Promise<Uint8Array> } | undefined

  constructor (components: SwarmComponents, versions: NodeVersions) {
    this.#components = components
    this.#versions = versions
  }

  /** The addresses of the node as one text, which changes when they do. */
  get addressKey (): string {
    return this.#addresses().join()
  }

  /** What every peer is told, but for protocols. */
  async describe (remoteAddress: Multiaddr): Promise<Omit<IdentifyMessage, 'protocols'>> {
    const addresses = this.#addresses()
    return {
      publicKey: publicKeyToProtobuf(this.#components.privateKey.publicKey),
      ...this.#versions,
      observedAddr: IP_OR_DOMAIN.matches(remoteAddress) ? remoteAddress.bytes : undefined,
      signedPeerRecord: addresses.length === 0 ? undefined : await this.#record(addresses),
      listenAddrs: addresses.map(({ bytes }) => bytes)
    }
  }

  /** The host's connection that `stream` belongs to; to be asked while it is open. */
  connectionOf (peer: PeerId, stream: NegotiatedStream): HostConnection | undefined {
    return this.#components.connectionManager.getConnections(peer).find(({ streams }) => streams.includes(stream))
  }

  /** Stores what was learnt, and tells the other services of the node. */
  async remember (peer: PeerId, message: IdentifyMessage, info: IdentifyInfo, connection: HostConnection | undefined): Promise<void> {
    const { peerStore, events } = this.#components
    const { protocolVersion, agentVersion, listenAddresses, observedAddress, protocols, signedPeerRecord } = info
    const certified = signedPeerRecord === undefined ? undefined : await this.#latest(peer, message, signedPeerRecord)
    await peerStore.patch(peer, {
      protocols: [...protocols],
      ...info.publicKey === undefined ? {} : { publicKey: info.publicKey },
      ...certified ?? (message.listenAddrs.length === 0
        ? {}
        : { addresses: listenAddresses.map((address) => ({ isCertified: false, multiaddr: address })) })
    })
    await peerStore.merge(peer, {
      metadata: {
        ...agentVersion === undefined ? {} : { AgentVersion: fromString(agentVersion) },
        ...protocolVersion === undefined ? {} : { ProtocolVersion: fromString(protocolVersion) }
      }
    })
    if (observedAddress !== undefined && isWorthTrying(observedAddress)) {
      this.#components.addressManager.addObservedAddr(observedAddress)
    }
    if (connection !== undefined) {
      const detail = markReported({
        peerId: peer,
        connection,
        protocols: [...protocols],
        listenAddrs: [...listenAddresses],
        ...observedAddress === undefined ? {} : { observedAddr: observedAddress },
        ...protocolVersion === undefined ? {} : { protocolVersion },
        ...agentVersion === undefined ? {} : { agentVersion },
        ...message.publicKey === undefined ? {} : { publicKey: message.publicKey },
        ...signedPeerRecord === undefined ? {} : { signedPeerRecord }
      })
      events.safeDispatchEvent('peer:identify', { detail })
    }
  }

  #addresses (): Multiaddr[] {
    return this.#components.addressManager.getAddresses().map((address) => address.decapsulateCode(CODE_P2P))
  }

  /** Signed once for all who ask, and anew when the addresses change. */
  async #record (multiaddrs: Multiaddr[]): Promise<Uint8Array> {
    const addresses = multiaddrs.join()
    if (this.#sealed?.addresses !== addresses) {
      const { peerId, privateKey } = this.#components
      const record = RecordEnvelope.seal(new PeerRecord({ peerId, multiaddrs }), privateKey).then((envelope) => envelope.marshal().subarray())
      this.#sealed = { addresses, record }
    }
    return await this.#sealed.record
  }

  /** The newer one of the record that came and the one that is known. */
  async #latest (peer: PeerId, { signedPeerRecord: envelope }: IdentifyMessage, { seq, addresses }: SignedPeerRecord): Promise<PeerData> {
    const known = await this.#knownRecord(peer)
    const isNewer = known === undefined || seq > known.record.seqNumber
    return {
      ...isNewer ? envelope === undefined ? {} : { peerRecordEnvelope: envelope } : { peerRecordEnvelope: known.envelope },
      addresses: (isNewer ? addresses : known.record.multiaddrs).map((address) => ({ isCertified: true, multiaddr: address }))
    }
  }

  async #knownRecord (peer: PeerId): Promise<{ readonly envelope: Uint8Array, readonly record: PeerRecord } | undefined> {
    const { peerStore } = this.#components
    const envelope = await peerStore.has(peer) ? (await peerStore.get(peer)).peerRecordEnvelope : undefined
    return envelope === undefined
      ? undefined
      : { envelope, record: PeerRecord.createFromProtobuf(RecordEnvelope.createFromProtobuf(envelope).payload) }
  }
}

/**
 * Whether an address at which a peer sees us may be one where others reach us. One of TCP is that of an outgoing socket:
 * its port is not one where we listen. The host has the same rules.
 */
function isWorthTrying (address: Multiaddr): boolean {
  const [first, second] = address.getComponents()
  const isIp6 = first?.code === CODE_IP6 || (first?.code === CODE_IP6ZONE && second?.code === CODE_IP6)
  return !isPrivate(address) && !(isIp6 && !isGlobalUnicast(address)) && !TCP.exactMatch(address)
}
