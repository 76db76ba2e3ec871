import { streamPair } from '../test/support/stream-pair.ts'
import { namesOf, negotiations } from './negotiate.ts'
import type { Bench, Matrix } from './matrix.ts'
import type { Negotiator } from './negotiate.ts'

interface Cell {
  readonly protocols: number
  /** The same as in the matrix negotiation-pair, or the same bytes both ways without any negotiation. */
  readonly variant: Negotiator | 'none'
  readonly [axis: string]: string | number
}

/** What is left of it over the host's own streams, with their buffers. */
export const negotiationStreams: Matrix<Cell> = {
  name: 'negotiation-streams',
  cells: [1, 1000].flatMap(protocols => [{ protocols, variant: 'ours' }, { protocols, variant: 'stock' }, { protocols, variant: 'none' }] as const),
  iterations: 200,
  baseline: 'stock',
  setup: ({ protocols, variant }) => {
    const listed = namesOf(protocols)
    return variant === 'none' ? exchanges() : negotiations(variant, streamPair(), { proposals: listed.slice(-1), listed })
  }
}

/** The streams alone: one write each way and no listener that comes or goes. The checksum is that of {@link negotiations}. */
function exchanges (): Bench {
  const [outbound, inbound] = streamPair()
  const bytes = new Uint8Array(36)
  let answered = (): void => {}
  inbound.addEventListener('message', ({ data }) => { inbound.send(data) })
  outbound.addEventListener('message', () => { answered() })
  return {
    async run (iterations) {
      for (let left = iterations; left > 0; left--) {
        await new Promise<void>((resolve) => {
          answered = resolve
          outbound.send(bytes)
        })
      }
      return 2 * iterations
    },
    verify: (iterations, checksum) => checksum === 2 * iterations
  }
}
