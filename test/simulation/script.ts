/** Scripts for a pair of connections: what may happen, how it is drawn, and how it reads. */

/** Names that parts list and ask for; the last two are no valid names. */
const NAMES = ['/a', '/b', '/c', '/d', '/e', '', 'f'] as const

/** What one step does, and how often it is drawn. */
const WEIGHTS = {
  request: 6, 'request lazily': 3, 'request later': 2, 'request broken': 1, 'request from host': 1, cancel: 1, list: 4, 'keep alive': 1, emit: 3, flood: 1, tell: 2, report: 2,
  identify: 2, address: 1, send: 2, 'end stream': 3, 'reset stream': 1, throw: 1, stall: 1, resume: 1, refuse: 1, 'open raw': 1, 'send frames': 1, wait: 4,
  'add part': 2, 'remove part': 2, 'switch part': 2, close: 0.3, abort: 0.2, cut: 0.2
} as const

/** Methods that a step may make throw. */
export const THROWERS = ['poll', 'listenProtocols', 'keepAlive', 'onConnectionEvent', 'onBehaviourEvent', 'inboundInfo', 'pollClose'] as const

/** One thing that happens. Which of its fields count depends on `what`. */
export interface Step {
  readonly what: keyof typeof WEIGHTS | 'link'
  readonly end: 'dialer' | 'listener'
  readonly part: 'left' | 'right'
  readonly names: readonly string[]
  /** Milliseconds, or a number of times, or which one of several. */
  readonly amount: number
}

const KINDS = Object.entries(WEIGHTS) as Array<[keyof typeof WEIGHTS, number]>
const TOTAL = KINDS.reduce((sum, [, weight]) => sum + weight, 0)

/** Between 1 and 25 steps; the first one says what the link is like. */
export function drawScript (random: () => number): Step[] {
  return Array.from({ length: 2 + Math.floor(random() * 24) }, (_, index) => ({
    what: index === 0 ? 'link' : kindAt(random() * TOTAL),
    end: random() < 0.5 ? 'dialer' : 'listener',
    part: random() < 0.5 ? 'left' : 'right',
    names: Array.from({ length: Math.floor(random() * 4) }, () => NAMES[Math.floor(random() * NAMES.length)] ?? ''),
    amount: Math.floor(random() * 40)
  }))
}

/** A line for each step. */
export function showScript (script: readonly Step[]): string {
  return script.map(({ what, end, part, names, amount }) => `${end}.${part}: ${what} [${names.join(' ')}] ${amount}`).join('\n')
}

function kindAt (place: number): keyof typeof WEIGHTS {
  let left = place
  for (const [what, weight] of KINDS) {
    left -= weight
    if (left < 0) {
      return what
    }
  }
  return 'wait'
}
