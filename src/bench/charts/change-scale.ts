import { scaleSymlog } from 'd3-scale'
import { showRoundChange } from '../html/figures.ts'
import type { Change } from '../report.ts'

/** Places ratios on a line: log ratios, even near no change and pressed together far from it. */
export interface ChangeScale {
  at (ratio: number): number
  /** Ratios worth a label, at least `gap` apart. */
  ticks (gap: number): Array<{ readonly ratio: number, readonly label: string }>
}

/** From the most useful to the least. */
const TICKS = [
  1, 0.5, 2, 0.1, 10, 0.9, 1.1, 0.01, 100, 0.001, 1000, 1e-4, 1e4, 1e-5, 1e5, 0.95, 1.05, 0.8, 1.2, 0.98, 1.02, 0.99, 1.01, 0.2, 5, 0.7, 1.5
]

/** Below this size of a log ratio the scale is about even. */
const EVEN = 0.1

/**
 * A scale that holds all the intervals and the band of noise around no change.
 *
 * @param changes - what is to be drawn
 * @param noise - as a fraction
 * @param range - where the scale begins and ends
 */
export function changeScale (changes: readonly Change[], noise: number, range: readonly [number, number]): ChangeScale {
  const margin = Math.log(1 + 2 * noise)
  const lows = changes.map(({ low, ratio }) => logOf(Math.min(low, ratio)))
  const highs = changes.map(({ high, ratio }) => logOf(Math.max(high, ratio)))
  const domain = [Math.min(-margin, ...lows), Math.max(margin, ...highs)] as const
  const scale = scaleSymlog().domain(domain).range(range).constant(EVEN)
  const at = (ratio: number): number => scale(logOf(ratio))
  return {
    at,
    ticks: (gap) => {
      const chosen: number[] = []
      for (const ratio of TICKS) {
        const isInside = Math.log(ratio) >= domain[0] && Math.log(ratio) <= domain[1]
        if (isInside && chosen.every((other) => Math.abs(at(other) - at(ratio)) >= gap)) {
          chosen.push(ratio)
        }
      }
      return chosen.sort((a, b) => a - b).map((ratio) => ({ ratio, label: ratio === 1 ? 'same' : showRoundChange(ratio) }))
    }
  }
}

/** An interval may reach 0 or beyond, which has no logarithm: it ends at a millionth. */
function logOf (ratio: number): number {
  return Math.log(Math.max(ratio, 1e-6))
}
