import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compare, corrected, halfWidth, verdictOf } from '../../src/bench/compare.ts'
import { seededRandom } from '../../src/core/seeded-random.ts'
import { normal } from '../support/normal.ts'
import type { ProcessValues } from '../../src/bench/compare.ts'

const DEFAULTS = { noise: 0.02, tolerance: 0.05 }

function valuesOf (...values: number[]): ProcessValues {
  return new Map(values.map((value, index) => [index + 1, value]))
}

/** Verdict of one comparison alone. */
function verdict (subject: ProcessValues, base: ProcessValues) {
  const difference = compare(subject, base)!
  return verdictOf(difference, difference.p, DEFAULTS)
}

const values = fc.array(fc.double({ min: -5, max: 5, noNaN: true }), { minLength: 1, maxLength: 8 })

describe('compare (S13.3)', () => {
  it('pairs processes of the same seed, and no others', () => {
    const difference = compare(new Map([[1, 3], [2, 5], [9, 100]]), new Map([[2, 4], [1, 2], [7, -100]]))
    expect(difference).toEqual({ ratio: Math.E, low: Math.E, high: Math.E, p: 1e-6, pairs: 2 })
    expect(compare(new Map([[1, 3]]), new Map([[2, 3]]))).toBeUndefined()
  })

  it('has an interval and a p-value by Student\'s distribution', () => {
    const { ratio, low, high, p } = compare(valuesOf(0.1, 0.2, 0.3), valuesOf(0, 0, 0))!
    expect(Math.log(ratio)).toBeCloseTo(0.2, 12)
    expect(Math.log(high)).toBeCloseTo(0.2 + 4.302_652_73 * 0.1 / Math.sqrt(3), 8)
    expect(Math.log(low)).toBeCloseTo(0.2 - 4.302_652_73 * 0.1 / Math.sqrt(3), 8)
    expect(p).toBeCloseTo(0.074_18, 4)
  })

  it('of one pair has no p-value below 1', () => {
    expect(compare(valuesOf(5), valuesOf(1))).toMatchObject({ p: 1, pairs: 1 })
  })

  it('ties a sample set with itself at every size', () => {
    fc.assert(fc.property(values, (set) => {
      expect(compare(valuesOf(...set), valuesOf(...set))).toEqual({ ratio: 1, low: 1, high: 1, p: 1, pairs: set.length })
      expect(verdict(valuesOf(...set), valuesOf(...set))).toBe(set.length < 3 ? 'inconclusive' : 'no change')
    }))
  })

  it('turns round when its sides are swapped', () => {
    const opposite = { improved: 'regressed', regressed: 'improved', 'no change': 'no change', inconclusive: 'inconclusive' }
    fc.assert(fc.property(values, values, (left, right) => {
      const forth = compare(valuesOf(...left), valuesOf(...right))!
      const back = compare(valuesOf(...right), valuesOf(...left))!
      expect(back.p).toBe(forth.p)
      expect(back.ratio * forth.ratio).toBeCloseTo(1, 9)
      expect(back.low * forth.high).toBeCloseTo(1, 9)
      expect(verdict(valuesOf(...right), valuesOf(...left))).toBe(opposite[verdict(valuesOf(...left), valuesOf(...right))])
    }))
  })
})

describe('verdictOf', () => {
  const difference = { ratio: 1.1, low: 1.08, high: 1.12, p: 0.001, pairs: 5 }
  it.each([
    ['a change beyond the noise', {}, 0.01, 'regressed'],
    ['the same the other way', { low: 0.88, high: 0.92 }, 0.01, 'improved'],
    ['a change that is not significant after correction', {}, 0.05, 'inconclusive'],
    ['an interval that reaches into the noise', { low: 1.019 }, 0.01, 'inconclusive'],
    ['an interval inside the tolerance', { low: 0.97, high: 1.01 }, 0.5, 'no change'],
    ['an interval that leaves the tolerance', { low: 0.94, high: 1.01 }, 0.5, 'inconclusive'],
    ['two pairs', { pairs: 2 }, 0.01, 'inconclusive'],
    ['a small change that is sure', { low: 1.025, high: 1.03 }, 0.01, 'regressed']
  ] as const)('%s', (_, change, q, expected) => {
    expect(verdictOf({ ...difference, ...change }, q, DEFAULTS)).toBe(expected)
  })
})

describe('corrected (Benjamini-Hochberg)', () => {
  it('agrees with values computed by hand, in any order', () => {
    expect(corrected([0.01, 0.04, 0.03, 0.005])).toEqual([0.02, 0.04, 0.04, 0.02])
    expect(corrected([0.5])).toEqual([0.5])
    expect(corrected([])).toEqual([])
  })

  it('never lowers a p-value, never exceeds 1, and keeps the order', () => {
    fc.assert(fc.property(fc.array(fc.double({ min: 1e-6, max: 1, noNaN: true }), { maxLength: 30 }), (ps) => {
      const qs = corrected(ps)
      ps.forEach((p, index) => {
        expect(qs[index]).toBeGreaterThanOrEqual(p * (1 - 1e-12))
        expect(qs[index]).toBeLessThanOrEqual(1)
        ps.forEach((other, at) => { expect(p < other && qs[index]! > qs[at]! + 1e-12).toBe(false) })
      })
    }))
  })
})

describe('halfWidth', () => {
  it('is the same for a change and its inverse', () => {
    expect(halfWidth({ low: 1 / 1.03, high: 1.03 })).toBeCloseTo(0.03, 12)
    expect(halfWidth({ low: 2, high: 2 * 1.03 ** 2 })).toBeCloseTo(0.03, 12)
  })
})

/** 48 cells of which all differ by `change`, with the spread that was measured between paired processes. */
function simulate (processes: number, change: number, runs: number) {
  const random = seededRandom(5)
  const counts = { improved: 0, regressed: 0, 'no change': 0, inconclusive: 0 }
  for (let run = 0; run < runs; run++) {
    const differences = Array.from({ length: 48 }, () => {
      const base = Array.from({ length: processes }, () => 4 + 0.2 * normal(random))
      return compare(valuesOf(...base.map(value => value + Math.log1p(change) + 0.019 / Math.sqrt(1.4) * normal(random))), valuesOf(...base))!
    })
    const qs = corrected(differences.map(({ p }) => p))
    differences.forEach((difference, index) => { counts[verdictOf(difference, qs[index]!, DEFAULTS)]++ })
  }
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count / (48 * runs)]))
}

describe('verdicts on simulated runs', () => {
  it('the same code gives hardly any false alarm', () => {
    const { improved, regressed } = simulate(5, 0, 100)
    expect(improved! + regressed!).toBeLessThan(0.002)
  })

  it('10 % are found with five processes', () => {
    expect(simulate(5, 0.1, 50)['regressed']).toBeGreaterThan(0.95)
  })

  it('5 % are found with twelve', () => {
    expect(simulate(12, 0.05, 50)['regressed']).toBeGreaterThan(0.95)
  })
})
