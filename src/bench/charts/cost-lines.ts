import { scaleLog, scaleSymlog } from 'd3-scale'
import type { ScaleLogarithmic } from 'd3-scale'
import { area, line, symbol, symbolCircle, symbolCross, symbolDiamond, symbolSquare, symbolStar, symbolTriangle, symbolWye } from 'd3-shape'
import type { SymbolType } from 'd3-shape'
import { showRoundTime, showTime } from '../html/figures.ts'
import { markup, px } from '../html/markup.ts'
import type { Markup } from '../html/markup.ts'
import type { Measured } from '../report.ts'
import { isMeasured } from '../results.ts'
import { leastSquares } from '../statistics.ts'
import { cut, dataTable, drawing } from './figure.ts'
import { spreadLabels } from './labels.ts'
import { axesBut, describeParams, facetsBy, isNumeric } from './suite.ts'
import type { Axis, Facet, Suite } from './suite.ts'

const SIZE = { width: 380, height: 290, left: 58, right: 118, top: 14, bottom: 42 }
/** Height of the label of a line. */
const LABEL = 15
/** Marks of the series; a hue is never alone. As many as there are hues. */
const MARKS: readonly SymbolType[] =
  [symbolCircle, symbolSquare, symbolTriangle, symbolDiamond, symbolCross, symbolWye, symbolStar, symbolCircle]

/** One line: the cells of one series in the order of the abscissa. */
interface Series {
  readonly name: string
  /** Which hue and mark; the same in all panels. */
  readonly style: number
  readonly points: ReadonlyArray<{ readonly x: number, readonly cell: Measured }>
  readonly slope: number | undefined
}

type Scale = (value: number) => number

/** Cost over the abscissa on log axes, a panel per combination of the axes left; nothing where the abscissa has no numbers. */
export function costLines (suite: Suite, id: string): Markup | undefined {
  const { x, series } = suite
  const measured = suite.results.filter(isMeasured)
  if (x === undefined || !isNumeric(x) || measured.length === 0) {
    return undefined
  }
  const facets = facetsBy(measured, axesBut(suite, x, series))
  const bounds: readonly [number, number] = [Math.min(...measured.map(({ low }) => low)), Math.max(...measured.map(({ high }) => high))]
  return markup`
    <p class="note">Time per iteration over ${x.name}, both axes logarithmic, the same in all panels. The band is the 95 %
      interval; <i>n</i> to the power of the slope stands beside each line: about 0 is a constant cost, about 1 a linear one.</p>
    <div class="grid lines">${facets.map((facet, at) => panel(facet, { suite, x, bounds, id: `${id}-${at}` }))}</div>`
}

interface Layout {
  readonly suite: Suite
  readonly x: Axis
  /** Of all panels. */
  readonly bounds: readonly [number, number]
  readonly id: string
}

function panel (facet: Facet, { suite, x, bounds, id }: Layout): Markup {
  const all = seriesOf(facet, suite, x)
  const name = describeParams(facet.params)
  const title = `Cost over ${x.name}${name === '' ? '' : `, ${name}`}`
  const scaleX = abscissa(x)
  const scaleY = scaleLog().domain(bounds).nice().range([SIZE.height - SIZE.bottom, SIZE.top])
  const ends = spreadLabels(all.map(({ points }) => scaleY(points.at(-1)?.cell.mid ?? 1)), LABEL, SIZE.top)
  return markup`<figure>
    ${name === '' ? undefined : markup`<figcaption>${name}</figcaption>`}
    ${drawing({
      id, title, description: describe(all, x), width: SIZE.width, height: SIZE.height,
      body: [axes(x, scaleX, scaleY), all.map((series, at) => drawSeries(series, scaleX, scaleY, ends[at] ?? 0))]
    })}
    ${dataTable({
      caption: title,
      head: [suite.series?.name ?? '', ...x.values.map((value) => `${x.name} ${value}`), 'slope'],
      rows: all.map((series) => [
        series.name,
        ...x.values.map((value) => inWords(series.points.find((point) => point.x === value)?.cell)),
        series.slope?.toFixed(2) ?? '–'
      ])
    })}</figure>`
}

function seriesOf ({ results }: Facet, suite: Suite, x: Axis): Series[] {
  return facetsBy(results, suite.series === undefined ? [] : [suite.series]).map((group) => {
    const points = group.results.filter(isMeasured)
      .map((cell) => ({ x: Number(cell.params[x.name]), cell }))
      .sort((a, b) => a.x - b.x)
    const value = suite.series === undefined ? undefined : group.params[suite.series.name]
    const place = value === undefined ? 0 : suite.series?.values.indexOf(value) ?? 0
    return {
      name: value === undefined ? suite.name : String(value),
      style: place % MARKS.length,
      points,
      slope: slopeOf(points)
    }
  })
}

/** The exponent of the cost: a line through logarithms; nothing for fewer than three points. */
function slopeOf (points: Series['points']): number | undefined {
  const known = points.filter(({ x }) => x > 0)
  return known.length < 3
    ? undefined
    : leastSquares(known.map(({ x }) => Math.log(x)), known.map(({ cell }) => Math.log(cell.mid))).slope
}

/** Logarithmic, but for an axis that reaches 0, which has no logarithm. */
function abscissa (x: Axis): Scale {
  const values = x.values.map(Number)
  const domain = [Math.min(...values), Math.max(...values)]
  const range = [SIZE.left + 8, SIZE.width - SIZE.right - 8]
  return (domain[0] ?? 0) > 0 ? scaleLog().domain(domain).range(range) : scaleSymlog().domain(domain).range(range)
}

function axes (x: Axis, scaleX: Scale, scaleY: ScaleLogarithmic<number, number>): Markup {
  const right = SIZE.width - SIZE.right
  const bottom = SIZE.height - SIZE.bottom
  const [low = 1, high = 1] = scaleY.domain()
  const decades = scaleY.ticks().filter((tick) => high / low < 12 || isDecade(tick))
  const every = Math.ceil(decades.length / 7)
  return markup`<g class="grid-lines">${decades.map((tick) => markup`<path d="M${SIZE.left} ${px(scaleY(tick))}H${right}"/>`)}</g>
    ${decades.filter((_, at) => at % every === 0).map((tick) => markup`<text class="tick end" x="${SIZE.left - 8}" y="${px(scaleY(tick) + 4)}">${showRoundTime(tick)}</text>`)}
    ${x.values.map((value) => markup`<path class="tick-line" d="M${px(scaleX(Number(value)))} ${bottom}v4"/><text class="tick middle" x="${px(scaleX(Number(value)))}" y="${bottom + 18}">${String(value)}</text>`)}
    <text class="axis middle" x="${(SIZE.left + right) / 2}" y="${bottom + 36}">${x.name}</text>`
}

/** Whether it is 1 with zeros before or after it. */
function isDecade (value: number): boolean {
  const exponent = Math.log10(value)
  return Math.abs(exponent - Math.round(exponent)) < 1e-9
}

function drawSeries ({ name, style, points, slope }: Series, scaleX: Scale, scaleY: Scale, labelY: number): Markup {
  const places = points.map(({ x, cell }) => ({ x: scaleX(x), low: scaleY(cell.low), mid: scaleY(cell.mid), high: scaleY(cell.high) }))
  const band = area<typeof places[number]>().x(({ x }) => x).y0(({ low }) => low).y1(({ high }) => high).digits(1)
  const middle = line<typeof places[number]>().x(({ x }) => x).y(({ mid }) => mid).digits(1)
  const mark = symbol(MARKS[style], 46).digits(1)()
  const last = places.at(-1)
  const labelX = SIZE.width - SIZE.right + 10
  return markup`<g class="series-${style}"><path class="band" d="${band(places) ?? ''}"/><path class="line" d="${middle(places) ?? ''}"/>
    ${places.map(({ x, mid }) => markup`<path class="mark" d="${mark ?? ''}" transform="translate(${px(x)} ${px(mid)})"/>`)}
    ${last === undefined ? undefined : markup`<path class="leader" d="M${px(last.x + 7)} ${px(last.mid)}L${labelX - 2} ${px(labelY)}"/>`}
    <text class="name" x="${labelX}" y="${px(labelY + 4)}">${cut(name, 12)}${slope === undefined ? undefined : markup` <tspan class="slope"><tspan font-style="italic">n</tspan><tspan dy="-4" font-size="10">${slope.toFixed(2).replace('-', '−')}</tspan></tspan>`}</text></g>`
}

function inWords (cell: Measured | undefined): string {
  return cell === undefined ? '–' : `${showTime(cell.mid)} (${showTime(cell.low)} to ${showTime(cell.high)})`
}

function describe (all: readonly Series[], x: Axis): string {
  const lines = all.map(({ name, points, slope }) => {
    const first = points[0]
    const last = points.at(-1)
    return first === undefined || last === undefined
      ? name
      : `${name} from ${showTime(first.cell.mid)} at ${first.x} to ${showTime(last.cell.mid)} at ${last.x}${slope === undefined ? '' : `, slope ${slope.toFixed(2)}`}`
  })
  return `Logarithmic axes; ${x.name} to the right, time per iteration upwards. ${lines.join('; ')}.`
}
