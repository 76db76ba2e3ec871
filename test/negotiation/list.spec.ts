import { describe, expect, it } from 'vitest'
import { answerToLs } from '../../src/negotiation/list.ts'
import { decodeList } from '../../src/negotiation/index.ts'
import { hex, toHex, wire } from '../support/wire.ts'

describe('answerToLs', () => {
  it('S2.14: nests each name with its own length, and ends with a newline', () => {
    expect(toHex(answerToLs(['/a', '/echo/1.0.0']) ?? new Uint8Array(0))).toBe(hex('12 A E 0a'))
    expect(answerToLs([])).toEqual(wire('01 0a'))
  })

  it('S2.14: is at most 16 383 bytes long, its final newline included', () => {
    const names = [...Array.from({ length: 15 }, (_, index) => `/${index.toString(16)}${'x'.repeat(1019)}`), `/${'y'.repeat(1020)}`]
    const rest = 16_383 - 1 - 15 * (2 + 1022)
    const last = (length: number): string => `/${'y'.repeat(length - 4)}`
    expect(answerToLs([...names.slice(0, 15), last(rest)])?.slice(0, 2)).toEqual(wire('ff7f'))
    expect(answerToLs([...names.slice(0, 15), last(rest)])).toHaveLength(2 + 16_383)
    expect(answerToLs([...names.slice(0, 15), last(rest + 1)])).toBeUndefined()
  })

  it('encodes a frozen list once, and trusts no other', () => {
    const frozen = Object.freeze(['/a'])
    expect(answerToLs(frozen)).toBe(answerToLs(frozen))
    const names = ['/a']
    expect(answerToLs(names)).toEqual(wire('05 A 0a'))
    names.push('/b')
    expect(answerToLs(names)).toEqual(wire('09 A B 0a'))
  })

  it('remembers that a frozen list is too long', () => {
    const frozen = Object.freeze(Array.from({ length: 20 }, (_, index) => `/${index}${'x'.repeat(1000)}`))
    expect([answerToLs(frozen), answerToLs(frozen)]).toEqual([undefined, undefined])
  })
})

describe('decodeList', () => {
  it('S2.38: reads what a listener answers', () => {
    for (const names of [[], ['/a'], ['/a', '/echo/1.0.0', '/ünïcödé'], [`/${'x'.repeat(45)}`, '/'], ['/12345678', '/b'], [`/${'x'.repeat(300)}`]]) {
      const frame = answerToLs(names) ?? new Uint8Array(0)
      expect(decodeList(frame.subarray(frame.length > 128 ? 2 : 1))).toEqual(names)
    }
  })

  it('S2.38: takes an inner length that does not fit, or a missing newline, for malformed', () => {
    for (const body of ['', 'A', 'A 0b', '03 2f61 0a', '04 2f610a 0a', '00 0a', '80 0a', '8300 2f610a 0a', '808001 0a', 'A 03 2f62 0a', '03 2f6162 0a', '03 2f0a0a 0a', '05 A 0a 0a']) {
      expect(decodeList(wire(body))).toMatchObject({ type: 'invalid' })
    }
  })

  it.each([
    ['A 0b', 'a list that does not end in a newline'],
    ['80 0a', 'a list with a length that does not fit'],
    ['8300 2f610a 0a', 'a list with a length that does not fit'],
    ['04 2f610a 0a', 'a list with a length that does not fit'],
    ['03 2f6162 0a', 'a list with a name that does not end in its one newline']
  ])('S2.38: says what is wrong with %s', (body, detail) => {
    expect(decodeList(wire(body))).toEqual({ type: 'invalid', detail })
  })

  it('S2.38: takes a single name for no list, where it could be one too', () => {
    const ambiguous = wire(`2f ${'78'.repeat(46)} 0a`)
    expect(decodeList(ambiguous)).toEqual({ type: 'invalid', detail: 'a name instead of a list' })
    expect(decodeList(wire('2f61 0a'))).toMatchObject({ type: 'invalid' })
    expect(decodeList(wire('6e610a'))).toMatchObject({ type: 'invalid' })
  })
})
