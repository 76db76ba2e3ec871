import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NEVER, addDuration, earliest } from '../../src/core/instant.ts'

describe('addDuration (S1.4)', () => {
  it('adds milliseconds', () => {
    expect(addDuration(1000, 0)).toBe(1000)
    expect(addDuration(1000.5, 250)).toBe(1250.5)
    expect(addDuration(1000, 2 ** 31)).toBe(1000 + 2 ** 31)
  })

  it('saturates: what cannot be told apart from later instants is never', () => {
    expect(addDuration(1000, Infinity)).toBe(NEVER)
    expect(addDuration(NEVER, 1)).toBe(NEVER)
    expect(addDuration(0, Number.MAX_SAFE_INTEGER)).toBe(Number.MAX_SAFE_INTEGER)
    expect(addDuration(1, Number.MAX_SAFE_INTEGER)).toBe(NEVER)
    expect(addDuration(0, Number.MAX_VALUE)).toBe(NEVER)
  })
})

describe('earliest', () => {
  it('is the lesser of two instants, and any instant is earlier than never', () => {
    fc.assert(fc.property(fc.nat(), fc.nat(), (left, right) => {
      expect(earliest(left, right)).toBe(Math.min(left, right))
      expect(earliest(left, NEVER)).toBe(left)
      expect(earliest(NEVER, right)).toBe(right)
    }))
    expect(earliest(NEVER, NEVER)).toBe(NEVER)
  })
})
