/**
 * `npm run soak -- [--seconds N] [--attack NAME]`
 *
 * Attacks a node from another process, in every way for N seconds (5), and measures the node meanwhile: how late its event
 * loop was at worst, what it holds, what it sent, and whether an honest stream went on (S10.23). On Linux it is the processor
 * time between two turns of the loop that must stay below 50 ms, whatever else the machine does; elsewhere it is the clock, and
 * the machine should have nothing else to do.
 *
 * Exit code: 0 all is well, 1 a bound was exceeded, 2 a bad argument.
 */

import '../support/polyfill.ts'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { stopNodes, swarmNode } from '../support/nodes.ts'
import { ATTACKS } from './attacks.ts'
import { watchLoop } from './loop-watch.ts'
import type { Report } from './peer.ts'

/** The longest time that the event loop may be held. */
const MAX_DELAY_MS = 50
/** Before anything is measured: compiling and loading happen once, attack or not. */
const WARM_UP_SECONDS = 1
/** What the node may hold more than before the attack: 64 streams with some buffers, and what the host keeps. */
const MAX_GROWTH_MB = 32
/** The header, a refusal for each of 64 rounds, and one list, for which 1 KiB is plenty here. */
const MAX_ANSWER_BYTES = 20 + 64 * 4 + 1024

const PEER = fileURLToPath(new URL('peer.ts', import.meta.url))

process.exitCode = await main(process.argv.slice(2))

async function main (argv: string[]): Promise<number> {
  let attacks: string[]
  let seconds: number
  try {
    [attacks, seconds] = parse(argv)
  } catch (error) {
    console.error(`soak: ${error instanceof Error ? error.message : String(error)}`)
    return 2
  }
  const node = await swarmNode('tcp, noise, yamux', { behaviours: {} })
  const address = String(node.getMultiaddrs()[0])
  await runPeer(address, 'proposals without end', WARM_UP_SECONDS)
  let failures = 0
  for (const name of attacks) {
    const broken = await suffer(name, address, seconds)
    failures += broken.length
    console.log(broken.length === 0 ? '  ok' : broken.map((bound) => `  FAILED: ${bound}`).join('\n'))
  }
  await stopNodes()
  return failures === 0 ? 0 : 1
}

/** Measures the node during one attack; returns the bounds that it broke. */
async function suffer (name: string, address: string, seconds: number): Promise<string[]> {
  const before = heldMegabytes()
  let most = 0
  const sampling = setInterval(() => { most = Math.max(most, process.memoryUsage().arrayBuffers / 2 ** 20) }, 100)
  const lateness = watchLoop()
  const { streams, bytes, mostAnswered, echoes, refusedEchoes, slowestEchoMs } = await runPeer(address, name, seconds)
  const { worst, p99, held } = lateness()
  clearInterval(sampling)
  const grown = heldMegabytes() - before
  console.log(`${name}, ${seconds} s: ${streams} streams, ${(bytes / 2 ** 20).toFixed(1)} MiB sent, at most ${mostAnswered} bytes back on one`)
  console.log(`  loop late by ${worst.toFixed(1)} ms at most, ${p99.toFixed(1)} ms in 99 of 100 turns; held for ${held?.toFixed(1) ?? '?'} ms at most`)
  console.log(`  buffers of ${most.toFixed(1)} MiB at most, ${grown.toFixed(1)} MiB kept`)
  console.log(`  ${echoes} echoes meanwhile, the slowest took ${slowestEchoMs.toFixed(0)} ms; ${refusedEchoes} refused`)
  const bounds: Array<[text: string, holds: boolean]> = [
    [`the loop was held for more than ${MAX_DELAY_MS} ms`, (held ?? worst) <= MAX_DELAY_MS],
    [`more than ${MAX_GROWTH_MB} MiB were kept`, grown <= MAX_GROWTH_MB],
    [`more than ${MAX_ANSWER_BYTES} bytes were answered on one stream`, mostAnswered <= MAX_ANSWER_BYTES],
    ['no echo came back', echoes > 0]
  ]
  return bounds.flatMap(([text, holds]) => holds ? [] : [text])
}

async function runPeer (address: string, name: string, seconds: number): Promise<Report> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', PEER, address, name, String(seconds)])
  return JSON.parse(stdout) as Report
}

/** What is in use after garbage collection. */
function heldMegabytes (): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 2 ** 20
}

/** @throws Error with one line for the user */
function parse (args: string[]): [attacks: string[], seconds: number] {
  const { values } = parseArgs({ args, strict: true, options: { seconds: { type: 'string', default: '5' }, attack: { type: 'string' } } })
  const seconds = Number(values.seconds)
  if (!(seconds > 0)) {
    throw new RangeError(`--seconds must be a number above 0, received "${values.seconds}"`)
  }
  const all = Object.keys(ATTACKS)
  if (values.attack !== undefined && !all.includes(values.attack)) {
    throw new RangeError(`--attack must be one of ${all.map((name) => `"${name}"`).join(', ')}, received "${values.attack}"`)
  }
  return [values.attack === undefined ? all : [values.attack], seconds]
}
