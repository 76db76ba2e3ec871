import { PENDING, composeHandlers } from 'libp2p-behaviours'
import { Connection } from 'libp2p-behaviours/connection'
import { RecordingHandler, connectionPair } from 'libp2p-behaviours/testing'
import { heapInUse } from './heap.ts'
import type { MuxerPort } from 'libp2p-behaviours/connection'
import type { ConnectionPair } from 'libp2p-behaviours/testing'

const NAMES = Object.freeze(['/memory/1.0.0'])
const NO_NAMES: readonly string[] = Object.freeze([])

/** Who a connection works with, and the handlers that it polls. */
interface Parts {
  readonly muxer: MuxerPort
  readonly handlers: { readonly one: IdleHandler, readonly other: IdleHandler }
  wake (): void
}

/**
 * Bytes of heap that an idle connection with two handlers takes: the connection, the composition and what they keep. What the
 * handlers and the muxer take is their authors' affair, so that is measured as well, and taken off.
 */
export function bytesPerConnection (connections: number): number {
  return bytesOfEach(connections, () => idleConnection(parts())) - bytesOfEach(connections, parts)
}

function bytesOfEach (count: number, make: () => object): number {
  const kept = [make()]
  const before = heapInUse()
  for (let left = count; left > 0; left--) {
    kept.push(make())
  }
  const bytes = heapInUse() - before
  // Not only so that they are still there.
  if (kept.length !== count + 1) {
    throw new Error('not all of them stand')
  }
  return bytes / count
}

function parts (): Parts {
  return {
    handlers: { one: idleHandler(NAMES), other: idleHandler(NO_NAMES) },
    muxer: { openStream () {}, cancelOpening () {}, close () {}, abort () {} },
    wake () {}
  }
}

/** One whose driver has done what is asked of it: polled it to the end of its first turn, and read its reports. */
function idleConnection ({ handlers, muxer, wake }: Parts): Connection<unknown> {
  const handler = composeHandlers(handlers)
  const connection = new Connection({ id: 'memory', peer: 'peer', direction: 'outbound', handler, muxer, wake }, { idleTimeoutMs: Infinity }, 0)
  while (connection.poll(0) !== PENDING) {
    // Its first turn.
  }
  while (connection.pollReport() !== PENDING) {
    // That it is idle.
  }
  if (connection.status.phase !== 'open') {
    throw new Error('the connection does not stand')
  }
  return connection
}

interface IdleHandler {
  listenProtocols (): readonly string[]
  onConnectionEvent (): void
}

/** As little as a handler can be. */
function idleHandler (protocols: readonly string[]): IdleHandler {
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
