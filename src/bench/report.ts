/**
 * What a run of benches found: the file of `--json`, a saved baseline, and what every reporter is given. All numbers are
 * finite. Readers ignore keys that they do not know and refuse another `schema`.
 */

/** The version of the format. */
export const REPORT_SCHEMA = 'behaviours-bench/1'

/** One run, all of it. */
export interface Report {
  readonly schema: typeof REPORT_SCHEMA
  /** ISO 8601, UTC. */
  readonly startedAt: string
  readonly durationMs: number
  readonly environment: Environment
  readonly options: ReportOptions
  /** In the order of the plan, whatever the order of the rounds was. */
  readonly results: ReadonlyArray<Measured | Failed>
  readonly claims: readonly Claimed[]
  readonly controls: Controls
}

/** What the figures were measured on. No names of hosts, users or paths. */
export interface Environment {
  /** As `process.version` has it. */
  readonly node: string
  readonly v8: string
  readonly platform: string
  readonly arch: string
  readonly os: string
  readonly cpu: string
  readonly cores: number
  readonly memoryBytes: number
  /** Name and version of this package. */
  readonly package: string
  /** Who took the samples, as `benny@3.7.1`; figures of different ones are not compared. */
  readonly executor: string
  /** Flags of V8 that the processes ran with, beside their hash seed. */
  readonly flags: readonly string[]
  /** The hash seed of each process, in order. */
  readonly seeds: readonly number[]
  /** What the order of the cells was drawn from. */
  readonly orderSeed: number
  /** Load of the last minute. */
  readonly loadBefore: number
  readonly loadAfter: number
  /** Of the work tree that was measured, where there is one. */
  readonly commit?: string
  /** Whether the work tree had changes beside that commit. */
  readonly dirty?: boolean
}

/** How much was measured, and by which thresholds it was judged. */
export interface ReportOptions {
  /** Each has a hash seed of its own. */
  readonly processes: number
  /** Of each process. */
  readonly rounds: number
  /** Of each round of a cell. */
  readonly samples: number
  /** The least length of a sample. */
  readonly minTimeMs: number
  /** Changes up to this size are none, as a fraction: 0.02. */
  readonly noise: number
  /** An interval within this size of no change says `no change`, as a fraction: 0.05. */
  readonly tolerance: number
  /** Of every interval. */
  readonly confidence: 0.95
}

/** The values of the axes of one cell, by axis. */
export type Params = Readonly<Record<string, string | number | boolean>>

/** What became of one cell. */
export type Result = Measured | Failed

interface Common {
  readonly id: string
  readonly params: Params
  /** Of all times, per iteration. */
  readonly unit: 'ns'
}

/** A cell that was measured. */
export interface Measured extends Common {
  /** The 95 % interval of the figure. */
  readonly low: number
  readonly mid: number
  readonly high: number
  /** All of them, in order of time; rounds are slices of them. */
  readonly samples: readonly number[]
  readonly rounds: readonly Round[]
  /** Nanoseconds per unit of work, where the matrix says how many units an iteration has. */
  readonly perUnit?: number
  readonly bytesPerIteration?: number
  /** What the state of the cell keeps alive after `setup`, divided by what the matrix says it holds. */
  readonly bytesRetained?: number
  /** Reasons to look twice; none of them changes a figure. */
  readonly notes: readonly string[]
  /** The comparison of the table: with the named baseline, else with the baseline of the matrix. */
  readonly baseline?: Comparison
  readonly others?: readonly Comparison[]
}

/** One cell in one round of one process. */
export interface Round {
  /** The hash seed of the process. */
  readonly seed: number
  /** From 1 in each process. */
  readonly round: number
  /** The place of the cell in the run, from 0. */
  readonly order: number
  /** Its samples are `samples.slice(from, to)`. */
  readonly from: number
  readonly to: number
  /** Iterations of one timed call. */
  readonly repeat: number
  /** Garbage collections while samples were taken. */
  readonly gcs: number
  /** How often the system took the processor away meanwhile. */
  readonly switches: number
}

/** A cell without figures. */
export interface Failed extends Common {
  readonly error: {
    readonly stage: FailedStage
    readonly name: string
    readonly message: string
  }
}

/** Where a cell failed. */
export type FailedStage = 'setup' | 'run' | 'verify' | 'teardown' | 'timeout' | 'aborted'

/** Some cell against another cell of the run (`id`), or against itself in a saved report (`name`). */
export type Comparison = ({ readonly id: string } | { readonly name: string }) & Change

/** How much slower: a ratio of 1.1 takes 10 % more time than what it is compared with. */
export interface Change {
  readonly ratio: number
  /** The 95 % interval of the ratio. */
  readonly low: number
  readonly high: number
  readonly p: number
  /** `p` after the correction for the number of comparisons in the run. */
  readonly q: number
  /** Processes of the same hash seed on both sides. */
  readonly pairs: number
  readonly verdict: Verdict
}

/** What a comparison says. */
export type Verdict = 'improved' | 'regressed' | 'no change' | 'inconclusive'

/** A claim of a matrix, and what the run says about it. */
export interface Claimed {
  readonly kind: 'slope' | 'ratio' | 'bytes'
  /** The cells that it is about. */
  readonly where: Params
  /** Of a slope: the axis that grows. */
  readonly axis?: string
  /** Of a ratio: what the cells are compared with. */
  readonly to?: Params
  readonly band: readonly [number, number]
  readonly value: number
  /** The 95 % interval of the value. */
  readonly low: number
  readonly high: number
  /** Of a slope: the part of the variance that the line explains. */
  readonly r2?: number
  readonly state: 'held' | 'broken' | 'open'
}

/** Measurements of the machine. */
export interface Controls {
  /** A cell of the run against its twin, which is the same code: whatever it says is noise. */
  readonly twin?: Comparison
  /** A body that never changes, in nanoseconds. */
  readonly fixed: {
    readonly low: number
    readonly mid: number
    readonly high: number
    /** Its value in each process, in the order of `environment.seeds`: what a later run is paired with. */
    readonly perProcess?: readonly number[]
  }
  /** That body now against then; only with a saved baseline. */
  readonly fixedChange?: Comparison
}
