import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { utf8Length } from '../../src/core/utf8.ts'

describe('utf8Length', () => {
  it('counts what an encoder would write', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), text => {
      expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length)
    }))
  })

  it('counts from a position on; half a pair counts as 2', () => {
    expect(utf8Length('aé€😀', 1)).toBe(9)
    expect(utf8Length('aé€😀', 4)).toBe(2)
    expect(utf8Length('a', 1)).toBe(0)
  })
})
