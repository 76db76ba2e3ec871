import { claimLine } from './report-table.ts'
import { tablesOf } from './rows.ts'
import type { Report } from './report.ts'

/**
 * The tables for a pull request.
 *
 * @param isBracketed - whether the verdicts come from runs that should not be compared
 */
export function renderMarkdown (report: Report, isBracketed: boolean): string {
  const tables = tablesOf(report, isBracketed).map(({ name, columns, rows }) => [
    `### ${escapeCell(name)}`,
    '',
    line(columns.map(({ title }) => title)),
    line(columns.map(() => '--:')),
    ...rows.map(({ texts, error }) => {
      const cells = columns.map(({ key }) => texts.get(key) ?? '')
      return line(error === undefined ? cells : [...cells.slice(0, -1), error])
    })
  ].join('\n'))
  const claims = report.claims.map(claim => `- ${escapeCell(claimLine(claim))}`)
  const { node, cpu, executor } = report.environment
  return `${[...tables, ...claims.length === 0 ? [] : [claims.join('\n')], escapeCell(`${node}, ${cpu}, ${executor}, ${report.startedAt.slice(0, 10)}`)].join('\n\n')}\n`
}

function line (cells: readonly string[]): string {
  return `| ${cells.map(escapeCell).join(' | ')} |`
}

/** Pipes end a cell, and a name could be taken for a tag. */
function escapeCell (text: string): string {
  return text.replace(/[\\|<>`*_[\]]/g, character => `\\${character}`).replace(/[\r\n]+/g, ' ')
}
