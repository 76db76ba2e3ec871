import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { show } from '../../src/core/printable.ts'

const printableAscii = /^[ -~]*$/

describe('show (S2.37)', () => {
  it('leaves printable ASCII as it is', () => {
    expect(show('/chat/1.0.0 ~"')).toBe('/chat/1.0.0 ~"')
    expect(show(new TextEncoder().encode('/chat/1.0.0'))).toBe('/chat/1.0.0')
    expect(show('')).toBe('')
    expect(show(new Uint8Array())).toBe('')
  })

  it('escapes everything else, and the backslash, so that no two texts look the same', () => {
    expect(show('a\n\0\x7f\\n\xe9€😀')).toBe('a\\n\\x00\\x7f\\\\n\\xe9\\u20ac\\ud83d\\ude00')
    expect(show(Uint8Array.of(0x2f, 0x0a, 0x00, 0x1b, 0x5c, 0xc3, 0xff))).toBe('/\\n\\x00\\x1b\\\\\\xc3\\xff')
  })

  it('cuts at 80 characters, never inside an escape, and tells how many bytes follow', () => {
    const full = 'a'.repeat(80)
    expect(show(full)).toBe(full)
    expect(show(`${full}b`)).toBe(`${full}...(+1 bytes)`)
    expect(show(`${full.slice(1)}\n`)).toBe(`${full.slice(1)}...(+1 bytes)`)
    expect(show(`${full}é€😀`)).toBe(`${full}...(+9 bytes)`)
    expect(show(new Uint8Array(1000).fill(0x61))).toBe(`${full}...(+920 bytes)`)
  })

  it('any text and any bytes give printable ASCII of at most 120 characters (S10.21)', () => {
    const input = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.string({ unit: fc.nat(0xffff).map(unit => String.fromCharCode(unit)), maxLength: 300 }),
      fc.uint8Array({ maxLength: 300 })
    )
    fc.assert(fc.property(input, text => {
      const shown = show(text)
      expect(shown).toMatch(printableAscii)
      expect(shown.length).toBeLessThanOrEqual(120)
    }), { numRuns: 500 })
  })

  it('texts of up to 80 shown characters are equal when what is shown is', () => {
    const short = fc.string({ unit: fc.constantFrom('\\', 'n', '\n', 'x', '0', '\0', 'u', 'é', '€'), maxLength: 6 })
    fc.assert(fc.property(short, short, (left, right) => {
      expect(show(left) === show(right)).toBe(left === right)
    }), { numRuns: 1000 })
  })

  it('a megabyte is shown at once, with its size', () => {
    expect(show(new Uint8Array(1 << 20))).toBe(`${'\\x00'.repeat(20)}...(+1048556 bytes)`)
  })
})
