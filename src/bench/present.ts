import { styleText } from 'node:util'
import { failuresOf } from './fail-on.ts'
import { writeOutputs } from './outputs.ts'
import { renderTable } from './report-table.ts'
import { isMeasured } from './results.ts'
import type { Host, Output } from './host.ts'
import type { Judging } from './options.ts'
import type { Report, Verdict } from './report.ts'

/** A colour for each word; the words alone say the same. */
const COLOURS = { improved: 'green', regressed: 'red', inconclusive: 'yellow', 'no change': undefined } as const

/**
 * Writes the table and the files.
 *
 * @param isBracketed - whether the verdicts come from runs that should not be compared
 * @returns the exit code: 1 when a cell failed, or something that was asked to fail
 */
export async function present (report: Report, isBracketed: boolean, { outputs, failOn, isVerbose }: Judging, host: Host): Promise<number> {
  const output = outputs.some(({ file }) => file === '-') ? host.stderr : host.stdout
  output.write(renderTable(report, { isBracketed, isVerbose, paint: (verdict, text) => paint(output, verdict, text) }))
  await writeOutputs(report, isBracketed, outputs, host)
  const failures = failuresOf(report, failOn)
  for (const failure of failures) {
    host.stderr.write(`${failure}\n`)
  }
  return failures.length > 0 || !report.results.every(isMeasured) ? 1 : 0
}

function paint ({ hasColour }: Output, verdict: Verdict, text: string): string {
  const colour = COLOURS[verdict]
  return hasColour && colour !== undefined ? styleText(colour, text, { validateStream: false }) : text
}
