import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cellId } from '../../src/bench/axes.ts'
import { describeMatrix, matricesOf } from '../../src/bench/description.ts'
import { matrix } from '../../src/bench/index.ts'
import type { Axes, MatrixInit } from '../../src/bench/index.ts'

const idle = { setup: () => 0, run: () => 0, verify: () => true }

function idsOf (init: Partial<MatrixInit<Axes, number>> & { axes: Axes }) {
  return describeMatrix('file:///bench.js', matrix({ name: 'm', ...idle, ...init })).cells.map(({ id }) => id)
}

describe('matrix', () => {
  it('has a cell for each combination, axes in declared order, the last one fastest', () => {
    expect(idsOf({ axes: { size: [1, 10], variant: ['a', 'b'], pooled: [true] } })).toEqual([
      'm/size=1/variant=a/pooled=true', 'm/size=1/variant=b/pooled=true', 'm/size=10/variant=a/pooled=true', 'm/size=10/variant=b/pooled=true'
    ])
  })

  it('leaves out what is excluded', () => {
    expect(idsOf({ axes: { size: [1, 10], count: [1, 10] }, exclude: ({ size, count }) => Number(size) * Number(count) > 10 }))
      .toEqual(['m/size=1/count=1', 'm/size=1/count=10', 'm/size=10/count=1'])
  })

  it.each<[string, Partial<MatrixInit<Axes, number>>]>([
    ['no axes', { axes: {} }],
    ['an empty axis', { axes: { size: [] } }],
    ['a repeated value', { axes: { size: [1, 2, 1] } }],
    ['two values that look the same (B08)', { axes: { size: [1, '1'] } }],
    ['a number that is not finite', { axes: { size: [NaN] } }],
    ['the name of an axis with a capital', { axes: { Size: [1] } }],
    ['a name that ids cannot have', { axes: { size: [1] }, name: 'a/b' }],
    ['no name', { axes: { size: [1] }, name: '' }],
    ['iterations of 0', { axes: { iterations: [0] } }],
    ['iterations that are no numbers', { axes: { iterations: ['many'] } }],
    ['nothing left', { axes: { size: [1] }, exclude: () => true }],
    ['a baseline outside its axis', { axes: { size: [1] }, baseline: { size: 2 } }],
    ['a baseline of no axis', { axes: { size: [1] }, baseline: { variant: 'a' } }],
    ['a claim about no cell', { axes: { size: [1] }, claims: [{ where: { size: 3 }, bytes: 0 }] }],
    ['a ratio to no cell', { axes: { size: [1] }, claims: [{ to: { size: 3 }, ratio: [0, 1] }] }],
    ['a slope over words', { axes: { size: [1], variant: ['a', 'b'] }, claims: [{ axis: 'variant', slope: [0, 1] }] }],
    ['a slope over 0', { axes: { size: [0, 1, 2] }, claims: [{ axis: 'size', slope: [0, 1] }] }],
    ['a slope over iterations', { axes: { iterations: [1, 2, 3] }, claims: [{ axis: 'iterations', slope: [0, 1] }] }],
    ['an id of more than 1024 characters', { axes: { size: ['x'.repeat(1024)] } }]
  ])('refuses %s with a RangeError', (_, init) => {
    expect(() => matrix({ name: 'm', axes: { size: [1] }, ...idle, ...init })).toThrow(RangeError)
  })

  it('refuses a value that is no string, number or boolean with a TypeError', () => {
    expect(() => matrix({ name: 'm', axes: { size: [null as never] }, ...idle })).toThrow(TypeError)
  })

  it('is frozen, and leaves what it was given alone', () => {
    const init = Object.freeze({ name: 'm', axes: Object.freeze({ size: Object.freeze([1, 2]) }), ...idle })
    const made = matrix(init)
    expect(Object.isFrozen(made) && Object.isFrozen(made.cells)).toBe(true)
  })
})

describe('the id of a cell', () => {
  it('gives any values back', () => {
    const value = fc.oneof(fc.string({ unit: 'binary', maxLength: 20 }), fc.boolean(), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }))
    fc.assert(fc.property(fc.dictionary(fc.stringMatching(/^[a-z0-9][a-z0-9.-]{0,8}$/), value, { minKeys: 1, maxKeys: 4 }), (cell) => {
      const [name, ...parts] = cellId('m', cell).split('/')
      expect(name).toBe('m')
      expect(parts.map(part => part.split('='))).toEqual(Object.keys(cell).map(axis => [axis, expect.any(String) as string]))
      expect(parts.map(part => decodeURIComponent(part.slice(part.indexOf('=') + 1)))).toEqual(Object.values(cell).map(String))
    }))
  })

  it('has no control characters, nor those that divide it', () => {
    expect(cellId('m', { name: '/a%b=c\n\u0085é' })).toBe('m/name=%2Fa%25b%3Dc%0A%C2%85é')
  })
})

describe('describeMatrix', () => {
  it('is plain data, with the baseline of each cell and its units', () => {
    const made = matrix({
      name: 'm',
      axes: { size: [1, 2, 4], variant: ['a', 'b'] },
      baseline: { variant: 'b' },
      claims: [
        { where: { variant: 'a' }, axis: 'size', slope: [0, 1] },
        { to: { variant: 'b' }, ratio: [0, 0.5] },
        { bytes: 0 },
        { bytes: [10, 20] }
      ],
      units: ({ size }) => size,
      ...idle
    })
    const description = describeMatrix('file:///bench.js', made)
    expect(structuredClone(description)).toEqual(description)
    expect(description).toMatchObject({ file: 'file:///bench.js', name: 'm', axes: ['size', 'variant'] })
    expect(description.cells.slice(0, 2)).toEqual([
      { id: 'm/size=1/variant=a', params: { size: 1, variant: 'a' }, units: 1, baselineId: 'm/size=1/variant=b' },
      { id: 'm/size=1/variant=b', params: { size: 1, variant: 'b' }, units: 1 }
    ])
    expect(description.claims).toEqual([
      { kind: 'slope', where: { variant: 'a' }, axis: 'size', band: [0, 1] },
      { kind: 'ratio', where: {}, to: { variant: 'b' }, band: [0, 0.5] },
      { kind: 'bytes', where: {}, band: [0, 0] },
      { kind: 'bytes', where: {}, band: [10, 20] }
    ])
  })
})

describe('matricesOf', () => {
  const made = matrix({ name: 'm', axes: { size: [1] }, ...idle })

  it('takes one matrix, or a list', () => {
    expect(matricesOf('f', { default: made })).toEqual([made])
    expect(matricesOf('f', { default: [made, made] })).toEqual([made, made])
  })

  it.each([{}, { default: undefined }, { default: { name: 'm' } }, { default: [made, 1] }])('refuses %o', (module) => {
    expect(() => matricesOf('f', module)).toThrow(TypeError)
  })
})
