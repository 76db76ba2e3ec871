import { matrix } from 'libp2p-behaviours/bench'
import { requestResponse } from 'libp2p-behaviours/request-response'
import { inFlight } from './in-flight.ts'
import { muxerPair, ourPair, stockPair } from './node-pairs.ts'
import type { Stream } from '@libp2p/interface'
import type { Transport } from './node-pairs.ts'

const PROTOCOL = '/bench/requests/1.0.0'
const REQUEST_BYTES = 1024
const STREAMS = { maxInboundStreams: 1000, maxOutboundStreams: 1000 }

/** Sends a request, and gives the length of its response. */
interface Requests {
  request (bytes: Uint8Array): Promise<number>
  stop (): Promise<void>
}

/** Requests of 1 KiB and responses of the same length between two whole nodes, each on a stream of its own. */
export default matrix({
  name: 'node-requests',
  axes: {
    transport: ['memory', 'tcp'],
    /** Requests at a time. */
    inflight: [1, 16],
    /** The behaviour `requestResponse`; what one writes over `newStream` and `handle`; the same over yamux without names. */
    variant: ['ours', 'stock', 'muxer'],
    iterations: [100]
  },
  baseline: { variant: 'stock' },
  setup: async ({ variant, transport, inflight }) => ({ requests: await REQUESTS[variant](transport), bytes: new Uint8Array(REQUEST_BYTES), inflight }),
  run: async ({ requests, bytes, inflight }, iterations) => {
    let received = 0
    await inFlight(inflight, iterations, (done) => {
      requests.request(bytes).then((length) => {
        received += length
        done()
      }, fail)
    })
    return received
  },
  verify: (_, { iterations, checksum }) => checksum === iterations * REQUEST_BYTES,
  teardown: async ({ requests }) => { await requests.stop() }
})

const REQUESTS: Record<'ours' | 'stock' | 'muxer', (transport: Transport) => Promise<Requests>> = {
  ours: async (transport) => {
    const { ends: [{ swarm, peer }], stop } = await ourPair(transport, () => ({
      requests: requestResponse({ protocols: PROTOCOL, serve: request => request })
    }))
    return { request: async (bytes) => (await swarm.behaviours.requests.request(peer, bytes)).byteLength, stop }
  },
  stock: async (transport) => {
    const { ends: [{ connection }], stop } = await stockPair(transport, async (node) => {
      await node.handle(PROTOCOL, (stream) => { serve(stream).catch(fail) }, STREAMS)
    })
    return { request: async (bytes) => await ask(await connection.newStream(PROTOCOL, STREAMS), bytes), stop }
  },
  muxer: async (transport) => {
    const { ends: [dialer, listener], stop } = await muxerPair(transport)
    listener.addEventListener('stream', ({ detail: stream }) => { serve(stream).catch(fail) })
    return { request: async (bytes) => await ask(await dialer.createStream(), bytes), stop }
  }
}

async function ask (stream: Stream, bytes: Uint8Array): Promise<number> {
  stream.send(bytes)
  await stream.close()
  let received = 0
  for await (const chunk of stream) {
    received += chunk.byteLength
  }
  return received
}

async function serve (stream: Stream): Promise<void> {
  for await (const chunk of stream) {
    stream.send(chunk)
  }
  await stream.close()
}

/** What went wrong must not leave the bench waiting for it. */
function fail (error: unknown): void {
  queueMicrotask(() => { throw error })
}
