import type { Measured, Report } from 'libp2p-behaviours/bench'

const START = '<!-- figures -->'
const END = '<!-- /figures -->'

/** Variants that are measured beside the library: other packages, and other ways. */
const OTHERS: ReadonlySet<unknown> = new Set(['array', 'call', 'muxer', 'none', 'reset', 'rxjs', 'set'])

/**
 * A README with the figures of a report between the marks: a row for each matrix and variant that was compared inside the run,
 * from the least to the most over its cells.
 *
 * @throws Error when there are no marks, or nothing was compared
 */
export function figures (readme: string, report: Report): string {
  const rows = groupsOf(report).map(row)
  const start = readme.indexOf(START)
  if (start < 0 || rows.length === 0) {
    throw new Error(`Cannot write the figures: the README needs the mark ${START}, and the report a comparison`)
  }
  const end = readme.indexOf(END)
  const table = ['| matrix | variant | cells | time | against | times faster |', '|---|---|--:|--:|---|--:|', ...rows, '', conditions(report)].join('\n')
  return `${readme.slice(0, start)}${START}\n${table}\n${END}${end < 0 ? readme.slice(start + START.length) : readme.slice(end + END.length)}`
}

/** A cell that was compared with another one of the run. */
interface Compared {
  readonly matrix: string
  readonly variant: string
  readonly against: string
  readonly ns: number
  readonly timesFaster: number
}

function groupsOf ({ results }: Report): Compared[][] {
  const groups = new Map<string, Compared[]>()
  for (const cell of results.flatMap(result => 'mid' in result ? compared(result) : [])) {
    const key = `${cell.matrix} ${cell.variant} ${cell.against}`
    groups.set(key, [...groups.get(key) ?? [], cell])
  }
  return [...groups.values()]
}

function compared ({ id, params, mid, baseline }: Measured): Compared[] {
  if (baseline === undefined || !('id' in baseline) || OTHERS.has(params['variant'])) {
    return []
  }
  return [{ matrix: id.slice(0, id.indexOf('/')), variant: variantOf(id), against: variantOf(baseline.id), ns: mid, timesFaster: 1 / baseline.ratio }]
}

function row (cells: readonly Compared[]): string {
  const { matrix = '', variant = '', against = '' } = cells[0] ?? {}
  const times = range(cells.map(({ ns }) => ns), duration)
  return `| ${matrix} | ${variant} | ${cells.length} | ${times} | ${against} | ${range(cells.map(({ timesFaster }) => timesFaster), factor)} |`
}

function range (values: readonly number[], format: (value: number) => string): string {
  const [least, most] = [format(Math.min(...values)), format(Math.max(...values))]
  return least === most ? least : `${least} to ${most}`
}

/** What tells a cell from the one that it is compared with: its variant, or else what stands last in its id. */
function variantOf (id: string): string {
  return /\/variant=([^/]*)/.exec(id)?.[1] ?? id.slice(id.lastIndexOf('=') + 1)
}

function factor (value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(2)
}

function duration (ns: number): string {
  return ns < 1000 ? `${ns.toPrecision(3)} ns` : ns < 1e6 ? `${(ns / 1e3).toPrecision(3)} µs` : `${(ns / 1e6).toPrecision(3)} ms`
}

function conditions ({ environment, options, startedAt }: Report): string {
  const { cpu, cores, node, executor } = environment
  return `${startedAt.slice(0, 10)}, ${cpu} with ${cores} cores, Node.js ${node}, ${executor}, ${options.processes} processes of ${options.rounds} ${options.rounds === 1 ? 'round' : 'rounds'}.`
}
