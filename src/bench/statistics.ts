/**
 * Figures of a set of numbers (S13.1, S13.2). Nothing here changes the order of what it is given, and nothing gives NaN for
 * finite numbers.
 */

import { studentQuantile } from './distributions.ts'

/** Numbers that are only read. */
export type Numbers = ArrayLike<number>

/** The confidence of every interval. */
export const CONFIDENCE = 0.95

/** The percentile of Student's distribution that makes a two-sided interval of {@link CONFIDENCE}. */
export const UPPER: number = 1 - (1 - CONFIDENCE) / 2

/** @throws RangeError for no numbers */
export function mean (values: Numbers): number {
  requireSome(values)
  let sum = 0
  for (let index = 0; index < values.length; index++) {
    sum += at(values, index)
  }
  return sum / values.length
}

/**
 * Squared differences to the mean over n - 1; 0 for one number.
 *
 * @throws RangeError for no numbers
 */
export function variance (values: Numbers): number {
  const centre = mean(values)
  let sum = 0
  for (let index = 0; index < values.length; index++) {
    sum += (at(values, index) - centre) ** 2
  }
  return values.length === 1 ? 0 : sum / (values.length - 1)
}

/** @throws RangeError for no numbers */
export function standardDeviation (values: Numbers): number {
  return Math.sqrt(variance(values))
}

/**
 * The standard deviation of the mean.
 *
 * @throws RangeError for no numbers
 */
export function standardError (values: Numbers): number {
  return standardDeviation(values) / Math.sqrt(values.length)
}

/**
 * Half the width of the interval of the mean, by Student's distribution; 0 for one number.
 *
 * @throws RangeError for no numbers
 */
export function marginOfError (values: Numbers): number {
  const error = standardError(values)
  return error === 0 ? 0 : studentQuantile(UPPER, values.length - 1) * error
}

/**
 * The margin of error in percent of the mean. Of a mean of 0 it is 0 without a margin, else `Infinity`.
 *
 * @throws RangeError for no numbers
 */
export function relativeMarginOfError (values: Numbers): number {
  const margin = marginOfError(values)
  return margin === 0 ? 0 : 100 * margin / Math.abs(mean(values))
}

/**
 * Linear between neighbours, at position p x (n - 1) in numeric order.
 *
 * @param p - from 0 to 1
 * @throws RangeError for no numbers
 */
export function percentile (values: Numbers, p: number): number {
  return percentileOfSorted(ascending(values), p)
}

/**
 * {@link percentile} of numbers that are in order already.
 *
 * @throws RangeError for no numbers
 */
export function percentileOfSorted (sorted: Numbers, p: number): number {
  requireSome(sorted)
  const position = p * (sorted.length - 1)
  const index = Math.floor(position)
  const below = at(sorted, index)
  return index === position ? below : below + (at(sorted, index + 1) - below) * (position - index)
}

/** @throws RangeError for no numbers */
export function median (values: Numbers): number {
  return percentile(values, 0.5)
}

/**
 * The median of the distances to the median.
 *
 * @throws RangeError for no numbers
 */
export function medianAbsoluteDeviation (values: Numbers): number {
  const centre = median(values)
  return median(Float64Array.from(values, value => Math.abs(value - centre)))
}

/** A copy in numeric order. */
export function ascending (values: Numbers): Float64Array {
  return Float64Array.from(values).sort()
}

/** A line through points, by least squares. */
export interface Line {
  readonly slope: number
  readonly intercept: number
  /** The part of the variance of y, about its mean, that the line explains; 1 when there is none to explain. */
  readonly r2: number
}

/**
 * @param xs - at least two different ones
 * @param ys - as many
 */
export function leastSquares (xs: Numbers, ys: Numbers): Line {
  const meanX = mean(xs)
  const meanY = mean(ys)
  let xx = 0
  let xy = 0
  let yy = 0
  for (let index = 0; index < xs.length; index++) {
    const dx = at(xs, index) - meanX
    const dy = at(ys, index) - meanY
    xx += dx * dx
    xy += dx * dy
    yy += dy * dy
  }
  const slope = xy / xx
  return { slope, intercept: meanY - slope * meanX, r2: yy === 0 ? 1 : slope * xy / yy }
}

/** How much one order agrees with another, from -1 to 1 (Spearman); 0 when either has no order. */
export function rankCorrelation (xs: Numbers, ys: Numbers): number {
  const ranksX = ranks(xs)
  const ranksY = ranks(ys)
  if (variance(ranksX) === 0 || variance(ranksY) === 0) {
    return 0
  }
  const { slope } = leastSquares(ranksX, ranksY)
  return slope * standardDeviation(ranksX) / standardDeviation(ranksY)
}

/** The place of each number in numeric order; equal ones share the mean of theirs. */
function ranks (values: Numbers): Float64Array {
  const sorted = ascending(values)
  return Float64Array.from(values, value => (sorted.indexOf(value) + sorted.lastIndexOf(value)) / 2)
}

/** The number at an index that is known to be there. */
export function at (values: Numbers, index: number): number {
  return values[index] ?? NaN
}

function requireSome (values: Numbers): void {
  if (values.length === 0) {
    throw new RangeError('Cannot describe a sample set: it must have at least one number, received none')
  }
}
