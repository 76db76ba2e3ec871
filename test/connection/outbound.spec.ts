import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { composeHandlers } from '../../src/handler/compose.ts'
import { RecordingHandler, ScriptedConnection, ScriptedStream } from '../../src/testing/index.ts'
import { closeStream, failuresOf, outbound, outputsOf, reportsOf, settle } from '../support/scripted.ts'
import { hex, toHex, wire } from '../support/wire.ts'
import type { ConnectionInit } from '../../src/connection/index.ts'
import type { PollContext } from '../../src/core/poll.ts'
import type { StreamUpgrade } from '../../src/handler/stream-upgrade.ts'

/** No error, and `String()` of it throws. */
const UNPRINTABLE: unknown = Object.create(null)

interface Setup {
  readonly handler: RecordingHandler
  readonly test: ScriptedConnection
}

function setup (init: ConnectionInit = {}): Setup {
  const handler = new RecordingHandler()
  const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity, ...init } })
  return { handler, test }
}

/** Asks for streams for `/a`, one per info. */
function request ({ handler, test }: Setup, ...infos: unknown[]): void {
  for (const info of infos) {
    handler.request(['/a'], { info })
  }
  test.drive()
}

function infosOf (handler: RecordingHandler): unknown[] {
  return handler.eventsOf('fully-negotiated-outbound').map(({ info }) => info)
}

describe('Connection: outbound requests', () => {
  it('a request opens a stream, negotiates it and comes back with its info (S4.3, S5.5)', () => {
    const { handler, test } = setup()
    request({ handler, test }, 'x')
    expect(test.muxer.openings).toMatchObject([{ options: undefined, protocols: ['/a'] }])
    const stream = test.grant()
    expect(stream.writes.map(toHex)).toEqual([hex('HDR A')])
    expect(stream.isStarted).toBe(true)
    test.feed(stream, wire('HDR A pong'))
    const [event] = handler.eventsOf('fully-negotiated-outbound')
    expect(event).toMatchObject({ stream, protocol: '/a', info: 'x', output: undefined })
    expect(stream.protocol).toBe('/a')
    expect(stream.leftOver.map(toHex)).toEqual([hex('pong')])
    expect(stream.resets).toEqual([])
  })

  it('left-over bytes are handed back after the handler was told, whatever their split (S2.30, N01)', () => {
    for (const at of [20, 21, 23, 24, 25]) {
      const { handler, test } = setup()
      let leftOverWhenTold: number | undefined
      handler.onEvent = event => {
        if (event.type === 'fully-negotiated-outbound') {
          leftOverWhenTold = stream.leftOver.length
        }
      }
      request({ handler, test }, 'x')
      const stream = test.grant()
      const bytes = wire('HDR A pong')
      test.feed(stream, bytes.subarray(0, at))
      test.feed(stream, bytes.subarray(at))
      expect(leftOverWhenTold).toBe(0)
      // Bytes that come after the hand-over are the reader's own affair.
      expect(stream.leftOver.map(toHex).join('')).toBe(at < 24 ? hex('pong') : toHex(bytes.subarray(24, at)))
    }
  })

  it('a second name is proposed after a refusal (N15)', () => {
    const { handler, test } = setup()
    handler.request(['/a', '/b'])
    test.drive()
    const stream = test.grant()
    test.feed(stream, wire('HDR NA'))
    test.feed(stream, wire('B'))
    expect(stream.writes.map(toHex)).toEqual([hex('HDR A'), hex('B')])
    expect(handler.eventsOf('fully-negotiated-outbound')).toMatchObject([{ protocol: '/b' }])
  })

  it('the time runs while waiting for a stream (C05 a)', () => {
    const { handler, test } = setup()
    handler.request(['/a'], { info: 'x', timeoutMs: 1000 })
    test.drive()
    expect(test.connection.pollTimeout()).toBe(1000)
    test.advance(999)
    expect(failuresOf(handler)).toEqual([])
    test.advance(1)
    expect(failuresOf(handler)).toEqual([['x', 'timeout']])
    const [event] = handler.eventsOf('dial-upgrade-error')
    expect(event?.error).toMatchObject({ phase: 'open', tried: [], direction: 'outbound', peer: 'peer', connectionId: 'scripted', elapsedMs: 1000 })
    expect(event?.error.cause).toMatchObject({ name: 'TimeoutError', outcome: 'timeout' })
    expect(test.muxer.cancelled).toHaveLength(1)
    test.advance(500)
    expect(test.grant().resets).toHaveLength(1)
    expect(failuresOf(handler)).toHaveLength(1)
  })

  it('a stream granted after its request ended serves a newer one (C05 a, S5.7)', () => {
    const { handler, test } = setup()
    handler.request(['/a'], { info: 'old', timeoutMs: 1000 })
    test.drive()
    test.advance(1200)
    request({ handler, test }, 'new')
    test.advance(300)
    const stream = test.grant()
    test.feed(stream, wire('HDR A'))
    expect(infosOf(handler)).toEqual(['new'])
    // The opening of its own is not needed any more, and what comes of it is reset.
    expect(test.muxer.cancelled).toHaveLength(2)
    expect(test.grant().resets).toHaveLength(1)
    expect(handler.events.filter(({ type }) => type !== 'local-protocols-change')).toHaveLength(2)
  })

  it('a stream granted after its request ended serves one that has not even been opened (S5.7)', () => {
    const { handler, test } = setup({ maxNegotiatingOutboundStreams: 1 })
    handler.request(['/a'], { info: 1, timeoutMs: 100 })
    handler.request(['/a'], { info: 2, timeoutMs: 100 })
    handler.request(['/a'], { info: 3 })
    test.drive()
    test.advance(100)
    expect(failuresOf(handler)).toEqual([[1, 'timeout'], [2, 'timeout']])
    expect(test.muxer.openings).toHaveLength(2)
    test.feed(test.grant(), wire('HDR A'))
    expect(infosOf(handler)).toEqual([3])
  })

  it('a late grant passes over requests of the host, which have options of their own (S5.7)', () => {
    const { handler, test } = setup({ outboundTimeoutMs: Infinity })
    handler.request(['/a'], { info: 1, timeoutMs: 100, token: 1 })
    test.drive()
    test.connection.requestHostStream({ protocols: ['/h'], options: 'host', token: 'h' }, 0)
    handler.push({ type: 'cancel-outbound-request', token: 1 })
    test.drive()
    handler.request(['/a'], { info: 2 })
    test.drive()
    expect(test.muxer.openings.map(({ options }) => options)).toEqual([undefined, 'host', undefined])
    test.feed(test.grant(), wire('HDR A'))
    expect(infosOf(handler)).toEqual([2])
  })

  it('a late grant serves nobody when all slots are taken: that request waits on (S5.4, S5.7)', () => {
    const { handler, test } = setup({ maxNegotiatingOutboundStreams: 1, outboundTimeoutMs: Infinity })
    handler.request(['/a'], { info: 1, token: 1 })
    test.drive()
    test.connection.requestHostStream({ protocols: ['/h'], options: 'host', token: 'h' }, 0)
    handler.request(['/a'], { info: 2 })
    handler.push({ type: 'cancel-outbound-request', token: 1 })
    // The slot of the first one is free, and the host is next.
    test.drive()
    expect(test.muxer.openings.map(({ options }) => options)).toEqual([undefined, 'host'])
    expect(test.grant().resets).toHaveLength(1)
    test.grant()
    test.connection.cancelHostStream('h')
    test.drive()
    test.feed(test.grant(), wire('HDR A'))
    expect(infosOf(handler)).toEqual([2])
  })

  it('a stream granted in time leaves the deadline where it was (C05 b, S2.33)', () => {
    const { handler, test } = setup()
    handler.request(['/a'], { info: 'x', timeoutMs: 1000 })
    test.drive()
    test.advance(900)
    const stream = test.grant()
    test.advance(99)
    test.feed(stream, wire('HDR'))
    expect(failuresOf(handler)).toEqual([])
    test.advance(1)
    expect(failuresOf(handler)).toEqual([['x', 'timeout']])
    expect(stream.resets).toHaveLength(1)
    expect(handler.eventsOf('dial-upgrade-error')[0]?.error).toMatchObject({ phase: 'confirmation', tried: ['/a'] })
  })

  it.each([
    ['the answer', (test: ScriptedConnection, stream: ScriptedStream) => { test.feed(stream, wire('A')) }],
    ['a reset', (test: ScriptedConnection, stream: ScriptedStream) => { test.connection.handleStreamReset(stream); test.drive() }]
  ])('at its deadline a request times out although %s is there (S2.33)', (_name, late) => {
    const { handler, test } = setup()
    handler.request(['/a'], { info: 'x', timeoutMs: 1000 })
    test.drive()
    const stream = test.grant()
    test.feed(stream, wire('HDR'))
    test.clock.advance(1000)
    late(test, stream)
    expect(failuresOf(handler)).toEqual([['x', 'timeout']])
    expect(infosOf(handler)).toEqual([])
  })

  it('at its deadline a request times out although the muxer refuses (S2.33)', () => {
    const { handler, test } = setup()
    handler.request(['/a'], { info: 'x', timeoutMs: 1000 })
    test.drive()
    test.clock.advance(1000)
    test.refuse(new Error('no'))
    expect(failuresOf(handler)).toEqual([['x', 'timeout']])
  })

  it.each([2147483648, 2 ** 53 - 1, Infinity])('a timeout of %d ms never comes (C03)', timeoutMs => {
    const { handler, test } = setup({ outboundTimeoutMs: timeoutMs, inboundTimeoutMs: timeoutMs })
    request({ handler, test }, 'x')
    handler.request(['/a'], { timeoutMs })
    test.drive()
    test.offer()
    test.advance(60_000)
    expect(failuresOf(handler)).toEqual([])
  })

  it('a refused, late, reset or badly answered stream leaves the connection alone (C15, S5.6)', () => {
    const { handler, test } = setup()
    request({ handler, test }, 'refused', 'late', 'reset', 'invalid', 'eof', 'fin', 'too-long', 'no stream')
    const streams = Array.from({ length: 7 }, () => test.grant())
    const [refused, late, reset, invalid, eof, fin, tooLong] = streams as [
      ScriptedStream, ScriptedStream, ScriptedStream, ScriptedStream, ScriptedStream, ScriptedStream, ScriptedStream
    ]
    test.refuse(new Error('the muxer is full'))
    test.feed(refused, wire('HDR NA'))
    test.connection.handleStreamReset(reset, new Error('gone'))
    test.drive()
    test.feed(invalid, wire('A'))
    test.feed(eof, wire('13'))
    test.connection.handleStreamEnd(eof)
    test.drive()
    test.connection.handleStreamEnd(fin)
    test.drive()
    test.feed(tooLong, wire('808001'))
    test.advance(10_000)
    expect(failuresOf(handler)).toEqual([
      ['no stream', 'io'], ['refused', 'negotiation-failed'], ['reset', 'io'], ['invalid', 'io'], ['eof', 'io'], ['fin', 'negotiation-failed'],
      ['too-long', 'io'], ['late', 'timeout']
    ])
    expect(handler.eventsOf('dial-upgrade-error').map(({ error }) => (error.cause as Error).name)).toEqual([
      'StreamResetError', 'NegotiationError', 'StreamResetError', 'RemoteProtocolError', 'UnexpectedEOFError', 'NegotiationError',
      'RemoteProtocolError', 'TimeoutError'
    ])
    const [noStream] = handler.eventsOf('dial-upgrade-error')
    expect((noStream?.error.cause as Error).cause).toMatchObject({ message: 'the muxer is full' })
    expect(noStream?.error.message).toContain('peer peer')
    // Each stream is reset once, but the one that ended by itself is not (S2.32).
    expect(streams.map(({ resets }) => resets.length)).toEqual([1, 1, 0, 1, 1, 1, 1])
    expect([late, refused].every(({ resets }) => resets[0] instanceof Error)).toBe(true)
    expect(infosOf(handler)).toEqual([])
    outbound(test, handler, 'after all that')
    expect(infosOf(handler)).toEqual(['after all that'])
    expect(test.connection.status.phase).toBe('open')
  })

  it('an upgrade that throws fails its request with kind apply, and the next one is fine (C15, S4.15)', () => {
    for (const at of ['made', 'polled']) {
      const { handler, test } = setup()
      const thrown = new Error('no upgrade')
      handler.push({
        type: 'outbound-stream-request',
        protocols: ['/a'],
        info: 'x',
        upgrade: () => {
          if (at === 'made') {
            throw thrown
          }
          return { poll: () => { throw thrown } }
        }
      })
      test.drive()
      const stream = test.grant()
      test.feed(stream, wire('HDR A'))
      expect(failuresOf(handler)).toEqual([['x', 'apply']])
      expect(handler.eventsOf('dial-upgrade-error')[0]?.error.cause).toBe(thrown)
      expect(stream.resets).toEqual([thrown])
      outbound(test, handler, 'y')
      expect(infosOf(handler)).toEqual(['y'])
      expect([...test.connection.streams]).toHaveLength(1)
    }
  })

  it('what is thrown need not be an error, nor printable (S4.15)', () => {
    const { handler, test } = setup()
    handler.push({ type: 'outbound-stream-request', protocols: ['/a'], info: 'x', upgrade: () => { throw UNPRINTABLE } })
    test.drive()
    const stream = test.grant()
    test.feed(stream, wire('HDR A'))
    expect(failuresOf(handler)).toEqual([['x', 'apply']])
    expect(stream.resets[0]).toBeInstanceOf(Error)
  })

  it('a slot is free again whatever became of its request (C19, S5.6)', () => {
    const { handler, test } = setup({ maxNegotiatingOutboundStreams: 1 })
    const ends = [
      (stream: ScriptedStream) => { test.feed(stream, wire('HDR NA')) },
      (stream: ScriptedStream) => { test.connection.handleStreamReset(stream); test.drive() },
      (_stream: ScriptedStream) => { test.advance(10_000) },
      (_stream: ScriptedStream) => { handler.push({ type: 'cancel-outbound-request', token: 'x' }); test.drive() },
      (stream: ScriptedStream) => { stream.writeError = new Error('no write'); test.feed(stream, wire('HDR NA')) },
      (stream: ScriptedStream) => { test.feed(stream, wire('HDR A')); closeStream(test, stream) }
    ]
    for (let round = 0; round < 100; round++) {
      handler.request(['/a', '/b'], { token: 'x', info: round })
      test.drive()
      expect(test.muxer.openings).toHaveLength(1)
      const stream = test.grant()
      if (round % ends.length === 0) {
        test.feed(stream, wire('HDR NA'))
        test.feed(stream, wire('NA'))
      } else {
        ends[round % ends.length]?.(stream)
      }
      if (round % ends.length === 4) {
        expect(stream.resets).toHaveLength(1)
      }
    }
    expect(handler.eventsOf('dial-upgrade-error').length + handler.eventsOf('fully-negotiated-outbound').length).toBe(100)
    expect([...test.connection.streams]).toEqual([])
  })

  it('a muxer that never answers does not keep slots for ever (S5.6, S5.7)', () => {
    const { handler, test } = setup({ maxNegotiatingOutboundStreams: 2, outboundTimeoutMs: 100 })
    for (let round = 0; round < 10; round++) {
      request({ handler, test }, 1, 2, 3)
      expect(test.muxer.openings).toHaveLength(2 * (round + 1))
      test.advance(100)
    }
    expect(failuresOf(handler)).toHaveLength(30)
  })

  it('requests wait for slots and get streams in their order (S5.4, S10.11)', () => {
    const { handler, test } = setup({ maxNegotiatingOutboundStreams: 2 })
    request({ handler, test }, 1, 2, 3)
    expect(test.muxer.openings).toHaveLength(2)
    const first = test.grant()
    const second = test.grant()
    expect(test.muxer.openings).toHaveLength(0)
    test.feed(second, wire('HDR A'))
    expect(test.muxer.openings).toHaveLength(1)
    test.feed(test.grant(), wire('HDR A'))
    test.feed(first, wire('HDR A'))
    expect(infosOf(handler)).toEqual([2, 3, 1])
  })

  it.each([
    [[2, 1, 0]], [[1, 2, 0]], [[2, 0, 1]], [[0, 2, 1]]
  ])('streams granted in the order %j of the openings serve the requests in their order (S10.11)', order => {
    const { handler, test } = setup()
    request({ handler, test }, 'a', 'b', 'c')
    const openings = [...test.muxer.openings]
    for (const index of order) {
      const stream = new ScriptedStream()
      test.connection.handleOutboundStream(openings[index]!, stream)
      test.drive()
      test.feed(stream, wire('HDR A'))
    }
    expect(infosOf(handler)).toEqual(['a', 'b', 'c'])
  })

  it('a request of the host in between keeps its own stream (S10.11)', () => {
    const { handler, test } = setup()
    request({ handler, test }, 'a')
    test.connection.requestHostStream({ protocols: ['/h'], options: 'host', token: 'h' }, 0)
    request({ handler, test }, 'b')
    const [a, h, b] = test.muxer.openings
    const [forB, forH, forA] = [new ScriptedStream(), new ScriptedStream(), new ScriptedStream()]
    test.connection.handleOutboundStream(b!, forB)
    test.drive()
    test.connection.handleOutboundStream(h!, forH)
    test.drive()
    test.connection.handleOutboundStream(a!, forA)
    test.drive()
    expect([forB, forH, forA].map(stream => stream.writes.map(toHex).join(''))).toEqual([hex('HDR A'), hex('HDR 032f680a'), hex('HDR A')])
    test.feed(forA, wire('HDR A'))
    test.feed(forB, wire('HDR A'))
    expect(infosOf(handler)).toEqual(['b', 'a'])
  })

  it('beyond the queue a request fails at once, with a report that says how many (S5.4, S9.1)', () => {
    const { handler, test } = setup({ maxQueuedOutboundRequests: 2 })
    request({ handler, test }, 1, 2, 3, 4)
    expect(failuresOf(handler)).toEqual([[3, 'limit'], [4, 'limit']])
    expect(handler.eventsOf('dial-upgrade-error')[0]?.error).toMatchObject({ phase: 'queue', message: expect.stringContaining('maxQueuedOutboundRequests') as string })
    expect(reportsOf(test, 'limit-reached')).toEqual([{ type: 'limit-reached', option: 'maxQueuedOutboundRequests', limit: 2, count: 1 }])
    request({ handler, test }, 5, 6, 7)
    expect(reportsOf(test, 'limit-reached')).toHaveLength(1)
    test.advance(1000)
    request({ handler, test }, 8, 9, 10)
    expect(reportsOf(test, 'limit-reached').slice(1)).toMatchObject([{ count: 2 }])
    expect(test.muxer.openings).toHaveLength(6)
  })

  it.each([
    [[]], [['a']], [['/a', 'b']], [['/a\n']], [Array.from({ length: 65 }, (_, at) => `/${at}`)], [['/' + 'x'.repeat(1024)]]
  ])('a request that breaks a rule fails without a stream (S2.18, S5.5) %#', protocols => {
    const { handler, test } = setup()
    handler.request(protocols, { info: 'x' })
    test.drive()
    expect(failuresOf(handler)).toEqual([['x', 'invalid-request']])
    expect(test.muxer.openings).toEqual([])
    outbound(test, handler)
    expect(handler.eventsOf('fully-negotiated-outbound')).toHaveLength(1)
  })

  it.each([-1, NaN])('a timeout of %d is no timeout (S1.4)', timeoutMs => {
    const { handler, test } = setup()
    handler.request(['/a'], { info: 'x', timeoutMs })
    test.drive()
    expect(failuresOf(handler)).toEqual([['x', 'invalid-request']])
    expect(test.connection.pollTimeout()).toBe(Infinity)
  })

  it('a timeout of 0 ends the request before a stream is asked for', () => {
    const { handler, test } = setup()
    handler.request(['/a'], { info: 'x', timeoutMs: 0 })
    test.drive()
    expect(failuresOf(handler)).toEqual([['x', 'timeout']])
    expect(test.muxer.openings).toEqual([])
  })

  it('the list of a request is copied, and a frozen one will do (N32)', () => {
    const { handler, test } = setup()
    const frozen = Object.freeze(['/a', '/b'])
    const mutable = ['/a']
    handler.request(frozen)
    handler.request(mutable)
    test.drive()
    mutable.push('/c')
    const [first, second] = [test.grant(), test.grant()]
    test.feed(first, wire('HDR NA'))
    test.feed(first, wire('B'))
    test.feed(second, wire('HDR NA'))
    expect(frozen).toEqual(['/a', '/b'])
    expect(handler.eventsOf('fully-negotiated-outbound')).toMatchObject([{ protocol: '/b' }])
    expect(handler.eventsOf('dial-upgrade-error')).toMatchObject([{ error: { tried: ['/a'] } }])
  })
})

describe('Connection: cancelling requests', () => {
  it('ends those with the token wherever they are, each with one outcome of kind aborted (S4.2, S5.5)', () => {
    const { handler, test } = setup({ maxNegotiatingOutboundStreams: 3 })
    const upgrade = (): StreamUpgrade<never> => ({ poll: () => PENDING })
    handler.push({ type: 'outbound-stream-request', protocols: ['/a'], info: 'upgrading', token: 't', upgrade })
    handler.request(['/a'], { info: 'negotiating', token: 't' })
    handler.request(['/a'], { info: 'opening', token: 't' })
    handler.request(['/a'], { info: 'waiting', token: 't' })
    handler.request(['/a'], { info: 'another', token: 'u' })
    handler.request(['/a'], { info: 'nameless' })
    test.drive()
    const upgrading = test.grant()
    test.feed(upgrading, wire('HDR A'))
    const negotiating = test.grant()
    expect(failuresOf(handler)).toEqual([])
    handler.push({ type: 'cancel-outbound-request', token: undefined })
    handler.push({ type: 'cancel-outbound-request', token: 't' })
    handler.push({ type: 'cancel-outbound-request', token: 't' })
    test.drive()
    expect(failuresOf(handler).sort()).toEqual([['negotiating', 'aborted'], ['opening', 'aborted'], ['upgrading', 'aborted'], ['waiting', 'aborted']])
    expect([upgrading, negotiating].map(({ resets }) => resets.map(({ name }) => name))).toEqual([['AbortError'], ['AbortError']])
    expect(test.muxer.openings).toHaveLength(4)
    expect(upgrading.writes.map(toHex)).toEqual([hex('HDR A')])
  })

  it('tells two parts apart that use the same token (S4.13)', () => {
    const [left, right] = [new RecordingHandler(), new RecordingHandler()]
    const test = new ScriptedConnection(composeHandlers({ left, right, nested: composeHandlers({ left }) }))
    left.request(['/a'], { info: 'left', token: 't' })
    right.request(['/a'], { info: 'right', token: 't' })
    test.drive()
    right.push({ type: 'cancel-outbound-request', token: 't' })
    test.drive()
    expect(failuresOf(left)).toEqual([])
    expect(failuresOf(right)).toEqual([['right', 'aborted']])
  })

  it('after the outcome it does nothing', () => {
    const { handler, test } = setup()
    handler.request(['/a'], { info: 'x', token: 't' })
    test.drive()
    const stream = test.grant()
    test.feed(stream, wire('HDR A'))
    handler.push({ type: 'cancel-outbound-request', token: 't' })
    test.drive()
    expect(failuresOf(handler)).toEqual([])
    expect(stream.resets).toEqual([])
  })
})

describe('Connection: upgrades of outbound streams', () => {
  it('an upgrade takes its time, holds no slot and gives the output (S4.4, S5.4)', () => {
    const { handler, test } = setup({ maxNegotiatingOutboundStreams: 1 })
    let cx: PollContext | undefined
    let isDone = false
    let polls = 0
    handler.push({
      type: 'outbound-stream-request',
      protocols: ['/a'],
      info: 'x',
      upgrade: (stream, protocol) => ({
        poll: context => {
          cx = context
          polls++
          return isDone ? [stream, protocol, context.now] : PENDING
        }
      })
    })
    request({ handler, test }, 'y')
    const stream = test.grant()
    test.feed(stream, wire('HDR A pong'))
    expect(polls).toBe(1)
    expect(stream.leftOver.map(toHex)).toEqual([hex('pong')])
    expect(test.muxer.openings).toHaveLength(1)
    expect(test.connection.status).toEqual({ phase: 'open', activity: 'busy' })
    test.feed(stream, wire('data'))
    expect(polls).toBe(1)
    test.clock.advance(5)
    isDone = true
    cx?.wake()
    test.drive()
    expect(handler.eventsOf('fully-negotiated-outbound')).toMatchObject([{ info: 'x', output: [stream, '/a', 5] }])
    expect(stream.leftOver).toHaveLength(1)
    cx?.wake()
    cx?.wakeAt(10)
    test.advance(10)
    expect(polls).toBe(2)
  })

  it('the deadline of the request covers the upgrade (S2.33)', () => {
    const { handler, test } = setup({ outboundTimeoutMs: 1000 })
    handler.push({ type: 'outbound-stream-request', protocols: ['/a'], info: 'x', upgrade: () => ({ poll: () => PENDING }) })
    test.drive()
    const stream = test.grant()
    test.advance(500)
    test.feed(stream, wire('HDR A'))
    test.advance(500)
    expect(failuresOf(handler)).toEqual([['x', 'timeout']])
    expect(handler.eventsOf('dial-upgrade-error')[0]?.error.phase).toBe('upgrade')
    expect(stream.resets).toHaveLength(1)
  })

  it('a stream that ends during its upgrade fails its request (S5.5)', () => {
    const { handler, test } = setup()
    handler.push({ type: 'outbound-stream-request', protocols: ['/a'], info: 'x', upgrade: () => ({ poll: () => PENDING }) })
    test.drive()
    const stream = test.grant()
    test.feed(stream, wire('HDR A'))
    test.connection.handleStreamReset(stream, new Error('gone'))
    test.drive()
    expect(failuresOf(handler)).toEqual([['x', 'io']])
    expect(stream.resets).toEqual([])
  })

  it('the end of the peer’s side wakes an upgrade, which may still succeed', () => {
    const { handler, test } = setup()
    let polls = 0
    handler.push({ type: 'outbound-stream-request', protocols: ['/a'], upgrade: () => ({ poll: () => ++polls === 2 ? 'done' : PENDING }) })
    test.drive()
    const stream = test.grant()
    test.feed(stream, wire('HDR A'))
    test.connection.handleStreamEnd(stream)
    test.drive()
    expect(handler.eventsOf('fully-negotiated-outbound')).toMatchObject([{ output: 'done' }])
  })

  it('an upgrade that wakes itself goes on in the next turn, one poll each (S4.8, S5.3)', () => {
    for (const again of [(cx: PollContext) => { cx.wake() }, (cx: PollContext) => { cx.wake(); cx.wakeAt(cx.now) }]) {
      const { handler, test } = setup()
      let polls = 0
      handler.push({
        type: 'outbound-stream-request',
        protocols: ['/a'],
        upgrade: () => ({
          poll: cx => {
            again(cx)
            return ++polls === 5 ? 'done' : PENDING
          }
        })
      })
      test.drive()
      const stream = test.grant()
      const { wakes } = test
      test.feed(stream, wire('HDR A'))
      expect(polls).toBe(1)
      expect(test.wakes).toBe(wakes + 2)
      expect(settle(test)).toBeGreaterThanOrEqual(4)
      expect(polls).toBe(5)
      expect(handler.eventsOf('fully-negotiated-outbound')).toMatchObject([{ output: 'done' }])
    }
  })

  it('an upgrade is polled at the instant that it asked for (S4.7)', () => {
    const { handler, test } = setup()
    const polledAt: number[] = []
    handler.push({
      type: 'outbound-stream-request',
      protocols: ['/a'],
      upgrade: () => ({
        poll: cx => {
          polledAt.push(cx.now)
          cx.wakeAt(cx.now + 30)
          return polledAt.length === 3 ? 'done' : PENDING
        }
      })
    })
    test.drive()
    test.feed(test.grant(), wire('HDR A'))
    test.advance(100)
    expect(polledAt).toEqual([0, 30, 60])
  })
})

describe('Connection: streams for the host', () => {
  it('are negotiated and come out with their token and left-over bytes (S5.13)', () => {
    const { handler, test } = setup()
    test.connection.requestHostStream({ protocols: ['/a'], options: { some: 'options' }, token: 'h' }, 0)
    test.drive()
    expect(test.muxer.openings).toMatchObject([{ options: { some: 'options' }, protocols: ['/a'] }])
    const stream = test.grant()
    test.feed(stream, wire('HDR A pong'))
    expect(outputsOf(test, 'host-stream-opened')).toEqual([{ type: 'host-stream-opened', token: 'h', port: stream, protocol: '/a' }])
    expect(stream.leftOver.map(toHex)).toEqual([hex('pong')])
    expect([...test.connection.streams]).toEqual([stream])
    expect(handler.events).toEqual([])
  })

  it.each([
    ['refused', 'negotiation-failed', (test: ScriptedConnection) => { test.feed(test.grant(), wire('HDR NA')) }],
    ['late', 'timeout', (test: ScriptedConnection) => { test.advance(50) }],
    ['cancelled', 'aborted', (test: ScriptedConnection) => { test.connection.cancelHostStream('h'); test.drive() }],
    ['cut off', 'connection-closed', (test: ScriptedConnection) => { test.connection.abort(new Error('enough')); test.drive() }],
    ['without a stream', 'io', (test: ScriptedConnection) => { test.refuse(new Error('no')) }]
  ])('one that is %s fails with kind %s, once', (_name, kind, end) => {
    const { test } = setup()
    test.connection.requestHostStream({ protocols: ['/a'], timeoutMs: 50, token: 'h' }, 0)
    test.drive()
    end(test)
    test.advance(100)
    expect(outputsOf(test, 'host-stream-failed')).toMatchObject([{ token: 'h', error: { kind } }])
  })

  it('cancelling a token that nobody has, or none, does nothing', () => {
    const { test } = setup()
    test.connection.requestHostStream({ protocols: ['/a'], token: undefined }, 0)
    test.connection.cancelHostStream('other')
    test.connection.cancelHostStream(undefined)
    test.drive()
    expect(outputsOf(test, 'host-stream-failed')).toEqual([])
  })

  it('a late grant for the host serves nobody else', () => {
    const { handler, test } = setup()
    test.connection.requestHostStream({ protocols: ['/a'], options: {}, token: 'h' }, 0)
    test.drive()
    test.connection.cancelHostStream('h')
    request({ handler, test }, 'x')
    expect(test.grant().resets).toHaveLength(1)
    test.feed(test.grant(), wire('HDR A'))
    expect(infosOf(handler)).toEqual(['x'])
  })

  it('are refused by a throw when the connection closes', () => {
    const { test } = setup()
    test.connection.close()
    test.drive()
    expect(() => { test.connection.requestHostStream({ protocols: ['/a'], token: 'h' }, 0) }).toThrow('the connection closes')
  })
})
