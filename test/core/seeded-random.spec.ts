import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/core/seeded-random.ts'

const draw = (seed: number, count: number): number[] => Array.from({ length: count }, seededRandom(seed))

describe('seededRandom', () => {
  it('repeats itself for the same seed only', () => {
    expect(draw(1, 10)).toEqual(draw(1, 10))
    expect(draw(1, 10)).not.toEqual(draw(2, 10))
  })

  it('spreads over the range from 0 to below 1', () => {
    const tenths = new Array<number>(10).fill(0)
    for (const value of draw(42, 10_000)) {
      const tenth = Math.floor(value * 10)
      tenths[tenth] = (tenths[tenth] ?? NaN) + 1
    }
    expect(tenths).toHaveLength(10)
    expect(tenths.every(count => count > 800 && count < 1200)).toBe(true)
  })
})
