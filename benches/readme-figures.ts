import type { Measured, Report } from 'libp2p-behaviours/bench'

const START = '<!-- figures -->'
const END = '<!-- /figures -->'

/**
 * A README with the figures of a report between the marks, a row for each cell that was compared inside the run.
 *
 * @throws Error when there are no marks, or nothing was compared
 */
export function figures (readme: string, report: Report): string {
  const rows = report.results.flatMap(result => 'baseline' in result ? [row(result)] : [])
  const start = readme.indexOf(START)
  if (start < 0 || rows.length === 0) {
    throw new Error(`Cannot write the figures: the README needs the mark ${START}, and the report a comparison`)
  }
  const end = readme.indexOf(END)
  const table = ['| cell | time | against | times faster |', '|---|--:|---|--:|', ...rows, '', conditions(report)].join('\n')
  return `${readme.slice(0, start)}${START}\n${table}\n${END}${end < 0 ? readme.slice(start + START.length) : readme.slice(end + END.length)}`
}

function row ({ id, mid, baseline }: Measured): string {
  const against = baseline === undefined ? '' : 'id' in baseline ? lastValue(baseline.id) : baseline.name
  const range = baseline === undefined ? '' : `${factor(1 / baseline.high)} to ${factor(1 / baseline.low)}`
  return `| ${id.replaceAll('/', ' ')} | ${duration(mid)} | ${against} | ${range} |`
}

/** What tells a cell from the one that it is compared with stands last in its id. */
function lastValue (id: string): string {
  return id.slice(id.lastIndexOf('=') + 1)
}

function factor (value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(2)
}

function duration (ns: number): string {
  return ns < 1000 ? `${ns.toPrecision(3)} ns` : ns < 1e6 ? `${(ns / 1e3).toPrecision(3)} µs` : `${(ns / 1e6).toPrecision(3)} ms`
}

function conditions ({ environment, options, startedAt }: Report): string {
  const { cpu, cores, node, executor } = environment
  return `${startedAt.slice(0, 10)}, ${cpu} with ${cores} cores, Node.js ${node}, ${executor}, ${options.processes} processes of ${options.rounds} rounds; 95 % intervals.`
}
