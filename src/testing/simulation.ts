/**
 * Random scripts against guarantees: a seed gives a script, playing it checks what must hold, and a script that breaks
 * something is shrunk until each of its steps is needed. The same seed always gives the same.
 */

import { seededRandom } from '../core/seeded-random.ts'

/** What scripts are made of, and what they are played on. */
export interface Simulation<Step> {
  /**
   * Draws the steps of one script.
   *
   * @param random - numbers from 0 to below 1
   */
  draw (random: () => number): readonly Step[]
  /**
   * Plays the steps on a world of its own, without anything left from another play, and checks what must hold after each.
   * It must take any selection of the steps that `draw` gives, as shrinking leaves some out.
   *
   * @throws anything, for the first thing that does not hold
   */
  play (script: readonly Step[]): void
}

/** How much is played. */
export interface SimulateOptions {
  /** The seed of the first script; the next one has the seed after it. */
  readonly seed: number
  /** Scripts to play. */
  readonly count: number
  /** Told before each script. */
  readonly onScript?: ((seed: number) => void) | undefined
}

/** A script in which something did not hold. */
export interface BrokenScript<Step> {
  /** Gives the script again, before shrinking: `simulate(simulation, { seed, count: 1 })`. */
  readonly seed: number
  /** No step of it can be left out. */
  readonly script: readonly Step[]
  /** What the shrunk script threw. */
  readonly error: unknown
}

/**
 * Plays scripts until one breaks something.
 *
 * @param simulation - what is played
 * @param options - which scripts
 * @returns the first broken script, shrunk; undefined when all hold
 *
 * @example
 * const broken = simulate({ draw: random => steps(random), play: script => { check(script) } }, { seed: 1, count: 1000 })
 * if (broken !== undefined) throw new Error(JSON.stringify(broken.script), { cause: broken.error })
 */
export function simulate<Step> (simulation: Simulation<Step>, { seed, count, onScript }: SimulateOptions): BrokenScript<Step> | undefined {
  for (let current = seed; current < seed + count; current++) {
    onScript?.(current)
    const drawn = simulation.draw(seededRandom(current))
    if (failureOf(simulation, drawn) !== undefined) {
      const script = shrinkScript(drawn, steps => failureOf(simulation, steps) !== undefined)
      return { seed: current, script, error: failureOf(simulation, script)?.thrown }
    }
  }
  return undefined
}

/**
 * Leaves out what is not needed: halves first, then quarters and so on down to single steps, until no step can go.
 *
 * @param script - steps that break something
 * @param isBroken - whether these steps still do; called about as often as the square of the steps in the worst case
 */
export function shrinkScript<Step> (script: readonly Step[], isBroken: (steps: readonly Step[]) => boolean): readonly Step[] {
  let steps = script
  let size = Math.ceil(steps.length / 2)
  while (size > 0) {
    const before = steps.length
    for (let at = 0; at < steps.length;) {
      const fewer = [...steps.slice(0, at), ...steps.slice(at + size)]
      if (isBroken(fewer)) {
        steps = fewer
      } else {
        at += size
      }
    }
    // What one pass took out may make another step needless.
    size = size === 1 && steps.length < before ? 1 : size === 1 ? 0 : Math.ceil(size / 2)
  }
  return steps
}

function failureOf<Step> (simulation: Simulation<Step>, script: readonly Step[]): { readonly thrown: unknown } | undefined {
  try {
    simulation.play(script)
    return undefined
  } catch (thrown) {
    return { thrown }
  }
}
