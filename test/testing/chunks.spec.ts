import { describe, expect, it } from 'vitest'
import { chunksOf, everySplit, randomSplits } from '../../src/testing/chunks.ts'

const bytes = Uint8Array.from({ length: 10 }, (_, index) => index)
const joined = (chunks: readonly Uint8Array[]): number[] => chunks.flatMap(chunk => [...chunk])
const sizes = (chunks: readonly Uint8Array[]): number[] => chunks.map(chunk => chunk.length)

describe('chunksOf', () => {
  it('cuts by the sizes in turn', () => {
    expect(sizes(chunksOf(bytes, 4))).toEqual([4, 4, 2])
    expect(sizes(chunksOf(bytes, 1, 3))).toEqual([1, 3, 1, 3, 1, 1])
    expect(sizes(chunksOf(bytes, 2, Infinity))).toEqual([2, 8])
    expect(joined(chunksOf(bytes, 1, 3))).toEqual([...bytes])
  })

  it('cuts no bytes into no chunk', () => {
    expect(chunksOf(new Uint8Array(0), 1)).toEqual([])
  })

  it('refuses sizes that do not get on', () => {
    expect(() => chunksOf(bytes)).toThrow(/received none/)
    expect(() => chunksOf(bytes, 1, 0)).toThrow(RangeError)
    expect(() => chunksOf(bytes, NaN)).toThrow(RangeError)
  })
})

describe('everySplit', () => {
  it('gives the whole, every cut in two, and single bytes', () => {
    const splits = [...everySplit(bytes)]
    expect(splits.map(split => split.length)).toEqual([1, ...Array<number>(9).fill(2), 10])
    expect(splits.slice(1, -1).map(split => split[0]?.length)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(splits.every(split => joined(split).join() === bytes.join())).toBe(true)
  })
})

describe('randomSplits', () => {
  it('gives back the bytes, whatever the split', () => {
    const splits = [...randomSplits(bytes, 200, 1)]
    expect(splits).toHaveLength(200)
    expect(splits.every(split => joined(split).join() === bytes.join())).toBe(true)
  })

  it('gives the same splits for the same seed, and others for another', () => {
    const shape = (seed: number): string => JSON.stringify([...randomSplits(bytes, 20, seed)].map(sizes))
    expect(shape(7)).toBe(shape(7))
    expect(shape(7)).not.toBe(shape(8))
  })

  it('cuts at every place, not at all, and into empty chunks', () => {
    const splits = [...randomSplits(bytes, 500, 3)].map(sizes)
    expect(splits.some(split => split.length === 1)).toBe(true)
    expect(splits.some(split => split.length >= bytes.length)).toBe(true)
    expect(splits.some(split => split.includes(0))).toBe(true)
    const cuts = new Set(splits.flatMap(split => split.map((_, index) => split.slice(0, index).reduce((sum, size) => sum + size, 0))))
    expect(cuts.size).toBe(bytes.length)
  })
})
