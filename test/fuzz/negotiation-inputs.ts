/**
 * What a peer may send in a negotiation, from a seed: what it should, the same with something wrong in it, and noise; cut
 * in any way, read in turns of any size, and ended or reset at any point.
 */

import { seededRandom } from '../../src/core/seeded-random.ts'
import { naiveFrame } from '../support/naive-multistream.ts'
import type { NegotiationLimits } from '../../src/negotiation/index.ts'
import type { Ending } from '../support/naive-multistream.ts'

/** One input of one machine. The same seed gives the same one. */
export interface FuzzInput {
  readonly seed: number
  readonly role: 'dialer' | 'listener'
  /** How the bytes were made. */
  readonly kind: 'valid' | 'mutated' | 'noise'
  readonly names: readonly string[]
  readonly limits: { readonly [Name in keyof NegotiationLimits]-?: NonNullable<NegotiationLimits[Name]> }
  /** Dialer with one name: V1Lazy. */
  readonly lazy: boolean
  readonly bytes: readonly number[]
  readonly ending: Ending
  /** Where the bytes are cut, ascending; twice the same place gives an empty chunk. */
  readonly cuts: readonly number[]
  /** How input is read on that the machine kept: at once, after everything else has come, or by being fed again. */
  readonly keptInput: 'at-once' | 'late' | 'fed-again'
  /** V1Lazy: after how many chunks the application writes first. */
  readonly writeAfter: number
}

/** What both roles know; the last one has a prefix of two bytes. */
export const NAMES: readonly string[] = ['/a', '/b', '/echo/1.0.0', '/\ufffd', `/${'long'.repeat(32)}`]

const OTHER_NAMES = ['/c', '/a ', '/A', '/a/', 'a', '', 'na', 'lsx', '\ufeff/a', '/multistream/1.0.1']
const FRAMES = new Map([...NAMES, ...OTHER_NAMES].map(name => [name, naiveFrame(name)]))
const HEADER = naiveFrame('/multistream/1.0.0')
const REFUSAL = naiveFrame('na')
const LS = naiveFrame('ls')
const MALFORMED = [[0], [0x80, 0], [0x83, 0], [0x80, 0x80], [0xff, 0x7f], [2, 0x2f, 0x61], [3, 0x0a, 0x61, 0x0a], [3, 0x2f, 0xff, 0x0a]]

/** The input of a seed. */
export function inputOf (seed: number): FuzzInput {
  const draw = new Draw(seed)
  const role = draw.chance(0.5) ? 'dialer' : 'listener'
  const names = role === 'dialer' ? draw.list(1, 4, () => draw.one(NAMES)) : draw.list(0, 5, () => draw.one(NAMES))
  const limits = {
    maxFrameLength: draw.one([1024, 140, 20 + draw.below(200)]),
    maxRounds: draw.one([64, 4, 4 + draw.below(4)]),
    maxFramesPerTurn: draw.one([Infinity, 8, 1 + draw.below(3)]),
    ls: draw.chance(0.8)
  }
  const kind = draw.one(['valid', 'mutated', 'mutated', 'noise'] as const)
  const bytes = kind === 'noise' ? draw.noise(40) : kind === 'valid' ? script(draw, role, names) : mutated(draw, script(draw, role, names))
  return {
    seed,
    role,
    kind,
    names: names.filter(name => frameOf(name).length <= limits.maxFrameLength),
    limits,
    lazy: draw.chance(0.5),
    bytes,
    ending: draw.one(['open', 'FIN', 'RESET']),
    cuts: draw.list(0, draw.one([0, 2, bytes.length]), () => draw.below(bytes.length + 1)).sort((left, right) => left - right),
    keptInput: draw.one(['at-once', 'late', 'fed-again']),
    writeAfter: draw.below(6)
  }
}

/** What a peer of `role` sends when it does as it should. */
function script (draw: Draw, role: FuzzInput['role'], names: readonly string[]): number[] {
  const agreed = draw.chance(0.8) ? draw.below(names.length + 1) : names.length
  const messages = role === 'dialer'
    ? [...names.slice(0, agreed).map(() => REFUSAL), ...names.slice(agreed, agreed + 1).map(frameOf)]
    : draw.list(0, 6, () => draw.chance(0.2) ? LS : frameOf(draw.one(draw.chance(0.4) ? NAMES : OTHER_NAMES)))
  return [...HEADER, ...messages.flat(), ...draw.chance(0.5) ? draw.noise(12) : []]
}

function frameOf (name: string): readonly number[] {
  return FRAMES.get(name) ?? []
}

function mutated (draw: Draw, bytes: number[]): number[] {
  const result = [...bytes]
  for (let left = 1 + draw.below(3); left > 0; left--) {
    const at = draw.below(result.length + 1)
    const count = draw.below(6)
    switch (draw.below(7)) {
      case 0: result.splice(at, 1, draw.below(256)); break
      case 1: result.splice(at, count); break
      case 2: result.splice(at, 0, ...draw.noise(4)); break
      case 3: result.splice(at, 0, ...result.slice(at, at + 4 * count)); break
      case 4: result.splice(at, 0, ...draw.one(MALFORMED)); break
      case 5: result.splice(at, 0, ...draw.one([HEADER, LS, REFUSAL])); break
      default: result.splice(at)
    }
  }
  return result
}

/** Draws from a seeded source. */
export class Draw {
  readonly #random: () => number

  constructor (seed: number) {
    this.#random = seededRandom(seed)
  }

  below (count: number): number {
    return Math.floor(this.#random() * count)
  }

  chance (probability: number): boolean {
    return this.#random() < probability
  }

  one<const Value> (values: readonly Value[]): Value {
    return values[this.below(values.length)] as Value
  }

  list<Value> (min: number, max: number, make: () => Value): Value[] {
    return Array.from({ length: min + this.below(max - min + 1) }, make)
  }

  noise (max: number): number[] {
    return this.list(0, max, () => this.below(256))
  }
}
