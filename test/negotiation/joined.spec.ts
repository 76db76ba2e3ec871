import { describe, expect, it } from 'vitest'
import { DEFAULT_LIMITS, DialerNegotiation } from '../../src/negotiation/index.ts'
import { joined } from '../../src/negotiation/joined.ts'

describe('joined', () => {
  it('S2.7: gives pieces whose bytes stay as they are, whatever comes after them', () => {
    const pieces = Array.from({ length: 1000 }, (_, index) => joined(new Uint8Array(index % 70).fill(index), Uint8Array.of(index, 1, 2)))
    for (const [index, piece] of pieces.entries()) {
      expect([...piece]).toEqual([...new Uint8Array(index % 70).fill(index), index & 255, 1, 2])
    }
  })

  it('gives long data memory of its own, so that it holds nothing else', () => {
    expect(joined(new Uint8Array(36), new Uint8Array(2000)).buffer.byteLength).toBe(2036)
  })

  it('goes on when the memory of a piece was transferred', () => {
    structuredClone(joined(Uint8Array.of(1), Uint8Array.of(2)), { transfer: [joined(Uint8Array.of(1), Uint8Array.of(2)).buffer as ArrayBuffer] })
    expect([...joined(Uint8Array.of(3), Uint8Array.of(4))]).toEqual([3, 4])
  })

  it('S2.23: is how the first data of a lazy stream shares the write of its opening, without memory of its own', () => {
    const write = (): Uint8Array => new DialerNegotiation(['/a'], DEFAULT_LIMITS, { lazy: true }).write(new Uint8Array(64)) as Uint8Array
    const buffers = new Set(Array.from({ length: 50 }, () => write().buffer))
    expect(buffers.size).toBeLessThan(4)
  })
})
