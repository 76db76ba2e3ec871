import { ascending, percentileOfSorted, standardDeviation } from '../statistics.ts'
import type { Numbers } from '../statistics.ts'

/** The outline of a distribution: how dense the samples lie at places along their axis. */
export type Density = ReadonlyArray<{ readonly at: number, readonly density: number }>

/** Fewer samples make a shape of their own accord: they are shown as dots only. */
export const LEAST_FOR_DENSITY = 15

/** Places at which the density is taken; enough for a smooth outline a hundred pixels high. */
const PLACES = 24

/**
 * A Gaussian density over the logarithms of the samples, its width by Silverman's rule; the largest density is 1. Nothing
 * for fewer than 15 samples, or for samples that are all the same.
 */
export function densityOf (samples: readonly number[]): Density | undefined {
  if (samples.length < LEAST_FOR_DENSITY) {
    return undefined
  }
  const logs = ascending(samples.map(Math.log))
  const width = silvermanWidth(logs)
  if (width === 0) {
    return undefined
  }
  const low = percentileOfSorted(logs, 0) - 2 * width
  const step = (percentileOfSorted(logs, 1) + 2 * width - low) / (PLACES - 1)
  const outline = Array.from({ length: PLACES }, (_, place) => {
    const at = low + place * step
    return { at: Math.exp(at), density: logs.reduce((sum, log) => sum + Math.exp(-0.5 * ((at - log) / width) ** 2), 0) }
  })
  const most = Math.max(...outline.map(({ density }) => density))
  return outline.map(({ at, density }) => ({ at, density: density / most }))
}

/** 0.9 × min(sd, IQR / 1.34) × n^(−1/5); the standard deviation alone where half of the samples are the same. */
function silvermanWidth (sorted: Numbers): number {
  const deviation = standardDeviation(sorted)
  const quartiles = (percentileOfSorted(sorted, 0.75) - percentileOfSorted(sorted, 0.25)) / 1.34
  return 0.9 * (quartiles > 0 ? Math.min(deviation, quartiles) : deviation) * sorted.length ** -0.2
}
