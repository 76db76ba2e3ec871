import { describe, expect, it } from 'vitest'
import { simulate } from '../../src/testing/index.ts'
import { connectionSimulation, explain } from './connection-simulation.ts'

/** Scripts of the CI form, about a minute of a core that does nothing else; the long form is `npm run simulate`. */
const SCRIPTS = 200_000
/** Scripts between two breaths, in which the runner hears that the worker lives. */
const BATCH = 2000

describe('pairs of connections', () => {
  it(`keep the guarantees of S10 in ${SCRIPTS} random scripts (S10.6 to S10.8, S10.10 to S10.15, S10.18 to S10.20)`, { timeout: 600_000 }, async () => {
    for (let seed = 1; seed <= SCRIPTS; seed += BATCH) {
      const broken = simulate(connectionSimulation, { seed, count: Math.min(BATCH, SCRIPTS + 1 - seed) })
      expect(broken === undefined ? '' : explain(broken)).toBe('')
      await new Promise((resolve) => { setImmediate(resolve) })
    }
  })
})
