import { describe, expect, it } from 'vitest'
import { valuesOf } from '../../src/bench/results.ts'
import type { Measured } from '../../src/bench/index.ts'

/** Samples of rounds, of which each has its seed. */
function measured (...rounds: Array<readonly [seed: number, ...samples: number[]]>): Pick<Measured, 'samples' | 'rounds'> {
  let to = 0
  return {
    samples: rounds.flatMap(([, ...samples]) => samples),
    rounds: rounds.map(([seed, ...samples], order) => ({
      seed, round: 1, order, from: to, to: to += samples.length, repeat: 1, gcs: 0, switches: 0
    }))
  }
}

describe('what cells are compared by', () => {
  it('is the fastest round of each process, which counts as the median of its samples', () => {
    const values = valuesOf(measured([1, 8, 4, 5], [1, 7, 6, 1], [2, 20], [2, 10]))
    expect([...values].map(([seed, value]) => [seed, Math.exp(value)])).toEqual([[1, expect.closeTo(5, 12)], [2, expect.closeTo(10, 12)]])
  })

  it('is the same however long another program held the processor in all rounds but one', () => {
    expect(valuesOf(measured([1, 10], [1, 25], [1, 30]))).toEqual(valuesOf(measured([1, 30], [1, 10], [1, 10])))
  })
})
