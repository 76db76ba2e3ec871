import { memory } from '@libp2p/memory'
import { mplex } from '@libp2p/mplex'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { Memory, TCP } from '@multiformats/multiaddr-matcher'

/** mplex ends a connection on which streams are opened faster than its default allows, as the suite does. */
const patientMplex = () => mplex({ disconnectThreshold: Infinity })

export const muxers = { yamux: yamux(), mplex: patientMplex() }

export const transports = {
  tcp: { transport: tcp(), matcher: TCP, listen: ['/ip4/127.0.0.1/tcp/0', '/ip4/127.0.0.1/tcp/0'] },
  memory: { transport: memory(), matcher: Memory, listen: ['/memory/address-1', '/memory/address-2'] }
}
