import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../src/testing/index.ts'

describe('VirtualClock', () => {
  it('moves when told', () => {
    const clock = new VirtualClock()
    expect(clock.now).toBe(0)
    clock.advance(5)
    clock.advanceTo(12)
    clock.advanceTo(12)
    expect(clock.now).toBe(12)
  })

  it.each([11, Infinity, NaN])('does not move to %d', instant => {
    const clock = new VirtualClock()
    clock.advanceTo(12)
    expect(() => { clock.advanceTo(instant) }).toThrow(RangeError)
    expect(clock.now).toBe(12)
  })
})
