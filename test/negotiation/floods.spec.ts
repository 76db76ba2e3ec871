/**
 * Peers that never come to an end (S2.34, S10.5, S10.23): what they cost is counted, in bytes sent, in look-ups a turn, and
 * in turns.
 */

import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { DialerNegotiation, ListenerNegotiation } from '../../src/negotiation/index.ts'
import { listing } from '../support/listing.ts'
import { hex, toHex, wire } from '../support/wire.ts'
import type { ProtocolEntry, ProtocolIndex } from '../../src/negotiation/index.ts'
import type { Machine } from '../support/wire.ts'

const LIMITS = { maxFrameLength: 1024, maxRounds: 64, maxFramesPerTurn: 8 }
const HEADER_BYTES = 20
const REFUSAL_BYTES = 4

/** A list that counts how often it is asked. */
class CountingIndex implements ProtocolIndex {
  lookUps = 0
  readonly names = Object.freeze(Array.from({ length: 1000 }, (_, index) => `/listed/${index}`))
  readonly #names = listing(...this.names)

  find (name: string): ProtocolEntry | undefined {
    this.lookUps++
    return this.#names.find(name)
  }
}

/** Feeds `chunk` again and again until the machine has an outcome; bytes sent and the most that `work` grew in one turn. */
function flood (machine: Machine, chunk: Uint8Array, work: () => number): { sent: number, turns: number, mostInTurn: number } {
  let sent = 0
  let turns = 0
  let mostInTurn = 0
  const turn = (input: () => void): void => {
    const before = work()
    input()
    turns++
    mostInTurn = Math.max(mostInTurn, work() - before)
    sent += machine.takeOutput()?.length ?? 0
  }
  machine.takeOutput()
  turn(() => { machine.handleData(wire('HDR')) })
  for (let fed = 0; machine.pollOutcome() === PENDING; fed++) {
    expect(fed).toBeLessThan(100_000)
    turn(() => { machine.handleData(chunk) })
    while (machine.wantsTurn) {
      turn(() => { machine.handleTurn() })
    }
  }
  return { sent, turns, mostInTurn }
}

describe('a listener', () => {
  it.each([1, 8, 1000, 100_000])('answers 64 of the proposals that come %i at a time, 8 a turn', (count) => {
    const index = new CountingIndex()
    const listener = new ListenerNegotiation(index, LIMITS)
    const { sent, turns, mostInTurn } = flood(listener, wire('B '.repeat(count).trim()), () => index.lookUps)
    expect(listener.pollOutcome()).toEqual({ type: 'failed', detail: 'rounds' })
    expect(index.lookUps).toBe(64)
    expect(mostInTurn).toBeLessThanOrEqual(8)
    expect(turns).toBeLessThanOrEqual(1 + 65)
    expect(sent).toBe(HEADER_BYTES + 64 * REFUSAL_BYTES)
  })

  it('answers one of the requests for its list, at most 16 383 bytes of it', () => {
    const index = new CountingIndex()
    const listener = new ListenerNegotiation(index, LIMITS)
    const { sent } = flood(listener, wire('LS '.repeat(1000).trim()), () => index.lookUps)
    expect(listener.pollOutcome()).toEqual({ type: 'failed', detail: 'rounds' })
    expect(index.lookUps).toBe(0)
    expect(sent).toBeGreaterThan(10_000)
    expect(sent).toBeLessThanOrEqual(HEADER_BYTES + 2 + 16_383 + 63 * REFUSAL_BYTES)
  })

  it('looks up a name that comes in single bytes once, and holds no more than a frame of it', () => {
    const index = new CountingIndex()
    const listener = new ListenerNegotiation(index, LIMITS)
    listener.handleData(wire('HDR'))
    const name = wire(`fe07 ${'78'.repeat(1021)} 0a`)
    for (let times = 0; times < 64; times++) {
      for (const byte of name) {
        listener.handleData(Uint8Array.of(byte))
        expect(listener.wantsTurn).toBe(false)
      }
    }
    expect(index.lookUps).toBe(64)
    expect(toHex(listener.takeOutput() ?? new Uint8Array(0))).toBe(hex(`HDR ${'NA '.repeat(64)}`))
    expect(listener.pollOutcome()).toBe(PENDING)
    listener.handleData(name)
    expect(listener.pollOutcome()).toEqual({ type: 'failed', detail: 'rounds' })
  })

  it('ends at once at a length above the limit, whatever follows', () => {
    const listener = new ListenerNegotiation(listing('/a'), LIMITS)
    listener.handleData(wire('HDR ff7f'))
    expect(listener.pollOutcome()).toMatchObject({ type: 'too-long' })
  })
})

describe('a dialer', () => {
  it('takes as many refusals as it has names, 8 a turn', () => {
    const names = Array.from({ length: 64 }, (_, index) => `/${index}`)
    const dialer = new DialerNegotiation(names, LIMITS)
    const { mostInTurn, turns } = flood(dialer, wire('NA '.repeat(1000).trim()), () => dialer.tried.length)
    expect(dialer.pollOutcome()).toEqual({ type: 'failed', detail: 'refused' })
    expect(mostInTurn).toBeLessThanOrEqual(8)
    expect(turns).toBe(1 + 8)
  })
})
