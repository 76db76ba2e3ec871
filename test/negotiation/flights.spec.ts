/** What V1Lazy is for: how many times bytes cross the link until a request has its answer, in virtual time. */

import { describe, expect, it } from 'vitest'
import { NegotiationPair } from '../../src/testing/negotiation-pair.ts'
import { toHex, wire } from '../support/wire.ts'

const LATENCY_MS = 25

/** Flights, one after the other, from opening a stream to the response of its request. */
function flights (init: { dialer: string[], listener: string[], lazy?: boolean, chunkSizes?: number[] }): number {
  const pair = new NegotiationPair({ ...init, latencyMs: LATENCY_MS })
  pair.writeToListener(wire('ping'))
  let isAnswered = false
  while (pair.step()) {
    if (!isAnswered && pair.listenerReceived.map(toHex).join('') === toHex(wire('ping'))) {
      isAnswered = true
      pair.writeToDialer(wire('pong'))
    }
  }
  expect(pair.dialerReceived.map(toHex).join('')).toBe(toHex(wire('pong')))
  return pair.now / LATENCY_MS
}

describe('a request and its response on a new stream', () => {
  it('take four flights with V1: proposal, confirmation, request, response', () => {
    expect(flights({ dialer: ['/a'], listener: ['/b', '/a'] })).toBe(4)
  })

  it('take two flights with V1Lazy: one round trip less', () => {
    expect(flights({ dialer: ['/a'], listener: ['/b', '/a'], lazy: true })).toBe(2)
  })

  it('take the same whatever the size of the chunks', () => {
    for (const chunkSizes of [[1], [7, 3], [30]]) {
      expect(flights({ dialer: ['/a'], listener: ['/a'], chunkSizes })).toBe(4)
      expect(flights({ dialer: ['/a'], listener: ['/a'], lazy: true, chunkSizes })).toBe(2)
    }
  })

  it('S2.23: take one round trip more for each refusal, lazy or not, as several names run as V1', () => {
    expect(flights({ dialer: ['/a', '/b'], listener: ['/b'] })).toBe(6)
    expect(flights({ dialer: ['/a', '/b'], listener: ['/b'], lazy: true })).toBe(6)
  })
})
