/** The short form of `npm run fuzz`; the seeds are the same at each run, so that a failure is met again. */

import '../support/polyfill.ts'
import { describe, expect, it } from 'vitest'
import { fuzz } from '../fuzz/negotiation-fuzz.ts'
import { inputOf } from '../fuzz/negotiation-inputs.ts'
import { fuzzBesideStock } from '../fuzz/stock-fuzz.ts'

const COUNT = 500_000

describe('generated negotiations', () => {
  it('are of every kind', () => {
    const inputs = Array.from({ length: 2000 }, (_, seed) => inputOf(seed))
    const kinds = new Set(inputs.map(({ role, kind, ending, keptInput }) => `${role} ${kind} ${ending} ${keptInput}`))
    expect(kinds.size).toBe(2 * 3 * 3 * 3)
  })

  it(`S10.1 to S10.5: ${COUNT} of them give what the naive twin gives`, () => {
    for (let seed = 0; seed < COUNT; seed++) {
      fuzz(seed)
    }
  }, 600_000)

  it('give what @libp2p/multistream-select gives, where both should agree', async () => {
    for (let seed = 0; seed < 1000; seed++) {
      await fuzzBesideStock(seed)
    }
  }, 120_000)
})
