import { describe, expect, it } from 'vitest'
import { FrameDecoder } from '../../src/negotiation/frame-decoder.ts'
import { toHex, wire } from '../support/wire.ts'

/** The bodies and faults that come out of `chunks`. */
function decode (decoder: FrameDecoder, ...chunks: Uint8Array[]): string[] {
  const read: string[] = []
  for (const chunk of chunks) {
    decoder.push(chunk)
    for (let next = decoder.next(); next !== 'nothing'; next = decoder.next()) {
      if (next !== 'frame') {
        return [...read, typeof next === 'string' ? next : next.type]
      }
      read.push(toHex(decoder.body.subarray(decoder.start, decoder.end)))
    }
  }
  return read
}

describe('FrameDecoder', () => {
  it('S2.1: reads all frames of a chunk', () => {
    expect(decode(new FrameDecoder(1024), wire('A B NA'))).toEqual(['2f610a', '2f620a', '6e610a'])
  })

  it('S2.4: reads frames that come byte by byte', () => {
    expect(decode(new FrameDecoder(1024), ...Array.from(wire('A B'), byte => Uint8Array.of(byte)))).toEqual(['2f610a', '2f620a'])
  })

  it('S2.4: goes on in place after a frame that was collected', () => {
    expect(decode(new FrameDecoder(1024), wire('03 2f'), wire('610a B C'))).toEqual(['2f610a', '2f620a', '2f630a'])
  })

  it('S2.2: judges the limit on the prefix alone', () => {
    const decoder = new FrameDecoder(128)
    expect(decode(decoder, wire('8101'))).toEqual(['too-long'])
    expect(decode(new FrameDecoder(128), wire('81'), wire('01'))).toEqual(['too-long'])
    expect(decode(new FrameDecoder(128), wire('8001'))).toEqual([])
  })

  it('S2.2: judges a prefix that comes in two pieces like any other', () => {
    expect(decode(new FrameDecoder(1024), wire('80'), wire('00'))).toEqual(['invalid'])
    expect(decode(new FrameDecoder(1024), wire('80'), wire('80'))).toEqual(['too-long'])
  })

  it('S2.2: takes a frame of the longest body, in whatever pieces', () => {
    const longest = wire(`14 ${'61'.repeat(19)} 0a`)
    const bytes = Array.from(longest, byte => Uint8Array.of(byte))
    expect(decode(new FrameDecoder(20), longest)).toHaveLength(1)
    expect(decode(new FrameDecoder(20), ...bytes)).toEqual([toHex(longest.subarray(1))])
    expect(decode(new FrameDecoder(19), ...bytes)).toEqual(['too-long'])
  })

  it.each([
    ['00', 'a length prefix that is 0 or not in its shortest form'],
    ['022f61', 'a message that does not end in a newline'],
    ['03 0a610a', 'a message with a newline inside'],
    ['8108', 'a message longer than 1024 bytes']
  ])('S2.36: says what is wrong with %s', (bytes, detail) => {
    const decoder = new FrameDecoder(1024)
    decoder.push(wire(bytes))
    expect(decoder.next()).toMatchObject({ detail })
  })

  it('S2.3: refuses a body without its newline, or with one inside', () => {
    expect(decode(new FrameDecoder(1024), wire('022f61'))).toEqual(['invalid'])
    expect(decode(new FrameDecoder(1024), wire('03 0a610a'))).toEqual(['invalid'])
    expect(decode(new FrameDecoder(1024), wire('02'), wire('0a0a'))).toEqual(['invalid'])
  })

  it('S2.5: puts the end of the input behind all frames, and tells whether it is inside one, half a prefix included', () => {
    for (const [bytes, end] of [['', 'fin'], ['A', 'fin'], ['80', 'cut'], ['03 2f', 'cut'], ['A 03 2f61', 'cut']]) {
      const decoder = new FrameDecoder(1024)
      decoder.push(wire(bytes ?? ''))
      decoder.close('fin')
      expect(decode(decoder, new Uint8Array(0)).at(-1)).toBe(end)
    }
  })

  it('S2.6: puts a reset behind all frames; only the first end counts', () => {
    const decoder = new FrameDecoder(1024)
    decoder.push(wire('A 03 2f'))
    decoder.close('reset')
    decoder.close('fin')
    expect(decode(decoder, new Uint8Array(0))).toEqual(['2f610a', 'reset'])
  })

  it('S2.34: reads at most so many frames in a turn, and keeps the others', () => {
    const decoder = new FrameDecoder(1024, 2)
    const chunk = wire('A B C A B 03')
    expect(decode(decoder, chunk)).toEqual(['2f610a', '2f620a'])
    chunk.fill(0xff)
    expect(decoder.wantsTurn).toBe(true)
    expect(decoder.next()).toBe('nothing')
    decoder.startTurn()
    expect(decoder.next()).toBe('frame')
    expect(decode(decoder, wire('2f620a'))).toEqual(['2f610a', '2f620a'])
    expect(decoder.rest).toEqual(wire('B'))
    decoder.close('fin')
    expect(decoder.next()).toBe('nothing')
    decoder.startTurn()
    expect(decoder.wantsTurn).toBe(false)
    expect([decoder.next(), decoder.next()]).toEqual(['frame', 'fin'])
  })

  it('S2.34: wants no turn when it kept nothing', () => {
    const decoder = new FrameDecoder(1024, 1)
    expect(decode(decoder, wire('A'))).toEqual(['2f610a'])
    expect(decoder.wantsTurn).toBe(false)
  })

  it('S2.34: steps over no more frames than the turn has room for', () => {
    const decoder = new FrameDecoder(1024, 2)
    decoder.push(wire('A B C'))
    expect(decoder.skip(wire('A B C'), 3)).toBe(false)
    expect(decoder.skip(wire('A'), 1)).toBe(true)
    expect(decoder.skip(wire('B C'), 2)).toBe(false)
    expect(decoder.skip(wire('B'), 1)).toBe(true)
    expect(decoder.skip(wire('C'), 1)).toBe(false)
  })

  it('steps over bytes that are expected, and over no others', () => {
    const decoder = new FrameDecoder(1024)
    decoder.push(wire('HDR A data'))
    expect(decoder.skip(wire('HDR B'), 2)).toBe(false)
    expect(decoder.skip(wire('HDR A data 00'), 2)).toBe(false)
    expect(decoder.skip(wire('HDR'), 1)).toBe(true)
    expect(decoder.next()).toBe('frame')
    expect(decoder.skip(wire('A'), 1)).toBe(false)
    expect(decoder.rest).toEqual(wire('data'))
  })

  it('steps over nothing inside a frame that it collects', () => {
    const decoder = new FrameDecoder(1024)
    decode(decoder, wire('05 2f'))
    decoder.push(wire('A'))
    expect(decoder.skip(wire('A'), 1)).toBe(false)
    expect(decode(decoder, new Uint8Array(0))).toEqual(['2f032f610a'])
  })

  it('gives what came behind a frame, in the memory of the chunk', () => {
    const decoder = new FrameDecoder(1024)
    const chunk = wire('A data')
    decoder.push(chunk)
    decoder.next()
    const { rest } = decoder
    expect(rest).toEqual(wire('data'))
    expect(rest?.buffer).toBe(chunk.buffer)
  })

  it('has no rest when the chunk ended with the frame', () => {
    const decoder = new FrameDecoder(1024)
    decoder.push(wire('A'))
    decoder.next()
    expect(decoder.rest).toBeUndefined()
  })

  it('keeps nothing of a chunk that it has read, so that the chunk may be reused', () => {
    const decoder = new FrameDecoder(1024)
    const chunk = wire('A 03 2f')
    expect(decode(decoder, chunk)).toEqual(['2f610a'])
    chunk.fill(0xff)
    expect(decode(decoder, wire('620a'))).toEqual(['2f620a'])
    expect(decoder.body.length).toBe(0)
  })

  it('collects a long frame that comes in pieces', () => {
    const name = '78'.repeat(1000)
    const frame = wire(`e907 ${name} 0a`)
    const pieces = Array.from({ length: Math.ceil(frame.length / 7) }, (_, index) => frame.slice(index * 7, index * 7 + 7))
    expect(decode(new FrameDecoder(1024), ...pieces)).toEqual([`${name}0a`])
  })
})
