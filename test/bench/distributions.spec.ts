import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { normalCdf, studentQuantile, studentTwoSided } from '../../src/bench/distributions.ts'

describe('normalCdf', () => {
  it.each([
    [0, 0.5],
    [1, 0.841_344_746_068_542_9],
    [1.959_963_984_540_054, 0.975],
    [-3.104, 0.000_954_6],
    [-6, 9.865_876_450_376_98e-10]
  ])('of %d is %d', (x, expected) => {
    expect(normalCdf(x)).toBeCloseTo(expected, 6)
  })

  it('keeps its relative precision in the tail', () => {
    expect(normalCdf(-6) / 9.865_876_450_376_98e-10).toBeCloseTo(1, 6)
  })

  it('ends at 0 and 1', () => {
    expect([normalCdf(-9), normalCdf(9)]).toEqual([0, 1])
  })
})

describe('studentQuantile', () => {
  // From tables.
  it.each([
    [1, 12.706_204_736], [2, 4.302_652_730], [4, 2.776_445_105], [10, 2.228_138_852], [30, 2.042_272_456], [1000, 1.962_339_081]
  ])('of 97.5 %% with %d degrees of freedom is %d', (degrees, expected) => {
    expect(studentQuantile(0.975, degrees)).toBeCloseTo(expected, 6)
  })

  it('is the inverse of studentTwoSided', () => {
    fc.assert(fc.property(fc.double({ min: 0.51, max: 0.9999, noNaN: true }), fc.integer({ min: 1, max: 200 }), (p, degrees) => {
      expect(studentTwoSided(studentQuantile(p, degrees), degrees)).toBeCloseTo(2 * (1 - p), 9)
    }))
  })
})

describe('studentTwoSided', () => {
  it('is 1 at 0, the same on both sides, and falls', () => {
    fc.assert(fc.property(fc.double({ min: 1e-3, max: 100, noNaN: true }), fc.integer({ min: 1, max: 100 }), (t, degrees) => {
      expect(studentTwoSided(t, degrees)).toBe(studentTwoSided(-t, degrees))
      expect(studentTwoSided(t, degrees)).toBeLessThan(1)
      expect(studentTwoSided(2 * t, degrees)).toBeLessThan(studentTwoSided(t, degrees))
    }))
    expect(studentTwoSided(0, 3)).toBe(1)
  })

  it('of one degree of freedom is that of Cauchy', () => {
    expect(studentTwoSided(1, 1)).toBeCloseTo(0.5, 12)
    expect(studentTwoSided(3, 1)).toBeCloseTo(1 - 2 * Math.atan(3) / Math.PI, 12)
  })

  it('is 0 where no double is left', () => {
    expect(studentTwoSided(Infinity, 4)).toBe(0)
  })
})
