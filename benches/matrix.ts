/** The values of the axes of one cell. */
export type Params = Readonly<Record<string, string | number>>

/** One cell, set up: what is timed, and the proof that its work was done. */
export interface Bench {
  /** Does the work so many times; returns a sum over its results, so that none of it can be left out. */
  run (iterations: number): number | Promise<number>
  /** Whether all iterations so far, with this sum of what `run` returned, did what they should. */
  verify (iterations: number, checksum: number): boolean
}

/** Cells that differ in their axes only. */
export interface Matrix<Cell extends Params = Params> {
  /** First part of the id of every cell. */
  readonly name: string
  /** In the order in which they are listed. */
  readonly cells: readonly Cell[]
  /** Iterations of one timed call: enough for 50 µs at least, so that the clock does not count. */
  readonly iterations: number
  /** The variant that the others are compared with. */
  readonly baseline: string
  /** Makes a fresh bench, once a round, untimed. */
  setup (cell: Cell): Bench
}

/** A cell of any matrix, ready to be set up. */
export interface PlannedCell {
  readonly id: string
  readonly params: Params
  readonly iterations: number
  /** The id of the cell that this one is compared with; its own for the baseline itself. */
  readonly baselineId: string
  setup (): Bench
}

/**
 * Every cell of a matrix.
 *
 * @throws RangeError for two cells of the same id
 */
export function plan<Cell extends Params> (matrix: Matrix<Cell>): PlannedCell[] {
  const { name, iterations, baseline } = matrix
  const cells = matrix.cells.map(cell => ({
    id: idOf(name, cell), params: cell, iterations, baselineId: idOf(name, { ...cell, variant: baseline }), setup: () => matrix.setup(cell)
  }))
  const ids = new Set(cells.map(cell => cell.id))
  if (ids.size < cells.length) {
    throw new RangeError(`Cannot run matrix ${name}: it has two cells of the same id`)
  }
  return cells
}

function idOf (name: string, params: Params): string {
  return [name, ...Object.entries(params).map(([axis, value]) => `${axis}=${value}`)].join('/')
}
