import { cellId, matches } from './axes.ts'
import { compare } from './compare.ts'
import { isMeasured, keyOf, valuesOf } from './results.ts'
import { leastSquares, marginOfError, mean } from './statistics.ts'
import type { ClaimDescription, MatrixDescription } from './description.ts'
import type { Claimed, Measured, Params, Result } from './report.ts'

/** A line through fewer points proves nothing. */
const MIN_POINTS = 3

/** One process has no interval, and so decides nothing. */
const MIN_PROCESSES = 2

/**
 * What the run says about the claims of a matrix, one answer for each cell, or group of cells on a line, that a claim is
 * about. Claims whose cells were not measured have no answer.
 *
 * @param results - of any matrices
 */
export function claimsOf (matrix: MatrixDescription, results: readonly Result[]): Claimed[] {
  const own = results.filter(isMeasured).filter(({ id }) => id.startsWith(`${matrix.name}/`))
  return matrix.claims.flatMap((claim) => {
    const about = own.filter(({ params }) => matches(params, claim.where))
    switch (claim.kind) {
      case 'slope': return slopes(claim, about)
      case 'ratio': return about.flatMap(cell => ratio(claim, matrix.name, cell, own))
      case 'bytes': return about.flatMap(cell => bytes(claim, cell))
    }
  })
}

/** A line for each group of cells that differ in the axis only. */
function slopes (claim: ClaimDescription, cells: readonly Measured[]): Claimed[] {
  const { axis = '' } = claim
  const groups = new Map<string, { where: Params, members: Measured[] }>()
  for (const cell of cells) {
    const where = Object.fromEntries(Object.entries(cell.params).filter(([name]) => name !== axis))
    const group = groups.get(keyOf(where)) ?? { where, members: [] }
    group.members.push(cell)
    groups.set(keyOf(where), group)
  }
  return [...groups.values()]
    .filter(({ members }) => members.length >= MIN_POINTS)
    .flatMap(({ where, members }) => slope(claim, axis, where, members))
}

function slope (claim: ClaimDescription, axis: string, where: Params, members: readonly Measured[]): Claimed[] {
  const xs = members.map(({ params }) => Math.log(Number(params[axis])))
  const values = members.map(valuesOf)
  const perProcess = [...values[0]?.keys() ?? []].flatMap((seed) => {
    const ys = values.flatMap(ofCell => ofCell.get(seed) ?? [])
    return ys.length === xs.length ? leastSquares(xs, ys).slope : []
  })
  if (perProcess.length === 0) {
    return []
  }
  const { r2 } = leastSquares(xs, members.map(({ mid }) => Math.log(mid)))
  const value = mean(perProcess)
  const margin = marginOfError(perProcess)
  return [{ ...answer({ ...claim, where }, { value, low: value - margin, high: value + margin }, perProcess.length), r2 }]
}

function ratio (claim: ClaimDescription, matrix: string, cell: Measured, own: readonly Measured[]): Claimed[] {
  const id = cellId(matrix, { ...cell.params, ...claim.to })
  const other = id === cell.id ? undefined : own.find(candidate => candidate.id === id)
  const difference = other && compare(valuesOf(cell), valuesOf(other))
  return difference === undefined
    ? []
    : [answer({ ...claim, where: cell.params }, { ...difference, value: difference.ratio }, difference.pairs)]
}

function bytes (claim: ClaimDescription, { params, bytesPerIteration: value }: Measured): Claimed[] {
  return value === undefined ? [] : [answer({ ...claim, where: params }, { value, low: value, high: value }, MIN_PROCESSES)]
}

function answer (claim: ClaimDescription, { value, low, high }: Pick<Claimed, 'value' | 'low' | 'high'>, processes: number): Claimed {
  return { ...claim, value, low, high, state: processes < MIN_PROCESSES ? 'open' : stateOf(claim.band, low, high) }
}

function stateOf ([from, to]: Claimed['band'], low: number, high: number): Claimed['state'] {
  if (from <= low && high <= to) {
    return 'held'
  }
  return high < from || low > to ? 'broken' : 'open'
}
