/** Puts comparisons into results. All of a run are judged together, since each of them could be a false alarm. */

import { compare, corrected, halfWidth, verdictOf } from './compare.ts'
import { isMeasured, valuesOf } from './results.ts'
import type { Difference, ProcessValues, Thresholds } from './compare.ts'
import type { Comparison, Measured, Report, Result } from './report.ts'

/** Something to compare a cell with. */
export interface Opponent {
  readonly of: { readonly id: string } | { readonly name: string }
  readonly values: ProcessValues
  /** Added to the noise: what the machine changed by between two runs, as a fraction. */
  readonly shift: number
}

/** One comparison that is to be made. */
export interface Match {
  readonly values: ProcessValues
  readonly opponent: Opponent
}

/** The noise of `auto` when the machine is quiet. */
const LEAST_NOISE = 0.02

/**
 * The noise that counts.
 *
 * @param noise - as asked for; `auto` takes 2 %, or what the twin says if that is more
 * @param twin - the comparison of a cell with its twin, where there is one
 */
export function noiseOf (noise: number | 'auto', twin: Difference | undefined): number {
  return noise === 'auto' ? Math.max(LEAST_NOISE, twin === undefined ? 0 : halfWidth(twin)) : noise
}

/** One comparison for each match, judged together; undefined for one without a common seed. */
function judge (matches: readonly Match[], { noise, tolerance }: Thresholds): Array<Comparison | undefined> {
  const differences = matches.map(({ values, opponent }) => compare(values, opponent.values))
  const known = differences.filter(difference => difference !== undefined)
  const qs = corrected(known.map(({ p }) => p))
  return differences.map((difference, index) => {
    const opponent = matches[index]?.opponent
    if (difference === undefined || opponent === undefined) {
      return undefined
    }
    const q = qs[known.indexOf(difference)] ?? 1
    return { ...opponent.of, ...difference, q, verdict: verdictOf(difference, q, { noise: noise + opponent.shift, tolerance }) }
  })
}

/** The opponents of one cell, the one of the table first. */
export type Opponents = (measured: Measured) => readonly Opponent[]

/** What {@link judgeAll} found. */
export interface Judged {
  /** The results with their comparisons; earlier ones are replaced. */
  readonly results: readonly Result[]
  /** The comparisons of the controls, in the same order. */
  readonly controls: ReadonlyArray<Comparison | undefined>
}

/** Judges all cells of a run, and its controls. */
export function judgeAll (results: readonly Result[], opponentsOf: Opponents, controls: readonly Match[], thresholds: Thresholds): Judged {
  const matches = results.map(result => isMeasured(result)
    ? opponentsOf(result).map((opponent): Match => ({ values: valuesOf(result), opponent }))
    : [])
  const comparisons = judge([...matches.flat(), ...controls], thresholds)
  return {
    results: results.map((result, index) => isMeasured(result) ? withComparisons(result, comparisons.splice(0, matches[index]?.length)) : result),
    controls: comparisons
  }
}

function withComparisons (measured: Measured, comparisons: ReadonlyArray<Comparison | undefined>): Measured {
  const { baseline: _, others: __, ...figures } = measured
  const [baseline, ...others] = comparisons.filter(comparison => comparison !== undefined)
  return { ...figures, ...(baseline === undefined ? {} : { baseline }), ...(others.length === 0 ? {} : { others }) }
}

/** What each cell of a saved report is compared with. */
export function savedOpponents (name: string, report: Report, shift: number): Opponents {
  const saved = new Map(report.results.filter(isMeasured).map(measured => [measured.id, measured]))
  return ({ id }) => {
    const measured = saved.get(id)
    return measured === undefined ? [] : [{ of: { name }, values: valuesOf(measured), shift }]
  }
}
