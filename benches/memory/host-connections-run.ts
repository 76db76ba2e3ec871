/**
 * What connections between two nodes of js-libp2p take. A process of its own, with the arguments `COUNT plugged|stock`: what
 * one kind of node leaves behind, such as code, timers and tables that have grown, is not counted to the other.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import '../../test/support/polyfill.ts'
import { identify } from '@libp2p/identify'
import { memory } from '@libp2p/memory'
import { plaintext } from '@libp2p/plaintext'
import { yamux } from '@libp2p/yamux'
import { createLibp2p } from 'libp2p'
import { protocolBehaviour, withSwarm } from 'libp2p-behaviours'
import { heapInUse } from './heap.ts'
import type { Identify } from '@libp2p/identify'
import type { Libp2p } from '@libp2p/interface'
import type { Libp2pOptions } from 'libp2p'
import type { HostConnections } from './host-connections.ts'

/**
 * Connections that are made before the first look: the code that makes and drives them is compiled and has its feedback by
 * then. Among the counted ones that was more than 1 KB for each of 300.
 */
const WARM_UP = 100

/**
 * Until what belongs to making the connections is gone: the host gives each dial and each exchange of identify an
 * `AbortSignal.timeout` of up to 10 s, which holds what listens to it for all of that time, used or not.
 */
const REST_MS = 11_000

let nodes = 0

const [count, kind] = process.argv.slice(2)
const result = await hostConnections(Number(count), kind === 'plugged')
// Whoever started this ends it: stopping nodes with so many connections takes long, and tells nothing.
process.send?.(result)

/** Connects two nodes over the memory transport again and again: what `count` more connections add to a heap at rest. */
async function hostConnections (count: number, isPlugged: boolean): Promise<HostConnections> {
  const [dialer, listener] = await Promise.all([node(isPlugged), node(isPlugged)])
  const connect = async (more: number): Promise<void> => {
    for (let left = more; left > 0; left--) {
      await dialer.dial(listener.getMultiaddrs(), { force: true })
    }
    await sleep(REST_MS)
  }
  await connect(WARM_UP)
  const before = heapInUse()
  await connect(count)
  const bytesPerPair = (heapInUse() - before) / count
  const standing = Math.min(dialer.getConnections().length, listener.getConnections().length) - WARM_UP
  return { standing, bytesPerPair }
}

async function node (isPlugged: boolean): Promise<Libp2p> {
  const options: Libp2pOptions<{ identify: Identify }> = {
    transports: [memory()],
    connectionEncrypters: [plaintext()],
    streamMuxers: [yamux()],
    addresses: { listen: [`/memory/heap-${++nodes}`] },
    services: { identify: identify() },
    connectionMonitor: { enabled: false },
    connectionManager: { maxConnections: Infinity, inboundConnectionThreshold: Infinity, maxIncomingPendingConnections: Infinity }
  }
  const behaviours = { one: protocolBehaviour({ protocols: '/memory/1.0.0', inbound: () => {} }) }
  return isPlugged ? createLibp2p(withSwarm(options, { behaviours })) : createLibp2p(options)
}
