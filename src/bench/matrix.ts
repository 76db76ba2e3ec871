import { ITERATIONS, cellId, cellsOf, checkName } from './axes.ts'
import type { Axes, AxisValue, Cell, CellPart, NumberAxis } from './axes.ts'

/** What a matrix measures, cell by cell. */
export interface MatrixInit<Of extends Axes, State> {
  /** First part of the id of every cell: lower case letters, digits, dots and hyphens. */
  readonly name: string
  /**
   * What varies. The axis `iterations` says how often `run` repeats its work within one call; without it the runner finds a
   * number that makes a call last 50 µs.
   */
  readonly axes: Of
  /**
   * The cells that every other one is compared with inside the run: of the cells that differ in these axes only, the one that
   * has these values.
   *
   * @default no comparison
   */
  readonly baseline?: CellPart<Of>
  /**
   * What must be true on any machine.
   *
   * @default none
   */
  readonly claims?: ReadonlyArray<Claim<Of>>
  /** Cells to leave out. */
  exclude? (cell: Cell<Of>): boolean
  /** Units of work in one iteration, for a second figure: nanoseconds per unit. */
  units? (cell: Cell<Of>): number
  /** How many things the state holds, for the bytes that each of them keeps alive. */
  retained? (cell: Cell<Of>): number
  /** Makes what `run` works on: once per cell, round and process, in an isolate of its own, untimed, awaited. */
  setup (cell: Cell<Of>): State | PromiseLike<State>
  /**
   * The work, so many times. Called more often than samples are kept. If it returns promises they are awaited one at a time.
   *
   * @returns a sum over its results, finite, so that none of the work can be left out
   */
  run (state: State, iterations: number): number | PromiseLike<number>
  /** Whether the work was done. False, or a throw, fails the cell. */
  verify (state: State, work: Work): boolean | PromiseLike<boolean>
  /** Untimed and awaited, also after a failure. */
  teardown? (state: State): unknown
}

/** All that `run` did in one round, warm-up included. */
export interface Work {
  readonly iterations: number
  /** The sum of what `run` returned. */
  readonly checksum: number
}

/** From and to, both included. */
export type Band = readonly [low: number, high: number]

/** Something about figures of the same run, so that no machine is faster or slower than it. */
export type Claim<Of extends Axes> = SlopeClaim<Of> | RatioClaim<Of> | BytesClaim<Of>

/** How the cost grows with an axis: 0 is not at all, 1 in proportion. Needs three values of it or more. */
export interface SlopeClaim<Of extends Axes> {
  /** @default all cells */
  readonly where?: CellPart<Of>
  readonly axis: NumberAxis<Of>
  /** O(1) is [-0.1, 0.1], O(n) [0.85, 1.2]. */
  readonly slope: Band
}

/** How cells relate to those that differ from them in `to`. */
export interface RatioClaim<Of extends Axes> {
  /** @default all cells */
  readonly where?: CellPart<Of>
  readonly to: CellPart<Of>
  readonly ratio: Band
}

/** What an iteration allocates. */
export interface BytesClaim<Of extends Axes> {
  /** @default all cells */
  readonly where?: CellPart<Of>
  readonly bytes: number | Band
}

/** The mark by which a matrix is known, also between two copies of this package. */
const MATRIX = Symbol.for('libp2p-behaviours/bench/matrix')

/** A checked matrix, as a bench file exports it. */
export interface Matrix<Of extends Axes = Axes, State = unknown> extends MatrixInit<Of, State> {
  /** All cells but the excluded ones, the last axis varying fastest. */
  readonly cells: ReadonlyArray<Cell<Of>>
}

/**
 * Checks a matrix. A bench file exports it, or a list of several, as its default.
 *
 * ```ts
 * export default matrix({
 *   name: 'look-up',
 *   axes: { size: [10, 1000], variant: ['map', 'array'] },
 *   baseline: { variant: 'array' },
 *   setup: ({ size, variant }) => variant === 'map' ? new Set(names(size)) : names(size),
 *   run: (state, iterations) => lookUp(state, iterations),
 *   verify: (state, { iterations, checksum }) => checksum === iterations
 * })
 * ```
 *
 * @throws RangeError for axes without values, values that occur twice, names that ids cannot have, two cells of the same id, or
 * no cell at all
 * @throws TypeError for a value that is no string, number or boolean
 */
export function matrix<const Of extends Axes, State> (init: MatrixInit<Of, State>): Matrix<Of, State> {
  const action = `Cannot make the matrix ${JSON.stringify(init.name)}`
  checkName(action, 'its name', init.name)
  const isKept = (cell: Readonly<Record<string, AxisValue>>): cell is Cell<Of> => init.exclude?.(cell as Cell<Of>) !== true
  const cells = cellsOf(action, init.axes).filter(isKept)
  checkIds(action, init.name, cells)
  checkParts(action, init)
  return Object.freeze({ ...init, cells: Object.freeze(cells), [MATRIX]: true })
}

/** Whether a value was made by {@link matrix}. */
export function isMatrix (value: unknown): value is Matrix {
  return typeof value === 'object' && value !== null && MATRIX in value
}

function checkIds (action: string, name: string, cells: ReadonlyArray<Readonly<Record<string, AxisValue>>>): void {
  if (cells.length === 0) {
    throw new RangeError(`${action}: all of its cells are excluded`)
  }
  const ids = new Set<string>()
  for (const cell of cells) {
    const id = cellId(name, cell)
    if (ids.has(id)) {
      throw new RangeError(`${action}: two cells have the id ${id}`)
    }
    ids.add(id)
  }
}

/** For callers whose compiler did not. */
function checkParts (action: string, { axes, baseline, claims = [] }: Pick<MatrixInit<Axes, never>, 'axes' | 'baseline' | 'claims'>): void {
  const parts = [baseline ?? {}, ...claims.flatMap(claim => [claim.where ?? {}, 'to' in claim ? claim.to : {}])]
  for (const [axis, value] of parts.flatMap(part => Object.entries(part))) {
    if (value === undefined || axes[axis]?.includes(value) !== true) {
      throw new RangeError(`${action}: axis ${axis} has no value ${String(value)}`)
    }
  }
  for (const claim of claims) {
    if ('slope' in claim && (claim.axis === ITERATIONS || axes[claim.axis]?.every(value => typeof value === 'number' && value > 0) !== true)) {
      throw new RangeError(`${action}: a slope needs an axis of numbers above 0, other than iterations, received ${claim.axis}`)
    }
  }
}
