import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { DEFAULT_LIMITS, ListenerNegotiation } from '../../src/negotiation/index.ts'
import { listing } from '../support/listing.ts'
import { hex, outcomeText, run, toHex, wire } from '../support/wire.ts'
import type { Run } from '../support/wire.ts'

function listen (names: readonly string[], script: string, maxRounds = 64): Run {
  return run(new ListenerNegotiation(listing(...names), { ...DEFAULT_LIMITS, maxRounds }), script)
}

describe('ListenerNegotiation', () => {
  it('refuses limits out of range', () => {
    for (const maxFrameLength of [19, 16_384, 1024.5, NaN, Infinity]) {
      expect(() => new ListenerNegotiation(listing(), { maxFrameLength, maxRounds: 1 })).toThrow(RangeError)
      expect(() => new ListenerNegotiation(listing(), { maxFrameLength, maxRounds: 1 })).toThrow(/maxFrameLength must be .* received/)
    }
    for (const maxRounds of [0, -1, 1.5, NaN, Infinity]) {
      expect(() => new ListenerNegotiation(listing(), { maxFrameLength: 20, maxRounds })).toThrow(/maxRounds must be .* received/)
    }
    for (const maxFramesPerTurn of [0, -1, NaN]) {
      expect(() => new ListenerNegotiation(listing(), { ...DEFAULT_LIMITS, maxFramesPerTurn })).toThrow(/maxFramesPerTurn must be .* received/)
    }
    expect(new ListenerNegotiation(listing(), { maxFrameLength: 20, maxRounds: 1, maxFramesPerTurn: 1 }).pollOutcome()).toBe(PENDING)
  })

  it('S2.9: answers nothing to anything but the header', () => {
    for (const first of ['A', 'NA', 'LS', '132f6d756c746973747265616d2f322e302e300a']) {
      expect(listen(['/a'], first)).toMatchObject({ out: '', outcome: { type: 'invalid' } })
    }
  })

  it('S2.10: sends its header at once and does not wait for a proposal', () => {
    expect(listen(['/a'], 'HDR')).toEqual({ out: hex('HDR'), writes: [hex('HDR')], outcome: undefined })
  })

  it('S2.10: sends its header and an answer of the same turn in one piece', () => {
    expect(listen(['/a'], 'HDR A').writes).toEqual([hex('HDR A')])
    expect(listen(['/a'], 'HDR B').writes).toEqual([hex('HDR NA')])
    expect(listen(['/a'], 'HDR B C A').writes).toEqual([hex('HDR NA NA A')])
    expect(listen(['/a'], 'HDR | B C | A').writes).toEqual([hex('HDR'), hex('NA NA'), hex('A')])
  })

  it('S2.12: refuses every name that is not listed, and goes on', () => {
    const refused = ['B', '01 0a', 'NA', '02 61 0a', '04 2f61 20 0a', '03 2fff 0a', '06 efbbbf2f61 0a']
    expect(listen(['/a'], `HDR ${refused.join(' ')} A`)).toMatchObject({
      out: hex(`HDR ${refused.map(() => 'NA').join(' ')} A`),
      outcome: { type: 'ok', protocol: '/a' }
    })
  })

  it('S2.3: takes names as bytes: a broken one is not its replacement character', () => {
    expect(listen(['/\ufffd'], 'HDR 03 2fff 0a').out).toBe(hex('HDR NA'))
    expect(outcomeText(listen(['/\ufffd'], 'HDR 05 2fefbfbd 0a').outcome)).toBe('OK(/\ufffd, rest=)')
  })

  it('S2.11: gives back what the look-up gave, and looks up once for a proposal', () => {
    const entry = { name: '/a', frame: undefined, owner: 'me' }
    const asked: string[] = []
    const negotiation = new ListenerNegotiation({ find: (name) => { asked.push(name); return name === '/a' ? entry : undefined } })
    const { outcome } = run(negotiation, 'HDR B A')
    expect(outcome).toEqual({ type: 'ok', protocol: '/a', match: entry, rest: undefined })
    expect(asked).toEqual(['/b', '/a'])
  })

  it('knows the name that it found last by its bytes, without a look-up', () => {
    const asked: string[] = []
    const listed = listing('/a', '/b')
    const names = { latest: undefined, find: (name: string) => { asked.push(name); return listed.find(name) } }
    const agreed = (script: string) => run(new ListenerNegotiation(names), script).outcome
    expect(['HDR A', 'HDR A', 'HDR C A', 'HDR B', 'HDR B', 'HDR A'].map(script => agreed(script))).toMatchObject(
      ['/a', '/a', '/a', '/b', '/b', '/a'].map(protocol => ({ type: 'ok', protocol, match: listed.find(protocol) })))
    expect(asked).toEqual(['/a', '/c', '/b', '/a'])
  })

  it('takes entries and lists of names that are frozen, and encodes the answer each time (S9.2)', () => {
    const entry = Object.freeze({ name: '/a', frame: undefined })
    const asked: string[] = []
    const index = Object.freeze({ latest: undefined, find: (name: string) => { asked.push(name); return name === '/a' ? entry : undefined } })
    for (let left = 2; left > 0; left--) {
      const { outcome, out } = run(new ListenerNegotiation(index), 'HDR A')
      expect(outcome).toMatchObject({ type: 'ok', protocol: '/a', match: entry })
      expect(out).toBe(hex('HDR A'))
    }
    expect(asked).toEqual(['/a', '/a'])
  })

  it('writes nothing into a list of names that has no place for it, and asks it each time', () => {
    const names = new Map([['/a', { name: '/a', frame: undefined }]])
    const index = Object.freeze({ find: (name: string) => names.get(name) })
    expect(outcomeText(run(new ListenerNegotiation(index), 'HDR A').outcome)).toBe('OK(/a, rest=)')
    names.delete('/a')
    expect(run(new ListenerNegotiation(index), 'HDR A').out).toBe(hex('HDR NA'))
  })

  it('does not keep what the fallback gave: the list may not have it for the next stream', () => {
    const names = listing('/a')
    const fallback = (name: string) => name === '/b' ? { name, isHost: true, frame: undefined } : undefined
    expect(run(new ListenerNegotiation(names, DEFAULT_LIMITS, fallback), 'HDR B').outcome).toMatchObject({ protocol: '/b' })
    expect(run(new ListenerNegotiation(names), 'HDR B A')).toMatchObject({ out: hex('HDR NA A') })
  })

  it('asks the fallback for a name that the list lacks, and for no other', () => {
    const asked: string[] = []
    const fallback = (name: string) => { asked.push(name); return name === '/b' ? { name, frame: undefined, isHost: true, isFallback: true } : undefined }
    expect(run(new ListenerNegotiation(listing('/a'), DEFAULT_LIMITS, fallback), 'HDR C B').outcome).toMatchObject({ protocol: '/b', match: { isFallback: true } })
    expect(run(new ListenerNegotiation(listing('/a'), DEFAULT_LIMITS, fallback), 'HDR A').outcome).toMatchObject({ protocol: '/a' })
    expect(asked).toEqual(['/c', '/b'])
  })

  it('encodes the answer of a name once for all streams', () => {
    const names = listing('/a')
    const first = new ListenerNegotiation(names)
    first.handleData(wire('HDR A'))
    const second = new ListenerNegotiation(names)
    second.handleData(wire('HDR A'))
    expect(first.takeOutput()).toBe(second.takeOutput())
  })

  it('S2.14: answers the first ls with the names in order, every other one with a refusal, and goes on', () => {
    expect(listen(['/b', '/a'], 'HDR LS LS A')).toMatchObject({ writes: [hex('HDR 09 B A 0a NA A')], outcome: { type: 'ok', protocol: '/a' } })
    expect(listen(['/b', '/a'], 'HDR C | LS | C | LS').writes).toEqual([hex('HDR NA'), hex('09 B A 0a'), hex('NA'), hex('NA')])
    expect(listen([], 'HDR LS').out).toBe(hex('HDR 01 0a'))
  })

  it('S2.14: refuses every ls when the option says so, or when nobody knows the names', () => {
    expect(run(new ListenerNegotiation(listing('/a'), { ...DEFAULT_LIMITS, ls: false }), 'HDR LS').out).toBe(hex('HDR NA'))
    expect(run(new ListenerNegotiation({ find: () => undefined }), 'HDR LS').out).toBe(hex('HDR NA'))
  })

  it('S2.14: refuses an ls whose answer would be too long; then it was the first one', () => {
    const names = Array.from({ length: 16 }, (_, index) => `/${index.toString(16)}${'x'.repeat(1020)}`)
    expect(listen(names, 'HDR LS LS').out).toBe(hex('HDR NA NA'))
    expect(listen(names.slice(1), 'HDR LS').out).toHaveLength(2 * (20 + 2 + 15 * (1023 + 2) + 1))
  })

  it('S2.14, S2.15: an answered ls is a round', () => {
    expect(listen(['/a'], 'HDR LS A', 1)).toMatchObject({ out: hex('HDR 05 A 0a'), outcome: { type: 'failed', detail: 'rounds' } })
    expect(listen(['/a'], 'HDR LS HDR', 1)).toMatchObject({ out: hex('HDR 05 A 0a'), outcome: { type: 'invalid' } })
  })

  it('S2.16: what comes after a list is no early data', () => {
    for (const [input, type] of [['00', 'invalid'], ['8080', 'too-long'], ['HDR', 'invalid'], ['03 2f | FIN', 'eof']]) {
      expect(listen(['/a'], `HDR B LS ${input ?? ''}`).outcome).toMatchObject({ type })
      expect(listen(['/a'], `HDR LS LS ${input ?? ''}`).outcome).toEqual({ type: 'failed', detail: 'early-data' })
    }
  })

  it('S2.34: answers at most so many frames in a turn, and goes on in the next', () => {
    const negotiation = new ListenerNegotiation(listing('/a'), { ...DEFAULT_LIMITS, maxFramesPerTurn: 2 })
    expect(run(negotiation, 'HDR B B B A ping').out).toBe(hex('HDR NA'))
    expect([negotiation.wantsTurn, negotiation.pollOutcome()]).toEqual([true, PENDING])
    negotiation.handleTurn()
    expect(negotiation.takeOutput()).toEqual(wire('NA NA'))
    negotiation.handleTurn()
    expect(outcomeText(run(negotiation, 'FIN').outcome)).toBe('OK(/a, rest=70696e67)')
    expect(negotiation.wantsTurn).toBe(false)
    negotiation.handleTurn()
    expect(negotiation.takeOutput()).toBeUndefined()
  })

  it('S2.34: is itself in no hurry at the end of the input, and sends nothing after a reset', () => {
    for (const [end, out, type] of [['FIN', 'HDR NA', 'failed'], ['RESET', 'HDR', 'reset']]) {
      const negotiation = new ListenerNegotiation(listing('/a'), { ...DEFAULT_LIMITS, maxFramesPerTurn: 1 })
      const seen = run(negotiation, `HDR B | ${end ?? ''}`)
      expect(seen).toMatchObject({ out: hex('HDR'), outcome: undefined })
      negotiation.handleTurn()
      expect(`${seen.out}${toHex(negotiation.takeOutput() ?? new Uint8Array(0))}`).toBe(hex(out ?? ''))
      expect(negotiation.pollOutcome()).toMatchObject({ type })
    }
  })

  it('S2.6, S2.34: agrees on what came before a reset, a turn later', () => {
    const negotiation = new ListenerNegotiation(listing('/a'), { ...DEFAULT_LIMITS, maxFramesPerTurn: 1 })
    run(negotiation, 'HDR A | RESET')
    negotiation.handleTurn()
    expect(negotiation.pollOutcome()).toMatchObject({ type: 'ok' })
  })

  it('S2.13: refuses a second header', () => {
    expect(listen(['/a'], 'HDR | HDR')).toMatchObject({ out: hex('HDR'), outcome: { type: 'invalid', detail: 'a second multistream header' } })
  })

  it('S2.15: answers maxRounds times, then fails at the next proposal, a listed one too', () => {
    expect(listen(['/a'], 'HDR B B A', 3)).toMatchObject({ out: hex('HDR NA NA A'), outcome: { type: 'ok' } })
    expect(listen(['/a'], 'HDR B B A', 2)).toMatchObject({ out: hex('HDR NA NA'), outcome: { type: 'failed', detail: 'rounds' } })
    expect(listen(['/a'], 'HDR B LS', 1)).toMatchObject({ out: hex('HDR NA'), outcome: { type: 'failed', detail: 'rounds' } })
    expect(listen(['/a'], 'HDR B', 1)).toMatchObject({ out: hex('HDR NA'), outcome: undefined })
  })

  it('S2.15: takes a bad frame after the last round for early data', () => {
    expect(listen(['/a'], 'HDR B 00', 1).outcome).toEqual({ type: 'failed', detail: 'early-data' })
    expect(listen(['/a'], 'HDR B HDR', 1).outcome).toEqual({ type: 'failed', detail: 'early-data' })
  })

  it('S2.16, D10: takes anything but a proposal after a refusal for early data', () => {
    for (const early of ['00', '8000', '8080', '8108', '022f61', '03 0a0a0a', 'HDR', '03 2f | FIN', '80 | FIN']) {
      expect(listen(['/a'], `HDR B ${early}`)).toMatchObject({ out: hex('HDR NA'), outcome: { type: 'failed', detail: 'early-data' } })
    }
  })

  it('S2.5: tells an end between frames from an end inside one', () => {
    expect(listen(['/a'], 'FIN').outcome).toEqual({ type: 'failed', detail: 'fin' })
    expect(listen(['/a'], 'HDR | FIN').outcome).toEqual({ type: 'failed', detail: 'fin' })
    expect(listen(['/a'], 'HDR B | FIN')).toMatchObject({ out: hex('HDR NA'), outcome: { type: 'failed', detail: 'fin' } })
    expect(listen(['/a'], 'HDR 03 2f | FIN').outcome).toEqual({ type: 'eof' })
    expect(listen(['/a'], '13 | FIN').outcome).toEqual({ type: 'eof' })
  })

  it('S2.6: processes what came before a reset first', () => {
    expect(listen(['/a'], 'HDR A | RESET').outcome).toMatchObject({ type: 'ok' })
    expect(listen(['/a'], 'HDR B | RESET').outcome).toEqual({ type: 'reset' })
    expect(listen(['/a'], 'RESET').outcome).toEqual({ type: 'reset' })
  })

  it('S2.7: sends nothing after a reset', () => {
    const negotiation = new ListenerNegotiation(listing('/a'))
    negotiation.handleData(wire('HDR B A'))
    negotiation.handleReset()
    expect(negotiation.takeOutput()).toBeUndefined()
  })

  it('S2.8: ignores all input after an outcome and sends nothing more', () => {
    for (const [end, type] of [['A', 'ok'], ['HDR', 'invalid'], ['00', 'invalid'], ['8080', 'too-long'], ['| FIN', 'failed'], ['| RESET', 'reset']]) {
      const negotiation = new ListenerNegotiation(listing('/a'))
      run(negotiation, `HDR ${end ?? ''}`)
      const outcome = negotiation.pollOutcome()
      expect(outcome).toMatchObject({ type })
      expect(run(negotiation, 'HDR A | 00 | FIN | RESET').out).toBe('')
      expect(negotiation.pollOutcome()).toBe(outcome)
    }
  })

  it('S2.17: stays OK when the confirmation cannot be written', () => {
    const negotiation = new ListenerNegotiation(listing('/a'))
    negotiation.handleData(wire('HDR A'))
    negotiation.handleWriteFailed()
    expect(outcomeText(run(negotiation, 'FIN').outcome)).toBe('OK(/a, rest=)')
    expect(negotiation.takeOutput()).toBeUndefined()
  })

  it('S2.17: is reset when a refusal or the header cannot be written', () => {
    for (const input of ['HDR', 'HDR B']) {
      const negotiation = new ListenerNegotiation(listing('/a'))
      negotiation.handleData(wire(input))
      negotiation.handleWriteFailed()
      expect(run(negotiation, 'A')).toEqual({ out: '', writes: [], outcome: { type: 'reset' } })
    }
  })

  it('S2.30: gives what came behind the proposal', () => {
    expect(outcomeText(listen(['/a'], 'HDR A ping').outcome)).toBe('OK(/a, rest=70696e67)')
    expect(outcomeText(listen(['/a'], 'HDR | A A').outcome)).toBe('OK(/a, rest=032f610a)')
  })

  it('S2.30, S2.34: keeps for another turn nothing that the application is to have', () => {
    const negotiation = new ListenerNegotiation(listing('/a'), { ...DEFAULT_LIMITS, maxFramesPerTurn: 2 })
    expect(outcomeText(run(negotiation, 'HDR A ping').outcome)).toBe('OK(/a, rest=70696e67)')
    expect([negotiation.wantsTurn, negotiation.takeKept()]).toEqual([false, undefined])
  })

  it('writes nothing into a list of names that keeps none, and what the fallback gave into no list', () => {
    const entry = { name: '/a', frame: undefined }
    const bare = { find: (name: string) => name === '/a' ? entry : undefined }
    expect(run(new ListenerNegotiation(bare), 'HDR A').outcome).toMatchObject({ protocol: '/a' })
    expect(Object.keys(bare)).toEqual(['find'])
    const keeping = { ...bare, latest: undefined }
    run(new ListenerNegotiation(keeping), 'HDR A')
    expect(keeping.latest).toBe(entry)
    const fallback = (name: string) => ({ name, frame: undefined })
    expect(run(new ListenerNegotiation(keeping, DEFAULT_LIMITS, fallback), 'HDR B').outcome).toMatchObject({ protocol: '/b' })
    expect(keeping.latest).toBe(entry)
  })

  it('tells its phase, and the last proposal as text that is safe to log', () => {
    const negotiation = new ListenerNegotiation(listing('/a'))
    expect(negotiation.phase).toBe('header')
    expect(negotiation.lastProposed).toBeUndefined()
    negotiation.handleData(wire('HDR'))
    expect(negotiation.phase).toBe('proposal')
    negotiation.handleData(wire('03 2f1b 0a'))
    negotiation.handleFin()
    expect(negotiation.phase).toBe('proposal')
    expect(negotiation.lastProposed).toBe('/\\x1b')
  })

  it('S2.37: shows text of the peer escaped', () => {
    expect(listen(['/a'], '04 1b5b6d 0a').outcome).toEqual({ type: 'invalid', detail: 'expected the multistream header, received "\\x1b[m"' })
  })
})
