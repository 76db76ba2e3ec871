import { figureOf } from './bootstrap.ts'
import { seededRandom } from '../core/seeded-random.ts'
import { notesOf } from './notes.ts'
import { median } from './statistics.ts'
import type { ProcessSamples } from './bootstrap.ts'
import type { ProcessValues } from './compare.ts'
import type { Measured, Params, Result, Round } from './report.ts'
import type { CellRecord, RoundRecord } from './session.ts'

/** Every cell draws the same resamples, so that a file gives the same figures each time it is read. */
const RESAMPLING_SEED = 1

/**
 * The figures of one cell, not yet compared with anything.
 *
 * @param floor - nanoseconds of an iteration of the empty body, where it was measured
 */
export function resultOf ({ cell, rounds, failure }: CellRecord, floor: number | undefined): Result {
  const common = { id: cell.id, params: cell.params, unit: 'ns' } as const
  return failure === undefined ? { ...common, ...figures(rounds, floor, cell.units) } : { ...common, error: failure }
}

/** The params of a cell never change what is computed here. */
type Figures = Omit<Measured, 'id' | 'params' | 'unit'>

function figures (records: readonly RoundRecord[], floor: number | undefined, units: number | undefined): Figures {
  const samples: number[] = []
  const rounds = records.map(({ seed, round, order, outcome }): Round => {
    const from = samples.length
    samples.push(...outcome.samples)
    const repeat = outcome.calibration.iterations * outcome.calibration.repeat
    return { seed, round, order, from, to: samples.length, repeat, gcs: outcome.gcs, switches: outcome.switches }
  })
  const interval = figureOf([...processesOf({ samples, rounds }).values()], seededRandom(RESAMPLING_SEED))
  const bytes = records.flatMap(({ outcome }) => outcome.bytesPerIteration ?? [])
  const retained = records.flatMap(({ outcome }) => outcome.bytesRetained ?? [])
  return {
    ...interval,
    samples,
    rounds,
    notes: notesOf(records, interval.mid, floor),
    ...(units === undefined ? {} : { perUnit: interval.mid / units }),
    ...(bytes.length === 0 ? {} : { bytesPerIteration: median(bytes) }),
    ...(retained.length === 0 ? {} : { bytesRetained: median(retained) })
  }
}

/** The samples of each round, by the seed of their process. */
export function processesOf ({ samples, rounds }: Pick<Measured, 'samples' | 'rounds'>): Map<number, ProcessSamples> {
  const processes = new Map<number, number[][]>()
  for (const { seed, from, to } of rounds) {
    const ofProcess = processes.get(seed) ?? []
    ofProcess.push(samples.slice(from, to))
    processes.set(seed, ofProcess)
  }
  return processes
}

/**
 * The value of each process of a cell, for comparisons: that of its fastest round. What other programs on the machine take only ever
 * adds, often half as much again for a second, so that the mean of the rounds tells more of them than of the cell (Chen, Revels:
 * Robust benchmarking in noisy environments, 2016).
 */
export function valuesOf (measured: Pick<Measured, 'samples' | 'rounds'>): ProcessValues {
  return new Map(Array.from(processesOf(measured), ([seed, rounds]) => [seed, Math.log(Math.min(...rounds.map(median)))]))
}

/** Whether a cell has figures. */
export function isMeasured (result: Result): result is Measured {
  return !('error' in result)
}

/** A name for the values of some axes, the same for the same ones. */
export function keyOf (params: Params): string {
  return JSON.stringify(Object.entries(params))
}
