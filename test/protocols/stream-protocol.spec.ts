import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { streamProtocol } from '../../src/protocols/index.ts'
import { brokenProtocolRule } from '../../src/protocols/stream-protocol.ts'
import { isName } from '../support/naive-protocols.ts'

const broken: ReadonlyArray<[what: string, name: string, message: string]> = [
  ['an empty name', '', 'Cannot use protocol name: it must start with "/", received ""'],
  ['a name without a leading slash (N29)', 'a', 'Cannot use protocol name: it must start with "/", received "a"'],
  ['a name with a newline', '/a\nb', 'Cannot use protocol name: it must not contain a newline, received "/a\\nb"'],
  ['half a surrogate pair', '/\ud83d', 'Cannot use protocol name: it must be well-formed Unicode, received "/\\ud83d"'],
  ['a surrogate pair the wrong way round', '/\ude00\ud83d', 'Cannot use protocol name: it must be well-formed Unicode, received "/\\ude00\\ud83d"'],
  ['the header of negotiation', '/multistream/1.0.0', 'Cannot use protocol name: it must not be "/multistream/1.0.0", received "/multistream/1.0.0"']
]

describe('streamProtocol (S3.1)', () => {
  it.each(['/', '/a', '/chat/1.0.0', '/ white space ', '/multistream/1.0.1', '/é/😀', '/a\r\t\0'])('accepts %j as it is', name => {
    expect(streamProtocol(name)).toBe(name)
    expect(brokenProtocolRule(name, 16_382)).toBeUndefined()
  })

  it.each(broken)('refuses %s with a TypeError that shows name and rule', (_, name, message) => {
    expect(() => streamProtocol(name)).toThrow(new TypeError(message))
    expect(message).toContain(brokenProtocolRule(name, 16_382))
  })

  it('refuses what is no string with a TypeError, and tells the type', () => {
    // @ts-expect-error -- callers without types exist
    expect(() => streamProtocol(7)).toThrow(new TypeError('Cannot use protocol name: it must be a string, received number'))
    for (const name of [undefined, null, 7, {}, Object.create(null), Symbol('/a'), ['/a']]) {
      expect(brokenProtocolRule(name, 16_382)).toBe('must be a string')
    }
  })

  it('takes 16 382 bytes, and refuses more with a RangeError', () => {
    const longest = `/${'a'.repeat(16_381)}`
    expect(streamProtocol(longest)).toBe(longest)
    expect(() => streamProtocol(`${longest}a`)).toThrow(new RangeError(
      `Cannot use protocol name: it must have at most 16382 bytes, received "/${'a'.repeat(79)}...(+16303 bytes)"`
    ))
  })

  it('counts bytes of UTF-8, not characters, against the limit it is given', () => {
    expect(streamProtocol('/é€😀', 10)).toBe('/é€😀')
    expect(() => streamProtocol('/é€😀', 9)).toThrow(RangeError)
    expect(brokenProtocolRule('/é€😀', 9)).toBe('must have at most 9 bytes')
  })

  it('agrees with an encoder on every text', () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: fc.constantFrom('/', '\n', 'a', 'é', '\ud83d', '\ude00') }))
    fc.assert(fc.property(text.map(rest => `/${rest}`), fc.nat(12), (name, maxBytes) => {
      expect(brokenProtocolRule(name, maxBytes) === undefined).toBe(isName(name, maxBytes))
    }))
  })
})
