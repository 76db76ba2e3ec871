import { publicKeyFromProtobuf } from '@libp2p/crypto/keys'
import { peerIdFromPublicKey } from '@libp2p/peer-id'
import { PeerRecord, RecordEnvelope } from '@libp2p/peer-record'
import { multiaddr } from '@multiformats/multiaddr'
import { RemoteProtocolError } from '../errors.ts'
import type { PeerId, PublicKey, SignedPeerRecord } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { IdentifyMessage } from './identify-message.ts'

/** Addresses of a peer that are kept; the next ones are dropped. Far above what an honest peer has. */
const MAX_ADDRESSES = 256

/** What a peer said of itself, checked as far as it can be. Texts are the peer's own, up to the length of a message. */
export interface IdentifyInfo {
  /** All that it speaks, each name once; empty: nothing any more. */
  readonly protocols: readonly string[]
  /** Where it says that it listens; addresses that are none are left out. */
  readonly listenAddresses: readonly Multiaddr[]
  /** Where it sees us. */
  readonly observedAddress: Multiaddr | undefined
  readonly protocolVersion: string | undefined
  readonly agentVersion: string | undefined
  /** The key that belongs to its peer id. */
  readonly publicKey: PublicKey | undefined
  /** Addresses that it signed: prefer them to {@link listenAddresses}. */
  readonly signedPeerRecord: SignedPeerRecord | undefined
}

/**
 * What a message means.
 *
 * @param peer - who sent it
 * @returns rejects with a `RemoteProtocolError` (`invalid`) when the key is another peer's, or the record is not signed by it
 */
export async function parseIdentify (peer: PeerId, message: IdentifyMessage): Promise<IdentifyInfo> {
  const { protocols, listenAddrs, observedAddr, protocolVersion, agentVersion, publicKey, signedPeerRecord } = message
  return Object.freeze({
    protocols: Object.freeze([...protocols]),
    listenAddresses: Object.freeze(listenAddrs.slice(0, MAX_ADDRESSES).flatMap(parseAddress)),
    observedAddress: observedAddr === undefined ? undefined : parseAddress(observedAddr)[0],
    protocolVersion,
    agentVersion,
    publicKey: publicKey === undefined ? undefined : parseKey(peer, publicKey),
    signedPeerRecord: signedPeerRecord === undefined ? undefined : await parseRecord(peer, signedPeerRecord)
  })
}

/** None when it is no address: peers may know kinds that we do not. */
function parseAddress (bytes: Uint8Array): [] | [Multiaddr] {
  try {
    const address = multiaddr(bytes)
    return address.bytes.length === 0 ? [] : [address]
  } catch {
    return []
  }
}

function parseKey (peer: PeerId, bytes: Uint8Array): PublicKey {
  const key = checked('its key is none', () => publicKeyFromProtobuf(bytes))
  if (!peerIdFromPublicKey(key).equals(peer)) {
    throw invalid('its key is that of another peer')
  }
  return key
}

async function parseRecord (peer: PeerId, bytes: Uint8Array): Promise<SignedPeerRecord> {
  const envelope = await RecordEnvelope.openAndCertify(bytes, PeerRecord.DOMAIN).catch((cause: unknown) => {
    throw invalid('its record is not signed', cause)
  })
  const { peerId, multiaddrs, seqNumber } = checked('its record is none', () => PeerRecord.createFromProtobuf(envelope.payload))
  if (!peerId.equals(peer) || !peerIdFromPublicKey(envelope.publicKey).equals(peer)) {
    throw invalid('its record is that of another peer')
  }
  return { seq: seqNumber, addresses: multiaddrs.filter(({ bytes: { length } }) => length > 0).slice(0, MAX_ADDRESSES) }
}

function checked<Value> (rule: string, parse: () => Value): Value {
  try {
    return parse()
  } catch (cause) {
    throw invalid(rule, cause)
  }
}

function invalid (rule: string, cause?: unknown): RemoteProtocolError {
  return new RemoteProtocolError(`Cannot identify the peer: ${rule}`, 'invalid', undefined, { cause })
}
