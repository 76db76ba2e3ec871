import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { DEFAULT_LIMITS, DialerNegotiation, ListenerNegotiation } from '../../src/negotiation/index.ts'
import { listing } from '../support/listing.ts'
import { hex, outcomeText, run, toHex, wire } from '../support/wire.ts'
import type { Run } from '../support/wire.ts'

function dial (names: readonly string[], script: string): Run {
  return run(new DialerNegotiation(names), script)
}

describe('DialerNegotiation', () => {
  it('S2.18: refuses an empty list', () => {
    const empty = { name: 'TypeError', message: 'Cannot negotiate: there must be at least one protocol, received none' }
    expect(() => new DialerNegotiation([])).toThrow(expect.objectContaining(empty))
  })

  it('S2.18, S3.1: refuses a list with an invalid name, at any place', () => {
    for (const name of ['a', '', '/a\n', '/multistream/1.0.0', '/\ud800']) {
      expect(() => new DialerNegotiation(['/ok', name])).toThrow(TypeError)
    }
  })

  it('S3.1: refuses a name that does not fit a frame, known from elsewhere or not', () => {
    const longest = `/${'x'.repeat(1022)}`
    const limits = { ...DEFAULT_LIMITS, maxFrameLength: 16_383 }
    expect(new DialerNegotiation([`${longest}x`], limits).pollOutcome()).toBe(PENDING)
    expect(() => new DialerNegotiation([`${longest}x`])).toThrow(RangeError)
    expect(new DialerNegotiation([longest]).pollOutcome()).toBe(PENDING)
    expect(() => new DialerNegotiation([`/${'x'.repeat(100)}`], { ...limits, maxFrameLength: 101 })).toThrow(RangeError)
    expect(new DialerNegotiation([`/${'x'.repeat(99)}`], { ...limits, maxFrameLength: 101 }).pollOutcome()).toBe(PENDING)
  })

  it('S2.18: tells all its names, and those that it has proposed', () => {
    const dialer = new DialerNegotiation(['/a', '/b'])
    expect([dialer.protocols, dialer.tried]).toEqual([['/a', '/b'], ['/a']])
    run(dialer, 'HDR NA')
    expect([dialer.protocols, dialer.tried]).toEqual([['/a', '/b'], ['/a', '/b']])
  })

  it('S2.18: refuses more names than rounds', () => {
    const limits = { ...DEFAULT_LIMITS, maxRounds: 2 }
    const tooMany = { name: 'RangeError', message: 'Cannot negotiate: there must be at most 2 protocols, received 3' }
    expect(() => new DialerNegotiation(['/a', '/b', '/c'], limits)).toThrow(expect.objectContaining(tooMany))
    expect(new DialerNegotiation(['/a', '/b'], limits).pollOutcome()).toBe(PENDING)
  })

  it('refuses limits out of range', () => {
    expect(() => new DialerNegotiation(['/a'], { maxFrameLength: 19, maxRounds: 1 })).toThrow(RangeError)
  })

  it('S2.19: sends the header and the first proposal in one piece, the same bytes for every stream', () => {
    expect(dial(['/a', '/b'], '(empty)').writes).toEqual([hex('HDR A')])
    expect(new DialerNegotiation(['/a']).takeOutput()).toBe(new DialerNegotiation(['/a']).takeOutput())
  })

  it('S2.19: accepts answers that come before its own bytes were taken', () => {
    const negotiation = new DialerNegotiation(['/a', '/b', '/c'])
    negotiation.handleData(wire('HDR NA NA'))
    expect(toHex(negotiation.takeOutput() ?? new Uint8Array(0))).toBe(hex('HDR A B C'))
    expect(negotiation.takeOutput()).toBeUndefined()
  })

  it('gives all proposals that are due in one piece', () => {
    const negotiation = new DialerNegotiation(['/a', '/b', '/c'])
    negotiation.takeOutput()
    negotiation.handleData(wire('HDR NA NA'))
    expect(toHex(negotiation.takeOutput() ?? new Uint8Array(0))).toBe(hex('B C'))
  })

  it('S2.20: takes nothing but the header first', () => {
    for (const first of ['A', 'NA', 'LS', '132f6d756c746973747265616d2f322e302e300a']) {
      expect(dial(['/a', '/b'], first)).toMatchObject({ out: hex('HDR A'), outcome: { type: 'invalid' } })
    }
  })

  it('S2.21: proposes the next name after a refusal, and fails after the last', () => {
    expect(dial(['/a', '/b'], 'HDR NA | B')).toMatchObject({ writes: [hex('HDR A'), hex('B')], outcome: { type: 'ok', protocol: '/b' } })
    expect(dial(['/a', '/b'], 'HDR NA NA').outcome).toEqual({ type: 'failed', detail: 'refused' })
    expect(dial(['/a'], 'HDR NA').outcome).toEqual({ type: 'failed', detail: 'refused' })
  })

  it('S2.21, D5: takes no other answer, not even a name that it proposed before', () => {
    for (const answer of ['B', 'HDR', 'LS', '01 0a', '04 2f61 20 0a', '05032f610a0a']) {
      expect(dial(['/a', '/c'], `HDR ${answer}`)).toMatchObject({ out: hex('HDR A'), outcome: { type: 'invalid' } })
    }
    expect(dial(['/a', '/b'], 'HDR NA | A')).toMatchObject({ out: hex('HDR A B'), outcome: { type: 'invalid' } })
  })

  it('S2.21: takes no second header, not even with the right name behind it', () => {
    for (const answer of ['HDR HDR A', 'HDR | HDR A', 'HDR NA | HDR B']) {
      expect(dial(['/a', '/b'], answer).outcome).toMatchObject({ type: 'invalid' })
    }
  })

  it('passes on what is wrong with a frame', () => {
    expect(dial(['/a'], '00').outcome).toMatchObject({ type: 'invalid' })
    expect(dial(['/a'], 'HDR 8108').outcome).toMatchObject({ type: 'too-long', detail: 'a message longer than 1024 bytes' })
    expect(dial(['/a', '/b'], 'HDR NA 00').outcome).toMatchObject({ type: 'invalid' })
  })

  it('S2.5: tells an end between frames from an end inside one', () => {
    for (const between of ['FIN', 'HDR | FIN', 'HDR NA | FIN']) {
      expect(dial(['/a', '/b'], between).outcome).toEqual({ type: 'failed', detail: 'fin' })
    }
    for (const inside of ['13 | FIN', 'HDR 80 | FIN', 'HDR NA 03 | FIN']) {
      expect(dial(['/a', '/b'], inside).outcome).toEqual({ type: 'eof' })
    }
  })

  it('S2.6: processes what came before a reset first', () => {
    expect(outcomeText(dial(['/a'], 'HDR A pong | RESET').outcome)).toBe('OK(/a, rest=706f6e67)')
    expect(dial(['/a', '/b'], 'HDR NA | RESET').outcome).toEqual({ type: 'reset' })
  })

  it('S2.8: ignores all input after an outcome and sends nothing more', () => {
    for (const [end, type] of [['HDR A', 'ok'], ['A', 'invalid'], ['8080', 'too-long'], ['FIN', 'failed'], ['RESET', 'reset']]) {
      const negotiation = new DialerNegotiation(['/a', '/b'])
      run(negotiation, end ?? '')
      const outcome = negotiation.pollOutcome()
      expect(outcome).toMatchObject({ type })
      expect(run(negotiation, 'HDR NA | A | 00 | FIN | RESET').out).toBe('')
      expect(negotiation.pollOutcome()).toBe(outcome)
    }
  })

  it('S2.7: is reset when its bytes cannot be written, and gives out no more', () => {
    const negotiation = new DialerNegotiation(['/a', '/b'])
    negotiation.handleWriteFailed()
    expect(run(negotiation, 'HDR NA')).toEqual({ out: '', writes: [], outcome: { type: 'reset' } })
  })

  it('stays OK when the peer agreed before the write failed', () => {
    const negotiation = new DialerNegotiation(['/a'])
    negotiation.handleData(wire('HDR A'))
    negotiation.handleWriteFailed()
    expect(negotiation.takeOutput()).toBeUndefined()
    expect(negotiation.pollOutcome()).toMatchObject({ type: 'ok' })
  })

  it('tells its phase and the names that it tried', () => {
    const negotiation = new DialerNegotiation(['/a', '/b'])
    expect([negotiation.phase, negotiation.tried]).toEqual(['header', ['/a']])
    negotiation.handleData(wire('HDR'))
    expect([negotiation.phase, negotiation.tried]).toEqual(['confirmation', ['/a']])
    negotiation.handleData(wire('NA'))
    negotiation.handleFin()
    expect([negotiation.phase, negotiation.tried]).toEqual(['confirmation', ['/a', '/b']])
    const agreed = new DialerNegotiation(['/a', '/b'])
    agreed.handleData(wire('HDR A'))
    expect([agreed.phase, agreed.tried]).toEqual(['confirmation', ['/a']])
  })

  it('S2.37: shows text of the peer escaped, and its own name beside it', () => {
    expect(dial(['/a'], 'HDR 04 2f1b2f 0a').outcome).toEqual({ type: 'invalid', detail: 'expected "/a" or "na", received "/\\x1b/"' })
    expect(dial(['/a'], '03 2f1b 0a').outcome).toEqual({ type: 'invalid', detail: 'expected the multistream header, received "/\\x1b"' })
  })

  it('S2.34: reads at most so many frames in a turn, and goes on in the next', () => {
    const negotiation = new DialerNegotiation(['/a', '/b', '/c'], { ...DEFAULT_LIMITS, maxFramesPerTurn: 2 })
    expect(run(negotiation, 'HDR NA NA C pong').out).toBe(hex('HDR A B'))
    expect([negotiation.wantsTurn, negotiation.pollOutcome()]).toEqual([true, PENDING])
    negotiation.handleTurn()
    expect(run(negotiation, '')).toMatchObject({ out: hex('C'), outcome: { type: 'ok', protocol: '/c', rest: wire('pong') } })
    expect(negotiation.wantsTurn).toBe(false)
  })

  it('S2.34: gives up what it kept, to be fed again', () => {
    for (const negotiation of [
      new DialerNegotiation(['/a', '/b', '/c'], { ...DEFAULT_LIMITS, maxFramesPerTurn: 2 }),
      new ListenerNegotiation(listing('/c'), { ...DEFAULT_LIMITS, maxFramesPerTurn: 2 })
    ]) {
      expect(negotiation.takeKept()).toBeUndefined()
      const chunk = wire('HDR NA NA C data')
      negotiation.handleData(chunk)
      chunk.fill(0)
      const kept = negotiation.takeKept()
      expect(kept).toEqual(wire('NA C data'))
      expect([negotiation.wantsTurn, negotiation.takeKept(), negotiation.pollOutcome()]).toEqual([false, undefined, PENDING])
      negotiation.handleData(kept ?? new Uint8Array(0))
      expect(outcomeText(run(negotiation, 'FIN').outcome)).toBe('OK(/c, rest=64617461)')
    }
  })

  it('S2.34: does not take the quick way when it has more frames than the turn', () => {
    const negotiation = new DialerNegotiation(['/a'], { ...DEFAULT_LIMITS, maxFramesPerTurn: 1 })
    expect(run(negotiation, 'HDR A')).toMatchObject({ out: hex('HDR A'), outcome: undefined })
    negotiation.handleTurn()
    expect(negotiation.pollOutcome()).toMatchObject({ type: 'ok' })
  })
})

describe('DialerNegotiation, V1Lazy', () => {
  const lazily = (...names: string[]): DialerNegotiation => new DialerNegotiation(names, DEFAULT_LIMITS, { lazy: true })

  it('S2.23: tells the name at once and keeps its bytes', () => {
    const negotiation = lazily('/a')
    expect(negotiation.assumed).toBe('/a')
    expect(run(negotiation, '(empty)')).toEqual({ out: '', writes: [], outcome: undefined })
  })

  it('S2.23: sends its bytes and the first of the application in one piece, the later ones as they are', () => {
    const negotiation = lazily('/a')
    expect(negotiation.write(wire('ping'))).toEqual(wire('HDR A ping'))
    const data = wire('data')
    expect(negotiation.write(data)).toBe(data)
    expect(negotiation.takeOutput()).toBeUndefined()
  })

  it('S2.23: sends its bytes alone when it is flushed, once', () => {
    const negotiation = lazily('/a')
    negotiation.flush()
    negotiation.flush()
    expect(run(negotiation, '(empty)').writes).toEqual([hex('HDR A')])
    expect(negotiation.write(wire('ping'))).toEqual(wire('ping'))
  })

  it('S2.23: runs as V1 with several names, or when nobody asked: nothing of the application goes out before the outcome', () => {
    for (const negotiation of [lazily('/a', '/b'), new DialerNegotiation(['/a', '/b']), new DialerNegotiation(['/a', '/b'], DEFAULT_LIMITS, { lazy: false })]) {
      expect(negotiation.assumed).toBeUndefined()
      expect(negotiation.write(wire('ping'))).toBeUndefined()
      negotiation.flush()
      expect(run(negotiation, 'HDR NA').writes).toEqual([hex('HDR A'), hex('B')])
      expect(negotiation.write(wire('ping'))).toBeUndefined()
      expect(run(negotiation, 'B').outcome).toMatchObject({ type: 'ok' })
      expect(negotiation.write(wire('ping'))).toEqual(wire('ping'))
    }
  })

  it('S2.25: checks the answers as V1 does, before or after its own bytes went out', () => {
    for (const isEarly of [true, false]) {
      const negotiation = lazily('/a')
      if (!isEarly) {
        negotiation.write(wire('ping'))
      }
      expect(run(negotiation, 'HDR | A pong')).toMatchObject({ out: '', outcome: { type: 'ok', rest: wire('pong') } })
      expect(negotiation.write(wire('data'))).toEqual(wire(isEarly ? 'HDR A data' : 'data'))
    }
  })

  it('S2.26: sends nothing any more once it failed, not even what it had kept', () => {
    for (const script of ['HDR NA', 'A', '00', '8080', 'HDR | FIN', '13 | FIN', 'RESET']) {
      for (const isEarly of [true, false]) {
        const negotiation = lazily('/a')
        if (!isEarly) {
          negotiation.write(wire('ping'))
        }
        run(negotiation, script)
        negotiation.flush()
        expect(negotiation.takeOutput()).toBeUndefined()
        expect(negotiation.write(wire('data'))).toBeUndefined()
      }
    }
  })

  it('S2.7: is reset when its bytes cannot be written, and sends no more', () => {
    const negotiation = lazily('/a')
    negotiation.write(wire('ping'))
    negotiation.handleWriteFailed()
    expect(negotiation.write(wire('data'))).toBeUndefined()
    expect(negotiation.pollOutcome()).toEqual({ type: 'reset' })
  })
})
