/**
 * The figure of a cell and its interval, from samples of rounds of processes.
 *
 * A process is one observation: its rounds and samples share a hash seed and a heap layout, so that all of them together know
 * little more than one of them. Pooling the samples would cover the truth in half of the cases, not in 95 %.
 */

import { normalCdf, studentQuantile } from './distributions.ts'
import { pick } from './random.ts'
import { UPPER, ascending, at, marginOfError, mean, median, percentileOfSorted } from './statistics.ts'
import type { Numbers } from './statistics.ts'

/** Samples of one round each, in the rounds of one process. */
export type ProcessSamples = readonly Numbers[]

/** A figure and its 95 % interval. */
export interface Interval {
  readonly low: number
  readonly mid: number
  readonly high: number
}

/** Fewer processes are too few to draw from. */
const MIN_PROCESSES = 5

const RESAMPLES = 10_000

/** The mean of the logarithms of the rounds, each of which counts as the median of its samples. */
export function processValue (rounds: ProcessSamples): number {
  return mean(rounds.map(samples => Math.log(median(samples))))
}

/**
 * The geometric mean over processes. The interval comes from drawing processes, then rounds of them, then samples of those;
 * below five processes from Student's distribution; for one process it is a point.
 *
 * @param processes - at least one, with at least one round each, of samples above 0
 * @param random - numbers from 0 to below 1
 */
export function figureOf (processes: readonly ProcessSamples[], random: () => number): Interval {
  const values = processes.map(processValue)
  const centre = mean(values)
  const mid = Math.exp(centre)
  if (processes.length < MIN_PROCESSES) {
    const margin = marginOfError(values)
    return { low: Math.exp(centre - margin), mid, high: Math.exp(centre + margin) }
  }
  const drawn = ascending(Float64Array.from({ length: RESAMPLES }, () => resampledCentre(processes, random)))
  const tail = tailOf(processes.length)
  return {
    low: Math.min(mid, Math.exp(percentileOfSorted(drawn, tail))),
    mid,
    high: Math.max(mid, Math.exp(percentileOfSorted(drawn, 1 - tail)))
  }
}

/** What to leave out on each side: less than 2.5 %, because few processes spread less than what they are drawn from. */
function tailOf (processes: number): number {
  return normalCdf(-Math.sqrt(processes / (processes - 1)) * studentQuantile(UPPER, processes - 1))
}

function resampledCentre (processes: readonly ProcessSamples[], random: () => number): number {
  let sum = 0
  for (let drawn = 0; drawn < processes.length; drawn++) {
    const rounds = pick(processes, random)
    let ofRounds = 0
    for (let round = 0; round < rounds.length; round++) {
      ofRounds += Math.log(resampledMedian(pick(rounds, random), random))
    }
    sum += ofRounds / rounds.length
  }
  return sum / processes.length
}

/** Puts each sample in its place as it is drawn: a round has a few, and is drawn a hundred thousand times. */
function resampledMedian (samples: Numbers, random: () => number): number {
  const sorted: number[] = []
  for (let drawn = 0; drawn < samples.length; drawn++) {
    const sample = at(samples, Math.floor(random() * samples.length))
    let place = drawn
    for (; place > 0 && at(sorted, place - 1) > sample; place--) {
      sorted[place] = at(sorted, place - 1)
    }
    sorted[place] = sample
  }
  return percentileOfSorted(sorted, 0.5)
}
