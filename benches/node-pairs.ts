import '../test/support/polyfill.ts'
import { identify } from '@libp2p/identify'
import { memory } from '@libp2p/memory'
import { noise } from '@libp2p/noise'
import { plaintext } from '@libp2p/plaintext'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { createLibp2p } from 'libp2p'
import { withSwarm } from 'libp2p-behaviours'
import { HiddenMuxer } from './hidden-muxer.ts'
import type { Connection, Libp2p, PeerId, StreamMuxer } from '@libp2p/interface'
import type { Behaviours, Swarm } from 'libp2p-behaviours'
import type { Libp2pOptions } from 'libp2p'

/** What lies under yamux: memory and plaintext, or TCP on loopback and noise. */
export type Transport = 'memory' | 'tcp'

/** Two ends of one connection; the first one has dialed. */
export interface Pair<End> {
  readonly ends: readonly [dialer: End, listener: End]
  /** Stops the nodes that the ends belong to. */
  stop (): Promise<void>
}

/** A node with behaviours, and the peer that it is connected to. */
export interface OurEnd<Parts extends Behaviours> {
  readonly swarm: Swarm<Parts>
  readonly peer: PeerId
}

/** A stock node, and its connection. */
export interface StockEnd {
  readonly node: Libp2p
  readonly connection: Connection
}

/** Above what identify reads by default, which 1000 names do not fit. */
const MAX_IDENTIFY_BYTES = 1_048_576

/**
 * Two connected nodes with behaviours that know each other's protocols.
 *
 * @param behaviours - makes those of one node
 */
export async function ourPair<const Parts extends Behaviours> (transport: Transport, behaviours: () => Parts): Promise<Pair<OurEnd<Parts>>> {
  const create = async () => await createLibp2p(withSwarm({ ...optionsOf(transport), services: services() }, {
    // It stops floods, not work; benches are floods (S9.3).
    inboundStreamsPerSecond: Infinity,
    behaviours: behaviours()
  }))
  const [dialer, listener] = [await create(), await create()] as const
  await connect(dialer, listener)
  return {
    ends: [{ swarm: dialer.services.swarm, peer: listener.peerId }, { swarm: listener.services.swarm, peer: dialer.peerId }],
    stop: async () => { await stop(dialer, listener) }
  }
}

/**
 * Two connected nodes as they come that know each other's protocols.
 *
 * @param prepare - registers the protocols of one node
 */
export async function stockPair (transport: Transport, prepare: (node: Libp2p) => Promise<void>): Promise<Pair<StockEnd>> {
  const create = async () => await createLibp2p({ ...optionsOf(transport), services: services() })
  const [dialer, listener] = [await create(), await create()] as const
  await prepare(dialer)
  await prepare(listener)
  const connections = await connect(dialer, listener)
  return {
    ends: [{ node: dialer, connection: connections[0] }, { node: listener, connection: connections[1] }],
    stop: async () => { await stop(dialer, listener) }
  }
}

/** The two muxers of a connection of which the nodes that made it see no stream. */
export async function muxerPair (transport: Transport): Promise<Pair<StreamMuxer>> {
  const dialing = new HiddenMuxer(yamux())
  const listening = new HiddenMuxer(yamux())
  const dialer = await createLibp2p({ ...optionsOf(transport), streamMuxers: [dialing.factory] })
  const listener = await createLibp2p({ ...optionsOf(transport), streamMuxers: [listening.factory] })
  await dialer.dial(listener.getMultiaddrs())
  return {
    ends: [await dialing.muxer, await listening.muxer],
    stop: async () => { await stop(dialer, listener) }
  }
}

/** Resolves when both ends know each other's protocols: from then on nothing of the node is under way. */
async function connect (dialer: Libp2p, listener: Libp2p): Promise<[dialing: Connection, listening: Connection]> {
  const identified = Promise.all([nextIdentified(dialer), nextIdentified(listener)])
  await dialer.dial(listener.getMultiaddrs())
  return await identified
}

async function nextIdentified (node: Libp2p): Promise<Connection> {
  return await new Promise((resolve) => {
    node.addEventListener('peer:identify', ({ detail: { connection } }) => { resolve(connection) }, { once: true })
  })
}

async function stop (...nodes: Libp2p[]): Promise<void> {
  await Promise.all(nodes.map(async (node) => { await node.stop() }))
}

function services () {
  return { identify: identify({ maxMessageSize: MAX_IDENTIFY_BYTES }) }
}

let memoryAddresses = 0

/** Both transports with the settings that they come with. */
function optionsOf (transport: Transport): Omit<Libp2pOptions, 'services'> {
  const shared = { streamMuxers: [yamux()], connectionMonitor: { enabled: false } }
  return transport === 'memory'
    ? { ...shared, transports: [memory()], connectionEncrypters: [plaintext()], addresses: { listen: [`/memory/bench-${++memoryAddresses}`] } }
    : { ...shared, transports: [tcp()], connectionEncrypters: [noise()], addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] } }
}
