import { showChange, showProbability, showShare } from '../html/figures.ts'
import { markup, px } from '../html/markup.ts'
import type { Markup } from '../html/markup.ts'
import type { Comparison, Measured } from '../report.ts'
import { isMeasured } from '../results.ts'
import { changeScale } from './change-scale.ts'
import type { ChangeScale } from './change-scale.ts'
import { changeMark, intervalOf } from './change-mark.ts'
import { cut, dataTable, drawing, scrolling } from './figure.ts'
import { axesBut, describeCell, describeParams, facetsBy, valueOn } from './suite.ts'
import type { Suite } from './suite.ts'
import { VERDICT_MARKS, describeOther } from './verdicts.ts'

const ROW = 17
const TOP = 28
const PLOT = 270
/** Of the change, written out. */
const CHANGE = 58
const INTERVAL = 136
const CHARACTER = 6.6

interface Row {
  readonly cell: Measured
  readonly change: Comparison
}

/** The changes of a suite with their intervals: for each thing compared with, a drawing per row of the heat maps. */
export function comparisons (suite: Suite, noise: number, id: string): Markup | undefined {
  const opponents = opponentsOf(suite)
  return opponents.size === 0
    ? undefined
    : markup`
      <p class="note">Each mark is the change of one cell, its line the 95 % interval. Left is faster, right is slower;
        changes inside the shaded band (±${showShare(noise)}) count as noise.</p>
      ${[...opponents].map(([against, rows], at) => {
        const scale = changeScale(rows.map(({ change }) => change), noise, [8, PLOT - 8])
        const facets = facetsBy(rows.map(({ cell }) => cell), suite.y === undefined || suite.y === suite.series ? [] : [suite.y])
        return markup`<h4>Against ${against}</h4><div class="grid forest">${facets.map(({ params, results }, place) =>
          forest(rows.filter(({ cell }) => results.includes(cell)), { suite, noise, against, scale, name: describeParams(params), id: `${id}-${at}-${place}` }))}</div>`
      })}`
}

/** What there is to draw, by what it is compared with. */
function opponentsOf (suite: Suite): Map<string, Row[]> {
  const opponents = new Map<string, Row[]>()
  for (const cell of suite.results.filter(isMeasured)) {
    for (const change of [cell.baseline ?? [], cell.others ?? []].flat()) {
      const against = describeOther(cell, change, suite.results)
      const rows = opponents.get(against) ?? []
      rows.push({ cell, change })
      opponents.set(against, rows)
    }
  }
  return opponents
}

interface Layout {
  readonly suite: Suite
  readonly noise: number
  readonly against: string
  /** The same in all drawings that are compared with the same. */
  readonly scale: ChangeScale
  /** Of the facet; empty if it is the only one. */
  readonly name: string
  readonly id: string
}

/** A line of the drawing: what is the same in the rows below, or a row. */
type Line = string | Row

function forest (rows: readonly Row[], layout: Layout): Markup {
  const { suite, against, name, id } = layout
  const lines = linesOf(rows, suite)
  const left = leftOf(suite)
  const width = left + PLOT + CHANGE + INTERVAL
  const title = `Change against ${against}${name === '' ? '' : `, ${name}`}`
  return markup`<figure>${name === '' ? undefined : markup`<figcaption>${name}</figcaption>`}
    ${scrolling(`${suite.name}: ${title}`, drawing({
      id, title, description: describe(rows), width, height: TOP + lines.length * ROW + 6, least: width * 0.85,
      body: [frame(left, lines.length, layout), lines.map((line, at) => drawLine(line, { left, width, y: TOP + at * ROW, layout }))]
    }))}
    ${dataTable({
      caption: title,
      head: ['cell', 'change', 'low', 'high', 'p', 'q', 'pairs', 'verdict'],
      rows: rows.map(({ cell, change }) => [
        describeCell(cell, suite.axes) || suite.name, showChange(change.ratio), showChange(change.low), showChange(change.high),
        showProbability(change.p), showProbability(change.q), change.pairs, change.verdict
      ])
    })}</figure>`
}

/** Rows of the same place but for the series stand together under one heading. */
function linesOf (rows: readonly Row[], suite: Suite): Line[] {
  const axes = axesBut(suite, suite.series, suite.y)
  const headings = rows.map(({ cell }) => describeCell(cell, axes))
  return rows.flatMap((row, at): Line[] => {
    const heading = headings[at] ?? ''
    return suite.series === undefined || heading === '' || heading === headings[at - 1] ? [row] : [cut(heading, 40), row]
  })
}

function leftOf (suite: Suite): number {
  return 16 + Math.max(...suite.results.map((result) => nameOf(result, suite).length)) * CHARACTER
}

function nameOf (cell: Suite['results'][number], suite: Suite): string {
  return cut(suite.series === undefined ? describeCell(cell, axesBut(suite, suite.y)) : valueOn(cell, suite.series), 20)
}

/** Ticks, their lines and the band of noise. */
function frame (left: number, lines: number, { scale, noise }: Layout): Markup {
  const from = left + scale.at(1 / (1 + noise))
  const bottom = TOP + lines * ROW + 4
  return markup`<rect class="noise" x="${px(from)}" y="${TOP - 6}" width="${px(left + scale.at(1 + noise) - from)}" height="${bottom - TOP + 6}"/>
    ${scale.ticks(40).map(({ ratio, label }) => {
      const x = px(left + scale.at(ratio))
      return markup`<path class="${ratio === 1 ? 'zero' : 'rule'}" d="M${x} ${TOP - 6}V${bottom}"/><text class="tick middle" x="${x}" y="13">${label}</text>`
    })}`
}

function drawLine (line: Line, { left, width, y, layout }: { left: number, width: number, y: number, layout: Layout }): Markup {
  if (typeof line === 'string') {
    return markup`<g transform="translate(0 ${y})"><path class="rule" d="M0 0H${px(width)}"/><text class="heading" y="13">${line}</text></g>`
  }
  const { cell, change } = line
  const right = left + PLOT + CHANGE
  return markup`<g transform="translate(0 ${y})"><text class="name" x="8" y="12">${nameOf(cell, layout.suite)}</text>
    <g transform="translate(${px(left)})">${changeMark(change, layout.scale, 8)}</g>
    <text class="change end" x="${px(right - 6)}" y="12">${showChange(change.ratio)}</text>
    <text class="change soft" x="${px(right + 4)}" y="12">${intervalOf(change)}</text></g>`
}

function describe (rows: readonly Row[]): string {
  const counts = Object.keys(VERDICT_MARKS)
    .map((verdict) => ({ verdict, count: rows.filter(({ change }) => change.verdict === verdict).length }))
    .filter(({ count }) => count > 0)
    .map(({ verdict, count }) => `${count} ${verdict}`)
  const ratios = rows.map(({ change }) => change.ratio)
  return `${counts.join(', ')}. The changes reach from ${showChange(Math.min(...ratios))} to ${showChange(Math.max(...ratios))}.`
}
