/** Who takes samples of a body. */
export interface Executor {
  /** With its version, as `benny@3.7.1`: recorded, and figures of different ones are not compared. */
  readonly name: string
  /** Takes exactly so many samples, in order of time. */
  sample (body: TimedBody, options: SampleOptions): Promise<SampleSet>
}

/** One timed call. It never throws and never rejects; one call begins after the last has ended. */
export type TimedBody = () => void | Promise<void>

/** How samples are taken. */
export interface SampleOptions {
  /** How many to take. */
  readonly samples: number
  /** The least length of a sample, in milliseconds. */
  readonly minTimeMs: number
  /** Calls in a sample to begin with: what an earlier round ended with. */
  readonly startCount: number
}

/** What was taken. */
export interface SampleSet {
  /** Nanoseconds of a call, in order of time. */
  readonly nsPerCall: Float64Array
  /** Calls in the last sample. */
  readonly count: number
}
