import { scaleLinear } from 'd3-scale'
import { line } from 'd3-shape'
import { counted, showChange, showRoundChange } from '../html/figures.ts'
import { markup, px } from '../html/markup.ts'
import type { Markup } from '../html/markup.ts'
import type { Report } from '../report.ts'
import { isMeasured } from '../results.ts'
import { ascending, median, percentileOfSorted } from '../statistics.ts'
import { dataTable, dots, drawing, scrolling } from './figure.ts'

const SIZE = { width: 860, height: 250, left: 62, right: 12, top: 26, bottom: 214 }

/** One cell in one round, against the figure of the cell. */
interface Visit {
  readonly order: number
  readonly seed: number
  readonly round: number
  /** Median of the samples over the figure of the cell. */
  readonly ratio: number
}

/** All rounds of all cells in the order in which they ran: a drift of the machine shows as a slope or a step. */
export function runOrder (report: Report, id: string): Markup | undefined {
  const visits = visitsOf(report)
  if (visits.length === 0) {
    return undefined
  }
  const ratios = ascending(visits.map(({ ratio }) => ratio))
  const reach = Math.max(1.05, percentileOfSorted(ratios, 0.99), 1 / percentileOfSorted(ratios, 0.01)) * 1.01
  const scaleX = scaleLinear().domain([0, Math.max(...visits.map(({ order }) => order)) + 1]).range([SIZE.left, SIZE.width - SIZE.right])
  const scaleY = scaleLinear().domain([-Math.log(reach), Math.log(reach)]).range([SIZE.bottom, SIZE.top]).clamp(true)
  const place = ({ order, ratio }: Visit): [number, number] => [scaleX(order + 0.5), scaleY(Math.log(ratio))]
  const beyond = visits.filter(({ ratio }) => ratio > reach || ratio < 1 / reach)
  const processes = processesOf(visits)
  const title = 'Run order: time of each round against the figure of its cell'
  const body = markup`
    ${ticksOf(reach).map((ratio) => {
      const y = scaleY(Math.log(ratio))
      return markup`<path class="${ratio === 1 ? 'zero' : 'rule'}" d="M${SIZE.left} ${px(y)}H${SIZE.width - SIZE.right}"/>
        <text class="tick end" x="${SIZE.left - 8}" y="${px(y + 4)}">${ratio === 1 ? 'figure' : showRoundChange(ratio)}</text>`
    })}
    ${processes.map(({ seed, from, to }, at) => markup`
      ${at === 0 ? undefined : markup`<path class="border" d="M${px(scaleX(from))} ${SIZE.top - 8}V${SIZE.bottom + 8}"/>`}
      <text class="tick middle" x="${px((scaleX(from) + scaleX(to)) / 2)}" y="14">seed ${seed}</text>`)}
    <path class="dots faint" d="${dots(visits.filter((visit) => !beyond.includes(visit)).map(place))}"/>
    ${beyond.length === 0 ? undefined : markup`<path class="dots beyond" d="${dots(beyond.map(place))}"/>`}
    <path class="trend" d="${line().digits(1)(trendOf(visits).map(place)) ?? ''}"/>
    <text class="axis middle" x="${(SIZE.left + SIZE.width) / 2}" y="${SIZE.height - 6}">order of the run →</text>`
  return markup`<p class="note">Every dot is one cell in one round: the median of its samples against the figure of the cell, in
      the order of the run. The line is the running median. A quiet machine gives a flat line.</p>
    <figure class="wide">${scrolling(title, drawing({
      id, title, description: describe(visits, beyond.length), width: SIZE.width, height: SIZE.height, least: 700, body
    }))}
    ${dataTable({
      caption: 'Run order by process',
      head: ['process', 'cells and rounds', 'median', 'tenth', 'nine tenths'],
      rows: processes.map(({ seed, visits: own }) => {
        const sorted = ascending(own.map(({ ratio }) => ratio))
        return [`seed ${seed}`, own.length, ...[0.5, 0.1, 0.9].map((fraction) => showChange(percentileOfSorted(sorted, fraction)))]
      })
    })}</figure>`
}

function visitsOf ({ results }: Report): Visit[] {
  return results.filter(isMeasured)
    .flatMap(({ samples, rounds, mid }) => rounds.map(({ order, seed, round, from, to }) => (
      { order, seed, round, ratio: median(samples.slice(from, to)) / mid }
    )))
    .sort((a, b) => a.order - b.order)
}

interface Process {
  readonly seed: number
  readonly from: number
  readonly to: number
  readonly visits: readonly Visit[]
}

/** Processes run one after the other: each takes a stretch of the order. */
function processesOf (visits: readonly Visit[]): Process[] {
  const seeds = [...new Set(visits.map(({ seed }) => seed))]
  return seeds.map((seed) => {
    const own = visits.filter((visit) => visit.seed === seed)
    return { seed, from: own[0]?.order ?? 0, to: (own.at(-1)?.order ?? 0) + 1, visits: own }
  })
}

/** The running median over about a twelfth of the run, thinned to what a screen shows. */
function trendOf (visits: readonly Visit[]): Visit[] {
  const half = Math.max(3, Math.round(visits.length / 24))
  const every = Math.ceil(visits.length / 200)
  return visits.flatMap((visit, at) => {
    const near = visits.slice(Math.max(0, at - half), at + half + 1).map(({ ratio }) => ratio)
    return at % every === 0 || at === visits.length - 1 ? [{ ...visit, ratio: median(near) }] : []
  })
}

function ticksOf (reach: number): number[] {
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1].find((size) => Math.log(reach) / size < 4.5) ?? 2
  const upper = Array.from({ length: 4 }, (_, at) => 1 + (at + 1) * step)
  return [...upper.map((ratio) => 2 - ratio), 1, ...upper].filter((ratio) => ratio > 1 / reach && ratio < reach)
}

function describe (visits: readonly Visit[], beyond: number): string {
  const sorted = ascending(visits.map(({ ratio }) => ratio))
  const [from, to] = [0.25, 0.75].map((fraction) => showChange(percentileOfSorted(sorted, fraction)))
  const middle = `Half of ${counted(visits.length, 'round')} lie between ${from} and ${to} of the figure of their cell.`
  return beyond === 0 ? middle : `${middle} ${beyond} lie outside of the drawing and stand at its edge.`
}
