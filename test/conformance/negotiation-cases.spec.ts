/** The cases of kind N in CASES.md that concern the machines, with the inputs given there and both roles where it says so. */

import { describe, expect, it } from 'vitest'
import { DEFAULT_LIMITS, DialerNegotiation, ListenerNegotiation } from '../../src/negotiation/index.ts'
import { LocalProtocols } from '../../src/protocols/index.ts'
import { LazyStream, LazyStreamError } from '../support/lazy-stream.ts'
import { listing } from '../support/listing.ts'
import { hex, outcomeText, run, runInputs, wire } from '../support/wire.ts'
import type { Input, Run } from '../support/wire.ts'

const listen = (names: readonly string[], script: string): Run => run(new ListenerNegotiation(listing(...names)), script)
const dial = (names: readonly string[], script: string): Run => run(new DialerNegotiation(names), script)

const lazy = (...names: string[]): DialerNegotiation => new DialerNegotiation(names, DEFAULT_LIMITS, { lazy: true })

/** `[bytes sent, outcome]`, as the cases put it. */
const seen = ({ out, outcome }: Run): [string, string] => [out, outcomeText(outcome)]

/** Each cut in two, and single bytes. */
function cuts (text: string): Input[][] {
  const bytes = wire(text)
  const inner = Array.from({ length: bytes.length - 1 }, (_, index) => [bytes.slice(0, index + 1), bytes.slice(index + 1)])
  return [...inner, Array.from(bytes, byte => Uint8Array.of(byte))]
}

describe('negotiation cases', () => {
  it('N01: a message may be split over reads at any place', () => {
    expect(cuts('HDR E')).toHaveLength(33)
    for (const chunks of cuts('HDR E')) {
      expect(seen(runInputs(new ListenerNegotiation(listing('/echo/1.0.0')), chunks))).toEqual([hex('HDR E'), 'OK(/echo/1.0.0, rest=)'])
    }
    for (const chunks of cuts('HDR A')) {
      expect(seen(runInputs(new DialerNegotiation(['/a']), chunks))).toEqual([hex('HDR A'), 'OK(/a, rest=)'])
    }
  })

  it('N04: an empty chunk means nothing', () => {
    expect(seen(listen(['/a'], '13 | (empty) | 2f6d756c746973747265616d2f312e302e300a | (empty) | A'))).toEqual([hex('HDR A'), 'OK(/a, rest=)'])
  })

  it('N04: the end inside a frame is an error at once', () => {
    expect(seen(listen(['/a'], '132f6d756c746973 | FIN'))).toEqual(['', 'EOF'])
    expect(seen(listen(['/a'], 'HDR 80 | FIN'))).toEqual([hex('HDR'), 'EOF'])
  })

  it('N05: a length prefix may have two bytes', () => {
    for (const [count, prefix] of [[125, '7f'], [126, '8001']] as const) {
      const name = `/${'x'.repeat(count)}`
      const frame = `${prefix} 2f ${'78'.repeat(count)} 0a`
      expect(seen(listen([name], `HDR ${frame}`))).toEqual([hex(`HDR ${frame}`), `OK(${name}, rest=)`])
      expect(seen(dial([name], `HDR ${frame}`))).toEqual([hex(`HDR ${frame}`), `OK(${name}, rest=)`])
    }
    expect(outcomeText(listen([`/${'x'.repeat(126)}`], `HDR 80 | 01 2f ${'78'.repeat(126)} 0a`).outcome)).toMatch(/^OK/)
  })

  it('N06, D1: a frame at the limit is accepted, one above it refused on the prefix alone', () => {
    const name = `/${'x'.repeat(1022)}`
    const frame = `8008 2f ${'78'.repeat(1022)} 0a`
    expect(seen(listen([name], `HDR ${frame}`))).toEqual([hex(`HDR ${frame}`), `OK(${name}, rest=)`])
    expect(seen(listen(['/a'], 'HDR 8108'))).toEqual([hex('HDR'), 'TOO_LONG'])
    expect(seen(listen(['/a'], 'HDR 8080'))).toEqual([hex('HDR'), 'TOO_LONG'])
    expect(seen(listen(['/a'], 'HDR 808001'))).toEqual([hex('HDR'), 'TOO_LONG'])
  })

  it('D1: the limit is an option, up to what two bytes count to', () => {
    const limits = { ...DEFAULT_LIMITS, maxFrameLength: 16_383 }
    const name = `/${'x'.repeat(16_381)}`
    const request = new DialerNegotiation([name], limits).takeOutput() ?? new Uint8Array(0)
    expect(outcomeText(runInputs(new ListenerNegotiation(listing(name), limits), [request]).outcome)).toMatch(/^OK/)
  })

  it('N10: a message without its newline is malformed', () => {
    expect(seen(listen(['/a'], '122f6d756c746973747265616d2f312e302e30'))).toEqual(['', 'INVALID'])
    expect(seen(listen(['/a'], 'HDR 022f61'))).toEqual([hex('HDR'), 'INVALID'])
    expect(seen(dial(['/a'], 'HDR 022f61'))).toEqual([hex('HDR A'), 'INVALID'])
  })

  it('N10: every frame that is sent ends in a newline', () => {
    const { writes } = listen(['/a'], 'HDR | B | LS | A')
    expect(writes.map(write => write.slice(-2))).toEqual(['0a', '0a', '0a', '0a'])
    expect(dial(['/a', '/b'], 'HDR NA').writes.map(write => write.slice(-2))).toEqual(['0a', '0a'])
  })

  it('N13, D2: the first answer must be the header', () => {
    expect(seen(dial(['/a'], 'A'))).toEqual([hex('HDR A'), 'INVALID'])
    expect(seen(dial(['/a', '/b'], 'NA'))).toEqual([hex('HDR A'), 'INVALID'])
  })

  it('N13, D2: the first answer must be the header, of a lazy stream too', () => {
    const stream = new LazyStream(lazy('/a'))
    stream.write(wire('ping'))
    stream.feed(wire('A'))
    expect(() => stream.read()).toThrow(LazyStreamError)
    expect(stream.sent).toEqual([hex('HDR A ping'), 'RESET'])
  })

  it('N15: the header goes out once and is awaited once', () => {
    const { writes, outcome } = dial(['/a', '/b'], 'HDR NA | B')
    expect(writes).toEqual([hex('HDR A'), hex('B')])
    expect(outcomeText(outcome)).toBe('OK(/b, rest=)')
  })

  it('N15: several names run as V1 when V1Lazy is asked for: the same bytes, and nothing of the application before OK', () => {
    const negotiation = lazy('/a', '/b')
    expect(negotiation.write(wire('data'))).toBeUndefined()
    expect(run(negotiation, 'HDR NA').writes).toEqual([hex('HDR A'), hex('B')])
    expect(negotiation.write(wire('data'))).toBeUndefined()
    expect(outcomeText(run(negotiation, 'B').outcome)).toBe('OK(/b, rest=)')
    expect(negotiation.write(wire('data'))).toEqual(wire('data'))
  })

  it('N17: the end between messages is a polite refusal, a reset is not', () => {
    expect(seen(listen(['/a'], 'HDR B | FIN'))).toEqual([hex('HDR NA'), 'FAILED'])
    expect(outcomeText(dial(['/a'], 'HDR | FIN').outcome)).toBe('FAILED')
    expect(outcomeText(dial(['/a'], 'FIN').outcome)).toBe('FAILED')
    expect(outcomeText(dial(['/a'], 'HDR | RESET').outcome)).toBe('RESET')
    expect(outcomeText(listen(['/a'], 'HDR B | RESET').outcome)).toBe('RESET')
  })

  it('N19: a listener cannot tell early data from proposals', () => {
    expect(seen(listen(['/b'], 'HDR A 032f620a64617461'))).toEqual([hex('HDR NA B'), 'OK(/b, rest=64617461)'])
  })

  it('N19: a lazy dialer fails at the refusal and never uses the stream again', () => {
    const stream = new LazyStream(lazy('/a'))
    stream.write(wire('032f620a64617461'))
    expect(stream.sent).toEqual([hex('HDR A 032f620a64617461')])
    stream.feed(wire('HDR NA B'))
    stream.feed(wire('B data'), 'FIN')
    for (let times = 0; times < 2; times++) {
      expect(() => stream.read()).toThrow(expect.objectContaining({ outcome: { type: 'failed', detail: 'refused' } }))
      expect(() => { stream.write(wire('data')) }).toThrow(LazyStreamError)
    }
    expect(() => { stream.closeWrite() }).not.toThrow()
    expect(stream.sent).toEqual([hex('HDR A 032f620a64617461'), 'RESET'])
  })

  it('N20: lazy: header, confirmation and data may come in any number of chunks', () => {
    for (const chunks of [['HDR', 'A', '706f6e67'].map(wire), ...cuts('HDR A 706f6e67')]) {
      const stream = new LazyStream(lazy('/a'))
      stream.write(wire('ping'))
      expect(stream.sent).toEqual([hex('HDR A 70696e67')])
      expect(stream.read()).toBe('nothing')
      stream.feed(...chunks, 'FIN')
      let received = ''
      for (let next = stream.read(); next !== 'end'; next = stream.read()) {
        received += next
      }
      expect(received).toBe(hex('pong'))
    }
  })

  it('N22, D8: lazy: closing does not wait for the confirmation, and the read side still checks it', () => {
    const stream = new LazyStream(lazy('/a'))
    stream.write(wire('ping'))
    stream.closeWrite()
    expect(stream.sent).toEqual([hex('HDR A 70696e67'), 'FIN'])
    stream.feed(wire('HDR A 706f6e67'), 'FIN')
    expect([stream.read(), stream.read(), stream.read()]).toEqual([hex('pong'), 'end', 'end'])
  })

  it('N22: lazy: closing without a write sends the proposal', () => {
    const stream = new LazyStream(lazy('/a'))
    stream.closeWrite()
    expect(stream.sent).toEqual([hex('HDR A'), 'FIN'])
  })

  it('N22: lazy: a refusal after closing fails the reader', () => {
    const stream = new LazyStream(lazy('/a'))
    stream.closeWrite()
    stream.feed(wire('HDR NA'))
    expect(() => stream.read()).toThrow(expect.objectContaining({ outcome: { type: 'failed', detail: 'refused' } }))
  })

  it('N24: the peer may speak first', () => {
    const negotiation = new DialerNegotiation(['/a'])
    negotiation.handleData(wire('HDR'))
    expect(seen(run(negotiation, 'A'))).toEqual([hex('HDR A'), 'OK(/a, rest=)'])
  })

  it('N25: what came with the proposal is left over in one piece', () => {
    expect(seen(listen(['/a'], 'HDR A 61 62'))).toEqual([hex('HDR A'), 'OK(/a, rest=6162)'])
    expect(seen(listen(['/a'], 'HDR 032f | 610a 61 62'))).toEqual([hex('HDR A'), 'OK(/a, rest=6162)'])
  })

  it('N27: confirmation, data and the end may come together', () => {
    expect(seen(dial(['/a'], 'HDR A 706f6e67 FIN'))).toEqual([hex('HDR A'), 'OK(/a, rest=706f6e67)'])
  })

  it('N29: a name without a slash is refused before any byte is sent', () => {
    expect(() => new DialerNegotiation(['a'])).toThrow(TypeError)
    expect(() => new DialerNegotiation(['/x', 'a'])).toThrow(new TypeError('Cannot use protocol name: it must start with "/", received "a"'))
  })

  it('N29: a bad name in a listener\'s list is skipped', () => {
    expect(seen(listen(['bad', '/a'], 'HDR A'))).toEqual([hex('HDR A'), 'OK(/a, rest=)'])
    expect(seen(listen(['bad', '/a'], 'HDR 04 626164 0a'))).toEqual([hex('HDR NA'), 'PENDING'])
  })

  it('N30: the first ls is answered with the list, a further one refused, and the negotiation goes on', () => {
    expect(seen(listen(['/a', '/echo/1.0.0'], 'HDR LS LS A')))
      .toEqual([hex('HDR 12032f610a0c2f6563686f2f312e302e300a0a NA A'), 'OK(/a, rest=)'])
    expect(seen(listen([], 'HDR LS'))).toEqual([hex('HDR 010a'), 'PENDING'])
  })

  it('N29, N30: a bad name in a listener\'s list is not listed', () => {
    expect(seen(listen(['bad', '/a'], 'HDR LS'))).toEqual([hex('HDR 05032f610a0a'), 'PENDING'])
  })

  it('N32: the caller\'s list is not changed, and changing it changes nothing', () => {
    const frozen = Object.freeze(['/a', '/b'])
    for (let times = 0; times < 2; times++) {
      expect(outcomeText(dial(frozen, 'HDR NA | B').outcome)).toBe('OK(/b, rest=)')
    }
    expect(frozen).toEqual(['/a', '/b'])
    const growing = ['/a']
    const negotiation = new DialerNegotiation(growing)
    growing.push('/b')
    expect(seen(run(negotiation, 'HDR NA'))).toEqual([hex('HDR A'), 'FAILED'])
  })

  it('N36: a refusal of the last name ends the negotiation without the peer\'s help', () => {
    expect(seen(dial(['/a'], 'HDR NA'))).toEqual([hex('HDR A'), 'FAILED'])
  })
})

describe('decisions', () => {
  it('D3: a second header is malformed', () => {
    expect(seen(listen(['/a'], 'HDR HDR'))).toEqual([hex('HDR'), 'INVALID'])
  })

  it('D4: a proposal without a slash is refused', () => {
    expect(seen(listen(['/a'], 'HDR 02610a A'))).toEqual([hex('HDR NA A'), 'OK(/a, rest=)'])
  })

  it('D5: an answer that was not asked for is malformed', () => {
    expect(seen(dial(['/a', '/b'], 'HDR B'))).toEqual([hex('HDR A'), 'INVALID'])
  })

  it('D6: a length prefix must have its shortest form', () => {
    expect(seen(listen(['/a'], '9300 2f6d756c746973747265616d2f312e302e300a'))).toEqual(['', 'INVALID'])
    expect(seen(listen(['/a'], 'HDR 8300'))).toEqual([hex('HDR'), 'INVALID'])
  })

  it('D7: white space before the newline is part of the name', () => {
    expect(seen(listen(['/a'], 'HDR 042f61200a'))).toEqual([hex('HDR NA'), 'PENDING'])
    expect(seen(listen(['/a '], 'HDR 042f61200a'))).toEqual([hex('HDR 042f61200a'), 'OK(/a , rest=)'])
    expect(seen(dial(['/a'], 'HDR 042f61200a'))).toEqual([hex('HDR A'), 'INVALID'])
  })

  it('D9: the list of a listener is the one that it began with', () => {
    const protocols = new LocalProtocols({ maxProtocols: 10, maxNameBytes: 1023 })
    protocols.update(['/a'], [])
    const before = new ListenerNegotiation(protocols.snapshot())
    protocols.update(['/b'], [])
    expect(seen(run(before, 'HDR B A'))).toEqual([hex('HDR NA A'), 'OK(/a, rest=)'])
    expect(seen(run(new ListenerNegotiation(protocols.snapshot()), 'HDR A B'))).toEqual([hex('HDR NA B'), 'OK(/b, rest=)'])
  })

  it('D10: malformed input right after a refusal is early data', () => {
    for (const early of ['00', '8080', '022f61', 'HDR', '80 | FIN']) {
      expect(seen(listen(['/a'], `HDR B ${early}`))).toEqual([hex('HDR NA'), 'FAILED'])
    }
  })
})
