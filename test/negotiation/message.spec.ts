import { describe, expect, it } from 'vitest'
import { HEADER, REFUSAL, concat, decodeName, encodeFrame, encodeOpening, frameOf, isMessage } from '../../src/negotiation/message.ts'
import { naiveFrame } from '../support/naive-multistream.ts'
import { toHex, wire } from '../support/wire.ts'

describe('encodeFrame', () => {
  it('S2.1: gives the reserved messages, each with its newline (N10)', () => {
    expect(HEADER).toEqual(wire('HDR'))
    expect(REFUSAL).toEqual(wire('NA'))
  })

  it('N05: counts to 127 in one byte and from 128 on in two', () => {
    expect(toHex(encodeFrame(`/${'x'.repeat(125)}`)).slice(0, 4)).toBe('7f2f')
    expect(toHex(encodeFrame(`/${'x'.repeat(126)}`)).slice(0, 6)).toBe('80012f')
  })

  it('agrees with the naive codec on names of any script', () => {
    for (const name of ['/a', '/ünïcödé/1', '/名前', '/\u{1f600}', `/${'é'.repeat(64)}`]) {
      expect(Array.from(encodeFrame(name))).toEqual(naiveFrame(name))
    }
  })
})

describe('encodeOpening', () => {
  it('S2.19: is the header and the name in one piece, and frameOf the name alone', () => {
    const opening = encodeOpening('/a')
    expect(opening).toEqual(wire('HDR A'))
    expect(frameOf(opening)).toEqual(wire('A'))
  })
})

describe('isMessage', () => {
  const opening = encodeOpening('/a')
  const is = (body: string, known = opening, at = HEADER.length): boolean => isMessage(wire(body), 0, wire(body).length, known, at)

  it('compares every byte and the length', () => {
    expect(is('2f610a')).toBe(true)
    expect(is('2f620a')).toBe(false)
    expect(is('2f61620a')).toBe(false)
    expect(is('610a')).toBe(false)
    expect(is('0a')).toBe(false)
  })

  it('compares in the middle of a chunk', () => {
    expect(isMessage(wire('ffff 2f610a ff'), 2, 5, opening, HEADER.length)).toBe(true)
  })

  it('is not misled by a name that ends as another does', () => {
    expect(is('2f612f610a', encodeOpening('/b/a'))).toBe(false)
    expect(is('2f610a', encodeOpening('/b/a'))).toBe(false)
  })
})

describe('decodeName', () => {
  it('leaves the newline out and keeps all else, a byte order mark too', () => {
    expect(decodeName(wire('ff 2f61200a'), 1, 5)).toBe('/a ')
    expect(decodeName(wire('efbbbf2f610a'), 0, 6)).toBe('\ufeff/a')
  })

  it('does not throw for bytes that are not UTF-8', () => {
    expect(decodeName(wire('2fff0a'), 0, 3)).toBe('/\ufffd')
  })
})

describe('concat', () => {
  it('joins in order, and nothing to nothing', () => {
    expect(concat([wire('NA'), wire('A'), new Uint8Array(0)])).toEqual(wire('NA A'))
    expect(concat([])).toEqual(new Uint8Array(0))
  })
})
