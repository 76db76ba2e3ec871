/** The table of results as texts, for the terminal and for Markdown. */

import { ITERATIONS } from './axes.ts'
import { formatBytes, formatChange, formatDuration, formatP, formatVerdict } from './format.ts'
import { isMeasured } from './results.ts'
import type { Comparison, Failed, Measured, Report, Result, Verdict } from './report.ts'

/** One table: the cells of one matrix. */
export interface ResultTable {
  readonly name: string
  /** Axes, then figures; a column that no row has a text for is left out. */
  readonly columns: readonly Column[]
  readonly rows: readonly Row[]
}

/** A column, by the key of its texts. */
export interface Column {
  readonly key: string
  readonly title: string
  /** A new group starts here: what is before and after it are different things. */
  readonly isGroup: boolean
}

/** The texts of a cell by column. */
export interface Row {
  readonly texts: ReadonlyMap<string, string>
  readonly verdict?: Verdict
  /** Instead of figures. */
  readonly error?: string
}

const FIGURES: readonly Column[] = [
  { key: 'low', title: 'low', isGroup: true },
  { key: 'mid', title: 'mid', isGroup: false },
  { key: 'high', title: 'high', isGroup: false },
  { key: 'perUnit', title: 'per unit', isGroup: true },
  { key: 'bytes', title: 'bytes', isGroup: true },
  { key: 'retained', title: 'retained', isGroup: true },
  { key: 'changeLow', title: '', isGroup: true },
  { key: 'change', title: 'change', isGroup: false },
  { key: 'changeHigh', title: '', isGroup: false },
  { key: 'p', title: 'p', isGroup: true },
  { key: 'verdict', title: 'verdict', isGroup: true },
  { key: 'notes', title: 'notes', isGroup: true }
]

/**
 * One table for each matrix, in the order of the results.
 *
 * @param isBracketed - whether the verdicts come from runs that should not be compared
 */
export function tablesOf ({ results }: Report, isBracketed: boolean): ResultTable[] {
  const matrices = new Map<string, Result[]>()
  for (const result of results) {
    const name = result.id.slice(0, result.id.indexOf('/'))
    const members = matrices.get(name) ?? []
    members.push(result)
    matrices.set(name, members)
  }
  return Array.from(matrices, ([name, members]) => tableOf(name, members, isBracketed))
}

function tableOf (name: string, results: readonly Result[], isBracketed: boolean): ResultTable {
  const axes = Object.keys(results[0]?.params ?? {}).filter(axis => axis === ITERATIONS || isVarying(axis, results))
  const rows = results.map(result => rowOf(result, isBracketed))
  const columns = [...axes.map((axis): Column => ({ key: axisKey(axis), title: axis, isGroup: true })), ...FIGURES]
  return { name, columns: columns.filter(({ key }) => rows.some(({ texts }) => (texts.get(key) ?? '') !== '')), rows }
}

function isVarying (axis: string, results: readonly Result[]): boolean {
  return results.some(({ params }) => params[axis] !== results[0]?.params[axis])
}

/** Axes may have the names of figures. */
function axisKey (axis: string): string {
  return `axis ${axis}`
}

function rowOf (result: Result, isBracketed: boolean): Row {
  const axes = Object.entries(result.params).map(([axis, value]) => [axisKey(axis), String(value)] as const)
  if (!isMeasured(result)) {
    return { texts: new Map(axes), error: errorText(result) }
  }
  const { baseline } = result
  return {
    texts: new Map([...axes, ...figuresOf(result), ...baseline === undefined ? [] : changesOf(baseline, isBracketed)]),
    ...(baseline === undefined ? {} : { verdict: baseline.verdict })
  }
}

/** The first line of a message: others, such as a stack of modules, would break the table. */
function errorText ({ error: { stage, name, message } }: Failed): string {
  const [line = ''] = message.split('\n')
  return stage === 'aborted' ? `aborted: ${line}` : `failed in ${stage}: ${name}: ${line}`
}

function figuresOf ({ low, mid, high, perUnit, bytesPerIteration, bytesRetained, notes }: Measured): Array<[string, string]> {
  return [
    ['low', formatDuration(low)], ['mid', formatDuration(mid)], ['high', formatDuration(high)],
    ['perUnit', perUnit === undefined ? '' : formatDuration(perUnit)],
    ['bytes', bytesPerIteration === undefined ? '' : formatBytes(bytesPerIteration)],
    ['retained', bytesRetained === undefined ? '' : formatBytes(bytesRetained)],
    ['notes', notes.join(', ')]
  ]
}

function changesOf (comparison: Comparison, isBracketed: boolean): Array<[string, string]> {
  return [
    ['changeLow', formatChange(comparison.low)], ['change', formatChange(comparison.ratio)], ['changeHigh', formatChange(comparison.high)],
    ['p', formatP(comparison.p)], ['verdict', formatVerdict(comparison, isBracketed)]
  ]
}
