import { matrix } from 'libp2p-behaviours/bench'
import { inFlight } from './in-flight.ts'
import { exchangeOf } from './stream-exchange.ts'
import type { Exchange } from './stream-exchange.ts'

interface State {
  readonly exchange: Exchange
  readonly inflight: number
}

/** Streams between two whole nodes: each is opened, carries one byte each way, and is closed by both ends. */
export default matrix({
  name: 'node-streams',
  axes: {
    /** Memory and plaintext, or TCP on loopback and noise. */
    transport: ['memory', 'tcp'],
    /** Registered on both nodes; the streams speak the last one of them. */
    protocols: [1, 10, 100, 1000],
    /** Streams at a time. */
    inflight: [1, 16, 100],
    /**
     * Through the handlers of a behaviour; the same, and writing before the peer agreed, as its protocols are known (V1Lazy);
     * through `newStream` and `handle`; the ceiling, yamux without names.
     */
    variant: ['ours', 'lazy', 'stock', 'muxer'],
    iterations: [100]
  },
  baseline: { variant: 'stock' },
  claims: [
    { where: { transport: 'memory', protocols: 1, variant: 'ours' }, to: { variant: 'stock' }, ratio: [0, 1 / 4] },
    { where: { transport: 'tcp', protocols: 1, variant: 'ours' }, to: { variant: 'stock' }, ratio: [0, 1 / 2.4] },
    { where: { protocols: 1, variant: 'ours' }, to: { variant: 'muxer' }, ratio: [0, 1 / 0.55] }
  ],
  // A muxer knows no protocols, and who is lazy pays the same for them. What they cost is seen at 16 in flight; whether that
  // depends on how many are, at the ends.
  exclude: ({ variant, protocols, inflight }) =>
    variant === 'muxer' || variant === 'lazy' ? protocols > 1 : inflight !== 16 && protocols > 1 && protocols < 1000,
  setup: async ({ variant, transport, protocols, inflight }): Promise<State> => ({
    exchange: await exchangeOf(variant, transport, protocols), inflight
  }),
  run: async ({ exchange, inflight }, iterations) => await inFlight(inflight, iterations, (closed) => { exchange.open(closed) }),
  verify: async ({ exchange }, { iterations, checksum }) => {
    // The last stream is closed for the dialer before the listener has seen it end.
    while (exchange.served < iterations) {
      await new Promise((resolve) => { setImmediate(resolve) })
    }
    return checksum === iterations && exchange.served === iterations
  },
  teardown: async ({ exchange }) => { await exchange.stop() }
})
