import { describe, expect, it } from 'vitest'
import { RecordingHandler, ScriptedConnection } from '../../src/testing/index.ts'
import { inbound, reportsOf } from '../support/scripted.ts'
import { wire } from '../support/wire.ts'
import type { ConnectionInit } from '../../src/connection/index.ts'
import type { ScriptedStream } from '../../src/testing/index.ts'

function setup (init: ConnectionInit = {}) {
  const handler = new RecordingHandler(['/a'])
  const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity, ...init } })
  return { handler, test, failures: () => reportsOf(test, 'inbound-failure') }
}

describe('reports of inbound failures (S8.9)', () => {
  const end = ({ connection }: ScriptedConnection, stream: ScriptedStream) => { connection.handleStreamEnd(stream) }
  const reset = ({ connection }: ScriptedConnection, stream: ScriptedStream) => { connection.handleStreamReset(stream) }
  const nothing = () => {}

  it.each<[what: string, sent: string, after: (test: ScriptedConnection, stream: ScriptedStream) => void, expected: object]>([
    ['a refusal', 'HDR C', end, { phase: 'proposal', outcome: 'failed', proposed: '/c', violation: false }],
    ['a broken message', 'HDR HDR', nothing, { phase: 'proposal', outcome: 'invalid', proposed: undefined, violation: true }],
    ['a message that is too long', 'HDR ffff', nothing, { phase: 'proposal', outcome: 'too-long', violation: true }],
    ['an end inside a message', '13', end, { phase: 'header', outcome: 'eof', violation: false }],
    ['a reset', 'HDR', reset, { phase: 'proposal', outcome: 'reset', violation: false }]
  ])('tell of %s', (_, sent, after, expected) => {
    const { test, failures } = setup()
    test.advance(10)
    const stream = test.offer()
    test.advance(7)
    test.feed(stream, wire(sent))
    after(test, stream)
    test.drive()
    expect(failures()).toMatchObject([{ type: 'inbound-failure', elapsedMs: 7, suppressed: 0, ...expected }])
  })

  it('tell of timeouts, and of streams that never had a slot', () => {
    const { test, failures } = setup({ maxNegotiatingInboundStreams: 1, inboundTimeoutMs: 100 })
    test.offer()
    test.advance(50)
    test.offer()
    const third = test.offer()
    test.connection.handleStreamReset(third)
    test.drive()
    expect(failures()).toMatchObject([{ phase: 'queue', outcome: 'reset', elapsedMs: 0 }])
    test.advance(2000)
    expect(failures().slice(1)).toMatchObject([{ phase: 'header', outcome: 'timeout', elapsedMs: 100, suppressed: 1 }])
  })

  it('tell of a stream that waited for a slot until its deadline (S5.9)', () => {
    const { test, failures } = setup({ maxNegotiatingInboundStreams: 0, inboundTimeoutMs: 100 })
    test.offer()
    test.advance(100)
    expect(failures()).toMatchObject([{ phase: 'queue', outcome: 'timeout', elapsedMs: 100, proposed: undefined }])
  })

  it('are told once, whatever follows', () => {
    const { test, failures } = setup()
    reset(test, test.offer())
    test.advance(5000)
    test.connection.close()
    test.drive()
    expect(failures()).toHaveLength(1)
    expect(test.reports.map(({ type }) => type)).toEqual(['protocols-change', 'connection-idle', 'inbound-failure'])
  })

  it('show what the peer proposed escaped and cut (S2.37)', () => {
    const { test, failures } = setup()
    const stream = inbound(test, 'ff07' + '1b'.repeat(1022) + '0a')
    end(test, stream)
    test.drive()
    expect(failures()[0]?.proposed).toMatch(/^[\x20-\x7e]{1,120}$/)
  })

  it('come at once the first time, then once a second, and count the others', () => {
    const { test, failures } = setup()
    const fail = (count: number) => {
      for (let left = count; left > 0; left--) {
        inbound(test, 'HDR')
      }
    }
    fail(4)
    expect(failures().map(({ suppressed }) => suppressed)).toEqual([0])
    test.advance(500)
    fail(3)
    test.advance(499)
    expect(failures()).toHaveLength(1)
    test.advance(1)
    expect(failures().map(({ suppressed }) => suppressed)).toEqual([0, 5])
    test.advance(10_000)
    expect(failures()).toHaveLength(2)
    fail(1)
    expect(failures().map(({ suppressed }) => suppressed)).toEqual([0, 5, 0])
  })

  it('add up to the number of failures, with the last ones of a connection that closes', () => {
    const { test, failures } = setup()
    for (let count = 0; count < 30; count++) {
      inbound(test, 'HDR')
      test.advance(70)
    }
    test.connection.close()
    test.drive()
    expect(failures().reduce((sum, { suppressed }) => sum + 1 + suppressed, 0)).toBe(30)
    expect(failures()).toHaveLength(4)
  })

  it('leave out what has an owner, and what this side resets as it closes (S4.3)', () => {
    const { handler, test, failures } = setup({ maxNegotiatingInboundStreams: 2, maxInboundStreamsPerProtocol: 1 })
    handler.onEvent = () => { throw new Error('mine') }
    inbound(test)
    handler.onEvent = () => {}
    inbound(test)
    inbound(test)
    test.offer()
    test.offer()
    test.connection.close()
    test.drive()
    test.connection.handleMuxerClosed()
    test.advance(2000)
    expect(failures()).toEqual([])
  })

  it('do not hold the connection open', () => {
    const { test } = setup({ idleTimeoutMs: 100 })
    inbound(test, 'HDR')
    inbound(test, 'HDR')
    test.advance(100)
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'keep-alive-timeout' })
  })
})
