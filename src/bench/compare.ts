/**
 * How much slower one cell is than another, and whether that is worth a word (S13.3).
 *
 * What is compared are processes of the same hash seed, pair by pair: the seed moves both of them alike. One rule holds at
 * every size, swapping the sides turns every answer round, and a cell ties with itself.
 */

import { studentTwoSided } from './distributions.ts'
import { marginOfError, mean, standardError } from './statistics.ts'
import type { Change, Verdict } from './report.ts'

/** The logarithm of the nanoseconds of one cell in each process, by hash seed. */
export type ProcessValues = ReadonlyMap<number, number>

/** A change before the correction for many comparisons. */
export type Difference = Omit<Change, 'q' | 'verdict'>

/** What counts as a change; fractions, such as 0.02. */
export interface Thresholds {
  /** A change must be larger than this, with all of its interval. */
  readonly noise: number
  /** An interval that lies within this says that nothing changed. */
  readonly tolerance: number
}

/** No p-value is smaller: the distribution far out is a guess. */
const LEAST_P = 1e-6

/** Corrected p-values below are significant. */
const SIGNIFICANT = 0.05

/** With fewer pairs every verdict is inconclusive. */
const MIN_PAIRS = 3

/**
 * @param subject - what may have changed
 * @param base - what it is compared with
 * @returns undefined without a common seed
 */
export function compare (subject: ProcessValues, base: ProcessValues): Difference | undefined {
  const differences: number[] = []
  for (const [seed, value] of subject) {
    const other = base.get(seed)
    if (other !== undefined) {
      differences.push(value - other)
    }
  }
  return differences.length === 0 ? undefined : differenceOf(differences)
}

function differenceOf (differences: readonly number[]): Difference {
  const centre = mean(differences)
  const margin = marginOfError(differences)
  return {
    ratio: Math.exp(centre),
    low: Math.exp(centre - margin),
    high: Math.exp(centre + margin),
    p: pValue(differences, centre),
    pairs: differences.length
  }
}

function pValue (differences: readonly number[], centre: number): number {
  if (differences.length === 1 || centre === 0) {
    return 1
  }
  const error = standardError(differences)
  return error === 0 ? LEAST_P : Math.max(LEAST_P, studentTwoSided(centre / error, differences.length - 1))
}

/**
 * p-values that keep the share of false alarms among all alarms at the level they are compared with (Benjamini-Hochberg).
 *
 * @returns one for each, in the same order
 */
export function corrected (ps: readonly number[]): number[] {
  const descending = ps.map((p, index) => ({ p, index })).sort((left, right) => right.p - left.p)
  const qs = new Array<number>(ps.length).fill(1)
  let least = 1
  descending.forEach(({ p, index }, position) => {
    least = Math.min(least, p * ps.length / (ps.length - position))
    qs[index] = least
  })
  return qs
}

/** @param q - the corrected p-value of the difference */
export function verdictOf ({ low, high, pairs }: Difference, q: number, { noise, tolerance }: Thresholds): Verdict {
  if (pairs < MIN_PAIRS) {
    return 'inconclusive'
  }
  if (q < SIGNIFICANT && Math.log(high) < -Math.log1p(noise)) {
    return 'improved'
  }
  if (q < SIGNIFICANT && Math.log(low) > Math.log1p(noise)) {
    return 'regressed'
  }
  const limit = Math.log1p(tolerance)
  return -limit <= Math.log(low) && Math.log(high) <= limit ? 'no change' : 'inconclusive'
}

/**
 * Half the width of the interval of a change, as a fraction: how far two cells of the same code may lie apart, when it is a
 * cell and its twin.
 */
export function halfWidth ({ low, high }: Pick<Change, 'low' | 'high'>): number {
  return Math.sqrt(high / low) - 1
}
