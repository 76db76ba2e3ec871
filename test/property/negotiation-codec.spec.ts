/** The frame decoder and the encoder against the naive codec. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FrameDecoder } from '../../src/negotiation/frame-decoder.ts'
import { encodeFrame } from '../../src/negotiation/message.ts'
import { chunksOf, randomSplits } from '../../src/testing/chunks.ts'
import { naiveFrame, naiveParse } from '../support/naive-multistream.ts'

type Read = readonly number[] | string

function decode (chunks: Iterable<Uint8Array>, maxLength: number): Read[] {
  const decoder = new FrameDecoder(maxLength)
  const read: Read[] = []
  for (const chunk of chunks) {
    decoder.push(chunk)
    for (let next = decoder.next(); next !== 'nothing'; next = decoder.next()) {
      if (next !== 'frame') {
        return [...read, typeof next === 'string' ? next : next.type]
      }
      read.push([...decoder.body.subarray(decoder.start, decoder.end - 1)])
    }
  }
  return read
}

function naiveDecode (bytes: readonly number[], maxLength: number): Read[] {
  const parsed = naiveParse(bytes, maxLength)
  switch (parsed.type) {
    case 'incomplete': return []
    case 'message': return [parsed.name, ...naiveDecode(parsed.rest, maxLength)]
    case 'invalid':
    case 'too-long': return [parsed.type]
  }
}

const name = fc.string({ unit: 'grapheme', maxLength: 200 }).filter(text => !text.includes('\n'))
const frame = name.map(naiveFrame)
const anyByte = fc.integer({ min: 0, max: 255 })
const input = fc.oneof(
  fc.array(anyByte, { maxLength: 50 }),
  fc.tuple(fc.array(frame, { maxLength: 5 }), fc.array(anyByte, { maxLength: 5 })).map(([frames, tail]) => [...frames.flat(), ...tail])
)

describe('the codec', () => {
  it('encodes as the naive one, for any name', () => {
    fc.assert(fc.property(name, (text) => {
      expect([...encodeFrame(text)]).toEqual(naiveFrame(text))
    }))
  })

  it('decodes as the naive one, whole and in pieces', () => {
    fc.assert(fc.property(input, fc.integer({ min: 20, max: 300 }), fc.integer(), (bytes, maxLength, seed) => {
      const whole = Uint8Array.from(bytes)
      const expected = naiveDecode(bytes, maxLength)
      expect(decode([whole], maxLength)).toEqual(expected)
      expect(decode(chunksOf(whole, 1), maxLength)).toEqual(expected)
      for (const chunks of randomSplits(whole, 3, seed)) {
        expect(decode(chunks, maxLength)).toEqual(expected)
      }
    }), { numRuns: 1000 })
  })
})
