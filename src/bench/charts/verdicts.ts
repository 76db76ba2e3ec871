import { markup } from '../html/markup.ts'
import type { Markup } from '../html/markup.ts'
import type { Comparison, Measured, Result, Verdict } from '../report.ts'
import { describeParams } from './suite.ts'

/** What may be said of a cell in a word. */
export type CellVerdict = Verdict | 'failed' | 'not compared'

/** A mark for each verdict, so that no hue is needed to tell them apart. */
export const VERDICT_MARKS: Readonly<Record<CellVerdict, string>> = {
  regressed: '▲',
  improved: '▼',
  'no change': '=',
  inconclusive: '?',
  failed: '✕',
  'not compared': '·'
}

/** The verdict in the table: that of the comparison with the baseline. */
export function verdictOf (result: Result): CellVerdict {
  if ('error' in result) {
    return 'failed'
  }
  return result.baseline?.verdict ?? 'not compared'
}

/** Whether there is a change that a reader should see. */
export function isSignificant (comparison: Comparison | undefined): boolean {
  return comparison?.verdict === 'improved' || comparison?.verdict === 'regressed'
}

/** The verdict as a name for style sheets: no spaces. */
export function verdictClass (verdict: CellVerdict): string {
  return verdict.replace(' ', '-')
}

/** Mark and word. */
export function verdictLabel (verdict: CellVerdict): Markup {
  return markup`<span class="verdict ${verdictClass(verdict)}"><span aria-hidden="true">${VERDICT_MARKS[verdict]}</span> ${verdict}</span>`
}

/** What a cell is compared with, in words: a saved baseline, or how the other cell differs. */
export function describeOther (cell: Measured, comparison: Comparison, results: readonly Result[]): string {
  if ('name' in comparison) {
    return `saved baseline “${comparison.name}”`
  }
  const other = results.find(({ id }) => id === comparison.id)
  if (other === undefined) {
    return comparison.id
  }
  const differing = Object.entries(other.params).filter(([name, value]) => cell.params[name] !== value)
  return describeParams(Object.fromEntries(differing))
}
