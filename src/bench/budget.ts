/** How much is measured, and how long that takes. */

/** How much of everything. */
export interface Amounts {
  /** Each with a hash seed of its own; the unit of the statistics. */
  readonly processes: number
  /** Of each process. */
  readonly rounds: number
  /** Of each round of a cell. */
  readonly samples: number
  /** The least length of a sample. */
  readonly minTimeMs: number
  /** The least length of a warm-up. */
  readonly warmUpMs: number
}

/**
 * What a run takes unless it is told otherwise. Samples of one round are alike, as one isolate and one moment of the machine are; so
 * there are rather many rounds of one sample, of which some fall into quiet moments.
 */
export const DEFAULT_AMOUNTS: Amounts = Object.freeze({ processes: 5, rounds: 6, samples: 1, minTimeMs: 50, warmUpMs: 100 })

/** A first look: its verdicts are mostly inconclusive, and rightly. */
export const QUICK_AMOUNTS: Amounts = Object.freeze({ processes: 3, rounds: 1, samples: 1, minTimeMs: 50, warmUpMs: 50 })

/** To make an isolate, import the bench file and set up; measured. */
const START_MS = 150

/** Warm-ups go on until nothing changes; measured. */
const WARM_UP_STRETCH = 2

/** A sample ends after its least length, and mostly well after; measured. */
const SAMPLE_STRETCH = 1.3

/** About how many milliseconds a run takes. */
export function estimate (cells: number, { processes, rounds, samples, minTimeMs, warmUpMs }: Amounts): number {
  return cells * processes * rounds * (START_MS + WARM_UP_STRETCH * warmUpMs + SAMPLE_STRETCH * samples * minTimeMs)
}

/** What may be lowered for the sake of time, in this order, and how far. */
const FLOORS = [['rounds', 1], ['samples', 1], ['warmUpMs', 50], ['processes', 3]] as const

/**
 * Lowers rounds, samples, warm-up and processes, in this order, until a run fits.
 *
 * @returns undefined when it does not fit even then
 */
export function fit (cells: number, amounts: Amounts, maxTimeMs: number): Amounts | undefined {
  let fitted = amounts
  for (const [name, floor] of FLOORS) {
    while (estimate(cells, fitted) > maxTimeMs && fitted[name] > floor) {
      fitted = { ...fitted, [name]: Math.max(floor, fitted[name] - (name === 'warmUpMs' ? 25 : 1)) }
    }
  }
  return estimate(cells, fitted) <= maxTimeMs ? fitted : undefined
}

/** The least that a run of so many cells takes, in milliseconds. */
export function leastTime (cells: number, amounts: Amounts): number {
  return estimate(cells, FLOORS.reduce((least, [name, floor]) => ({ ...least, [name]: Math.min(least[name], floor) }), amounts))
}
