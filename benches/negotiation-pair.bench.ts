import { matrix } from 'libp2p-behaviours/bench'
import { bareStreams } from './bare-streams.ts'
import { namesOf, negotiations } from './negotiate.ts'

/** One negotiation, both ends, over streams that cost next to nothing. */
export default matrix({
  name: 'negotiation-pair',
  axes: {
    /** Names of the listener; the dialer wants the last one. */
    protocols: [1, 10, 100, 1000, 10_000],
    variant: ['ours', 'stock']
  },
  baseline: { variant: 'stock' },
  claims: [
    { where: { protocols: 1, variant: 'ours' }, to: { variant: 'stock' }, ratio: [0, 0.1] },
    { where: { protocols: 1000, variant: 'ours' }, to: { variant: 'stock' }, ratio: [0, 0.1] },
    { where: { protocols: 10_000, variant: 'ours' }, to: { protocols: 1 }, ratio: [0, 1.2] }
  ],
  setup: ({ protocols, variant }) => {
    const listed = namesOf(protocols)
    return negotiations(variant, bareStreams(), { proposals: listed.slice(-1), listed })
  },
  run: (negotiate, iterations) => negotiate(iterations),
  verify: (_, { iterations, checksum }) => checksum === 2 * iterations
})
