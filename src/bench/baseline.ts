/** Reports on disk: baselines in `.bench/`, and files of `--json`. */

import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseReport } from './parse-report.ts'
import type { SavedReport } from './assemble.ts'
import type { Environment, Report } from './report.ts'

/** Where baselines are, below the current folder. */
const FOLDER = '.bench'

/** What baselines may be called: file names on any system. */
const NAME = /^[\w-][\w.-]*$/

/** @throws RangeError for a name that no file can have everywhere */
export function checkBaselineName (name: string): void {
  if (!NAME.test(name)) {
    throw new RangeError(`the name of a baseline must match ${String(NAME)}, received ${JSON.stringify(name)}`)
  }
}

/** The names of all baselines, in order. */
export function baselineNames (cwd: string): string[] {
  try {
    return readdirSync(join(cwd, FOLDER)).filter(file => file.endsWith('.json')).map(file => file.slice(0, -'.json'.length)).sort()
  } catch {
    return []
  }
}

/** The file of a baseline. Its folder is made when it is not there. */
export function baselineFile (cwd: string, name: string): string {
  mkdirSync(join(cwd, FOLDER), { recursive: true })
  return join(cwd, FOLDER, `${name}.json`)
}

/** As `--json` writes it. */
export function saveReport (file: string, report: Report): void {
  writeFileSync(file, renderJson(report))
}

/** The text of `--json` and of a baseline. */
export function renderJson (report: Report): string {
  return `${JSON.stringify(report, undefined, 2)}\n`
}

/**
 * @param name - of a baseline, or the path of a file that ends in `.json`
 * @throws Error with one line for the user when there is none, or it is no report
 */
export function loadReport (cwd: string, name: string): SavedReport {
  const isFile = name.endsWith('.json')
  if (!isFile) {
    checkBaselineName(name)
  }
  let text: string
  try {
    text = readFileSync(isFile ? resolve(cwd, name) : join(cwd, FOLDER, `${name}.json`), 'utf8')
  } catch {
    const names = baselineNames(cwd)
    throw new Error(`there is no ${isFile ? 'file' : 'baseline'} ${name}; ${names.length === 0 ? 'no baselines are saved' : `saved are ${names.join(', ')}`}`)
  }
  return { name, report: parseReport(text, name) }
}

/** What must be the same for figures to be compared. */
const CONDITIONS = ['node', 'v8', 'cpu', 'executor', 'seeds', 'flags'] as const

/** What differs between two runs so that their figures cannot be compared, in words. */
export function mismatches (now: Environment, then: Environment): string[] {
  return CONDITIONS
    .filter(condition => String(now[condition]) !== String(then[condition]))
    .map(condition => `${condition} is ${String(now[condition])}, was ${String(then[condition])}`)
}
