import { bareStreams } from './bare-streams.ts'
import { namesOf, negotiations } from './negotiate.ts'
import type { Matrix } from './matrix.ts'
import type { Negotiator } from './negotiate.ts'

interface Cell {
  /** Names that the dialer proposes in vain, each a round trip, before the one that the listener has. */
  readonly refusals: number
  readonly variant: Negotiator
  readonly [axis: string]: string | number
}

/** One negotiation that needs several rounds, both ends, over streams that cost next to nothing. */
export const negotiationRefusals: Matrix<Cell> = {
  name: 'negotiation-refusals',
  cells: [0, 1, 5, 20].flatMap(refusals => [{ refusals, variant: 'ours' }, { refusals, variant: 'stock' }] as const),
  iterations: 100,
  baseline: 'stock',
  setup: ({ refusals, variant }) => {
    const proposals = namesOf(refusals + 1)
    const listed = proposals.slice(-1)
    Object.freeze(listed)
    return negotiations(variant, bareStreams(), { proposals, listed })
  }
}
