import type { MatrixDescription } from './description.ts'
import type { ForkOptions, Lane } from './process.ts'

/** All that the command line needs of the system. `main` has the real one; in tests it is played. */
export interface Host {
  /** What files are relative to. */
  readonly cwd: string
  readonly stdout: Output
  readonly stderr: Output
  readonly machine: Machine
  /** Milliseconds of a clock that only goes forward. */
  now (): number
  /** ISO 8601, UTC. */
  date (): string
  /** A number for the order of the cells, when none is given. */
  drawSeed (): number
  /** Calls back on Ctrl-C, until the function it returns is called. */
  onInterrupt (act: () => void): () => void
  /** The version of an optional package; undefined when it is not installed. */
  versionOf (name: string): string | undefined
  /** Reads a bench file, given by URL, in an isolate that ends with it. */
  describe (file: string): Promise<readonly MatrixDescription[]>
  startLane (seed: number, options: ForkOptions): Lane
}

/** Where text goes. */
export interface Output {
  readonly isTerminal: boolean
  /** Whether colours are wanted: no pipe, and no NO_COLOR. */
  readonly hasColour: boolean
  write (text: string): void
}

/** What runs this. */
export interface Machine {
  readonly node: string
  readonly v8: string
  readonly platform: string
  readonly arch: string
  /** Whether it imports TypeScript without help. */
  readonly readsTypeScript: boolean
}
