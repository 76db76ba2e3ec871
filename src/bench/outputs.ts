/** The files that a report is written to. */

import { closeSync, openSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { renderJson } from './baseline.ts'
import { renderBmf } from './report-bmf.ts'
import { renderCsv } from './report-csv.ts'
import { renderGha } from './report-gha.ts'
import { renderMarkdown } from './report-markdown.ts'
import { installCommand } from './packages.ts'
import type { Host } from './host.ts'
import type { Report } from './report.ts'

/** Every format, by the name of its option. */
export const FORMATS = ['json', 'csv', 'html', 'markdown', 'bmf', 'gha'] as const

/** Where one format goes. */
export interface OutputFile {
  readonly format: typeof FORMATS[number]
  /** Relative to the current folder; `-` is the standard output. */
  readonly file: string
}

/** What `--html` draws with. */
const CHART_PACKAGES = ['d3-scale', 'd3-shape'] as const

/**
 * Checks that a long run will not end in vain.
 *
 * @throws Error with one line for the user when a package is missing or a file cannot be written
 */
export function checkOutputs (outputs: readonly OutputFile[], host: Host): void {
  const missing = CHART_PACKAGES.filter(name => host.versionOf(name) === undefined)
  if (missing.length > 0 && outputs.some(({ format }) => format === 'html')) {
    throw new Error(`--html needs packages that are not installed: ${installCommand(missing)}`)
  }
  for (const { file } of outputs.filter(output => output.file !== '-')) {
    try {
      closeSync(openSync(resolve(host.cwd, file), 'a'))
    } catch (error) {
      throw new Error(`cannot write ${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    }
  }
}

/** @param isBracketed - whether the verdicts come from runs that should not be compared */
export async function writeOutputs (report: Report, isBracketed: boolean, outputs: readonly OutputFile[], host: Host): Promise<void> {
  for (const { format, file } of outputs) {
    const text = await render(report, isBracketed, format)
    if (file === '-') {
      host.stdout.write(text)
    } else {
      writeFileSync(resolve(host.cwd, file), text)
    }
  }
}

async function render (report: Report, isBracketed: boolean, format: OutputFile['format']): Promise<string> {
  switch (format) {
    case 'json': return renderJson(report)
    case 'csv': return renderCsv(report)
    case 'markdown': return renderMarkdown(report, isBracketed)
    case 'bmf': return renderBmf(report)
    case 'gha': return renderGha(report)
    case 'html': {
      // Its packages are optional.
      const { renderHtml } = await import('./report-html.ts')
      return renderHtml(report, isBracketed)
    }
  }
}
