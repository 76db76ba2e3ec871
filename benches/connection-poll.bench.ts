import { PENDING, composeHandlers } from 'libp2p-behaviours'
import { Connection } from 'libp2p-behaviours/connection'
import { CloningTwin } from './cloning-twin.ts'
import { SpinningHandler } from './spinning-handler.ts'
import type { MuxerPort } from 'libp2p-behaviours/connection'
import type { Bench, Matrix } from './matrix.ts'

interface Cell {
  readonly behaviours: number
  /** Names that each of them lists. */
  readonly protocols: number
  /** Our connection with one handler that wakes itself, or the slow twin of its diff with the same handlers. */
  readonly variant: 'one-woke' | 'clone'
  readonly [axis: string]: string | number
}

/** The sizes that libp2p/rust-libp2p measures: 10, 100 and 1000 names in all, and twice as many with 20 behaviours. */
const SIZES = [
  [1, 10], [1, 100], [1, 1000],
  [5, 2], [5, 20], [5, 200],
  [10, 1], [10, 10], [10, 100],
  [20, 1], [20, 10], [20, 100]
] as const

/** One turn of a connection where one handler woke and nothing changed, from its wake to PENDING. */
export const connectionPoll: Matrix<Cell> = {
  name: 'connection-poll',
  cells: SIZES.flatMap(([behaviours, protocols]) => [
    { behaviours, protocols, variant: 'one-woke' }, { behaviours, protocols, variant: 'clone' }
  ] as const),
  iterations: 1000,
  baseline: 'clone',
  setup: ({ behaviours, protocols, variant }) => {
    const handlers = Array.from({ length: behaviours }, (_, owner) =>
      new SpinningHandler(Array.from({ length: protocols }, (_, index) => `/bench/${owner}/${index}/1.0.0`)))
    const spinning = handlers.at(-1)
    if (spinning === undefined) {
      throw new RangeError('Cannot measure a connection without handlers')
    }
    return variant === 'one-woke' ? oneWoke(handlers, spinning) : clone(handlers, spinning)
  }
}

/** The last of `handlers` spins; the checksum is the number of its polls, and nobody else may be polled. */
function benchOf (handlers: readonly SpinningHandler[], spinning: SpinningHandler, drain: () => void): Bench {
  const polls = (): number => handlers.reduce((sum, handler) => sum + handler.polls, 0)
  const pollsBefore = polls()
  return {
    run (iterations) {
      const before = spinning.polls
      spinning.spin(iterations)
      drain()
      return spinning.polls - before
    },
    verify: (iterations, checksum) => checksum === iterations && polls() - pollsBefore === iterations
  }
}

function oneWoke (handlers: readonly SpinningHandler[], spinning: SpinningHandler): Bench {
  let isWoken = true
  const connection = new Connection({
    id: 'bench',
    peer: 'peer',
    direction: 'outbound',
    handler: composeHandlers(Object.fromEntries(handlers.map((handler, index) => [`handler-${index}`, handler]))),
    muxer: IDLE_MUXER,
    wake: () => { isWoken = true }
  }, {}, 0)
  const drain = (): void => {
    while (isWoken) {
      isWoken = false
      if (connection.poll(0) !== PENDING || connection.pollReport() !== PENDING) {
        throw new Error('the connection had something to tell')
      }
    }
  }
  drain()
  const expected = handlers.reduce((sum, handler) => sum + handler.listenProtocols().length, 0)
  if (connection.localProtocols.size !== expected) {
    throw new Error(`the connection has ${connection.localProtocols.size} of ${expected} protocols`)
  }
  return benchOf(handlers, spinning, drain)
}

function clone (handlers: readonly SpinningHandler[], spinning: SpinningHandler): Bench {
  const twin = new CloningTwin(handlers)
  return benchOf(handlers, spinning, () => {
    while (twin.isWoken) {
      if (twin.poll()) {
        throw new Error('the set of names changed')
      }
    }
  })
}

const IDLE_MUXER: MuxerPort = { openStream () {}, cancelOpening () {}, close () {}, abort () {} }
