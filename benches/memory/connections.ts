import { PENDING, composeHandlers } from 'libp2p-behaviours'
import { Connection } from 'libp2p-behaviours/connection'
import { RecordingHandler, connectionPair } from 'libp2p-behaviours/testing'
import { heapInUse } from './heap.ts'
import type { ConnectionPair } from 'libp2p-behaviours/testing'

const NAMES = Object.freeze(['/memory/1.0.0'])

/** Bytes of heap that an idle connection with two handlers takes: the connection, the composition and what they keep. */
export function bytesPerConnection (connections: number): number {
  const kept: Array<Connection<unknown>> = []
  const make = (): void => {
    const connection = new Connection({
      id: 'memory', peer: 'peer', direction: 'outbound',
      handler: composeHandlers({ one: idleHandler(NAMES), other: idleHandler([]) }),
      muxer: { openStream () {}, cancelOpening () {}, close () {}, abort () {} },
      wake () {}
    }, { idleTimeoutMs: Infinity }, 0)
    while (connection.poll(0) !== PENDING) {
      // Its first turn.
    }
    kept.push(connection)
  }
  make()
  const before = heapInUse()
  for (let left = connections; left > 0; left--) {
    make()
  }
  const bytes = heapInUse() - before
  if (kept.length !== connections + 1 || kept.some(({ status }) => status.phase !== 'open')) {
    throw new Error('the connections do not stand')
  }
  return bytes / connections
}

/** As little as a handler can be: what it keeps is its author's affair. */
function idleHandler (protocols: readonly string[]): { listenProtocols (): readonly string[], onConnectionEvent (): void } {
  return { listenProtocols: () => protocols, onConnectionEvent () {} }
}

/** Pairs of connections, each of which has negotiated a stream, standing at a time; and the bytes of each pair, test kit included. */
export function standingPairs (count: number): { readonly standing: number, readonly bytesPerPair: number } {
  const before = heapInUse()
  const pairs = Array.from({ length: count }, negotiatedPair)
  const bytesPerPair = (heapInUse() - before) / count
  const standing = pairs.filter(({ dialer, listener }) => [dialer, listener].every(({ connection }) =>
    connection.status.phase === 'open' && [...connection.streams].length === 1)).length
  return { standing, bytesPerPair }
}

function negotiatedPair (): ConnectionPair {
  const dialer = new RecordingHandler()
  const pair = connectionPair({ dialer, listener: new RecordingHandler(NAMES), init: { idleTimeoutMs: Infinity } })
  dialer.request(NAMES)
  pair.drive()
  return pair
}
