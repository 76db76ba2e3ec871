import type { FailedStage } from './report.ts'

/** One cell in one round, as it is sent to the isolate that measures it. */
export interface Task {
  /** The URL of the bench file. */
  readonly file: string
  /** The name of the matrix. */
  readonly matrix: string
  /** The id of the cell in that matrix. */
  readonly cell: string
  /** Absent: the cell runs once, is verified, and gets no figures. */
  readonly sampling?: Sampling
  /** What an earlier round found out. */
  readonly calibration?: Calibration
  /** The folder of another build of the package, which the bench file is to import. */
  readonly against?: string
}

/** How one cell is sampled in one round. */
export interface Sampling {
  readonly executor: 'benny' | 'builtin'
  readonly samples: number
  /** The least length of a sample. */
  readonly minTimeMs: number
  /** The least length of the warm-up; at most seven times as much. */
  readonly warmUpMs: number
  /** Whether allocated bytes are counted. */
  readonly isMemoryMeasured: boolean
  /** Whether twice the iterations must take twice the time. */
  readonly isLinearityChecked: boolean
}

/** How much one timed call does; kept for all rounds of a cell. */
export interface Calibration {
  /** What each `run` is asked for. */
  readonly iterations: number
  /** Runs of one timed call. */
  readonly repeat: number
  /** Timed calls of one sample. */
  readonly count: number
}

/** What became of a task. */
export type Outcome = MeasuredOutcome | CheckedOutcome | FailedOutcome

/** Figures of one round. */
export interface MeasuredOutcome {
  readonly type: 'measured'
  /** Nanoseconds of an iteration, in order of time. */
  readonly samples: readonly number[]
  readonly calibration: Calibration
  /** The sum of all results: whatever left the isolate cannot have been optimised away. */
  readonly checksum: number
  /** Garbage collections while samples were taken. */
  readonly gcs: number
  /** How often the system took the processor away meanwhile. */
  readonly switches: number
  readonly isAsync: boolean
  /** Whether the warm-up ended because nothing changed any more. */
  readonly isSteady: boolean
  /** What twice the iterations cost: 2 is right. */
  readonly linearity?: number
  readonly bytesPerIteration?: number
  readonly bytesRetained?: number
}

/** The cell ran once and proved its work. */
export interface CheckedOutcome {
  readonly type: 'checked'
}

/** The cell has no figures. */
export interface FailedOutcome {
  readonly type: 'failed'
  readonly error: Failure
}

/** Where and why a cell failed. */
export interface Failure {
  readonly stage: FailedStage
  readonly name: string
  readonly message: string
}

/** @param error - anything that was thrown */
export function failureOf (stage: Failure['stage'], error: unknown): FailedOutcome {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  return { type: 'failed', error: { stage, name, message } }
}
