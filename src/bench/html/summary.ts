import { scaleLinear } from 'd3-scale'
import { intervalOf } from '../charts/change-mark.ts'
import { describeParams } from '../charts/suite.ts'
import { VERDICT_MARKS, verdictClass, verdictLabel, verdictOf } from '../charts/verdicts.ts'
import type { CellVerdict } from '../charts/verdicts.ts'
import type { Claimed, Comparison, Report } from '../report.ts'
import { scrolling, spark } from '../charts/figure.ts'
import { counted, showBytes, showChange, showDuration, showNumber, showShare, showTime } from './figures.ts'
import { markup, px } from './markup.ts'
import type { Content, Markup } from './markup.ts'

/** How many cells have which verdict, in the order in which they matter. */
export function countVerdicts (report: Report): Array<readonly [CellVerdict, number]> {
  const verdicts = report.results.map(verdictOf)
  const order: readonly CellVerdict[] = ['failed', 'regressed', 'improved', 'no change', 'inconclusive', 'not compared']
  return order.map((verdict) => [verdict, verdicts.filter((other) => other === verdict).length] as const)
}

/** The finding of the run in a few words: `1 regressed, 3 improved`. */
export function headline (report: Report): string {
  const { results } = report
  const found = countVerdicts(report).filter(([verdict, count]) => count > 0 && verdict !== 'not compared' && verdict !== 'no change')
  const isCompared = results.some((result) => 'baseline' in result)
  if (found.length > 0) {
    return found.map(([verdict, count]) => `${count} ${verdict}`).join(', ')
  }
  return isCompared ? 'No change' : `${counted(results.length, 'cell')} measured`
}

/** Verdict counts, claims, controls. */
export function summary (report: Report): Markup {
  return markup`${tiles(report)}${claimTable(report.claims)}${controls(report)}`
}

/** What the figures were measured on, and how. */
export function environmentList ({ environment, options }: Report): Markup {
  const { commit, dirty, loadBefore, loadAfter, cores } = environment
  const facts: Array<readonly [string, Content]> = [
    ['processor', `${environment.cpu}, ${counted(cores, 'core')}`],
    ['memory', `${showNumber(environment.memoryBytes / 1e9)} GB`],
    ['system', `${environment.os}, ${environment.platform} ${environment.arch}`],
    ['Node', `${environment.node}, V8 ${environment.v8}`],
    ['package', `${environment.package}${commit === undefined ? '' : `, commit ${commit.slice(0, 12)}`}${dirty === true ? ' with changes' : ''}`],
    ['executor', environment.executor],
    ['load', `${loadBefore.toFixed(2)} before, ${loadAfter.toFixed(2)} after${loadBefore > cores / 2 ? ' (busy at the start)' : ''}`],
    ['hash seeds', environment.seeds.join(', ')],
    ['order seed', environment.orderSeed],
    ['flags', environment.flags.join(' ') || 'none'],
    ['samples', `${options.processes} processes × ${options.rounds} rounds × ${options.samples} samples of ${options.minTimeMs} ms or more`],
    ['thresholds', `noise ${showShare(options.noise)}, tolerance ${showShare(options.tolerance)}, confidence ${showShare(options.confidence)}`]
  ]
  return markup`<dl class="facts">${facts.map(([name, value]) => fact(name, value))}</dl>`
}

function tiles (report: Report): Markup {
  const isCompared = report.results.some((result) => 'baseline' in result)
  const counts = countVerdicts(report).filter(([verdict, count]) => count > 0 || (isCompared && ['regressed', 'improved'].includes(verdict)))
  return markup`<ul class="tiles">${counts.map(([verdict, count]) => markup`
      <li class="${verdictClass(verdict)}${count === 0 ? ' nobody' : ''}"><b>${count}</b>
      <span><span aria-hidden="true">${VERDICT_MARKS[verdict]}</span> ${verdict === 'not compared' && !isCompared ? 'measured' : verdict}</span></li>`)}</ul>
    <div class="share" aria-hidden="true">${counts.filter(([, count]) => count > 0).map(([verdict, count]) =>
      markup`<span class="${verdictClass(verdict)}" style="flex-grow:${count}"></span>`)}</div>`
}

const STATES: Readonly<Record<Claimed['state'], string>> = { held: '✓', broken: '✕', open: '?' }

function claimTable (claims: readonly Claimed[]): Markup | undefined {
  if (claims.length === 0) {
    return undefined
  }
  const held = claims.filter(({ state }) => state === 'held').length
  const head = ['claim', 'state', 'wanted', 'found', '95 % interval', markup`<span class="hidden">picture</span>`]
  return markup`<h3 id="claims">Claims <span class="soft">${held} of ${claims.length} held</span></h3>
    ${scrolling('Claims', markup`<table class="claims"><thead><tr>${head.map((name) => markup`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${claims.map(claimRow)}</tbody></table>`)}`
}

function claimRow (claim: Claimed): Markup {
  const { kind, band, value, low, high, state } = claim
  const format = kind === 'bytes' ? showBytes : showNumber
  const rangeOf = (from: number, to: number): string => from === to ? format(from) : `${format(from)} to ${format(to)}`
  return markup`<tr><th scope="row">${describeClaim(claim)}</th>
    <td><span class="verdict ${state}"><span aria-hidden="true">${STATES[state]}</span> ${state}</span></td>
    <td>${rangeOf(band[0], band[1])}</td><td>${format(value)}</td><td>${rangeOf(low, high)}</td><td>${claimPlot(claim)}</td></tr>`
}

function describeClaim ({ kind, where, axis, to, r2 }: Claimed): string {
  const cells = describeParams(where) || 'all cells'
  switch (kind) {
    case 'slope':
      return `slope over ${axis ?? ''}: ${cells}${r2 === undefined ? '' : ` (R² ${r2.toFixed(3)})`}`
    case 'ratio':
      return `ratio to ${describeParams(to ?? {})}: ${cells}`
    case 'bytes':
      return `allocated bytes: ${cells}`
  }
}

/** The wanted band and the found interval on one line. */
function claimPlot ({ band, value, low, high, state }: Claimed): Markup {
  const ends = [band[0], band[1], low, high, value]
  const scale = scaleLinear().domain([Math.min(...ends), Math.max(...ends)]).range([6, 114])
  const [from, to] = [scale(band[0]), scale(band[1])]
  return spark(120, markup`<rect class="noise" x="${px(from) - 1}" width="${px(to - from) + 2}" height="16"/>
    <g class="mark-${state}"><path d="M${px(scale(low))} 8H${px(scale(high))}"/><path class="shape" d="M${px(scale(value))} 3.5v9"/></g>`)
}

function controls ({ controls: { twin, fixed, fixedChange } }: Report): Markup {
  const isNoisy = twin?.verdict === 'improved' || twin?.verdict === 'regressed'
  return markup`<h3 id="controls">Controls</h3><dl class="facts controls">
    ${twin === undefined ? undefined : fact('A/A, the same code twice', [changeInWords(twin), isNoisy ? ' – changes of this size are noise here' : ''])}
    ${fact('Fixed body', [showTime(fixed.mid), markup` <span class="soft">${showTime(fixed.low)} to ${showTime(fixed.high)}</span>`])}
    ${fixedChange === undefined ? undefined : fact('The machine since the baseline', changeInWords(fixedChange))}</dl>`
}

function changeInWords (change: Comparison): Markup {
  return markup`${showChange(change.ratio)} <span class="soft">${intervalOf(change)}</span> ${verdictLabel(change.verdict)}`
}

function fact (name: string, value: Content): Markup {
  return markup`<div><dt>${name}</dt><dd>${value}</dd></div>`
}

/** When and how long, in words. */
export function runInWords ({ startedAt, durationMs, results, environment }: Report): string {
  return `${counted(results.length, 'cell')} in ${showDuration(durationMs)}, ${startedAt.slice(0, 16).replace('T', ' ')} UTC, Node ${environment.node}, ${environment.cpu}`
}
