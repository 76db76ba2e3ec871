import { matrix } from 'libp2p-behaviours/bench'
import { streamPair } from '../test/support/stream-pair.ts'
import { namesOf, negotiations } from './negotiate.ts'
import type { Negotiations } from './negotiate.ts'

/** What is left of it over the host's own streams, with their buffers. */
export default matrix({
  name: 'negotiation-streams',
  axes: {
    protocols: [1, 1000],
    /** The same as in the matrix negotiation-pair, or the same bytes both ways without any negotiation. */
    variant: ['ours', 'stock', 'none']
  },
  baseline: { variant: 'stock' },
  setup: ({ protocols, variant }) => {
    const listed = namesOf(protocols)
    return variant === 'none' ? exchanges() : negotiations(variant, streamPair(), { proposals: listed.slice(-1), listed })
  },
  run: (negotiate, iterations) => negotiate(iterations),
  verify: (_, { iterations, checksum }) => checksum === 2 * iterations
})

/** The streams alone: one write each way and no listener that comes or goes. */
function exchanges (): Negotiations {
  const [outbound, inbound] = streamPair()
  const bytes = new Uint8Array(36)
  let answered = (): void => {}
  inbound.addEventListener('message', ({ data }) => { inbound.send(data) })
  outbound.addEventListener('message', () => { answered() })
  return async (iterations) => {
    for (let left = iterations; left > 0; left--) {
      await new Promise<void>((resolve) => {
        answered = resolve
        outbound.send(bytes)
      })
    }
    return 2 * iterations
  }
}
