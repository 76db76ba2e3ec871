import { formatChange, formatTime, significant } from './format.ts'
import { tablesOf } from './rows.ts'
import type { Amounts } from './budget.ts'
import type { Claimed, Comparison, Params, Report, Verdict } from './report.ts'
import type { Column, ResultTable, Row } from './rows.ts'

/** How to write for a terminal. */
export interface TableOptions {
  /** Whether the verdicts come from runs that should not be compared: they are put in brackets. */
  readonly isBracketed: boolean
  /** Whether notes are shown, and claims that hold. */
  readonly isVerbose: boolean
  /** Puts a colour on a verdict; the word says the same. */
  paint (verdict: Verdict, text: string): string
}

/** A table for each matrix, then claims, controls and what it was measured on. */
export function renderTable (report: Report, options: TableOptions): string {
  const tables = tablesOf(report, options.isBracketed).map(table => renderOne(table, options))
  return `${[...tables, footer(report, options)].join('\n\n')}\n`
}

function renderOne ({ name, columns, rows }: ResultTable, options: TableOptions): string {
  const shown = columns.filter(({ key }) => options.isVerbose || key !== 'notes')
  const width = (column: Column): number => Math.max(column.title.length, ...rows.map(row => textOf(row, column).length))
  const widths = new Map(shown.map(column => [column.key, width(column)]))
  const line = (text: (column: Column) => string): string => shown
    .map((column, index) => `${index === 0 ? '' : column.isGroup ? ' | ' : '  '}${text(column).padStart(widths.get(column.key) ?? 0)}`)
    .join('')
  const lines = rows.map((row) => {
    if (row.error !== undefined) {
      return `${line(column => textOf(row, column)).trimEnd().replace(/[ |]+$/, '')} | ${row.error}`
    }
    const { verdict } = row
    const text = line(column => textOf(row, column))
    return verdict === undefined ? text.trimEnd() : options.paint(verdict, text.trimEnd())
  })
  return [name, line(({ title }) => title).trimEnd(), ...lines].join('\n')
}

function textOf ({ texts }: Row, { key }: Column): string {
  return texts.get(key) ?? ''
}

function footer ({ claims, controls, environment, options, durationMs }: Report, { isVerbose }: TableOptions): string {
  const told = claims.filter(({ state }) => isVerbose || state !== 'held')
  const held = claims.filter(({ state }) => state === 'held').length
  return [
    ...told.map(claimLine),
    claims.length === 0 ? '' : `claims: ${held} of ${claims.length} held`,
    controls.twin === undefined ? '' : `twin: the same code differs by ${changeLine(controls.twin)}`,
    controls.fixedChange === undefined ? '' : `machine: the fixed body differs by ${changeLine(controls.fixedChange)}`,
    `noise: ${significant(options.noise * 100)} %`,
    `${environment.node}, ${environment.cpu}, ${environment.executor}, ${options.processes} processes, load ${significant(environment.loadBefore)} to ${significant(environment.loadAfter)}, ${formatTime(durationMs)}`
  ].filter(line => line !== '').join('\n')
}

/** A claim and its answer in one line. */
export function claimLine ({ kind, where, axis, to, band, value, low, high, state }: Claimed): string {
  const about = kind === 'slope' ? `slope over ${axis ?? ''}` : kind === 'ratio' ? `ratio to ${paramsText(to ?? {})}` : 'bytes'
  const [from, until] = band
  return `claim ${state}: ${about} of ${paramsText(where)} is ${significant(value)} (${significant(low)} to ${significant(high)}), claimed ${from} to ${until}`
}

function paramsText (params: Params): string {
  return Object.entries(params).map(([axis, value]) => `${axis}=${value}`).join(' ')
}

function changeLine ({ ratio, low, high }: Comparison): string {
  return `${formatChange(ratio)} (${formatChange(low)} to ${formatChange(high)})`
}

/** The number of cells and how long they take. */
export function budgetLine (cells: number, { processes, rounds, samples }: Amounts, estimateMs: number): string {
  return `${cells} cells x ${many(processes, 'process', 'processes')} x ${many(rounds, 'round')} x ${many(samples, 'sample')}: about ${formatTime(estimateMs)}`
}

function many (count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`
}
