import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splitMessage } from '../../src/behaviours/identify-frames.ts'
import { decodeIdentify, encodeIdentify, joinMessages } from '../../src/behaviours/identify-message.ts'
import type { IdentifyMessage } from '../../src/behaviours/identify-message.ts'

/** The codec of the stock service, which its package does not export. */
const { Identify: Stock } = await import(new URL('../../node_modules/@libp2p/identify/dist/src/pb/message.js', import.meta.url).href) as {
  Identify: { encode (message: object): Uint8Array, decode (bytes: Uint8Array): object }
}

const bytes = fc.uint8Array({ maxLength: 40 })
const text = fc.string({ maxLength: 40, unit: 'grapheme' })
const message: fc.Arbitrary<IdentifyMessage> = fc.record({
  publicKey: bytes, observedAddr: bytes, protocolVersion: text, agentVersion: text, signedPeerRecord: bytes,
  listenAddrs: fc.array(bytes, { maxLength: 5 }), protocols: fc.array(text, { maxLength: 5 })
}, { requiredKeys: ['listenAddrs', 'protocols'] })

const plain = (value: object): unknown => JSON.parse(JSON.stringify(value))

describe('the encoding of identify', () => {
  it('is that of the stock service, both ways', () => {
    fc.assert(fc.property(message, (given) => {
      expect(plain(Stock.decode(encodeIdentify(given)))).toEqual(plain(given))
      expect(plain(decodeIdentify(Stock.encode(given)))).toEqual(plain(given))
    }))
  })

  it('leaves out fields that it does not know', () => {
    const unknown = Uint8Array.of(0x3a, 2, 1, 2, 0x50, 7)
    expect(decodeIdentify(Uint8Array.from([...unknown, ...encodeIdentify({ agentVersion: 'a' }), ...unknown]))).toEqual({ agentVersion: 'a', listenAddrs: [], protocols: [] })
  })

  it('of anything else is an error of the peer, and no other', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (given) => {
      try {
        decodeIdentify(given)
      } catch (error) {
        expect(error).toMatchObject({ name: 'RemoteProtocolError', outcome: 'invalid' })
      }
    }))
    expect(() => decodeIdentify(Uint8Array.of(0x0a, 200))).toThrow('Cannot read identify: the message of the peer is malformed')
  })
})

describe('a message that is cut', () => {
  const long: fc.Arbitrary<IdentifyMessage> = fc.record({
    publicKey: fc.uint8Array({ minLength: 36, maxLength: 36 }),
    agentVersion: text,
    signedPeerRecord: fc.uint8Array({ maxLength: 3000 }),
    listenAddrs: fc.array(fc.uint8Array({ minLength: 1, maxLength: 60 }), { maxLength: 200 }),
    protocols: fc.array(fc.string({ minLength: 1, maxLength: 300 }), { maxLength: 500 })
  })

  it('comes out as it went in, in messages that every peer reads: the first of 4096 bytes, then of 8192', () => {
    fc.assert(fc.property(long, (given) => {
      const { messages, leftOut } = splitMessage(given)
      const joined = joinMessages(messages.map((part) => decodeIdentify(part)))

      expect(messages[0]!.byteLength).toBeLessThanOrEqual(4096)
      expect(messages.every(({ byteLength }) => byteLength <= 8192)).toBe(true)
      expect(messages.length).toBeLessThanOrEqual(10)
      if (leftOut === 0) {
        expect(plain(joined)).toEqual(plain({ ...given, protocols: [...new Set(given.protocols)] }))
      }
      expect(joined.publicKey).toEqual(given.publicKey)
    }), { numRuns: 60 })
  })

  it('leaves out what ten messages do not hold, and says how much', () => {
    const protocols = Array.from({ length: 2000 }, (_, at) => `/a-name-of-fifty-bytes-that-goes-on-for-a-while/${at}`)
    const { messages, leftOut } = splitMessage({ publicKey: new Uint8Array(36), listenAddrs: [], protocols })
    const joined = joinMessages(messages.map((part) => decodeIdentify(part)))

    expect(messages).toHaveLength(10)
    expect(joined.protocols.length + leftOut).toBe(2000)
    expect(joined.protocols).toEqual(protocols.slice(0, joined.protocols.length))
    expect(leftOut).toBeGreaterThan(0)
  })

  it('leaves out a part that no message holds, and nothing else', () => {
    const { messages, leftOut } = splitMessage({ listenAddrs: [], protocols: ['/a', `/${'x'.repeat(9000)}`, '/b'] })
    expect([messages.map((part) => decodeIdentify(part).protocols), leftOut]).toEqual([[['/a', '/b']], 1])
  })
})
