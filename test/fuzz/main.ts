/**
 * `npm run fuzz -- [--count N] [--seed S] [--stock N]`
 *
 * Checks N inputs from seed S on (one million from a seed of the clock), and prints how many a second. An input that fails
 * is printed with the seed that gives it again: `--count 1 --seed S`. One of `--stock` inputs is also given to
 * `@libp2p/multistream-select` and to our `select` and `handle`; 0 leaves that out.
 *
 * Exit code: 0 all is well, 1 an input failed, 2 a bad argument.
 */

import { parseArgs } from 'node:util'
import '../support/polyfill.ts'
import { fuzz } from './negotiation-fuzz.ts'
import { fuzzBesideStock } from './stock-fuzz.ts'

const BATCH = 10_000

interface Arguments {
  readonly count: number
  readonly seed: number
  readonly stock: number
}

process.exitCode = await main(process.argv.slice(2))

async function main (argv: string[]): Promise<number> {
  let parsed: Arguments
  try {
    parsed = parse(argv)
  } catch (error) {
    console.error(`fuzz: ${messageOf(error)}`)
    return 2
  }
  const { count, seed, stock } = parsed
  console.log(`${count} inputs from seed ${seed}`)
  const startedAt = performance.now()
  let beside = 0
  for (let index = 0; index < count; index++) {
    const current = seed + index
    try {
      fuzz(current)
      if (stock > 0 && index % stock === 0) {
        beside++
        await fuzzBesideStock(current)
      }
    } catch (error) {
      showProgress('')
      console.error(`failed: --count 1 --seed ${current} --stock ${stock > 0 ? 1 : 0}\n${messageOf(error)}`)
      return 1
    }
    if (index % BATCH === 0) {
      showProgress(`${index} inputs, ${rate(index, startedAt)}`)
    }
  }
  showProgress('')
  console.log(`${count} inputs without a difference, ${rate(count, startedAt)}; ${beside} of them beside @libp2p/multistream-select`)
  return 0
}

/** @throws Error with one line for the user */
function parse (args: string[]): Arguments {
  const { values } = parseArgs({
    args,
    strict: true,
    options: { count: { type: 'string', default: '1000000' }, seed: { type: 'string' }, stock: { type: 'string', default: '500' } }
  })
  return {
    count: whole('count', values.count),
    seed: values.seed === undefined ? Date.now() % 2 ** 31 : whole('seed', values.seed),
    stock: whole('stock', values.stock)
  }
}

function whole (name: string, text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw new RangeError(`--${name} must be a whole number, received "${text}"`)
  }
  return value
}

function rate (inputs: number, startedAt: number): string {
  return `${Math.round(inputs / (performance.now() - startedAt) * 1000)} inputs/s`
}

function messageOf (error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** On a terminal only, on one line that is overwritten. */
function showProgress (text: string): void {
  if (process.stderr.isTTY) {
    process.stderr.write(`\r\u001b[2K${text}`)
  }
}
