import { changeScale } from '../charts/change-scale.ts'
import type { ChangeScale } from '../charts/change-scale.ts'
import { changeMark, intervalOf } from '../charts/change-mark.ts'
import { scrolling, spark } from '../charts/figure.ts'
import { describeParams, valueOn } from '../charts/suite.ts'
import type { Suite } from '../charts/suite.ts'
import { VERDICT_MARKS, describeOther, verdictClass, verdictLabel, verdictOf } from '../charts/verdicts.ts'
import type { CellVerdict } from '../charts/verdicts.ts'
import type { Failed, Measured, Result } from '../report.ts'
import { isMeasured } from '../results.ts'
import { counted, showBytes, showChange, showProbability, showTime } from './figures.ts'
import { markup, px } from './markup.ts'
import type { Content, Markup } from './markup.ts'

/** A column of the table: what its cells show, and what they are sorted by. */
interface Column {
  readonly name: string
  readonly kind: 'figure' | 'words'
  show (cell: Measured): Content
  /** Rows without a key stay at the end, whichever way the table is sorted. */
  key (cell: Measured): string | number | undefined
}

/** Of the picture of an interval. */
const PLOT_WIDTH = 84

/**
 * All cells of a suite in the order of the plan. Complete without a script; with it the headers sort. The choice of a
 * verdict above it is style alone.
 */
export function cellTable (suite: Suite, noise: number, id: string): Markup {
  const columns = columnsOf(suite, noise)
  const axes = suite.axes.length === 0 ? ['cell'] : suite.axes.map(({ name }) => name)
  const caption = `All cells of ${suite.name}`
  const [samples, ...more] = sampleCounts(suite.results)
  const fixed = [
    describeParams(suite.constants),
    samples === undefined || more.length > 0 ? '' : counted(samples, 'sample')
  ].filter((text) => text !== '').join(' · ')
  return markup`${verdictChoice(suite.results, id)}
    ${fixed === '' ? undefined : markup`<p class="note">The same in all cells: ${fixed}.</p>`}
    ${scrolling(caption, markup`<table class="cells"><caption class="hidden">${caption}</caption><thead><tr>${[
      axes.map((name) => header(name, 'axis')), columns.map(({ name, kind }) => header(name, kind))
    ]}</tr></thead>
      <tbody>${suite.results.map((result) => rowOf(result, suite, columns))}</tbody></table>`)}`
}

/** The button is dead until the script wakes it: without one it is a plain heading. */
function header (name: string, kind: string): Markup {
  return markup`<th scope="col" class="${kind}" aria-sort="none"><button type="button" disabled="">${name}</button></th>`
}

function rowOf (result: Result, { axes, name }: Suite, columns: readonly Column[]): Markup {
  const [first = name, ...rest] = axes.map((axis) => valueOn(result, axis))
  return markup`<tr class="is-${verdictClass(verdictOf(result))}"><th scope="row" data-key="${first}">${first}</th>${rest.map((value) =>
    markup`<td class="axis" data-key="${value}">${value}</td>`)}${isMeasured(result)
    ? columns.map((column) => cellOf(column, result))
    : failureOf(result, columns.length)}</tr>
  `
}

function failureOf ({ error: { stage, name, message } }: Failed, width: number): Markup {
  return markup`<td class="error" colspan="${width}">${verdictLabel('failed')} in ${stage}: ${name}: ${message}</td>`
}

function cellOf (column: Column, cell: Measured): Markup {
  const sortKey = column.key(cell)
  return markup`<td class="${column.kind}"${sortKey === undefined ? undefined : markup` data-key="${typeof sortKey === 'number' ? Number(sortKey.toPrecision(6)) : sortKey}"`}>${column.show(cell)}</td>`
}

function columnsOf ({ results }: Suite, noise: number): Column[] {
  const measured = results.filter(isMeasured)
  const others = new Set(measured.flatMap((cell) => cell.baseline === undefined ? [] : [describeOther(cell, cell.baseline, results)]))
  const scale = changeScale(measured.flatMap(({ baseline }) => baseline ?? []), noise, [2, PLOT_WIDTH - 2])
  const columns: Array<Column | false> = [
    figure('low', ({ low }) => low, showTime),
    figure('mid', ({ mid }) => mid, showTime),
    figure('high', ({ high }) => high, showTime),
    measured.some(({ perUnit }) => perUnit !== undefined) && figure('per unit', ({ perUnit }) => perUnit, showTime),
    others.size > 0 && figure('change', ({ baseline }) => baseline?.ratio, showChange),
    others.size > 0 && {
      name: '95 % interval', kind: 'words',
      show: ({ baseline }) => baseline === undefined ? undefined : [plot(baseline, scale, noise), ' ', intervalOf(baseline)],
      key: ({ baseline }) => baseline?.high
    },
    others.size > 0 && figure('p', ({ baseline }) => baseline?.p, showProbability),
    others.size > 0 && {
      name: 'verdict', kind: 'words',
      show: (cell) => cell.baseline === undefined ? undefined : verdictLabel(cell.baseline.verdict),
      key: (cell) => cell.baseline === undefined ? undefined : verdictOf(cell)
    },
    others.size > 1 && {
      name: 'against', kind: 'words',
      show: (cell) => cell.baseline === undefined ? undefined : describeOther(cell, cell.baseline, results),
      key: (cell) => cell.baseline === undefined ? undefined : describeOther(cell, cell.baseline, results)
    },
    measured.some(({ bytesPerIteration }) => bytesPerIteration !== undefined)
    && figure('allocated', ({ bytesPerIteration }) => bytesPerIteration, showBytes),
    measured.some(({ bytesRetained }) => bytesRetained !== undefined)
    && figure('retained', ({ bytesRetained }) => bytesRetained, showBytes),
    sampleCounts(results).length > 1 && figure('samples', ({ samples }) => samples.length, String),
    measured.some(({ notes }) => notes.length > 0)
    && { name: 'notes', kind: 'words', show: ({ notes }) => notes.join(', '), key: ({ notes }) => notes.join(', ') || undefined }
  ]
  return columns.filter((column) => column !== false)
}

/** The different numbers of samples that cells have. */
function sampleCounts (results: readonly Result[]): number[] {
  return [...new Set(results.filter(isMeasured).map(({ samples }) => samples.length))]
}

function figure (name: string, value: (cell: Measured) => number | undefined, format: (value: number) => string): Column {
  return {
    name, kind: 'figure', key: value,
    show: (cell) => {
      const shown = value(cell)
      return shown === undefined ? undefined : format(shown)
    }
  }
}

/** The interval as a picture; the words beside it say the same. */
function plot (change: NonNullable<Measured['baseline']>, scale: ChangeScale, noise: number): Markup {
  const from = scale.at(1 / (1 + noise))
  return spark(PLOT_WIDTH, markup`<rect class="noise" x="${px(from)}" width="${px(scale.at(1 + noise) - from)}" height="16"/>
    <path class="zero" d="M${px(scale.at(1))} 0V16"/>${changeMark(change, scale, 8)}`)
}

/** Radio buttons that leave the rows of one verdict; nothing where all rows have the same. */
function verdictChoice (results: readonly Result[], id: string): Markup | undefined {
  const verdicts = new Map<CellVerdict, number>()
  for (const result of results) {
    verdicts.set(verdictOf(result), (verdicts.get(verdictOf(result)) ?? 0) + 1)
  }
  if (verdicts.size < 2) {
    return undefined
  }
  const choice = (name: string, label: Content, count: number, checked?: Markup): Markup =>
    markup`<label><input type="radio" name="${id}-show" class="show-${name}"${checked}/><span>${label} <b>${count}</b></span></label>`
  return markup`<fieldset class="choice"><legend>Show</legend>${choice('all', 'all', results.length, markup` checked=""`)}${
    inOrder(verdicts).map(([verdict, count]) => choice(verdictClass(verdict), verdictLabel(verdict), count))}</fieldset>`
}

function inOrder (verdicts: ReadonlyMap<CellVerdict, number>): Array<[CellVerdict, number]> {
  const order = Object.keys(VERDICT_MARKS)
  return [...verdicts].sort(([a], [b]) => order.indexOf(a) - order.indexOf(b))
}
