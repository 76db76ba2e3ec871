import { sample } from './sampler.ts'
import type { Params, PlannedCell } from './matrix.ts'
import type { Sampling } from './sampler.ts'

/** How much is measured. */
export interface RunOptions extends Sampling {
  /** Rounds over all cells; each sets every cell up anew. */
  readonly rounds: number
}

interface Common {
  readonly id: string
  readonly params: Params
  /** Of `low`, `mid`, `high` and `samples`, per iteration. */
  readonly unit: 'ns'
}

/** A cell that was measured. */
export interface Measured extends Common {
  /** Percentiles 2.5, 50 and 97.5 of the samples. */
  readonly low: number
  readonly mid: number
  readonly high: number
  /** All of them, in order of time. */
  readonly samples: readonly number[]
}

/** A cell that threw, or whose proof of work failed. */
export interface Failed extends Common {
  readonly error: { readonly name: string, readonly message: string }
}

/** What became of one cell. */
export type Result = Measured | Failed

/**
 * Measures all cells, interleaved: a change of the machine's speed meets them all. Every second round goes backwards. A cell
 * that fails is left out of the later rounds.
 *
 * @param onProgress - told about each cell before it is sampled
 */
export async function runAll (cells: readonly PlannedCell[], options: RunOptions, onProgress: (text: string) => void): Promise<Result[]> {
  const samples = new Map<PlannedCell, number[]>(cells.map(cell => [cell, []]))
  const failures = new Map<PlannedCell, unknown>()
  for (let round = 1; round <= options.rounds; round++) {
    for (const cell of round % 2 === 1 ? cells : cells.toReversed()) {
      if (!failures.has(cell)) {
        onProgress(`round ${round} of ${options.rounds}: ${cell.id}`)
        try {
          samples.get(cell)?.push(...await sample(cell.id, cell.setup(), cell.iterations, options))
        } catch (error) {
          failures.set(cell, error)
        }
      }
    }
  }
  return cells.map(cell => failures.has(cell) ? failed(cell, failures.get(cell)) : measured(cell, samples.get(cell) ?? []))
}

function measured ({ id, params }: PlannedCell, samples: readonly number[]): Measured {
  const sorted = samples.toSorted((left, right) => left - right)
  return { id, params, unit: 'ns', low: percentile(sorted, 0.025), mid: percentile(sorted, 0.5), high: percentile(sorted, 0.975), samples }
}

function failed ({ id, params }: PlannedCell, error: unknown): Failed {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  return { id, params, unit: 'ns', error: { name, message } }
}

/** Linear between neighbours, at position p x (n - 1). */
function percentile (sorted: readonly number[], p: number): number {
  const position = p * (sorted.length - 1)
  const below = sorted[Math.floor(position)] ?? NaN
  const above = sorted[Math.ceil(position)] ?? NaN
  return below + (above - below) * (position - Math.floor(position))
}
