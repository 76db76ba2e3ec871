/**
 * `npm run memory -- [--polls N] [--connections N] [--host-connections N]`
 *
 * What polling allocates, and what idle connections take, against the limits that the library promises: no bytes for an
 * idle poll, 4 KB of heap for an idle connection on top of the host's own, 10 000 pairs in one process.
 *
 * Exit code: 0 within the limits, 1 not so, 2 a bad argument.
 */

import { parseArgs } from 'node:util'
import { bytesPerConnection, standingPairs } from './connections.ts'
import { hostConnections } from './host-connections.ts'
import { bytesOfPolls } from './idle-poll.ts'

const MAX_BYTES_PER_CONNECTION = 4096
/** In all polls together: less than one of them could allocate, were it in each hundredth. */
const MAX_BYTES_OF_POLLS = 4096

process.exitCode = await main(process.argv.slice(2))

async function main (args: string[]): Promise<number> {
  let counts: { polls: number, connections: number, hostConnections: number }
  try {
    counts = parse(args)
  } catch (error) {
    console.error(`memory: ${error instanceof Error ? error.message : String(error)}`)
    return 2
  }
  const { polls, connections } = counts
  const over: string[] = []
  const tell = (what: string, value: number, isGood: boolean): void => {
    if (!isGood) {
      over.push(what)
    }
    console.log(`${what.padEnd(76)}${Math.round(value).toLocaleString('en').padStart(12)}${isGood ? '' : '  over the limit'}`)
  }
  const { idle, oneWoke } = bytesOfPolls(polls)
  tell(`bytes allocated by ${polls} idle polls`, idle, idle <= MAX_BYTES_OF_POLLS)
  tell(`bytes allocated by ${polls} polls where one handler woke`, oneWoke, true)
  const bytes = bytesPerConnection(connections)
  tell('bytes of heap of an idle connection with two handlers', bytes, bytes <= MAX_BYTES_PER_CONNECTION)
  const pairs = standingPairs(connections)
  tell(`pairs with a stream that stand, of ${connections}`, pairs.standing, pairs.standing === connections)
  tell('bytes of heap of such a pair, with the link and records of the test kit', pairs.bytesPerPair, true)
  // Both rest for most of the time, and a heap does not depend on who else runs.
  const [stock, plugged] = await Promise.all([hostConnections(counts.hostConnections, false), hostConnections(counts.hostConnections, true)])
  tell(`pairs of js-libp2p over the memory transport that stand, of ${counts.hostConnections}`, stock.standing, stock.standing === counts.hostConnections)
  tell('the same with the plug-in', plugged.standing, plugged.standing === counts.hostConnections)
  tell('bytes of heap of an end of js-libp2p', stock.bytesPerPair / 2, true)
  const added = (plugged.bytesPerPair - stock.bytesPerPair) / 2
  tell('bytes that the plug-in adds to it', added, added <= MAX_BYTES_PER_CONNECTION)
  return over.length === 0 ? 0 : 1
}

/** @throws Error with one line for the user */
function parse (args: string[]): { polls: number, connections: number, hostConnections: number } {
  const { values } = parseArgs({
    args,
    strict: true,
    options: {
      polls: { type: 'string', default: '1000000' },
      connections: { type: 'string', default: '10000' },
      'host-connections': { type: 'string', default: '1000' }
    }
  })
  return {
    polls: positive('polls', values.polls),
    connections: positive('connections', values.connections),
    hostConnections: positive('host-connections', values['host-connections'])
  }
}

function positive (name: string, text: string): number {
  const value = Number(text)
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(value)) {
    throw new RangeError(`--${name} must be a whole number of at least 1, received "${text}"`)
  }
  return value
}
