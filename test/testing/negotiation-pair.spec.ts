import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { NegotiationPair } from '../../src/testing/negotiation-pair.ts'
import { hex, toHex, wire } from '../support/wire.ts'

describe('NegotiationPair', () => {
  it('agrees after one round trip, with one write on each side', () => {
    const pair = new NegotiationPair({ dialer: ['/a'], listener: ['/b', '/a'], latencyMs: 25 })
    expect(pair.dialer.pollOutcome()).toBe(PENDING)
    expect(pair.drive()).toBe(2)
    expect(pair.now).toBe(50)
    expect(pair.dialer.pollOutcome()).toMatchObject({ type: 'ok', protocol: '/a' })
    expect(pair.listener.pollOutcome()).toMatchObject({ type: 'ok', match: { name: '/a' } })
    expect(pair.dialerWrites.map(toHex)).toEqual([hex('HDR A')])
    expect(pair.listenerWrites.map(toHex)).toEqual([hex('HDR A')])
  })

  it('takes one more round trip for each refusal', () => {
    const pair = new NegotiationPair({ dialer: ['/a', '/b', '/c'], listener: ['/c'] })
    pair.drive()
    expect(pair.now).toBe(6)
    expect(pair.dialerWrites.map(toHex)).toEqual([hex('HDR A'), hex('B'), hex('C')])
  })

  it('leaves the listener waiting when the dialer has no name left', () => {
    const pair = new NegotiationPair({ dialer: ['/a'], listener: [] })
    pair.drive()
    expect(pair.dialer.pollOutcome()).toEqual({ type: 'failed', detail: 'refused' })
    expect(pair.listener.pollOutcome()).toBe(PENDING)
  })

  it('delivers in chunks of the given sizes, one for each step', () => {
    const pair = new NegotiationPair({ dialer: ['/a'], listener: ['/a'], chunkSizes: [1] })
    expect(pair.step()).toBe(true)
    expect(pair.now).toBe(1)
    expect(pair.drive()).toBe(2 * 24 - 1)
    expect(pair.dialer.pollOutcome()).toMatchObject({ type: 'ok' })
    expect(pair.step()).toBe(false)
    expect(pair.now).toBe(2)
  })

  it('holds both ends to the limits', () => {
    const limits = { maxFrameLength: 20, maxRounds: 1 }
    expect(() => new NegotiationPair({ dialer: ['/a', '/b'], listener: [], limits })).toThrow(RangeError)
    expect(() => new NegotiationPair({ dialer: [`/${'x'.repeat(20)}`], listener: [], limits })).toThrow(RangeError)
  })

  it('lets applications write as soon as the negotiation does, and read what comes behind it', () => {
    const pair = new NegotiationPair({ dialer: ['/b', '/a'], listener: ['/a'], chunkSizes: [7] })
    pair.writeToListener(wire('ping'))
    pair.writeToDialer(wire('pong'))
    pair.drive()
    expect(pair.dialerWrites.map(toHex)).toEqual([hex('HDR B'), hex('A'), hex('ping')])
    expect(pair.listenerWrites.map(toHex)).toEqual([hex('HDR'), hex('NA'), hex('A'), hex('pong')])
    expect([pair.listenerReceived, pair.dialerReceived].map(chunks => chunks.map(toHex).join(''))).toEqual([hex('ping'), hex('pong')])
    pair.writeToListener(wire('data'))
    expect(pair.drive()).toBe(1)
    expect(pair.listenerReceived.map(toHex).join('')).toBe(hex('ping data'))
  })

  it('S2.23: lets the application of a lazy dialer write at once; flushed it sends without', () => {
    const pair = new NegotiationPair({ dialer: ['/a'], listener: ['/a'], lazy: true })
    expect(pair.drive()).toBe(0)
    pair.writeToListener(wire('ping'))
    pair.drive()
    expect(pair.dialerWrites.map(toHex)).toEqual([hex('HDR A ping')])
    expect(pair.listenerReceived).toEqual([wire('ping')])
    const flushed = new NegotiationPair({ dialer: ['/a'], listener: ['/a'], lazy: true })
    flushed.dialer.flush()
    expect(flushed.drive()).toBe(2)
  })

  it('S2.26: gives the application of a dialer that was refused nothing', () => {
    const pair = new NegotiationPair({ dialer: ['/a'], listener: ['/b'], lazy: true })
    pair.writeToListener(wire('B data'))
    pair.drive()
    pair.writeToDialer(wire('pong'))
    pair.writeToListener(wire('data'))
    pair.drive()
    expect(pair.listener.pollOutcome()).toMatchObject({ type: 'ok', protocol: '/b' })
    expect(pair.dialerReceived).toEqual([])
    expect(pair.dialerWrites.map(toHex)).toEqual([hex('HDR A B data')])
  })

  it('S2.34: reads in turns, and comes to the same end', () => {
    const pair = new NegotiationPair({ dialer: ['/a'], listener: ['/a'], limits: { maxFrameLength: 1024, maxRounds: 64, maxFramesPerTurn: 1 } })
    pair.drive()
    expect(pair.listenerWrites.map(toHex)).toEqual([hex('HDR'), hex('A')])
    expect(pair.dialer.pollOutcome()).toMatchObject({ type: 'ok' })
  })
})
