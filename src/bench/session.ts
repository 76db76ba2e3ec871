import { comparisonBlocks } from './blocks.ts'
import { shuffled } from './random.ts'
import { failureOf } from './task.ts'
import type { PlannedCell } from './plan.ts'
import type { Lane, LaneStart } from './process.ts'
import type { Calibration, Failure, MeasuredOutcome, Sampling } from './task.ts'

/** All that is known of one cell after a run. */
export interface CellRecord {
  readonly cell: PlannedCell
  readonly rounds: readonly RoundRecord[]
  /** Why it has no figures. */
  readonly failure?: Failure
}

/** One cell in one round of one process. */
export interface RoundRecord {
  readonly seed: number
  readonly round: number
  /** The place in the run, from 0. */
  readonly order: number
  readonly outcome: MeasuredOutcome
}

/** What a session is asked for. */
export interface SessionOptions {
  /** One process each. */
  readonly seeds: readonly number[]
  /** Of each process. */
  readonly rounds: number
  /** Absent: every cell runs once, in one round of one process, and gets no figures. */
  readonly sampling?: Omit<Sampling, 'isMemoryMeasured' | 'isLinearityChecked'>
  /** Whether allocated bytes are counted. */
  readonly isMemoryMeasured: boolean
  /** Numbers from 0 to below 1, for the order of the cells. */
  random (): number
}

/** Where a session is, before each cell. */
export interface Progress {
  readonly process: number
  readonly round: number
  /** Cells that are done, over all rounds, of `total`. */
  readonly done: number
  readonly total: number
  readonly cell: string
}

interface Draft {
  readonly cell: PlannedCell
  readonly rounds: RoundRecord[]
  calibration?: Calibration
  failure?: Failure
  isChecked: boolean
}

/**
 * One run over its cells: for each seed a process, in it the rounds, in each round all cells in an order of its own, those that
 * are compared with each other in a row. A cell that fails is left out from then on, and the others go on.
 */
export class Session {
  readonly #drafts: readonly Draft[]
  readonly #blocks: ReadonlyArray<readonly Draft[]>
  readonly #options: SessionOptions
  readonly #start: LaneStart
  readonly #onProgress: (progress: Progress) => void
  #lane: Lane | undefined
  #isInterrupted = false
  #order = 0

  constructor (cells: readonly PlannedCell[], options: SessionOptions, start: LaneStart, onProgress: (progress: Progress) => void) {
    const drafts = new Map(cells.map((cell): [PlannedCell, Draft] => [cell, { cell, rounds: [], isChecked: false }]))
    this.#drafts = [...drafts.values()]
    this.#blocks = comparisonBlocks(cells).map(block => block.flatMap(cell => drafts.get(cell) ?? []))
    this.#options = options
    this.#start = start
    this.#onProgress = onProgress
  }

  /** Whether {@link interrupt} was called. */
  get isInterrupted (): boolean {
    return this.#isInterrupted
  }

  /** Runs all of it. Cells that were not reached before an interruption are marked aborted, as is the one that was running. */
  async run (): Promise<CellRecord[]> {
    for (const [index, seed] of this.#options.seeds.entries()) {
      if (this.#isInterrupted) {
        break
      }
      const lane = this.#start(seed)
      this.#lane = lane
      for (let round = 1; round <= this.#options.rounds; round++) {
        await this.#runRound(lane, index + 1, seed, round)
      }
      lane.end()
    }
    return this.#drafts.map(({ cell, rounds, failure, isChecked }) => {
      const missing = rounds.length === 0 && !isChecked ? failureOf('aborted', new Error('interrupted before it was measured')).error : undefined
      const reason = failure ?? missing
      return { cell, rounds, ...(reason === undefined ? {} : { failure: reason }) }
    })
  }

  /** Stops at once. Cells with a complete round keep it. */
  interrupt (): void {
    this.#isInterrupted = true
    this.#lane?.end()
  }

  async #runRound (lane: Lane, process: number, seed: number, round: number): Promise<void> {
    const random = (): number => this.#options.random()
    for (const draft of shuffled(this.#blocks, random).flatMap(block => shuffled(block, random))) {
      if (this.#isInterrupted) {
        return
      }
      if (draft.failure === undefined) {
        this.#onProgress({ process, round, done: this.#order, total: this.#total, cell: draft.cell.id })
        await this.#measure(lane, draft, seed, round)
      }
      this.#order++
    }
  }

  get #total (): number {
    return this.#drafts.length * this.#options.rounds * this.#options.seeds.length
  }

  async #measure (lane: Lane, draft: Draft, seed: number, round: number): Promise<void> {
    const { sampling, isMemoryMeasured, rounds, seeds } = this.#options
    // Both cost as much as a sample, so a short run does them in one process only.
    const isLookedInto = round === 1 && (rounds > 1 || seed === seeds[0])
    const outcome = await lane.measure({
      ...draft.cell.task,
      ...(sampling === undefined ? {} : { sampling: { ...sampling, isMemoryMeasured: isMemoryMeasured && isLookedInto, isLinearityChecked: isLookedInto } }),
      ...(draft.calibration === undefined ? {} : { calibration: draft.calibration })
    })
    switch (outcome.type) {
      case 'failed':
        draft.failure = outcome.error
        break
      case 'checked':
        draft.isChecked = true
        break
      case 'measured':
        draft.calibration = outcome.calibration
        draft.rounds.push({ seed, round, order: this.#order, outcome })
        break
    }
  }
}
