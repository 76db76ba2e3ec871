import { scaleLinear, scaleLog } from 'd3-scale'
import { area } from 'd3-shape'
import { counted, showTime } from '../html/figures.ts'
import { markup, px } from '../html/markup.ts'
import type { Markup } from '../html/markup.ts'
import type { Measured } from '../report.ts'
import { isMeasured } from '../results.ts'
import { ascending, percentileOfSorted } from '../statistics.ts'
import { LEAST_FOR_DENSITY, densityOf } from './density.ts'
import type { Density } from './density.ts'
import { dataTable, dots, drawing } from './figure.ts'
import { axesBut, describeCell, describeParams, facetsBy } from './suite.ts'
import type { Suite } from './suite.ts'

const SIZE = { width: 280, height: 124, top: 8, bottom: 116 }
/** Where the samples stand in run order, and where the shape of them all. */
const RUN = { left: 54, right: 206 }
const SHAPE = { left: 216, middle: 242, half: 25 }
/** With more panels than this, groups of them are folded. */
const OPEN_PANELS = 24

type Scale = (value: number) => number

/** Every measured cell: its samples in run order, and how they are distributed; grouped by the rows of the heat maps. */
export function distributions (suite: Suite, id: string): Markup | undefined {
  const measured = suite.results.filter(isMeasured)
  if (measured.length === 0) {
    return undefined
  }
  const length = Math.max(...measured.flatMap(({ rounds }) => rounds.map(({ order }) => order))) + 1
  const groups = facetsBy(measured, suite.y === undefined || measured.length <= OPEN_PANELS ? [] : [suite.y])
  return markup`
    <p class="note">Left, the samples in the order of the run, processes apart; right, their distribution (an outline from
      ${LEAST_FOR_DENSITY} samples on) with the 95 % interval of the figure. Axes are logarithmic, each panel has its own.</p>
    ${groups.map(({ params, results }, at) => {
      const cells = results.filter(isMeasured)
      const axes = groups.length === 1 ? suite.axes : axesBut(suite, suite.y)
      const name = groups.length === 1 ? 'All cells' : describeParams(params)
      return markup`<details class="group"${at === 0 ? openAttribute : undefined}><summary>${name} <span class="soft">${counted(cells.length, 'cell')}</span></summary>
        <div class="grid panels">${cells.map((cell, place) => panel(cell, { length, label: describeCell(cell, axes) || suite.name, id: `${id}-${at}-${place}` }))}</div>
        ${dataTable(figuresOf(`${suite.name}, ${name}: samples`, cells, suite))}</details>`
    })}`
}

const openAttribute = markup` open=""`

interface Layout {
  /** Rounds of cells in the whole run. */
  readonly length: number
  readonly label: string
  readonly id: string
}

function panel (cell: Measured, { length, label, id }: Layout): Markup {
  const { samples, low, mid, high, notes } = cell
  const density = densityOf(samples)
  const bounds = [...samples, low, high]
  const least = Math.min(...bounds)
  const most = Math.max(...bounds)
  const margin = Math.max((most / least) ** 0.08, 1.002)
  const scaleY = scaleLog().domain([least / margin, most * margin]).range([SIZE.bottom, SIZE.top])
  const scaleX = scaleLinear().domain([0, length]).range([RUN.left, RUN.right])
  const placed = placesOf(cell, scaleX, scaleY)
  const ticks = [least, mid, most].filter((tick, at) => at === 1 || Math.abs(scaleY(tick) - scaleY(mid)) > 13)
  return markup`<figure><figcaption>${label}${notes.length === 0 ? undefined : markup`<span class="flag">${notes.join(' · ')}</span>`}</figcaption>
    ${drawing({
      id, title: `Samples of ${label}`, description: describe(cell), width: SIZE.width, height: SIZE.height,
      body: markup`<path class="zero" d="M${RUN.left} ${px(scaleY(mid))}H${SIZE.width}"/>
        ${ticks.map((tick) => markup`<text class="tick end" x="${RUN.left - 6}" y="${px(scaleY(tick) + 4)}">${showTime(tick)}</text>`)}
        <path class="rule" d="${processBreaks(cell).map((order) => `M${px(scaleX(order))} ${SIZE.top}V${SIZE.bottom}`).join('')}"/>
        <path class="dots" d="${dots(placed)}"/>
        ${density === undefined ? undefined : markup`<path class="violin" d="${outline(density.filter(({ at }) => scaleY(at) > 0 && scaleY(at) < SIZE.height), scaleY)}"/>`}
        <path class="${density === undefined ? 'dots' : 'dots faint'}" d="${dots(samples.map((sample, at) => [SHAPE.middle + jitter(at), scaleY(sample)]))}"/>
        <path class="interval" d="M${SHAPE.middle} ${px(scaleY(low))}V${px(scaleY(high))}"/><path class="figure-line" d="M${SHAPE.middle - 7} ${px(scaleY(mid))}h14"/>`
    })}</figure>`
}

/** Samples of a round stand beside each other at its place in the run. */
function placesOf ({ samples, rounds }: Measured, scaleX: Scale, scaleY: Scale): Array<[number, number]> {
  return rounds.flatMap(({ order, from, to }) =>
    samples.slice(from, to).map((sample, at): [number, number] => [scaleX(order + 0.5) + (at - (to - from - 1) / 2) * 2.4, scaleY(sample)]))
}

/** Half way between the last round of a process and the first of the next. */
function processBreaks ({ rounds }: Measured): number[] {
  return rounds.flatMap((round, at) => {
    const before = rounds[at - 1]
    return before === undefined || before.seed === round.seed ? [] : [(before.order + round.order + 1) / 2]
  })
}

function outline (density: Density, scaleY: Scale): string {
  return area<Density[number]>()
    .y(({ at }) => scaleY(at))
    .x0((point) => SHAPE.middle - point.density * SHAPE.half)
    .x1((point) => SHAPE.middle + point.density * SHAPE.half)
    .digits(1)([...density]) ?? ''
}

/** Sideways steps that keep neighbours apart and are the same each time: multiples of the golden ratio. */
function jitter (at: number): number {
  return Math.round(((at * 0.618_034) % 1 - 0.5) * 16)
}

function describe ({ samples, rounds, low, mid, high, notes }: Measured): string {
  const sorted = ascending(samples)
  const remarks = notes.length === 0 ? '' : ` Notes: ${notes.join(', ')}.`
  const range = `from ${showTime(percentileOfSorted(sorted, 0))} to ${showTime(percentileOfSorted(sorted, 1))}`
  const figure = `${showTime(mid)}, 95 % interval ${showTime(low)} to ${showTime(high)}`
  return `${counted(samples.length, 'sample')} of ${counted(rounds.length, 'round')} ${range}; ${figure}.${remarks}`
}

function figuresOf (caption: string, cells: readonly Measured[], suite: Suite): Parameters<typeof dataTable>[0] {
  return {
    caption,
    head: ['cell', 'samples', 'least', 'quarter', 'median', 'three quarters', 'most', 'collections', 'switches'],
    rows: cells.map((cell) => {
      const sorted = ascending(cell.samples)
      const sum = (key: 'gcs' | 'switches'): number => cell.rounds.reduce((total, round) => total + round[key], 0)
      return [
        describeCell(cell, suite.axes) || suite.name, cell.samples.length,
        ...[0, 0.25, 0.5, 0.75, 1].map((fraction) => showTime(percentileOfSorted(sorted, fraction))), sum('gcs'), sum('switches')
      ]
    })
  }
}
