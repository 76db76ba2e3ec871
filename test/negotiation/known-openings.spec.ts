import { describe, expect, it } from 'vitest'
import { openingOf } from '../../src/negotiation/known-openings.ts'
import { wire } from '../support/wire.ts'

describe('openingOf', () => {
  it('encodes a name once', () => {
    expect(openingOf('/a')).toEqual(wire('HDR A'))
    expect(openingOf('/a')).toBe(openingOf('/a'))
  })

  it('S3.1: throws for an invalid name at every call', () => {
    expect(() => openingOf('a')).toThrow(TypeError)
    expect(() => openingOf('a')).toThrow(TypeError)
    expect(() => openingOf(`/${'x'.repeat(16_382)}`)).toThrow(RangeError)
  })

  it('forgets the name known longest when there are too many', () => {
    const first = openingOf('/forgotten/first')
    const later = Array.from({ length: 1023 }, (_, index) => openingOf(`/known/${index}`))
    expect(openingOf('/forgotten/first')).toBe(first)
    openingOf('/one-more')
    expect(openingOf('/known/1022')).toBe(later.at(-1))
    expect(openingOf('/forgotten/first')).not.toBe(first)
    expect(openingOf('/forgotten/first')).toEqual(first)
  })
})
