/**
 * `npm run bench -- [--quick] [--list] [--filter RE] [--json FILE]`
 *
 * Exit code: 0 all cells were measured, 1 a cell failed, 2 a bad argument, or nothing to measure.
 */

import { closeSync, openSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import '../test/support/polyfill.ts'
import { connectionPoll } from './connection-poll.bench.ts'
import { plan } from './matrix.ts'
import { negotiationPair } from './negotiation-pair.bench.ts'
import { negotiationRefusals } from './negotiation-refusals.bench.ts'
import { negotiationSansIo } from './negotiation-sans-io.bench.ts'
import { negotiationStreams } from './negotiation-streams.bench.ts'
import { environment, load, table } from './report.ts'
import { runAll } from './runner.ts'
import type { PlannedCell } from './matrix.ts'
import type { Report } from './report.ts'
import type { RunOptions } from './runner.ts'

const FULL: RunOptions = { rounds: 5, samples: 5, minTimeMs: 50, warmUpMs: 300 }
const QUICK: RunOptions = { rounds: 3, samples: 3, minTimeMs: 20, warmUpMs: 150 }

interface Arguments {
  readonly options: RunOptions
  readonly isList: boolean
  readonly cells: readonly PlannedCell[]
  readonly json: string | undefined
}

process.exitCode = await main(process.argv.slice(2))

async function main (argv: string[]): Promise<number> {
  let parsed: Arguments
  try {
    parsed = parse(argv)
  } catch (error) {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`)
    return 2
  }
  const { options, isList, cells, json } = parsed
  if (isList) {
    console.log(cells.map(cell => cell.id).join('\n'))
    return 0
  }
  const startedAt = new Date()
  const loadBefore = load()
  const results = await runAll(cells, options, showProgress)
  showProgress('')
  console.log(table(cells, results))
  if (json !== undefined) {
    const report: Report = {
      schema: 'behaviours-bench/1',
      startedAt: startedAt.toISOString(),
      durationMs: Date.now() - startedAt.getTime(),
      environment: environment(loadBefore),
      options,
      results
    }
    writeFileSync(json, `${JSON.stringify(report, undefined, 2)}\n`)
  }
  return results.some(result => 'error' in result) ? 1 : 0
}

/** @throws Error with one line for the user */
function parse (args: string[]): Arguments {
  const { values } = parseArgs({
    args,
    strict: true,
    options: {
      quick: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      filter: { type: 'string', multiple: true, default: [] },
      json: { type: 'string' }
    }
  })
  const filters = values.filter.map(text => new RegExp(text, 'u'))
  const all = [
    ...plan(negotiationPair), ...plan(negotiationRefusals), ...plan(negotiationStreams), ...plan(negotiationSansIo), ...plan(connectionPoll)
  ]
  const cells = filters.length === 0 ? all : all.filter(({ id }) => filters.some(filter => filter.test(id)))
  if (cells.length === 0) {
    throw new RangeError(`no cell matches ${filters.join(' or ')}`)
  }
  if (values.json !== undefined) {
    closeSync(openSync(values.json, 'a'))
  }
  return { options: values.quick ? QUICK : FULL, isList: values.list, cells, json: values.json }
}

/** On a terminal only, on one line that is overwritten. */
function showProgress (text: string): void {
  if (process.stderr.isTTY) {
    process.stderr.write(`\r\u001b[2K${text}`)
  }
}
