import { describe, expect, it } from 'vitest'
import { claimsOf } from '../../src/bench/claims.ts'
import { cellId } from '../../src/bench/axes.ts'
import type { ClaimDescription, MatrixDescription } from '../../src/bench/description.ts'
import type { Measured, Params, Result } from '../../src/bench/index.ts'

function matrixWith (...claims: ClaimDescription[]): MatrixDescription {
  return { file: 'file:///bench.js', name: 'm', axes: ['size', 'variant'], cells: [], claims }
}

/** A cell with one figure for each process. */
function measured (params: Params, perProcess: number[], more: Partial<Measured> = {}): Measured {
  return {
    id: cellId('m', params), params, unit: 'ns', low: 1, mid: perProcess[0]!, high: 1, samples: perProcess, notes: [],
    rounds: perProcess.map((_, index) => ({ seed: index + 1, round: 1, order: 0, from: index, to: index + 1, repeat: 1, gcs: 0, switches: 0 })), ...more
  }
}

const failed: Result = { id: 'm/size=8/variant=a', params: { size: 8, variant: 'a' }, unit: 'ns', error: { stage: 'run', name: 'Error', message: '' } }

/** Costs that grow with the square root of the size, but for a process where they do not. */
const cells = [1, 2, 4].map(size => measured({ size, variant: 'a' }, [10 * size ** 0.5, 20 * size ** 0.5, 30 * size ** 0.6]))

describe('a slope', () => {
  const slope: ClaimDescription = { kind: 'slope', where: {}, axis: 'size', band: [0.4, 0.6] }

  it('is the exponent, with an interval over processes (S13, BENCH 3.6)', () => {
    const [claim] = claimsOf(matrixWith(slope), [...cells, failed])
    const mean = (0.5 + 0.5 + 0.6) / 3
    const margin = 4.302_652_73 * Math.sqrt(((0.5 - mean) ** 2 * 2 + (0.6 - mean) ** 2) / 2) / Math.sqrt(3)
    expect(claim).toMatchObject({ where: { variant: 'a' }, axis: 'size', state: 'open' })
    expect(claim!.value).toBeCloseTo(mean, 9)
    expect(claim!.high - claim!.value).toBeCloseTo(margin, 6)
    expect(claim!.r2).toBeCloseTo(1, 9)
  })

  it.each([[[0, 1], 'held'], [[0.9, 1.1], 'broken'], [[0.55, 0.56], 'open']] as const)('in the band %j is %s', (band, state) => {
    expect(claimsOf(matrixWith({ ...slope, band }), cells)).toMatchObject([{ state }])
  })

  it('needs three values, and a process that has all of them', () => {
    expect(claimsOf(matrixWith(slope), cells.slice(1))).toEqual([])
    expect(claimsOf(matrixWith(slope), cells.map((cell, index) => ({ ...cell, rounds: cell.rounds.slice(index, index + 1) })))).toEqual([])
  })

  it('of one process decides nothing', () => {
    expect(claimsOf(matrixWith(slope), cells.map(cell => ({ ...cell, rounds: cell.rounds.slice(0, 1) })))).toMatchObject([{ state: 'open' }])
  })

  it('is drawn for each group of cells that differ in the axis only', () => {
    const others = cells.map(cell => measured({ ...cell.params, variant: 'b' }, [5, 5, 5]))
    expect(claimsOf(matrixWith({ ...slope, where: { variant: 'b' } }), [...cells, ...others])).toMatchObject([{ where: { variant: 'b' }, state: 'broken', value: 0 }])
    expect(claimsOf(matrixWith(slope), [...cells, ...others])).toHaveLength(2)
  })
})

describe('a ratio', () => {
  const ratio: ClaimDescription = { kind: 'ratio', where: {}, to: { variant: 'b' }, band: [0, 0.6] }

  it('is taken of cells that differ in nothing else, process by process', () => {
    const b = measured({ size: 1, variant: 'b' }, [20, 40, 60])
    expect(claimsOf(matrixWith(ratio), [...cells, b, failed])).toMatchObject([{ where: { size: 1, variant: 'a' }, to: { variant: 'b' }, value: expect.closeTo(0.5, 9) as number, state: 'held' }])
  })
})

describe('bytes', () => {
  const none: ClaimDescription = { kind: 'bytes', where: { variant: 'a' }, band: [0, 0] }

  it('are those of an iteration, where they were counted', () => {
    expect(claimsOf(matrixWith(none), [
      measured({ size: 1, variant: 'a' }, [1], { bytesPerIteration: 0 }),
      measured({ size: 2, variant: 'a' }, [1], { bytesPerIteration: 80 }),
      measured({ size: 4, variant: 'a' }, [1])
    ])).toMatchObject([{ where: { size: 1 }, value: 0, state: 'held' }, { where: { size: 2 }, value: 80, state: 'broken' }])
  })
})

describe('claimsOf', () => {
  it('looks at the cells of its own matrix only', () => {
    const other = measured({ size: 1, variant: 'a' }, [1], { id: 'mm/size=1/variant=a', bytesPerIteration: 0 })
    expect(claimsOf(matrixWith({ kind: 'bytes', where: {}, band: [0, 0] }), [other])).toEqual([])
  })
})
