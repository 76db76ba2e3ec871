/** The guarantees of SPEC 10 that concern one negotiation, over generated scripts; the naive negotiator says what is right. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { DialerNegotiation, ListenerNegotiation } from '../../src/negotiation/index.ts'
import { NegotiationPair } from '../../src/testing/negotiation-pair.ts'
import { everySplit } from '../../src/testing/chunks.ts'
import { listing } from '../support/listing.ts'
import { naiveDial, naiveFrame, naiveList, naiveListen } from '../support/naive-multistream.ts'
import { runInputs } from '../support/wire.ts'
import type { Ending, NaiveResult } from '../support/naive-multistream.ts'
import type { Input, Machine } from '../support/wire.ts'

const LIMITS = { maxFrameLength: 140, maxRounds: 4 }
const LISTED = ['/a', '/b', '/\ufffd', `/${'long'.repeat(32)}`]
const UNLISTED = ['/c', '/a ', '/A', 'a', '', 'na', 'ls', '/b/', '\ufeff/a']

const names = fc.oneof(fc.constantFrom(...LISTED), fc.constantFrom(...UNLISTED))
const frames = names.map(naiveFrame)
const header = fc.constant(naiveFrame('/multistream/1.0.0'))
const malformed = fc.constantFrom([0], [0x80, 0], [0x80, 0x80], [0x8d, 1], [2, 0x2f, 0x61], [3, 0x0a, 0x61, 0x0a], [3, 0x2f, 0xff, 0x0a])
const noise = fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 12 })

/** What a peer may send: mostly as it should, and wrong in some place. */
const script: fc.Arbitrary<number[]> = fc.tuple(
  fc.oneof({ weight: 8, arbitrary: header }, { weight: 1, arbitrary: frames }, { weight: 1, arbitrary: fc.constant([]) }),
  fc.array(fc.oneof({ weight: 8, arbitrary: frames }, { weight: 1, arbitrary: header }, { weight: 1, arbitrary: malformed }), { maxLength: 7 }),
  noise
).map(([first, middle, last]) => [...first, ...middle.flat(), ...last])

const ending = fc.constantFrom<Ending>('open', 'FIN', 'RESET')
const proposals = fc.array(fc.constantFrom(...LISTED, '/c'), { minLength: 1, maxLength: 4 })
const seed = fc.array(fc.nat(), { minLength: 1, maxLength: 20 })

/** `bytes` cut at places drawn from `places`; empty chunks where one is drawn twice. */
function cut (bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const sorted = places.map(place => place % (bytes.length + 1)).sort((left, right) => left - right)
  return [...sorted, bytes.length].map((place, index) => bytes.slice(sorted[index - 1] ?? 0, place))
}

/** What the naive negotiator gives, seen of a machine that is fed `chunks`: all bytes behind the negotiation are the rest. */
function observe (machine: Machine, chunks: readonly Uint8Array[], end: Ending): NaiveResult {
  const out: number[] = []
  let rest: number[] | undefined
  const drain = (): void => {
    const write = machine.takeOutput()
    out.push(...write ?? [])
  }
  drain()
  for (const chunk of chunks) {
    machine.handleData(chunk)
    drain()
    const outcome = machine.pollOutcome()
    if (rest !== undefined) {
      rest.push(...chunk)
    } else if (outcome !== PENDING && outcome.type === 'ok') {
      rest = [...outcome.rest ?? []]
    }
  }
  runInputs(machine, end === 'open' ? [] : [end])
  const outcome = machine.pollOutcome()
  if (outcome === PENDING) {
    return { outcome: 'pending', out }
  }
  return outcome.type === 'ok'
    ? { outcome: 'ok', protocol: outcome.protocol, rest: rest ?? [], out }
    : { outcome: outcome.type, out }
}

const listener = (): ListenerNegotiation => new ListenerNegotiation(listing(...LISTED), LIMITS)
const expectedOfListener = (bytes: readonly number[], end: Ending): NaiveResult =>
  naiveListen(LISTED, bytes, end, LIMITS.maxFrameLength, LIMITS.maxRounds)

describe('a negotiation under any split of its input (S2.4, S10.1, S10.4)', () => {
  it('gives the outcome, output and rest of the naive listener', () => {
    fc.assert(fc.property(script, ending, seed, (bytes, end, places) => {
      expect(observe(listener(), cut(Uint8Array.from(bytes), places), end)).toEqual(expectedOfListener(bytes, end))
    }), { numRuns: 2000 })
  })

  it('gives the outcome, output and rest of the naive dialer', () => {
    fc.assert(fc.property(proposals, script, ending, seed, (protocols, bytes, end, places) => {
      expect(observe(new DialerNegotiation(protocols, LIMITS), cut(Uint8Array.from(bytes), places), end))
        .toEqual(naiveDial(protocols, bytes, end, LIMITS.maxFrameLength))
    }), { numRuns: 2000 })
  })

  it('does so for a dialer whose peer refuses some names and then agrees', () => {
    fc.assert(fc.property(fc.uniqueArray(fc.constantFrom(...LISTED, '/c'), { minLength: 1, maxLength: 4 }), fc.nat(3), noise, seed, (protocols, refusals, data, places) => {
      const agreed = protocols[refusals]
      const answers = ['/multistream/1.0.0', ...protocols.slice(0, refusals).map(() => 'na'), ...agreed === undefined ? [] : [agreed]]
      const bytes = [...answers.flatMap(naiveFrame), ...data]
      const seen = observe(new DialerNegotiation(protocols, LIMITS), cut(Uint8Array.from(bytes), places), 'FIN')
      expect(seen).toEqual(agreed === undefined
        ? { outcome: 'failed', out: ['/multistream/1.0.0', ...protocols].flatMap(naiveFrame) }
        : { outcome: 'ok', protocol: agreed, rest: data, out: ['/multistream/1.0.0', ...protocols.slice(0, refusals + 1)].flatMap(naiveFrame) })
    }))
  })

  it('at every single boundary of a few whole exchanges', () => {
    const exchange = ['/multistream/1.0.0', '/c', 'na', '', '/b', 'data'].flatMap(naiveFrame)
    for (const chunks of everySplit(Uint8Array.from(exchange))) {
      expect(observe(listener(), chunks, 'open')).toEqual(expectedOfListener(exchange, 'open'))
    }
    const answers = ['/multistream/1.0.0', 'na', 'na', '/b', 'data'].flatMap(naiveFrame)
    for (const chunks of everySplit(Uint8Array.from(answers))) {
      expect(observe(new DialerNegotiation(['/c', '/d', '/b']), chunks, 'open')).toEqual(naiveDial(['/c', '/d', '/b'], answers, 'open'))
    }
  })
})

describe('a negotiation cut off after any byte (S10.2)', () => {
  const ends: Ending[] = ['FIN', 'RESET']

  it('has exactly one outcome, the listener\'s as the naive one', () => {
    fc.assert(fc.property(script, seed, (bytes, places) => {
      for (let length = 0; length <= bytes.length; length++) {
        const received = bytes.slice(0, length)
        for (const end of ends) {
          const expected = expectedOfListener(received, end)
          expect(expected.outcome).not.toBe('pending')
          expect(observe(listener(), cut(Uint8Array.from(received), places), end)).toEqual(expected)
        }
      }
    }), { numRuns: 60 })
  })

  it('has exactly one outcome, the dialer\'s as the naive one', () => {
    fc.assert(fc.property(proposals, script, (protocols, bytes) => {
      for (let length = 0; length <= bytes.length; length++) {
        const received = bytes.slice(0, length)
        for (const end of ends) {
          const expected = naiveDial(protocols, received, end, LIMITS.maxFrameLength)
          expect(expected.outcome).not.toBe('pending')
          expect(observe(new DialerNegotiation(protocols, LIMITS), [Uint8Array.from(received)], end)).toEqual(expected)
        }
      }
    }), { numRuns: 60 })
  })
})

describe('a dialer and a listener (S10.3)', () => {
  it('agree on the first name of the dialer that the listener has, or not at all', () => {
    const some = fc.array(fc.integer({ min: 0, max: 9 }).map(digit => `/${digit}`), { maxLength: 8 })
    fc.assert(fc.property(some, some, fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 4 }), (dialed, listed, chunkSizes) => {
      fc.pre(dialed.length > 0)
      const pair = new NegotiationPair({ dialer: dialed, listener: listed, chunkSizes })
      pair.drive()
      const agreed = dialed.find(name => listed.includes(name))
      if (agreed === undefined) {
        expect(pair.dialer.pollOutcome()).toEqual({ type: 'failed', detail: 'refused' })
        pair.listener.handleFin()
        expect(pair.listener.pollOutcome()).toEqual({ type: 'failed', detail: 'fin' })
      } else {
        expect(pair.dialer.pollOutcome()).toEqual({ type: 'ok', protocol: agreed, match: undefined, rest: undefined })
        expect(pair.listener.pollOutcome()).toMatchObject({ type: 'ok', protocol: agreed, match: { name: agreed }, rest: undefined })
      }
    }), { numRuns: 500 })
  })

  it('agree with as many names as there are rounds', () => {
    const dialed = Array.from({ length: 64 }, (_, index) => `/${index}`)
    const pair = new NegotiationPair({ dialer: dialed, listener: ['/63'] })
    pair.drive()
    expect(pair.dialer.pollOutcome()).toMatchObject({ type: 'ok', protocol: '/63' })
    expect(pair.listener.pollOutcome()).toMatchObject({ type: 'ok', protocol: '/63' })
  })
})

describe('a machine fed with anything (S10.5)', () => {
  const HEADER_BYTES = 20
  const REFUSAL_BYTES = 4
  const anything = fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 20 })
  const pieces = fc.array(fc.oneof(script.map(bytes => Uint8Array.from(bytes)), fc.uint8Array({ maxLength: 30 })), { maxLength: 10 })
  const inputs: fc.Arbitrary<Input[]> = fc.array(
    fc.oneof({ weight: 10, arbitrary: fc.uint8Array({ maxLength: 40 }) }, { weight: 1, arbitrary: fc.constantFrom('FIN' as const, 'RESET' as const) })
  )

  it('never throws, and writes at most its header, 4 bytes a round, one list and one confirmation', () => {
    const longest = naiveFrame(LISTED[3] ?? '').length + (naiveList(LISTED)?.length ?? 0)
    fc.assert(fc.property(fc.oneof(anything, pieces, inputs), (chunks) => {
      const { out } = runInputs(listener(), chunks)
      expect(out.length / 2).toBeLessThanOrEqual(HEADER_BYTES + LIMITS.maxRounds * REFUSAL_BYTES + longest)
    }), { numRuns: 2000 })
  })

  it('never throws, and a dialer writes nothing but its own proposals', () => {
    fc.assert(fc.property(proposals, fc.oneof(anything, pieces, inputs), (protocols, chunks) => {
      const { out } = runInputs(new DialerNegotiation(protocols, LIMITS), chunks)
      const all = ['/multistream/1.0.0', ...protocols].flatMap(naiveFrame)
      expect(Buffer.from(all).toString('hex').startsWith(out)).toBe(true)
    }), { numRuns: 2000 })
  })
})
