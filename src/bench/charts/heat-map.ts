import { scaleLinear, scaleSqrt } from 'd3-scale'
import type { AxisValue } from '../axes.ts'
import { counted, showChange, showRoundChange, showTime } from '../html/figures.ts'
import { markup, px } from '../html/markup.ts'
import type { Markup } from '../html/markup.ts'
import type { Measured, Result } from '../report.ts'
import { isMeasured } from '../results.ts'
import { cut, dataTable, drawing, scrolling } from './figure.ts'
import { CHANGE_STEPS, COST_STEPS } from './palette.ts'
import { axesBut, describeParams, facetsBy } from './suite.ts'
import type { Axis, Facet, Suite } from './suite.ts'
import { VERDICT_MARKS, isSignificant } from './verdicts.ts'

const CELL = { width: 72, height: 46, gap: 3 }
const TOP = 40
/** A ratio of this much, either way, has the strongest colour. */
const CLAMP = Math.log(4)

/** Maps a cell to the class of its colour. */
type Shade = (cell: Measured) => string

/** Heat maps of one suite, one per combination of the axes that are neither rows nor columns; nothing without columns. */
export function heatMaps (suite: Suite, noise: number, id: string): Markup | undefined {
  const { x, y } = suite
  if (x === undefined) {
    return undefined
  }
  const measured = suite.results.filter(isMeasured)
  const isCompared = measured.some(({ baseline }) => baseline !== undefined)
  const shade = isCompared ? shadeOfChange(noise) : shadeOfCost(measured)
  const facets = facetsBy(suite.results, axesBut(suite, x, y))
  return markup`
    <p class="note">${isCompared
      ? 'Time per iteration, and its change against the baseline; the hue is the change. Outlined cells differ beyond noise.'
      : 'Time per iteration; the darker (on dark pages: the brighter), the longer.'}</p>
    ${isCompared ? changeLegend() : undefined}
    <div class="grid heat" style="--column:${px(marginOf(y) + x.values.length * CELL.width)}px">${facets.map((facet, at) => heatMap(facet, { x, y, shade, id: `${id}-${at}`, name: suite.name }))}</div>`
}

interface Layout {
  readonly x: Axis
  readonly y: Axis | undefined
  readonly shade: Shade
  readonly id: string
  readonly name: string
}

function heatMap (facet: Facet, layout: Layout): Markup {
  const { x, y, id } = layout
  const rows = y?.values ?? [undefined]
  const cells = new Map(facet.results.map((result) => [keyOf(result, layout), result]))
  const labels = rows.map(labelOf)
  const left = marginOf(y)
  const right = left + x.values.length * CELL.width - CELL.gap
  const name = describeParams(facet.params)
  const title = `Time per iteration by ${[y?.name, x.name].filter((axis) => axis !== undefined).join(' and ')}${name === '' ? '' : `, ${name}`}`
  const at = (column: number, row: number): string => `translate(${px(left + column * CELL.width)} ${TOP + row * CELL.height})`
  const body = markup`
    <text class="axis end" x="${px(right)}" y="12">${x.name} →</text>${y === undefined ? undefined : markup`<text class="axis" y="12">${y.name} ↓</text>`}
    ${x.values.map((value, column) => markup`<text class="tick middle" x="${px(left + (column + 0.5) * CELL.width)}" y="32">${cut(String(value), 10)}</text>`)}
    ${labels.map((label, row) => markup`<text class="tick end" x="${px(left - 8)}" y="${TOP + (row + 0.5) * CELL.height + 3}">${label}</text>`)}
    ${rows.flatMap((rowValue, row) => x.values.map((columnValue, column) =>
      drawCell(cells.get(JSON.stringify([columnValue, rowValue])), at(column, row), layout.shade)))}`
  return markup`<figure>
    ${name === '' ? undefined : markup`<figcaption>${name}</figcaption>`}
    ${scrolling(`${layout.name}: ${title}`, drawing({
      id, title, description: describe(facet.results), width: right, least: right * 0.9, height: TOP + rows.length * CELL.height, body
    }))}
    ${dataTable({
      caption: title,
      head: [y?.name ?? '', ...x.values.map((value) => `${x.name} ${value}`)],
      rows: rows.map((rowValue) => [
        String(rowValue ?? ''), ...x.values.map((columnValue) => inWords(cells.get(JSON.stringify([columnValue, rowValue]))))
      ])
    })}</figure>`
}

/** Room for the names of the rows. */
function marginOf (y: Axis | undefined): number {
  return y === undefined ? 0 : 12 + Math.max(...y.values.map((value) => labelOf(value).length)) * 7
}

function labelOf (value: AxisValue | undefined): string {
  return cut(String(value ?? ''), 16)
}

function keyOf (result: Result, { x, y }: Layout): string {
  return JSON.stringify([result.params[x.name], y === undefined ? undefined : result.params[y.name]])
}

function drawCell (result: Result | undefined, place: string, shade: Shade): Markup {
  const width = CELL.width - CELL.gap
  const height = CELL.height - CELL.gap
  const text = (y: number, content: string, kind = ''): Markup => markup`<text class="${kind}" x="${width / 2}" y="${y}">${content}</text>`
  if (result === undefined) {
    return markup`<g class="cell none" transform="${place}">${text(height / 2 + 4, '–')}</g>`
  }
  if (!isMeasured(result)) {
    return markup`<g class="cell broken" transform="${place}"><rect width="${width}" height="${height}" rx="4"/>${text(height / 2 + 4, `${VERDICT_MARKS.failed} failed`)}</g>`
  }
  const { mid, baseline } = result
  const isMarked = isSignificant(baseline)
  return markup`<g class="cell ${shade(result)}${isMarked ? ' marked' : ''}" transform="${place}"><rect width="${width}" height="${height}" rx="4"/>${baseline === undefined
    ? text(height / 2 + 4, showTime(mid))
    : [text(height / 2 - 3, showTime(mid)), text(height / 2 + 13, `${isMarked ? `${VERDICT_MARKS[baseline.verdict]} ` : ''}${showChange(baseline.ratio)}`, 'change')]}</g>`
}

function inWords (result: Result | undefined): string {
  if (result === undefined) {
    return 'left out'
  }
  if (!isMeasured(result)) {
    return `failed: ${result.error.stage}`
  }
  const { mid, baseline } = result
  return baseline === undefined ? showTime(mid) : `${showTime(mid)}, ${showChange(baseline.ratio)}, ${baseline.verdict}`
}

function describe (results: readonly Result[]): string {
  const measured = results.filter(isMeasured)
  const mids = measured.map(({ mid }) => mid)
  const changed = measured.filter(({ baseline }) => isSignificant(baseline)).length
  return mids.length === 0
    ? 'No cell was measured.'
    : `${mids.length} of ${counted(results.length, 'cell')} measured, from ${showTime(Math.min(...mids))} to ${showTime(Math.max(...mids))}; ${changed} changed beyond noise.`
}

/** Root of the log ratio, so that ten per cent is seen as well as a factor of four. */
const changeScale = scaleSqrt().domain([-CLAMP, CLAMP]).range([0, CHANGE_STEPS - 1]).clamp(true)

function shadeOfChange (noise: number): Shade {
  return ({ baseline }) => {
    if (baseline === undefined) {
      return 'plain'
    }
    const log = Math.log(baseline.ratio)
    // A hue for what is noise would ask for attention that it does not deserve.
    return `change-${Math.round(changeScale(Math.abs(log) <= Math.log(1 + noise) ? 0 : log))}`
  }
}

function shadeOfCost (cells: readonly Measured[]): Shade {
  const logs = cells.map(({ mid }) => Math.log(mid))
  const step = scaleLinear().domain([Math.min(...logs), Math.max(...logs)]).range([0, COST_STEPS - 1])
  return ({ mid }) => `cost-${Math.round(step(Math.log(mid)))}`
}

/** The scale of changes; hidden from readers by ear, whom the figures tell it. */
function changeLegend (): Markup {
  const width = 14
  const ticks = [0.25, 0.5, 0.9, 1, 1.1, 2, 4]
  return markup`<svg class="legend" aria-hidden="true" viewBox="-24 0 ${CHANGE_STEPS * width + 48} 34" width="${CHANGE_STEPS * width + 48}" height="34">
    ${Array.from({ length: CHANGE_STEPS }, (_, step) => markup`<g class="cell change-${step}"><rect x="${step * width}" width="${width}" height="12"/></g>`)}
    ${ticks.map((ratio) => markup`<text class="tick middle" x="${px((changeScale(Math.log(ratio)) + 0.5) * width)}" y="28">${ratio === 1 ? 'same' : showRoundChange(ratio)}</text>`)}</svg>`
}
