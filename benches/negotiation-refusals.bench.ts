import { matrix } from 'libp2p-behaviours/bench'
import { bareStreams } from './bare-streams.ts'
import { namesOf, negotiations } from './negotiate.ts'

/** One negotiation that needs several rounds, both ends, over streams that cost next to nothing. */
export default matrix({
  name: 'negotiation-refusals',
  axes: {
    /** Names that the dialer proposes in vain, each a round trip, before the one that the listener has. */
    refusals: [0, 1, 5, 20],
    variant: ['ours', 'stock']
  },
  baseline: { variant: 'stock' },
  setup: ({ refusals, variant }) => {
    const proposals = namesOf(refusals + 1)
    const listed = proposals.slice(-1)
    Object.freeze(listed)
    return negotiations(variant, bareStreams(), { proposals, listed })
  },
  run: (negotiate, iterations) => negotiate(iterations),
  verify: (_, { iterations, checksum }) => checksum === 2 * iterations
})
