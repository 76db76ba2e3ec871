/**
 * `npm run simulate -- [--count N] [--seed S]`
 *
 * Plays N scripts from seed S on (one million from a seed of the clock) on pairs of connections, and prints how many a
 * second. A script that breaks a guarantee is shrunk and printed, with the seed that gives it again: `--count 1 --seed S`.
 *
 * Exit code: 0 all guarantees hold, 1 one was broken, 2 a bad argument.
 */

import { parseArgs } from 'node:util'
import { simulate } from '../../src/testing/index.ts'
import { connectionSimulation, explain } from './connection-simulation.ts'

const BATCH = 1000

process.exitCode = main(process.argv.slice(2))

function main (args: string[]): number {
  let count: number
  let seed: number
  try {
    const { values } = parseArgs({ args, strict: true, options: { count: { type: 'string', default: '1000000' }, seed: { type: 'string' } } })
    count = whole('count', values.count)
    seed = values.seed === undefined ? Date.now() % 2 ** 31 : whole('seed', values.seed)
  } catch (error) {
    console.error(`simulate: ${error instanceof Error ? error.message : String(error)}`)
    return 2
  }
  console.log(`${count} scripts from seed ${seed}`)
  const startedAt = performance.now()
  const onScript = (current: number): void => {
    const played = current - seed
    if (played % BATCH === 0 && process.stderr.isTTY) {
      process.stderr.write(`\r\u001b[2K${played} scripts, ${rate(played, startedAt)}`)
    }
  }
  const broken = simulate(connectionSimulation, { seed, count, onScript })
  if (broken !== undefined) {
    console.error(`failed: ${explain(broken)}`)
    return 1
  }
  console.log(`${count} scripts without a broken guarantee, ${rate(count, startedAt)}`)
  return 0
}

function whole (name: string, text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw new RangeError(`--${name} must be a whole number, received "${text}"`)
  }
  return value
}

function rate (scripts: number, startedAt: number): string {
  return `${Math.round(scripts / (performance.now() - startedAt) * 1000)} scripts/s`
}
