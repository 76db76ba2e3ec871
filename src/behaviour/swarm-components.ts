import type {
  ComponentLogger, ConnectionGater, Libp2pEvents, Metrics, NodeInfo, PeerId, PeerStore, PrivateKey, TypedEventTarget
} from '@libp2p/interface'
import type { AddressManager, ConnectionManager, Registrar, TransportManager } from '@libp2p/interface-internal'

/** What a behaviour may ask of its node, when it is given as a function of them (S7.13). */
export interface SwarmComponents {
  readonly peerId: PeerId
  readonly privateKey: PrivateKey
  readonly nodeInfo: NodeInfo
  readonly logger: ComponentLogger
  readonly events: TypedEventTarget<Libp2pEvents>
  readonly peerStore: PeerStore
  readonly registrar: Registrar
  readonly connectionManager: ConnectionManager
  readonly connectionGater: ConnectionGater
  readonly transportManager: TransportManager
  readonly addressManager: AddressManager
  readonly metrics?: Metrics | undefined
}
