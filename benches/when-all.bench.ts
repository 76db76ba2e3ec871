import { whenAllComplete, whenAllSucceed } from 'libp2p-behaviours/concurrency'
import { matrix } from 'libp2p-behaviours/bench'

const MEMBERS = 100_000

/** 100 000 members are joined, and the result is awaited. */
export default matrix({
  name: 'when-all',
  axes: {
    /** Whether all must succeed, or all are waited for. */
    kind: ['succeed', 'complete'],
    /** Plain values, or promises that are resolved. */
    members: ['values', 'promises'],
    /** Our joins, or `Promise.all` and `Promise.allSettled`. */
    variant: ['ours', 'promise']
  },
  baseline: { variant: 'promise' },
  claims: [
    { where: { kind: 'succeed', members: 'values', variant: 'ours' }, to: { variant: 'promise' }, ratio: [0, 1 / 20] },
    { where: { kind: 'succeed', members: 'promises', variant: 'ours' }, to: { variant: 'promise' }, ratio: [0, 1.1] },
    { where: { kind: 'complete', members: 'values', variant: 'ours' }, to: { variant: 'promise' }, ratio: [0, 1 / 5] },
    { where: { kind: 'complete', members: 'promises', variant: 'ours' }, to: { variant: 'promise' }, ratio: [0, 1 / 3] }
  ],
  units: () => MEMBERS,
  setup: ({ kind, members, variant }) => {
    const values = Array.from({ length: MEMBERS }, (_, index) => index)
    return { join: JOINS[kind][variant], members: members === 'values' ? values : values.map(value => Promise.resolve(value)) }
  },
  run: async ({ join, members }, iterations) => {
    let joined = 0
    for (let left = iterations; left > 0; left--) {
      joined += (await join(members)).length
    }
    return joined
  },
  verify: (_, { iterations, checksum }) => checksum === iterations * MEMBERS
})

type Join = (members: readonly unknown[]) => Promise<readonly unknown[]>

const JOINS: Record<'succeed' | 'complete', Record<'ours' | 'promise', Join>> = {
  succeed: { ours: members => whenAllSucceed(members), promise: members => Promise.all(members) },
  complete: { ours: members => whenAllComplete(members), promise: members => Promise.allSettled(members) }
}
