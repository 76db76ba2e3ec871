import { cellId, matches } from './axes.ts'
import { isMatrix } from './matrix.ts'
import type { Axes, Cell } from './axes.ts'
import type { Claim, Matrix } from './matrix.ts'
import type { Claimed, Params } from './report.ts'

/** A matrix as plain data, for the process that plans and judges and holds no code under test. */
export interface MatrixDescription {
  /** The URL of the bench file. */
  readonly file: string
  readonly name: string
  /** In declared order. */
  readonly axes: readonly string[]
  readonly cells: readonly CellDescription[]
  readonly claims: readonly ClaimDescription[]
}

/** One cell of a matrix. */
export interface CellDescription {
  readonly id: string
  readonly params: Params
  /** Units of work in one iteration. */
  readonly units?: number
  /** The cell that this one is compared with inside the run. */
  readonly baselineId?: string
}

/** What a matrix claims, not yet looked at. */
export type ClaimDescription = Pick<Claimed, 'kind' | 'where' | 'axis' | 'to' | 'band'>

/**
 * The matrices that a bench file exports as its default: one, or a list.
 *
 * @throws TypeError for anything else
 */
export function matricesOf (file: string, module: object): Matrix[] {
  const exported: unknown = 'default' in module ? module.default : undefined
  const matrices: readonly unknown[] = Array.isArray(exported) ? exported : [exported]
  return matrices.map((candidate) => {
    if (!isMatrix(candidate)) {
      throw new TypeError(`Cannot read ${file}: its default export must be a matrix(...), or a list of them`)
    }
    return candidate
  })
}

/** @throws what `units` of the matrix throws */
export function describeMatrix (file: string, matrix: Matrix): MatrixDescription {
  return {
    file,
    name: matrix.name,
    axes: Object.keys(matrix.axes),
    cells: matrix.cells.map(cell => describeCell(matrix, cell)),
    claims: (matrix.claims ?? []).map(describeClaim)
  }
}

function describeCell (matrix: Matrix, cell: Cell<Axes>): CellDescription {
  const units = matrix.units?.(cell)
  const { baseline } = matrix
  const isCompared = baseline !== undefined && !matches(cell, baseline)
  return {
    id: cellId(matrix.name, cell),
    params: cell,
    ...(units === undefined ? {} : { units }),
    ...(isCompared ? { baselineId: cellId(matrix.name, { ...cell, ...given(baseline) }) } : {})
  }
}

function describeClaim (claim: Claim<Axes>): ClaimDescription {
  const where = given(claim.where ?? {})
  if ('slope' in claim) {
    return { kind: 'slope', where, axis: claim.axis, band: claim.slope }
  }
  if ('ratio' in claim) {
    return { kind: 'ratio', where, to: given(claim.to), band: claim.ratio }
  }
  return { kind: 'bytes', where, band: typeof claim.bytes === 'number' ? [claim.bytes, claim.bytes] : claim.bytes }
}

/** Without the axes that have no value. */
function given (part: Readonly<Record<string, Params[string] | undefined>>): Params {
  return Object.fromEntries(Object.entries(part).flatMap(([axis, value]) => value === undefined ? [] : [[axis, value]]))
}
