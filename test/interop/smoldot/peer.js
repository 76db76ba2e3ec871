import { noise } from '@libp2p/noise'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { identify } from '@libp2p/identify'
import { createLibp2p } from 'libp2p'
import { withSwarm } from 'libp2p-behaviours'
import { chainSpec } from './chain-spec.js'

/** Both generations that npm has. */
export const VERSIONS = [['3.4.1', 'smoldot'], ['2.0.40', 'smoldot-2']]

const PATIENCE_MS = 20_000
const started = []

/** Everything that a test began, ended in reverse order. */
export async function stopAll () {
  for (const stop of started.splice(0).reverse()) {
    await stop()
  }
}

export const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms) })

/** Looks again and again until `holds` gives something. */
export async function until (what, holds, patienceMs = PATIENCE_MS) {
  for (const end = performance.now() + patienceMs; performance.now() < end; await sleep(10)) {
    const found = await holds()
    if (found) {
      return found
    }
  }
  throw new Error(`${what} did not happen within ${patienceMs} ms`)
}

/** Our node. Without the stock ping, and without the connection monitor, whose streams smoldot never ends. */
export async function swarmNode (init, services = { identify: identify() }) {
  const muxers = []
  const log = []
  const node = await createLibp2p(withSwarm({
    addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [recorded(yamux(), muxers)],
    services,
    connectionMonitor: { enabled: false },
    connectionManager: { maxConnections: 1000, inboundConnectionThreshold: 1000, maxIncomingPendingConnections: 1000 }
  }, init))
  started.push(async () => { await node.stop() })
  const { swarm } = node.services
  for (const type of ['connection:open', 'connection:close', 'behaviour:event', 'handler:error']) {
    swarm.addEventListener(type, ({ detail }) => { log.push(detail) })
  }
  const identified = []
  node.addEventListener('peer:identify', ({ detail }) => { identified.push(detail) })
  return { node, swarm, muxers, log, identified, of: (type) => log.filter((detail) => detail.type === type) }
}

/** Keeps the muxers themselves: their streams are not negotiated by anybody. */
function recorded (factory, muxers) {
  return (components) => {
    const inner = factory(components)
    return {
      ...inner,
      protocol: inner.protocol,
      createStreamMuxer (...args) {
        const muxer = inner.createStreamMuxer(...args)
        muxers.push(muxer)
        return muxer
      }
    }
  }
}

/** A client that dials `node`, and goes on dialing it. */
export async function dialWith (packageName, node) {
  const { start } = await import(packageName)
  const lines = []
  const client = start({ maxLogLevel: 4, logCallback: (level, target, message) => { lines.push(`${level} ${target} ${message}`) } })
  let isRunning = true
  const stop = async () => {
    if (isRunning) {
      isRunning = false
      await client.terminate()
    }
  }
  started.push(stop)
  await client.addChain({ chainSpec: chainSpec(node.getMultiaddrs().map(String)), disableJsonRpc: true })
  return { stop, lines }
}

/** The connections that are open now. */
export const openConnections = ({ swarm }) => swarm.connections.filter(({ host }) => host.status === 'open')

/** Counts whole pings on the streams that the peer opened; look once, when they are there. */
export function countPings (connection, protocol = '/ipfs/ping/1.0.0') {
  const counted = { received: 0, answered: 0 }
  for (const stream of connection.host.streams.filter((stream) => stream.protocol === protocol && stream.direction === 'inbound')) {
    stream.addEventListener('message', ({ data }) => { counted.received += data.byteLength / 32 })
    const send = stream.send.bind(stream)
    stream.send = (data) => {
      counted.answered += data.byteLength / 32
      return send(data)
    }
  }
  return counted
}

/** A stream right on the muxer, on which `chunks` were sent one by one, and the text of what came back. */
export async function rawStream (muxer, chunks) {
  const stream = await muxer.createStream()
  const received = []
  stream.addEventListener('message', ({ data }) => { received.push(data.subarray()) })
  for (const chunk of chunks) {
    stream.send(chunk)
    await sleep(1)
  }
  return { stream, text: () => Buffer.concat(received).toString('latin1') }
}

/** One frame of multistream-select. */
export function frame (body) {
  const bytes = Buffer.from(`${body}\n`)
  const prefix = bytes.length < 128 ? [bytes.length] : [bytes.length & 0x7f | 0x80, bytes.length >> 7]
  return Buffer.concat([Uint8Array.from(prefix), bytes])
}
export const HEADER = frame('/multistream/1.0.0')
