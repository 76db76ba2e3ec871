import { describe, expectTypeOf, it } from 'vitest'
import { andAllComplete, andAllSucceed, gather, whenAllComplete, whenAllSucceed } from '../../src/concurrency/index.ts'

describe('joins', () => {
  it('know the result of each member of a tuple', () => {
    expectTypeOf(whenAllSucceed([1, Promise.resolve('a'), undefined])).toEqualTypeOf<Promise<[number, string, undefined]>>()
    expectTypeOf(whenAllComplete([1, Promise.resolve('a')]))
      .toEqualTypeOf<Promise<[PromiseSettledResult<number>, PromiseSettledResult<string>]>>()
    expectTypeOf(gather([1, Promise.resolve('a')])).toEqualTypeOf<[number, string] | Promise<[number, string]>>()
  })

  it('know the results of any iterable', () => {
    const set = new Set([1, Promise.resolve('a')])
    expectTypeOf(whenAllSucceed(set)).toEqualTypeOf<Promise<Array<number | string>>>()
    expectTypeOf(whenAllComplete(set)).toEqualTypeOf<Promise<Array<PromiseSettledResult<number | string>>>>()
    expectTypeOf(whenAllSucceed([1, 2].values())).toEqualTypeOf<Promise<number[]>>()
    expectTypeOf(whenAllSucceed([1, 2].map(value => value))).toEqualTypeOf<Promise<number[]>>()
  })

  it('give nothing, or take nothing, where there is nothing', () => {
    expectTypeOf(andAllSucceed([1, Promise.resolve('a')])).toEqualTypeOf<Promise<void>>()
    expectTypeOf(andAllComplete([])).toEqualTypeOf<Promise<void>>()
    // @ts-expect-error a number is no iterable
    void whenAllSucceed(1)
    // @ts-expect-error an executor has `execute`
    void whenAllSucceed([], { on: {} })
  })
})
