import { describe, expect, it } from 'vitest'
import { figureOf, processValue } from '../../src/bench/bootstrap.ts'
import { seededRandom } from '../../src/core/seeded-random.ts'
import { normal } from '../support/normal.ts'

/** Processes that differ, rounds that differ less, samples that differ least; the truth is 100. */
function processes (count: number, random: () => number) {
  return Array.from({ length: count }, () => {
    const ofProcess = 0.05 * normal(random)
    return Array.from({ length: 3 }, () => {
      const ofRound = 0.02 * normal(random)
      return Array.from({ length: 3 }, () => 100 * Math.exp(ofProcess + ofRound + 0.01 * normal(random)))
    })
  })
}

describe('processValue', () => {
  it('is the mean of the logarithms of the medians of rounds', () => {
    expect(processValue([[1, 2, 100], [8]])).toBeCloseTo((Math.log(2) + Math.log(8)) / 2, 12)
  })
})

describe('figureOf', () => {
  it('of one process is a point', () => {
    const { low, mid, high } = figureOf([[[3, 1, 2], [8]]], seededRandom(1))
    expect([low, mid, high].map(value => value.toFixed(9))).toEqual(Array(3).fill('4.000000000'))
  })

  it('of fewer than five comes from Student\'s distribution of their logarithms', () => {
    const { low, mid, high } = figureOf([[[Math.E]], [[Math.E ** 2]], [[Math.E ** 3]]], seededRandom(1))
    const margin = 4.302_652_73 / Math.sqrt(3)
    expect(Math.log(mid)).toBeCloseTo(2, 12)
    expect(Math.log(low)).toBeCloseTo(2 - margin, 6)
    expect(Math.log(high)).toBeCloseTo(2 + margin, 6)
  })

  it('of five equal ones is a point, and always has its middle inside', () => {
    const point = figureOf(Array.from({ length: 5 }, () => [[7, 7], [7]]), seededRandom(1))
    expect([point.low, point.mid, point.high].map(value => value.toFixed(9))).toEqual(Array(3).fill('7.000000000'))
    const random = seededRandom(2)
    for (let times = 0; times < 20; times++) {
      const { low, mid, high } = figureOf(processes(5, random), seededRandom(1))
      expect(low).toBeLessThanOrEqual(mid)
      expect(mid).toBeLessThanOrEqual(high)
    }
  })

  it('gives the same for the same seed, and leaves the samples alone', () => {
    const samples = processes(5, seededRandom(3))
    const before = structuredClone(samples)
    expect(figureOf(samples, seededRandom(1))).toEqual(figureOf(samples, seededRandom(1)))
    expect(samples).toEqual(before)
  })

  it.each([3, 5])('covers the truth in about 95 of 100 cases with %d processes', (count) => {
    const random = seededRandom(4)
    const runs = 60
    let covered = 0
    for (let run = 0; run < runs; run++) {
      const { low, high } = figureOf(processes(count, random), random)
      covered += low <= 100 && 100 <= high ? 1 : 0
    }
    // Less than three standard deviations of such a count below 95 %.
    expect(covered / runs).toBeGreaterThan(0.86)
  }, 60_000)
})
