/**
 * Whole js-libp2p nodes for integration tests, with the plug-in and without, on every stack that the plug-in is for.
 *
 * The suite runs several times, see `.config/vitest.hosted.config.ts`: `SWARM_MODE` says how the streams of nodes with the
 * plug-in are negotiated (S1.5).
 */

import { echo } from '@libp2p/echo'
import { identify, identifyPush } from '@libp2p/identify'
import { memory } from '@libp2p/memory'
import { mplex } from '@libp2p/mplex'
import { noise } from '@libp2p/noise'
import { ping } from '@libp2p/ping'
import { plaintext } from '@libp2p/plaintext'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { createLibp2p } from 'libp2p'
import { swarm, withSwarm } from 'libp2p-behaviours'
import { until } from './deadline.ts'
import type { Connection, Libp2p, PeerId, ServiceMap, Stream } from '@libp2p/interface'
import type { Behaviours, Swarm, SwarmInit, WithSwarmOptions } from 'libp2p-behaviours'
import type { Libp2pOptions } from 'libp2p'

/**
 * - `native`: by the swarm, on wrapped muxers
 * - `hosted`: by the host, as with the bare service no muxer is wrapped
 * - `mixed`: of the nodes of a test, every second is hosted
 * - `quic`, `webrtc`: by the host, as the transport brings its own muxer; the gater of the node is wrapped all the same
 */
const MODES = ['native', 'hosted', 'mixed', 'quic', 'webrtc'] as const
export type Mode = typeof MODES[number]
export const MODE: Mode = MODES.find((mode) => mode === process.env['SWARM_MODE']) ?? 'native'

/** Whether the negotiation is ours wherever a test looks at it. */
export const IS_NATIVE: boolean = MODE === 'native'

/** Whether transport and muxer are one. */
export const BRINGS_MUXER: boolean = MODE === 'quic' || MODE === 'webrtc'

/** The package for QUIC reports the reset of a stream, and its loss, as its end. */
export const SEES_RESETS: boolean = MODE !== 'quic'

/** What lies under the streams. */
const ALL_STACKS = ['memory, plaintext, yamux', 'tcp, noise, yamux', 'memory, plaintext, mplex', 'quic', 'webrtc'] as const
export type Stack = typeof ALL_STACKS[number]
export const STACKS: readonly Stack[] = ALL_STACKS.filter((stack) => BRINGS_MUXER ? stack === MODE : stack !== 'quic' && stack !== 'webrtc')

/** The stack of tests in which it does not matter. */
export const ANY_STACK: Stack = MODE === 'quic' || MODE === 'webrtc' ? MODE : 'memory, plaintext, yamux'

/** The services that every node has. A push follows a change at once, not after a second. */
const stockServices = () => ({
  identify: identify(),
  identifyPush: identifyPush({ debounce: 10 }),
  ping: ping(),
  echo: echo()
})
type StockServices = { [Name in keyof ReturnType<typeof stockServices>]: ReturnType<ReturnType<typeof stockServices>[Name]> }

export type StockNode = Libp2p<StockServices>
export type SwarmNode<Parts extends Behaviours> = Libp2p<StockServices & { swarm: Swarm<Parts> }>

/** What a test may set of a node. */
export type NodeOptions = Pick<Libp2pOptions, 'connectionGater' | 'connectionManager' | 'connectionMonitor' | 'datastore' | 'logger' | 'metrics' | 'privateKey' | 'streamMuxers'>

/** Loaded in their own mode only: not every platform has them, and WebRTC has an install of its own. */
const muxingTransports = MODE === 'quic'
  ? [(await import('@chainsafe/libp2p-quic')).quic()]
  : MODE === 'webrtc' ? (await import('../interop/webrtc/transport.js')).transports : []

const LISTEN_WITH_MUXER = { quic: '/ip4/127.0.0.1/udp/0/quic-v1', webrtc: '/ip4/127.0.0.1/udp/0/webrtc-direct' } as const

let memoryAddresses = 0

function optionsFor (stack: Stack): Omit<Libp2pOptions, 'services'> {
  const shared = {
    streamMuxers: [stack.endsWith('mplex') ? mplex({ disconnectThreshold: Infinity }) : yamux()],
    // It pings every connection by itself, which tests that watch streams do not want (HOST.md 13).
    connectionMonitor: { enabled: false }
  }
  if (stack === 'quic' || stack === 'webrtc') {
    return { ...shared, streamMuxers: [], transports: muxingTransports, addresses: { listen: [LISTEN_WITH_MUXER[stack]] } }
  }
  return stack.startsWith('memory')
    ? { ...shared, transports: [memory()], connectionEncrypters: [plaintext()], addresses: { listen: [`/memory/node-${++memoryAddresses}`] } }
    : { ...shared, transports: [tcp()], connectionEncrypters: [noise()], addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] } }
}

const running = new Set<Libp2p>()

/** A node without the plug-in. */
export async function stockNode (stack: Stack, options: NodeOptions = {}): Promise<StockNode> {
  const node = await createLibp2p({ ...optionsFor(stack), ...options, services: stockServices() })
  running.add(node)
  return node
}

/** A node with the plug-in. */
export async function swarmNode<const Parts extends Behaviours> (stack: Stack, init: SwarmInit<Parts>, options: NodeOptions = {}): Promise<SwarmNode<Parts>> {
  return isNextHosted() ? bareNode(stack, init, options) : pluggedNode(stack, init, options)
}

/** Nodes with the plug-in that the test has made. */
let swarmNodes = 0

function isNextHosted (): boolean {
  return MODE === 'hosted' || (MODE === 'mixed' && swarmNodes++ % 2 === 1)
}

async function pluggedNode<const Parts extends Behaviours> (stack: Stack, init: SwarmInit<Parts>, options: NodeOptions): Promise<SwarmNode<Parts>> {
  const node = await createLibp2p(withSwarm({ ...optionsFor(stack), ...options, services: stockServices() }, init))
  running.add(node)
  return node
}

/** A node with the service alone: muxers and gater are the host's. */
export async function bareNode<const Parts extends Behaviours> (stack: Stack, init: SwarmInit<Parts>, options: NodeOptions = {}): Promise<SwarmNode<Parts>> {
  const node = await createLibp2p({ ...optionsFor(stack), ...options, services: { swarm: swarm(init), ...stockServices() } })
  running.add(node)
  return node
}

/** A node that has no services at all. */
export async function emptyNode (stack: Stack): Promise<Libp2p> {
  const node = await createLibp2p(optionsFor(stack))
  running.add(node)
  return node
}

/** A node with the plug-in, and with no other services than these. */
export async function swarmNodeWith<Services extends ServiceMap, const Parts extends Behaviours> (
  stack: Stack, services: WithSwarmOptions<Services, Parts>['services'], init: SwarmInit<Parts>, options: NodeOptions = {}
): Promise<Libp2p<Services & { swarm: Swarm<Parts> }>> {
  const host = { ...optionsFor(stack), ...options }
  const plugged = withSwarm<Services, Parts>({ ...host, services }, init)
  const { services: all } = plugged
  const node = await createLibp2p(isNextHosted() ? { ...host, ...all === undefined ? {} : { services: all } } : plugged)
  running.add(node)
  return node
}

/** For `afterEach`: stops every node that a test made. */
export async function stopNodes (): Promise<void> {
  const nodes = [...running]
  running.clear()
  swarmNodes = 0
  await Promise.all(nodes.map(async (node) => { await node.stop() }))
}

/** Connects `from` to `to`; the connection is that of `from`. */
export async function connect (from: Libp2p, to: Libp2p): Promise<Connection> {
  return from.dial(to.getMultiaddrs())
}

/** A stream that the peer resets as soon as it has it. Over WebRTC that may overtake the confirmation of its name. */
export async function untilReset (opening: Promise<Pick<Stream, 'status'>>): Promise<void> {
  const stream = await (MODE === 'webrtc' ? opening.catch(() => undefined) : opening)
  await until('the stream is reset', () => stream === undefined || stream.status === 'reset' || !SEES_RESETS)
}

/** The connection of `node` to `peer`, once it is there: the listening side is a little later than the dialing one. */
export async function connectionTo (node: Libp2p, peer: PeerId): Promise<Connection> {
  const [connection] = node.getConnections(peer)
  if (connection !== undefined) {
    return connection
  }
  return new Promise((resolve) => {
    node.addEventListener('connection:open', ({ detail }) => {
      if (detail.remotePeer.equals(peer)) {
        resolve(detail)
      }
    })
  })
}
