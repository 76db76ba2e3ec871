import { matrix } from 'libp2p-behaviours/bench'

/** How much more each variant does than `base`. */
const WORK = { base: 1, same: 1, 'slower-5': 1.05, 'slower-10': 1.1 } as const

type Operation = (iterations: number) => number

/** What programs do: look-ups, scans, arithmetic, calls. Each returns one per iteration. */
const OPERATIONS: Record<'map' | 'set' | 'scan' | 'mix' | 'call', (names: readonly string[]) => Operation> = {
  map: (names) => {
    const map = new Map(names.map((name, index) => [name, index]))
    return repeat(names, name => map.get(name) === undefined ? 0 : 1)
  },
  set: (names) => {
    const set = new Set(names)
    return repeat(names, name => set.has(name) ? 1 : 0)
  },
  scan: names => repeat(names, name => names.indexOf(name) < 0 ? 0 : 1),
  mix: (names) => {
    let mixed = 1
    return repeat(names, (name) => {
      for (let index = 0; index < name.length; index++) {
        mixed = Math.imul(mixed ^ name.charCodeAt(index), 0x01000193) >>> 0
      }
      return mixed >= 0 ? 1 : 0
    })
  },
  call: (names) => {
    const handlers = names.map(name => ({ name, poll: (text: string) => text === name ? 1 : 0 }))
    return repeat(handlers, handler => handler.poll(handler.name))
  }
}

function repeat<Item> (items: readonly Item[], once: (item: Item) => number): Operation {
  return (iterations) => {
    let sum = 0
    for (let done = 0; done < iterations; done++) {
      sum += once(items[done % items.length] as Item)
    }
    return sum
  }
}

/** Forty cells of each variant, of which `same` must not and the slower ones must be told from `base`. */
export default matrix({
  name: 'self-check',
  axes: {
    operation: ['map', 'set', 'scan', 'mix', 'call'],
    names: [1, 2, 4, 8, 16, 32, 64, 128],
    variant: ['base', 'same', 'slower-5', 'slower-10']
  },
  baseline: { variant: 'base' },
  setup: ({ operation, names, variant }) => ({
    operation: OPERATIONS[operation](Array.from({ length: names }, (_, index) => `/self-check/${index}/1.0.0`)),
    factor: WORK[variant],
    expected: 0
  }),
  run: (state, iterations) => {
    const more = Math.round(iterations * state.factor)
    state.expected += more
    return state.operation(more)
  },
  verify: (state, { checksum }) => checksum === state.expected
})
