import { cellId } from './axes.ts'
import { pick } from './random.ts'
import type { CellDescription, MatrixDescription } from './description.ts'
import type { Params } from './report.ts'
import type { Task } from './task.ts'

/** A cell of a run. */
export interface PlannedCell {
  readonly id: string
  readonly params: Params
  readonly matrix: MatrixDescription
  /** What the isolate is told. */
  readonly task: Pick<Task, 'file' | 'matrix' | 'cell' | 'against'>
  /** The cells that it is compared with, the one of the table first. */
  readonly baselineIds: readonly string[]
  readonly units?: number
}

/** The axis that a run with another build has beside those of its matrices. */
const BUILD = 'build'

/**
 * Every cell of some matrices; with another build every cell of both builds.
 *
 * @param against - the folder of the other build, a URL with a slash at its end
 * @throws RangeError for two cells of the same id, or an axis `build` when there is another build
 */
export function planCells (matrices: readonly MatrixDescription[], against?: string): PlannedCell[] {
  const cells = matrices.flatMap(matrix => matrix.cells.flatMap(cell => planCell(matrix, cell, against)))
  const ids = new Set<string>()
  for (const { id } of cells) {
    if (ids.has(id)) {
      throw new RangeError(`Cannot run the benches: two cells have the id ${id}`)
    }
    ids.add(id)
  }
  return cells
}

function planCell (matrix: MatrixDescription, cell: CellDescription, against: string | undefined): PlannedCell[] {
  const task = { file: matrix.file, matrix: matrix.name, cell: cell.id }
  const own = cell.baselineId === undefined ? [] : [cell.baselineId]
  const common = { matrix, ...(cell.units === undefined ? {} : { units: cell.units }) }
  if (against === undefined) {
    return [{ ...common, id: cell.id, params: cell.params, task, baselineIds: own }]
  }
  if (BUILD in cell.params) {
    throw new RangeError(`Cannot run ${matrix.name} against another build: it has an axis ${BUILD} of its own`)
  }
  const inBuild = (build: string): Omit<PlannedCell, 'task'> => ({
    ...common, id: buildId(cell.id, build), params: { ...cell.params, [BUILD]: build }, baselineIds: own.map(id => buildId(id, build))
  })
  const there = inBuild('against')
  const here = inBuild('this')
  return [{ ...here, task, baselineIds: [there.id, ...here.baselineIds] }, { ...there, task: { ...task, against } }]
}

function buildId (id: string, build: string): string {
  return `${id}/${BUILD}=${build}`
}

/** Which cells to run. */
export interface Selection {
  /** Any of them has to match the id; none lets all pass. */
  readonly filters: readonly RegExp[]
  /** All of them have to hold. */
  readonly conditions: readonly Condition[]
}

/** What the value of one axis has to be. */
export type Condition =
  | { readonly axis: string, readonly values: readonly string[] }
  | { readonly axis: string, readonly from: number, readonly to: number }

/** The cells that are asked for, in the same order. */
export function select (cells: readonly PlannedCell[], { filters, conditions }: Selection): PlannedCell[] {
  return cells.filter(({ id, params }) =>
    (filters.length === 0 || filters.some(filter => filter.test(id))) && conditions.every(condition => holds(condition, params)))
}

function holds (condition: Condition, params: Params): boolean {
  const value = params[condition.axis]
  if (value === undefined) {
    return false
  }
  return 'values' in condition
    ? condition.values.includes(String(value))
    : typeof value === 'number' && condition.from <= value && value <= condition.to
}

/** Ids of the cells that measure the machine. No figures of theirs are in the results. */
export const CONTROL_IDS: ControlIds = {
  empty: cellId('control', { variant: 'empty' }),
  fixed: cellId('control', { variant: 'fixed' }),
  twin: 'control/twin'
}

/** The cells that every run has. */
export interface ControlIds {
  /** A loop that does nothing. */
  readonly empty: string
  /** A body that never changes. */
  readonly fixed: string
  /** The same as one of the other cells. */
  readonly twin: string
}

/** The cells of a run with its controls. */
export interface Plan {
  readonly cells: readonly PlannedCell[]
  /** The cells of the control matrix, and the twin. */
  readonly controls: readonly PlannedCell[]
  /** The cell that has the twin. */
  readonly twinOf: string
}

/**
 * Adds the controls.
 *
 * @param cells - at least one
 * @param control - the control matrix
 * @param random - draws the cell that gets a twin
 */
export function withControls (cells: readonly PlannedCell[], control: readonly MatrixDescription[], random: () => number): Plan {
  const original = pick(cells, random)
  return { cells, controls: [...planCells(control), { ...original, id: CONTROL_IDS.twin, baselineIds: [] }], twinOf: original.id }
}
