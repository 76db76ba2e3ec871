/** Whole js-libp2p nodes for integration tests, with the plug-in and without, on every stack that the plug-in is for. */

import { identify, identifyPush } from '@libp2p/identify'
import { memory } from '@libp2p/memory'
import { mplex } from '@libp2p/mplex'
import { noise } from '@libp2p/noise'
import { plaintext } from '@libp2p/plaintext'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { createLibp2p } from 'libp2p'
import { withSwarm } from 'libp2p-behaviours'
import type { Libp2p } from '@libp2p/interface'
import type { Behaviours, Swarm, SwarmInit } from 'libp2p-behaviours'
import type { Libp2pOptions, ServiceFactoryMap } from 'libp2p'

/** What lies under the streams. */
export const STACKS = ['memory, plaintext, yamux', 'tcp, noise, yamux', 'memory, plaintext, mplex'] as const
export type Stack = typeof STACKS[number]

let memoryAddresses = 0

function under (stack: Stack): Libp2pOptions {
  const muxer = stack.endsWith('mplex') ? mplex({ disconnectThreshold: Infinity }) : yamux()
  const shared: Libp2pOptions = {
    streamMuxers: [muxer],
    // It pings every connection by itself, which tests that watch streams do not want (HOST.md 13).
    connectionMonitor: { enabled: false }
  }
  return stack.startsWith('memory')
    ? { ...shared, transports: [memory()], connectionEncrypters: [plaintext()], addresses: { listen: [`/memory/node-${++memoryAddresses}`] } }
    : { ...shared, transports: [tcp()], connectionEncrypters: [noise()], addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] } }
}

/** The services that every node of the tests has. A push follows a change at once, not after a second. */
const basic = () => ({ identify: identify(), identifyPush: identifyPush({ debounce: 10 }) })

const running: Libp2p[] = []

/** A node without the plug-in. */
export async function stockNode<Services extends Record<string, unknown> = object> (stack: Stack, services?: ServiceFactoryMap<Services>, options: Libp2pOptions = {}) {
  const node = await createLibp2p({ ...under(stack), ...options, services: { ...basic(), ...services } } as unknown as Libp2pOptions<Services>)
  running.push(node)
  return node
}

/** A node with the plug-in. */
export async function swarmNode<const Parts extends Behaviours, Services extends Record<string, unknown> = object> (
  stack: Stack, init: SwarmInit<Parts>, services?: ServiceFactoryMap<Services>, options: Libp2pOptions = {}
) {
  const node = await createLibp2p(withSwarm({ ...under(stack), ...options, services: { ...basic(), ...services } } as never, init)) as unknown as
    Libp2p<Services & { swarm: Swarm<Parts> }>
  running.push(node)
  return node
}

/** Stops every node that a test made. */
export async function stopNodes (): Promise<void> {
  await Promise.all(running.splice(0).map((node) => node.stop()))
}
