import { describe, expect, it } from 'vitest'
import { INCOMPLETE, MALFORMED, MAX_LENGTH, OVERLONG, prefixSize, readPrefix, writePrefix } from '../../src/negotiation/varint.ts'
import { fromHex } from '../support/wire.ts'

const read = (digits: string): number => readPrefix(fromHex(digits), 0, digits.length / 2)

describe('readPrefix', () => {
  it('S2.1: reads one byte and two', () => {
    expect(read('01')).toBe(1)
    expect(read('7f')).toBe(127)
    expect(read('8001')).toBe(128)
    expect(read('8008')).toBe(1024)
    expect(read('ff7f')).toBe(16_383)
  })

  it('S2.2: refuses a length of 0 at its first byte', () => {
    expect(read('00')).toBe(MALFORMED)
  })

  it('S2.2: refuses a second byte with the continuation bit, whatever follows', () => {
    expect(read('8080')).toBe(OVERLONG)
    expect(read('808001')).toBe(OVERLONG)
    expect(read('ffff')).toBe(OVERLONG)
  })

  it('S2.2, D6: refuses a length that is not in its shortest form', () => {
    expect(read('8000')).toBe(MALFORMED)
    expect(read('ff00')).toBe(MALFORMED)
  })

  it('asks for more while the prefix is not whole', () => {
    expect(read('')).toBe(INCOMPLETE)
    expect(read('80')).toBe(INCOMPLETE)
  })

  it('reads between the bounds that it is given', () => {
    const bytes = fromHex('ff80017f')
    expect(readPrefix(bytes, 1, 3)).toBe(128)
    expect(readPrefix(bytes, 1, 2)).toBe(INCOMPLETE)
    expect(readPrefix(bytes, 3, 3)).toBe(INCOMPLETE)
  })
})

describe('writePrefix', () => {
  it('writes what readPrefix reads, for every length', () => {
    const bytes = new Uint8Array(4)
    for (let length = 1; length <= MAX_LENGTH; length++) {
      const end = writePrefix(length, bytes, 1)
      expect(end).toBe(1 + prefixSize(length))
      expect(readPrefix(bytes, 1, end)).toBe(length)
    }
  })
})
