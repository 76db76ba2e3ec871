import { whenAllComplete, whenAllSucceed } from 'libp2p-behaviours/concurrency'
import type { Bench, Matrix } from './matrix.ts'

const MEMBERS = 100_000

interface Cell {
  /** Whether all must succeed, or all are waited for. */
  readonly kind: 'succeed' | 'complete'
  /** Plain values, or promises that are resolved. */
  readonly members: 'values' | 'promises'
  /** Our joins, or `Promise.all` and `Promise.allSettled`. */
  readonly variant: 'ours' | 'promise'
  readonly [axis: string]: string | number
}

/** 100 000 members are joined, and the result is awaited. */
export const whenAll: Matrix<Cell> = {
  name: 'when-all',
  cells: (['succeed', 'complete'] as const).flatMap(kind => (['values', 'promises'] as const).flatMap(members =>
    (['ours', 'promise'] as const).map(variant => ({ kind, members, variant })))),
  iterations: 1,
  baseline: 'promise',
  setup: ({ kind, members, variant }) => {
    const values = Array.from({ length: MEMBERS }, (_, index) => index)
    return benchOf(JOINS[kind][variant], members === 'values' ? values : values.map(value => Promise.resolve(value)))
  }
}

type Join = (members: readonly unknown[]) => Promise<readonly unknown[]>

const JOINS: Record<Cell['kind'], Record<Cell['variant'], Join>> = {
  succeed: { ours: members => whenAllSucceed(members), promise: members => Promise.all(members) },
  complete: { ours: members => whenAllComplete(members), promise: members => Promise.allSettled(members) }
}

function benchOf (join: Join, members: readonly unknown[]): Bench {
  return {
    async run (iterations) {
      let joined = 0
      for (let left = iterations; left > 0; left--) {
        joined += (await join(members)).length
      }
      return joined
    },
    verify: (iterations, checksum) => checksum === iterations * MEMBERS
  }
}
