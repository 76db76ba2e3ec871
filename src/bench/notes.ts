/** Reasons to look at a cell twice. None of them changes a figure or drops a sample. */

import { ascending, at, mean, median, percentileOfSorted, rankCorrelation, variance } from './statistics.ts'
import type { RoundRecord } from './session.ts'
import type { MeasuredOutcome } from './task.ts'
import type { Numbers } from './statistics.ts'

/** Up to this many times the empty body a figure is mostly the loop. */
const FLOOR_FACTOR = 2

/** What twice the iterations may cost. */
const LINEAR = [1.8, 2.2] as const

/** How far costs may follow the order in time. */
const DRIFT = 0.5

/** How often a round may be interrupted; a round takes about half a second. */
const MAX_SWITCHES = 100

/** Shapes and orders of fewer rounds or samples say nothing. */
const ENOUGH_ROUNDS = 6
const ENOUGH_SAMPLES = 15

/**
 * @param rounds - of one cell, in order of time, at least one
 * @param floor - nanoseconds of an iteration of the empty body, where it was measured
 */
export function notesOf (rounds: readonly RoundRecord[], mid: number, floor: number | undefined): string[] {
  const outcomes = rounds.map(({ outcome }) => outcome)
  const samples = outcomes.flatMap(outcome => outcome.samples)
  return [
    new Set(rounds.map(({ seed }) => seed)).size === 1 ? 'n=1' : '',
    floor !== undefined && mid < FLOOR_FACTOR * floor ? 'at-floor' : '',
    isSuspect(outcomes) ? 'suspect' : '',
    outcomes.some(({ isAsync }) => isAsync) ? 'async' : '',
    share('not-steady', outcomes.filter(({ isSteady }) => !isSteady).length, outcomes.length),
    median(outcomes.map(({ switches }) => switches)) > MAX_SWITCHES ? 'switches' : '',
    isDrifting(rounds) ? 'drift' : '',
    samples.length >= ENOUGH_SAMPLES && isBimodal(rounds) ? 'bimodal' : '',
    ...outlierNotes(samples)
  ].filter(note => note !== '')
}

/** Cells that work only once, or not at all, take the same time for twice the iterations. */
function isSuspect (outcomes: readonly MeasuredOutcome[]): boolean {
  const factors = outcomes.flatMap(({ linearity }) => linearity ?? [])
  const factor = factors.length === 0 ? undefined : median(factors)
  return factor !== undefined && (factor < LINEAR[0] || factor > LINEAR[1])
}

function isDrifting (rounds: readonly RoundRecord[]): boolean {
  const orders = rounds.map(({ order }) => order)
  return rounds.length >= ENOUGH_ROUNDS && Math.abs(rankCorrelation(orders, rounds.map(({ outcome }) => median(outcome.samples)))) > DRIFT
}

/** A gap is one when it parts at least so many of the samples from the others, */
const LEAST_SIDE = 0.2
/** is wider than this, as a change of cost, */
const LEAST_GAP = Math.log(1.05)
/** and wider than this part of the whole range. */
const LEAST_SHARE = 1 / 3

/** Whether one wide gap parts the samples. What processes differ by is taken out before. */
function isBimodal (rounds: readonly RoundRecord[]): boolean {
  const sorted = ascending(rounds.flatMap(({ seed, outcome }) => {
    const centre = mean(rounds.filter(round => round.seed === seed).map(round => mean(round.outcome.samples.map(Math.log))))
    return outcome.samples.map(sample => Math.log(sample) - centre)
  }))
  const range = at(sorted, sorted.length - 1) - at(sorted, 0)
  const side = Math.ceil(LEAST_SIDE * sorted.length)
  return sorted.slice(side, sorted.length - side + 1)
    .some((value, index) => value - at(sorted, side + index - 1) > Math.max(LEAST_GAP, LEAST_SHARE * range))
}

/** Interquartile ranges outside of the quartiles, as Tukey drew his fences. */
const MILD_FENCE = 1.5
const SEVERE_FENCE = 3

/** Deviations from the median, as a normal distribution would have them. */
const MAX_DEVIATIONS = 3.5

/** Median absolute deviations that make a standard deviation. */
const NORMAL_MAD = 1.4826

function outlierNotes (samples: Numbers): string[] {
  const { mild, severe, far } = outliers(samples)
  return [share('outliers', mild + severe, samples.length), share('severe outliers', severe, samples.length), share('far outliers', far, samples.length)]
}

/** Samples that lie apart from the others. */
export interface Outliers {
  /** Outside of the inner fences and inside of the outer ones. */
  readonly mild: number
  /** Outside of the outer fences. */
  readonly severe: number
  /** More than 3.5 deviations from the median, of the deviations on their own side. */
  readonly far: number
}

/** @param samples - at least one */
export function outliers (samples: Numbers): Outliers {
  const sorted = ascending(samples)
  const lower = percentileOfSorted(sorted, 0.25)
  const upper = percentileOfSorted(sorted, 0.75)
  const beyond = (fence: number): number =>
    sorted.filter(value => value < lower - fence * (upper - lower) || value > upper + fence * (upper - lower)).length
  const severe = beyond(SEVERE_FENCE)
  return { mild: beyond(MILD_FENCE) - severe, severe, far: farOn(sorted) }
}

function farOn (sorted: Float64Array): number {
  const centre = percentileOfSorted(sorted, 0.5)
  return [sorted.filter(value => value <= centre), sorted.filter(value => value >= centre)]
    .filter(side => variance(side) > 0)
    .reduce((count, side) => {
      const deviation = NORMAL_MAD * medianAbsoluteDeviationFrom(side, centre)
      return count + side.filter(value => Math.abs(value - centre) > MAX_DEVIATIONS * deviation).length
    }, 0)
}

function medianAbsoluteDeviationFrom (side: Numbers, centre: number): number {
  return median(Float64Array.from(side, value => Math.abs(value - centre)))
}

function share (what: string, count: number, of: number): string {
  return count === 0 ? '' : `${what} ${count}/${of}`
}
