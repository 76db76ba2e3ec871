/**
 * Does the runner tell the truth on this machine? `npm run bench:self-check` compares the same code with itself, and with a
 * slowdown of 10 % at the default settings and of 5 % with more processes, over 40 cells each, and prints the counts.
 * Arguments go to the runner: `--filter operation=map` checks 8 cells. Exit code 1 when a promise is broken.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { main } from 'libp2p-behaviours/bench'
import { compiled } from '../compiled.ts'
import type { Comparison, Report } from 'libp2p-behaviours/bench'

/** Of all cells with a planted slowdown, the part that must be found. */
const FOUND = 0.95

/** Verdicts that may be wrong, of 40. */
const FALSE_VERDICTS = 1

const ARGS = process.argv.slice(2)
const CELLS = compiled([fileURLToPath(new URL('cells.bench.ts', import.meta.url))], ARGS)

const atDefaults = await comparisons('base,same,slower-10')
const withMore = await comparisons('base,slower-5', '--processes', '12', '--rounds', '2')
const same = of(atDefaults, 'same')
const wrong = same.filter(({ verdict }) => verdict === 'improved' || verdict === 'regressed').length
console.log(`the same code: ${wrong} of ${same.length} verdicts false, ${count(same, 'no change')} no change, ${count(same, 'inconclusive')} inconclusive`)
const isFound = [found(of(atDefaults, 'slower-10'), '10 %'), found(of(withMore, 'slower-5'), '5 % (12 processes, 2 rounds)')]
process.exitCode = wrong > FALSE_VERDICTS || isFound.includes(false) ? 1 : 0

type Compared = Comparison & { readonly variant: unknown }

async function comparisons (variants: string, ...args: string[]): Promise<Compared[]> {
  const folder = mkdtempSync(join(tmpdir(), 'self-check-'))
  const file = join(folder, 'report.json')
  try {
    const code = await main(['--where', `variant=${variants}`, '--no-memory', '--json', file, ...args, ...ARGS], CELLS)
    if (code !== 0) {
      process.exit(code)
    }
    const { results } = JSON.parse(readFileSync(file, 'utf8')) as Report
    return results.flatMap(result => 'baseline' in result ? [{ ...result.baseline, variant: result.params['variant'] }] : [])
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function of (compared: readonly Compared[], variant: string): Compared[] {
  return compared.filter(comparison => comparison.variant === variant)
}

function count (compared: readonly Compared[], verdict: Comparison['verdict']): number {
  return compared.filter(comparison => comparison.verdict === verdict).length
}

function found (compared: readonly Compared[], size: string): boolean {
  const regressed = count(compared, 'regressed')
  console.log(`${size} slower: ${regressed} of ${compared.length} found`)
  return regressed >= FOUND * compared.length
}
