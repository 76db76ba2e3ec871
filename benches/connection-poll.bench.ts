import { PENDING, composeHandlers } from 'libp2p-behaviours'
import { matrix } from 'libp2p-behaviours/bench'
import { Connection } from 'libp2p-behaviours/connection'
import { CloningDiff } from './cloning-diff.ts'
import { SpinningHandler } from './spinning-handler.ts'
import type { MuxerPort } from 'libp2p-behaviours/connection'

/**
 * What an iteration, one turn of a connection from its wake to PENDING, does:
 * - `idle`: nothing woke; the connection is polled all the same
 * - `one-woke`: one handler woke, and nothing changed
 * - `clone`: the slow twin of `one-woke`, which after each poll of the connection puts all names in a new set and compares it
 * - `mark-sweep`: the same names as before in another order, in an array that is not frozen: the full diff, without a change
 * - `one-added`: the handler that woke lists one name more, or one less
 * - `all-changed`: each handler woke, and lists other names than before
 */
const VARIANTS = ['idle', 'one-woke', 'clone', 'mark-sweep', 'one-added', 'all-changed'] as const
const FINDING_NOTHING: ReadonlyArray<typeof VARIANTS[number]> = ['idle', 'one-woke', 'clone']

/** What is timed, and the proof that its work was done. */
interface Bench {
  run (iterations: number): number
  verify (iterations: number, checksum: number): boolean
}

/** The sizes that libp2p/rust-libp2p measures: 10, 100 and 1000 names in all, and twice as many with 20 behaviours; and 200 behaviours. */
const SIZES = [
  [1, 10], [1, 100], [1, 1000],
  [5, 2], [5, 20], [5, 200],
  [10, 1], [10, 10], [10, 100],
  [20, 1], [20, 10], [20, 100],
  [200, 1], [200, 5]
] as const

/** Those of them at which all variants are measured; at the others the ones that are polled for nothing. */
const CHANGING = ['1 of 10', '1 of 1000', '10 of 10', '20 of 100', '200 of 5']

/** 10 names in all, and 1000. */
const FEW = [[1, 10], [5, 2], [10, 1]] as const
const MANY = [[1, 1000], [5, 200], [10, 100]] as const

/** At sizes of as many names, what finds nothing is so much faster than its slow twin. */
function fasterThanClone (sizes: typeof FEW | typeof MANY, most: number) {
  return sizes.flatMap(([behaviours, protocols]) => (['idle', 'one-woke'] as const).map(variant => (
    { where: { behaviours, protocols, variant }, to: { variant: 'clone' }, ratio: [0, most] } as const
  )))
}

/** One turn of a connection: see the variants. */
export default matrix({
  name: 'connection-poll',
  axes: {
    behaviours: [1, 5, 10, 20, 200],
    /** Few where something changes, as that takes so much longer. */
    iterations: [10, 1000],
    /** Names that each behaviour lists. */
    protocols: [1, 2, 5, 10, 20, 100, 200, 1000],
    variant: VARIANTS
  },
  exclude: ({ behaviours, iterations, protocols, variant }) => !SIZES.some(size => size[0] === behaviours && size[1] === protocols)
    // One name has no other order.
    || (variant === 'mark-sweep' && protocols === 1)
    || (!FINDING_NOTHING.includes(variant) && !CHANGING.includes(`${behaviours} of ${protocols}`))
    || iterations !== (variant === 'one-added' || variant === 'all-changed' ? 10 : 1000),
  // The clone looks at names that stay the same, so what changes them is compared with nothing.
  baseline: { variant: 'clone' },
  claims: [
    { where: { variant: 'idle' }, axis: 'protocols', slope: [-0.1, 0.1] },
    { where: { variant: 'one-woke' }, axis: 'protocols', slope: [-0.1, 0.1] },
    { where: { protocols: 1, variant: 'idle' }, axis: 'behaviours', slope: [-0.1, 0.1] },
    { where: { protocols: 1, variant: 'one-woke' }, axis: 'behaviours', slope: [-0.1, 0.1] },
    { where: { behaviours: 1, protocols: 1000, variant: 'one-woke' }, to: { protocols: 10 }, ratio: [0, 1.1] },
    { where: { behaviours: 200, protocols: 5, variant: 'one-woke' }, to: { behaviours: 1, protocols: 10 }, ratio: [0, 1.5] },
    ...fasterThanClone(FEW, 0.1),
    ...fasterThanClone(MANY, 0.001),
    { where: { variant: 'idle' }, bytes: 0 }
  ],
  setup: ({ behaviours, protocols, variant }): Bench => {
    const names = Array.from({ length: behaviours }, (_, owner) =>
      Array.from({ length: protocols }, (_, index) => `/bench/${owner}/${index}/1.0.0`))
    switch (variant) {
      case 'idle':
        return idle(names.map(own => frozen(own)))
      case 'one-woke':
        return turns(names.map(own => frozen(own)), { spinning: 1, noticesPerTurn: 0 })
      case 'clone':
        return cloning(names.map(own => frozen(own)))
      case 'mark-sweep':
        return turns(names.map(own => new SpinningHandler(own, own.toReversed())), { spinning: 1, noticesPerTurn: 0 })
      case 'one-added':
        return turns(names.map(own => frozen(own, [...own, '/bench/added/1.0.0'])), { spinning: 1, noticesPerTurn: 1 })
      case 'all-changed':
        return turns(names.map(own => frozen(own, own.map(name => `${name}/changed`))), { spinning: behaviours, noticesPerTurn: 2 })
    }
  },
  run: (bench, iterations) => bench.run(iterations),
  verify: (bench, { iterations, checksum }) => bench.verify(iterations, checksum)
})

function frozen (...listings: ReadonlyArray<readonly string[]>): SpinningHandler {
  return new SpinningHandler(...listings.map(listing => Object.freeze([...listing])))
}

interface Turns {
  readonly spinning: number
  readonly noticesPerTurn: number
  /** What is done after each poll besides. */
  readonly diff?: CloningDiff
}

function cloning (handlers: readonly SpinningHandler[]): Bench {
  return turns(handlers, { spinning: 1, noticesPerTurn: 0, diff: new CloningDiff(handlers) })
}

/**
 * The last `spinning` of `handlers` spin. The checksum is the number of spins of each; every handler has to hear of every
 * change, and where there is none nobody else may be polled.
 */
function turns (handlers: readonly SpinningHandler[], { spinning, noticesPerTurn, diff }: Turns): Bench {
  const { drain } = connect(handlers, diff)
  const woken = handlers.slice(-spinning)
  return benchOf(handlers, woken, noticesPerTurn, iterations => {
    woken.forEach(handler => { handler.spin(iterations) })
    drain()
  })
}

function benchOf (
  handlers: readonly SpinningHandler[], woken: readonly SpinningHandler[], noticesPerTurn: number, run: (iterations: number) => void
): Bench {
  const spins = (): number => sum(woken, ({ spins }) => spins)
  const pollsBefore = sum(handlers, ({ polls }) => polls)
  const noticesBefore = sum(handlers, ({ notices }) => notices)
  return {
    run (iterations) {
      const before = spins()
      run(iterations)
      return (spins() - before) / woken.length
    },
    verify (iterations, checksum) {
      const polls = sum(handlers, ({ polls }) => polls) - pollsBefore
      const notices = sum(handlers, ({ notices }) => notices) - noticesBefore
      return checksum === iterations
        && notices === iterations * noticesPerTurn * handlers.length
        && (noticesPerTurn > 0 || polls === iterations * woken.length)
    }
  }
}

function sum (handlers: readonly SpinningHandler[], of: (handler: SpinningHandler) => number): number {
  return handlers.reduce((total, handler) => total + of(handler), 0)
}

/** The checksum is the number of answers, of which each has to be PENDING; nobody may be polled. */
function idle (handlers: readonly SpinningHandler[]): Bench {
  const { connection } = connect(handlers)
  const pollsBefore = sum(handlers, ({ polls }) => polls)
  let now = 0
  return {
    run (iterations) {
      let answers = 0
      for (let left = iterations; left > 0; left--) {
        answers += connection.poll(++now) === PENDING ? 1 : 0
      }
      return answers
    },
    verify: (iterations, checksum) => checksum === iterations && now === iterations && sum(handlers, ({ polls }) => polls) === pollsBefore
  }
}

/** A connection that has been polled until it rests, and has all the names. */
function connect (handlers: readonly SpinningHandler[], diff?: CloningDiff): { connection: Connection<unknown>, drain (): void } {
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
      if (connection.poll(0) !== PENDING || connection.pollReport() !== PENDING || diff?.update() === true) {
        throw new Error('the connection had something to tell')
      }
    }
  }
  drain()
  const expected = new Set(handlers.flatMap(handler => handler.listenProtocols())).size
  if (connection.localProtocols.size !== expected) {
    throw new Error(`the connection has ${connection.localProtocols.size} of ${expected} protocols`)
  }
  return { connection, drain }
}

const IDLE_MUXER: MuxerPort = { openStream () {}, cancelOpening () {}, close () {}, abort () {} }
