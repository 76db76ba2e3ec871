import { bareStreams } from './bare-streams.ts'
import { namesOf, negotiations } from './negotiate.ts'
import type { Matrix } from './matrix.ts'
import type { Negotiator } from './negotiate.ts'

interface Cell {
  /** Names of the listener; the dialer wants the last one. */
  readonly protocols: number
  readonly variant: Negotiator
  readonly [axis: string]: string | number
}

/** One negotiation, both ends, over streams that cost next to nothing. */
export const negotiationPair: Matrix<Cell> = {
  name: 'negotiation-pair',
  cells: [1, 10, 100, 1000, 10_000].flatMap(protocols => [{ protocols, variant: 'ours' }, { protocols, variant: 'stock' }] as const),
  iterations: 200,
  baseline: 'stock',
  setup: ({ protocols, variant }) => {
    const listed = namesOf(protocols)
    return negotiations(variant, bareStreams(), { proposals: listed.slice(-1), listed })
  }
}
