import { assertType, describe, expectTypeOf, it } from 'vitest'
import { matrix } from '../../src/bench/index.ts'
import type { Cell, Matrix } from '../../src/bench/index.ts'

const rest = { setup: () => 1, run: () => 1, verify: () => true }
const axes = { size: [1, 10], variant: ['a', 'b'], pooled: [true, false] } as const

describe('matrix', () => {
  it('knows the values of each axis, and what set-up makes', () => {
    const made = matrix({
      name: 'm',
      axes: { size: [1, 10], variant: ['a', 'b'], pooled: [true, false] },
      exclude: (cell) => {
        expectTypeOf(cell).toEqualTypeOf<{ readonly size: 1 | 10, readonly variant: 'a' | 'b', readonly pooled: boolean }>()
        return false
      },
      setup: cell => ({ text: cell.variant }),
      run: (state, iterations) => {
        expectTypeOf(state).toEqualTypeOf<{ text: 'a' | 'b' }>()
        return iterations
      },
      verify: (state, { iterations, checksum }) => {
        expectTypeOf(state).toEqualTypeOf<{ text: 'a' | 'b' }>()
        return iterations === checksum
      },
      teardown: (state) => { expectTypeOf(state).toEqualTypeOf<{ text: 'a' | 'b' }>() }
    })
    expectTypeOf(made.cells[0]!).toEqualTypeOf<Cell<{ readonly size: readonly [1, 10], readonly variant: readonly ['a', 'b'], readonly pooled: readonly [true, false] }>>()
  })

  it('awaits the state', () => {
    matrix({
      name: 'm',
      axes: { size: [1] },
      setup: async () => Promise.resolve({ count: 1 }),
      run: async (state) => {
        expectTypeOf(state).toEqualTypeOf<{ count: number }>()
        return Promise.resolve(state.count)
      },
      verify: async () => Promise.resolve(true)
    })
  })

  it('refuses a baseline or a claim outside of its axis', () => {
    matrix({ name: 'm', axes, baseline: { variant: 'b' }, claims: [{ where: { size: 1 }, bytes: 0 }], ...rest })
    // @ts-expect-error no such value
    matrix({ name: 'm', axes, baseline: { variant: 'c' }, ...rest })
    // @ts-expect-error no such axis
    matrix({ name: 'm', axes, baseline: { colour: 'b' }, ...rest })
    // @ts-expect-error no such value
    matrix({ name: 'm', axes, claims: [{ where: { size: 2 }, bytes: 0 }], ...rest })
    // @ts-expect-error it returns no numbers to draw a line through
    matrix({ name: 'm', axes, claims: [{ axis: 'variant', slope: [0, 1] }], ...rest })
    matrix({ name: 'm', axes, claims: [{ axis: 'size', slope: [0, 1] }, { to: { variant: 'a' }, ratio: [0, 1] }], ...rest })
  })

  it('requires a proof of work and a checksum', () => {
    // @ts-expect-error there is no verify
    matrix({ name: 'm', axes, setup: () => 1, run: () => 1 })
    // @ts-expect-error it returns no number
    matrix({ name: 'm', axes, setup: () => 1, run: () => {}, verify: () => true })
  })

  it('any of them is a Matrix', () => {
    assertType<Matrix>(matrix({ name: 'm', axes, ...rest }))
  })
})
