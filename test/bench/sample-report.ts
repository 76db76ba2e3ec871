import { REPORT_SCHEMA } from '../../src/bench/report.ts'
import type { Comparison, Failed, Measured, Params, Report, Result, Round, Verdict } from '../../src/bench/report.ts'
import { seededRandom } from '../../src/core/seeded-random.ts'

export interface SampleInit {
  /** Of the matrix. */
  readonly name?: string
  readonly behaviours?: readonly number[]
  readonly protocols?: readonly number[]
  readonly variants?: readonly string[]
  /** What the cells are compared with: another variant, a saved baseline, nothing. */
  readonly against?: 'variant' | 'saved' | 'nothing'
  readonly processes?: number
  readonly rounds?: number
  readonly samples?: number
  /** The cell with this number fails. */
  readonly failing?: number
}

/** A report of a made-up run: plausible figures, the same each time. */
export function sampleReport (init: SampleInit = {}): Report {
  const { processes = 5, rounds = 3, samples = 3 } = init
  const results = sampleResults(init)
  return {
    schema: REPORT_SCHEMA,
    startedAt: '2026-11-30T21:14:05.000Z',
    durationMs: 362_000,
    environment: {
      node: 'v20.20.2', v8: '11.3.244.8-node.33', platform: 'linux', arch: 'x64', os: 'Linux 6.12', cpu: 'AMD EPYC 9B14', cores: 2,
      memoryBytes: 8_340_000_000, package: 'libp2p-behaviours@0.1.0', executor: 'benny@3.7.1', flags: [], seeds: seedsOf(processes),
      orderSeed: 20_611, loadBefore: 0.21, loadAfter: 1.04, commit: 'c1a2b06d3f9e', dirty: false
    },
    options: { processes, rounds, samples, minTimeMs: 50, noise: 0.02, tolerance: 0.05, confidence: 0.95 },
    results,
    claims: [
      { kind: 'slope', where: { variant: 'identity' }, axis: 'protocols', band: [-0.1, 0.1], value: 0.04, low: 0.01, high: 0.07, r2: 0.91, state: 'held' },
      { kind: 'ratio', where: { variant: 'positional' }, to: { variant: 'marks' }, band: [0, 0.25], value: 0.31, low: 0.28, high: 0.34, state: 'broken' },
      { kind: 'slope', where: { variant: 'positional' }, axis: 'protocols', band: [0.85, 1.2], value: 0.97, low: 0.81, high: 1.13, r2: 0.998, state: 'open' },
      { kind: 'bytes', where: { variant: 'marks' }, band: [0, 0], value: 0, low: 0, high: 0, state: 'held' }
    ],
    controls: {
      twin: { id: results[0]?.id ?? '', ratio: 1.003, low: 0.989, high: 1.016, p: 0.61, q: 0.8, pairs: processes, verdict: 'no change' },
      fixed: { low: 12.31, mid: 12.36, high: 12.44 },
      ...init.against === 'saved' ? { fixedChange: { name: 'main', ratio: 1.006, low: 1.001, high: 1.011, p: 0.03, q: 0.2, pairs: processes, verdict: 'no change' } } : {}
    }
  }
}

/** Cost of a variant for one protocol, what each one adds, and bytes for each. */
const COSTS: Readonly<Record<string, readonly [base: number, each: number, bytes: number]>> = {
  identity: [1.1, 0.0002, 0], revision: [1.4, 0.0003, 0], interned: [3.1, 1.2, 0], positional: [3.9, 2.3, 0],
  marks: [3.4, 1.6, 0], boxed: [2, 7, 0], parity: [4, 14.5, 0], reset: [6, 21, 0], clone: [9, 24, 42]
}

function sampleResults (init: SampleInit): Result[] {
  const {
    name = 'protocol-diff', behaviours = [1, 5, 10, 20], protocols = [1, 10, 100, 1000], variants = ['identity', 'positional', 'marks', 'clone'],
    against = 'variant', failing
  } = init
  const random = seededRandom(7)
  const grid = behaviours.flatMap((count) => protocols.flatMap((size) =>
    variants.map((variant) => ({ behaviours: count, protocols: size, iterations: 1000, variant }))))
  const orders = shuffledOrders(grid.length, init, random)
  return grid.map((params, at) => {
    const id = idOf(name, params)
    if (at === failing) {
      return { id, params, unit: 'ns', error: { stage: 'verify', name: 'Error', message: 'verify said false: 999 of 1000 passes' } } satisfies Failed
    }
    const cell = measure(id, params, orders[at] ?? [], init, random)
    return against === 'nothing' || (against === 'variant' && params.variant === variants.at(-1))
      ? cell
      : { ...cell, baseline: against === 'saved' ? saved(random) : within(name, params, variants.at(-1) ?? '', random) }
  })
}

function measure (id: string, params: { behaviours: number, protocols: number, variant: string }, orders: readonly Omit<Round, 'from' | 'to'>[], init: SampleInit, random: () => number): Measured {
  const [base, each, bytes] = COSTS[params.variant] ?? [5, 3, 0]
  const mid = params.behaviours * (base + each * params.protocols * (params.protocols >= 1000 ? 1.4 : 1)) * (1 + 0.1 * (random() - 0.5))
  const samples: number[] = []
  const rounds = orders.map((visit): Round => {
    const from = samples.length
    const drift = visit.order > 0.62 * orders.length * 48 && visit.order < 0.7 * orders.length * 48 ? 1.025 : 1
    const shift = Math.exp((random() - 0.5) * 0.03 + (visit.seed - 3) * 0.006) * drift
    for (let count = 0; count < (init.samples ?? 3); count++) {
      samples.push(mid * shift * Math.exp(gauss(random) * 0.008) * (random() > 0.985 ? 1.09 : 1))
    }
    return { ...visit, from, to: samples.length }
  })
  return {
    id, params, unit: 'ns', low: mid * 0.985, mid, high: mid * 1.017, samples, rounds, bytesPerIteration: bytes * params.protocols,
    notes: random() > 0.93 ? ['bimodal'] : random() > 0.95 ? ['drift', 'switches'] : []
  }
}

/** Which place each cell has in each round of each process. */
function shuffledOrders (cells: number, { processes = 5, rounds = 3 }: SampleInit, random: () => number): Array<Array<Omit<Round, 'from' | 'to'>>> {
  const orders = Array.from({ length: cells }, (): Array<Omit<Round, 'from' | 'to'>> => [])
  seedsOf(processes).forEach((seed, process) => {
    for (let round = 1; round <= rounds; round++) {
      const first = (process * rounds + round - 1) * cells
      orders.map((own) => ({ own, draw: random() })).sort((a, b) => a.draw - b.draw).forEach(({ own }, place) => {
        own.push({ seed, round, order: first + place, repeat: 64, gcs: random() > 0.9 ? 1 : 0, switches: random() > 0.8 ? 2 : 0 })
      })
    }
  })
  return orders
}

function saved (random: () => number): Comparison {
  const planted = random()
  const ratio = planted > 0.9 ? 1.06 + random() * 0.3 : planted < 0.2 ? 0.7 + random() * 0.2 : 1 + (random() - 0.5) * 0.02
  return { name: 'main', ...changeTo(ratio, random() > 0.94 ? 0.07 : 0.014) }
}

function within (name: string, params: Params, variant: string, random: () => number): Comparison {
  const cost = (of: string): number => (COSTS[of]?.[0] ?? 5) + (COSTS[of]?.[1] ?? 3) * Number(params['protocols'])
  return { id: idOf(name, { ...params, variant }), ...changeTo(cost(String(params['variant'])) / cost(variant) * (1 + 0.04 * (random() - 0.5)), 0.02) }
}

function changeTo (ratio: number, half: number): Omit<Comparison, 'id' | 'name'> & { verdict: Verdict, ratio: number, low: number, high: number, p: number, q: number, pairs: number } {
  const [low, high] = [ratio * (1 - half), ratio * (1 + half)]
  const verdict = high < 1 / 1.02 ? 'improved' : low > 1.02 ? 'regressed' : low >= 1 / 1.05 && high <= 1.05 ? 'no change' : 'inconclusive'
  return { ratio, low, high, p: verdict === 'no change' ? 0.43 : 0.0004, q: verdict === 'no change' ? 0.6 : 0.002, pairs: 5, verdict }
}

function idOf (name: string, params: Params): string {
  return [name, ...Object.entries(params).map(([axis, value]) => `${axis}=${encodeURIComponent(value)}`)].join('/')
}

function seedsOf (processes: number): number[] {
  return Array.from({ length: processes }, (_, at) => at + 1)
}

function gauss (random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}
