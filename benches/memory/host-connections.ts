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

/** What connections between two nodes in this process took. */
export interface HostConnections {
  /** Pairs of ends that were open at a time. */
  readonly standing: number
  /** Bytes of heap for both ends. */
  readonly bytesPerPair: number
}

/** Until what belongs to making the connections is gone. */
const REST_MS = 500

let nodes = 0

/**
 * Connects two nodes of js-libp2p over its memory transport again and again, until there are `count` connections.
 *
 * @param isPlugged - whether both have the plug-in, with one behaviour
 */
export async function hostConnections (count: number, isPlugged: boolean): Promise<HostConnections> {
  const [dialer, listener] = await Promise.all([node(isPlugged), node(isPlugged)])
  try {
    const dial = async (): Promise<void> => { await dialer.dial(listener.getMultiaddrs(), { force: true }) }
    // The first one makes what all share.
    await dial()
    await sleep(REST_MS)
    const before = heapInUse()
    for (let left = count; left > 0; left--) {
      await dial()
    }
    await sleep(REST_MS)
    const bytesPerPair = (heapInUse() - before) / count
    const standing = Math.min(dialer.getConnections().length, listener.getConnections().length) - 1
    return { standing, bytesPerPair }
  } finally {
    await Promise.all([dialer.stop(), listener.stop()])
  }
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
