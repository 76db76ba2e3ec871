import fc from 'fast-check'
import * as oracle from 'simple-statistics'
import { describe, expect, it } from 'vitest'
import {
  leastSquares, marginOfError, mean, median, medianAbsoluteDeviation, percentile, rankCorrelation, relativeMarginOfError, standardDeviation, standardError,
  variance
} from '../../src/bench/statistics.ts'

const numbers = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 2, maxLength: 50 })
const anyNumbers = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 50 })

/** Equal but for what rounding may do to numbers of this size. */
function expectNear (actual: number, expected: number, size: number) {
  expect(Math.abs(actual - expected)).toBeLessThanOrEqual(1e-9 * Math.max(1e-3, Math.abs(size)))
}

const all = { mean, variance, standardDeviation, standardError, marginOfError, relativeMarginOfError, median, medianAbsoluteDeviation }

describe('variance (S13.1, B01)', () => {
  it.each([
    [[10, 1, 1], 4, 27],
    [[2, 4, 4, 4, 5, 5, 7, 9], 5, 4.571_428_571_428_571],
    [[1, 2, 3, 4, 5], 3, 2.5]
  ])('of %j', (values, expectedMean, expected) => {
    expect(mean(values)).toBe(expectedMean)
    expect(variance(values)).toBeCloseTo(expected, 14)
  })

  it('and what follows from it', () => {
    const values = [1, 2, 3, 4, 5]
    expect(standardDeviation(values)).toBeCloseTo(1.581_138_8, 7)
    expect(standardError(values)).toBeCloseTo(0.707_106_8, 7)
    expect(marginOfError(values)).toBeCloseTo(0.707_106_781 * 2.776_445_105, 7)
    expect(relativeMarginOfError(values)).toBeCloseTo(65.44, 1)
  })

  it('of one number is 0, as is its deviation, its margin and its relative margin', () => {
    expect([variance, standardDeviation, standardError, marginOfError, relativeMarginOfError].map(figure => figure([7]))).toEqual([0, 0, 0, 0, 0])
  })

  it('of a mean of 0 makes a relative margin of 0 or Infinity', () => {
    expect(relativeMarginOfError([0, 0, 0])).toBe(0)
    expect(relativeMarginOfError([-1, 1])).toBe(Infinity)
  })

  it.each(Object.entries(all))('%s of no numbers is a RangeError', (_, figure) => {
    expect(() => figure([])).toThrow(RangeError)
  })
})

describe('median (S13.2, B03)', () => {
  it.each([[[10, 9, 100], 10], [[4, 1, 3, 2], 2.5], [[-1, -10, 2], -1]])('of %j is %d', (values, expected) => {
    expect(median(Object.freeze(values))).toBe(expected)
  })

  it.each(Object.entries(all))('%s leaves the samples in their order', (_, figure) => {
    const values = [10, 9, 100, -3]
    figure(values)
    expect(values).toEqual([10, 9, 100, -3])
  })

  it('the deviation from it is taken from sorted deviations', () => {
    expect(medianAbsoluteDeviation([1, 1, 2, 2, 4, 6, 9])).toBe(1)
  })

  it('a percentile lies between neighbours, at p x (n - 1)', () => {
    expect([0, 0.25, 0.5, 0.9, 1].map(p => percentile([40, 10, 20, 30], p))).toEqual([10, 17.5, 25, 37, 40])
  })
})

describe('figures agree with simple-statistics', () => {
  it('mean, variance, deviation, median, median absolute deviation', () => {
    fc.assert(fc.property(numbers, (values) => {
      const size = Math.max(...values.map(Math.abs))
      expectNear(mean(values), oracle.mean(values), size)
      expectNear(variance(values), oracle.sampleVariance(values), size ** 2)
      expectNear(median(values), oracle.median(values), size)
      expectNear(medianAbsoluteDeviation(values), oracle.medianAbsoluteDeviation(values), size)
    }))
  })

  it('the middle and the ends of percentiles', () => {
    fc.assert(fc.property(numbers, (values) => {
      expect(percentile(values, 0)).toBe(oracle.min(values))
      expect(percentile(values, 1)).toBe(oracle.max(values))
      expectNear(percentile(values, 0.5), oracle.quantile(values, 0.5), Math.max(...values.map(Math.abs)))
    }))
  })

  it('lines and ranks', () => {
    const xs = [1, 2, 4, 8, 16]
    const ys = [3, 5, 4, 20, 31]
    const { m, b } = oracle.linearRegression(xs.map((x, index) => [x, ys[index]!]))
    const { slope, intercept, r2 } = leastSquares(xs, ys)
    expect(slope).toBeCloseTo(m, 12)
    expect(intercept).toBeCloseTo(b, 12)
    expect(r2).toBeCloseTo(oracle.rSquared(xs.map((x, index) => [x, ys[index]!]), x => m * x + b), 12)
    expect(rankCorrelation(xs, ys)).toBeCloseTo(oracle.sampleRankCorrelation(xs, ys), 12)
  })
})

describe('figures keep what they must', () => {
  it('the order of samples does not matter', () => {
    fc.assert(fc.property(anyNumbers, fc.integer({ min: 0, max: 49 }), (values, by) => {
      const turned = [...values.slice(by % values.length), ...values.slice(0, by % values.length)]
      const size = Math.max(...values.map(Math.abs))
      expect(median(turned)).toBe(median(values))
      expect(medianAbsoluteDeviation(turned)).toBe(medianAbsoluteDeviation(values))
      expectNear(mean(turned), mean(values), size)
      expectNear(variance(turned), variance(values), size ** 2)
    }))
  })

  it('a factor goes through all of them, and a shift through those of place only', () => {
    fc.assert(fc.property(anyNumbers, fc.integer({ min: -4, max: 4 }), (values, power) => {
      const factor = 2 ** power
      const scaled = values.map(value => value * factor)
      for (const figure of [mean, median, standardDeviation, marginOfError, medianAbsoluteDeviation]) {
        expectNear(figure(scaled), factor * figure(values), factor * Math.max(...values.map(Math.abs)))
      }
      const shifted = values.map(value => value + 1000)
      expectNear(mean(shifted), mean(values) + 1000, 1e6)
      expectNear(median(shifted), median(values) + 1000, 1e6)
      expectNear(standardDeviation(shifted), standardDeviation(values), 1e6)
    }))
  })

  it('none is NaN, and none of spread is negative', () => {
    fc.assert(fc.property(anyNumbers, (values) => {
      for (const figure of Object.values(all)) {
        expect(figure(values)).not.toBeNaN()
      }
      for (const figure of [variance, standardDeviation, standardError, marginOfError, relativeMarginOfError, medianAbsoluteDeviation]) {
        expect(figure(values)).toBeGreaterThanOrEqual(0)
      }
    }))
  })

  it('a line through points on a line has them all, and a flat one explains everything', () => {
    expect(leastSquares([1, 2, 3], [5, 7, 9])).toEqual({ slope: 2, intercept: 3, r2: 1 })
    expect(leastSquares([1, 2, 3], [4, 4, 4])).toEqual({ slope: 0, intercept: 4, r2: 1 })
  })

  it('ranks of equal numbers have no order', () => {
    expect(rankCorrelation([1, 2, 3], [7, 7, 7])).toBe(0)
    expect(rankCorrelation([1, 2, 3], [30, 20, 10])).toBe(-1)
  })
})
