import { PENDING, composeHandlers } from 'libp2p-behaviours'
import { matrix } from 'libp2p-behaviours/bench'
import { Connection } from 'libp2p-behaviours/connection'
import { CloningTwin } from './cloning-twin.ts'
import { SpinningHandler } from './spinning-handler.ts'
import type { MuxerPort } from 'libp2p-behaviours/connection'

/** Behaviours and names of each, as libp2p/rust-libp2p measures: 10, 100 and 1000 names in all, and twice as many with 20 behaviours. */
const SIZES = [
  [1, 10], [1, 100], [1, 1000],
  [5, 2], [5, 20], [5, 200],
  [10, 1], [10, 10], [10, 100],
  [20, 1], [20, 10], [20, 100]
] as const

/** One turn of a connection where one handler woke and nothing changed, from its wake to PENDING. */
export default matrix({
  name: 'connection-poll',
  axes: {
    behaviours: [1, 5, 10, 20],
    iterations: [1000],
    /** Names that each behaviour lists. */
    protocols: [1, 2, 10, 20, 100, 200, 1000],
    /** Our connection with one handler that wakes itself, or the slow twin of its diff with the same handlers. */
    variant: ['one-woke', 'clone']
  },
  exclude: ({ behaviours, protocols }) => !SIZES.some(size => size[0] === behaviours && size[1] === protocols),
  baseline: { variant: 'clone' },
  claims: [{ where: { variant: 'one-woke' }, axis: 'protocols', slope: [-0.1, 0.1] }],
  setup: ({ behaviours, protocols, variant }) => {
    const handlers = Array.from({ length: behaviours }, (_, owner) =>
      new SpinningHandler(Array.from({ length: protocols }, (_, index) => `/bench/${owner}/${index}/1.0.0`)))
    return new Turns(handlers, variant === 'one-woke' ? oneWoke(handlers) : clone(handlers))
  },
  run: (turns, iterations) => turns.take(iterations),
  verify: (turns, { iterations, checksum }) => checksum === iterations && turns.polls === iterations
})

/** Turns in which the last of some handlers spins, and nobody else may be polled. */
class Turns {
  readonly #handlers: readonly SpinningHandler[]
  readonly #drain: () => void
  readonly #pollsBefore: number

  constructor (handlers: readonly SpinningHandler[], drain: () => void) {
    this.#handlers = handlers
    this.#drain = drain
    this.#pollsBefore = this.#allPolls
  }

  /** Polls of all handlers since the first turn. */
  get polls (): number {
    return this.#allPolls - this.#pollsBefore
  }

  /** Returns how often the spinning handler was polled. */
  take (turns: number): number {
    const spinning = this.#handlers.at(-1)
    const before = spinning?.polls ?? 0
    spinning?.spin(turns)
    this.#drain()
    return (spinning?.polls ?? 0) - before
  }

  get #allPolls (): number {
    return this.#handlers.reduce((sum, handler) => sum + handler.polls, 0)
  }
}

function oneWoke (handlers: readonly SpinningHandler[]): () => void {
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
  return drain
}

function clone (handlers: readonly SpinningHandler[]): () => void {
  const twin = new CloningTwin(handlers)
  return () => {
    while (twin.isWoken) {
      if (twin.poll()) {
        throw new Error('the set of names changed')
      }
    }
  }
}

const IDLE_MUXER: MuxerPort = { openStream () {}, cancelOpening () {}, close () {}, abort () {} }
