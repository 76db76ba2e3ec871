import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeOpening } from '../../src/negotiation/message.ts'
import { ProtocolList } from '../../src/protocols/index.ts'
import { RecordingHandler, ScriptedConnection } from '../../src/testing/index.ts'
import { closeStream, inbound, outbound, outputsOf, reportsOf } from '../support/scripted.ts'
import { wire } from '../support/wire.ts'
import type { ConnectionInit } from '../../src/connection/index.ts'
import type { ScriptedStream } from '../../src/testing/index.ts'

interface Setup {
  readonly handler: RecordingHandler
  readonly test: ScriptedConnection
}

function setup (init: ConnectionInit = { idleTimeoutMs: 100 }): Setup {
  const handler = new RecordingHandler(['/a'])
  return { handler, test: new ScriptedConnection(handler, { init }) }
}

const BUSY = { phase: 'open', activity: 'busy' }

describe('Connection: keep-alive', () => {
  it('a counted stream holds the connection; the timer starts when it has closed both ways (C01, S6.3)', () => {
    const { handler, test } = setup()
    const stream = outbound(test, handler)
    test.advance(900)
    test.connection.handleStreamEnd(stream)
    test.drive()
    test.advance(100)
    expect(test.connection.status).toEqual(BUSY)
    closeStream(test, stream)
    test.advance(99)
    expect(test.connection.status).toEqual({ phase: 'open', activity: 'idle', since: 1000, until: 1100 })
    test.advance(1)
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'keep-alive-timeout', cause: undefined })
    expect(test.muxer.closes).toBe(1)
    test.connection.handleMuxerClosed()
    test.drive()
    expect(outputsOf(test, 'closed')).toEqual([{ type: 'closed', reason: 'keep-alive-timeout', cause: undefined, undelivered: [] }])
  })

  it.each(['inbound', 'outbound'] as const)('a reset %s stream no longer counts (S6.3)', direction => {
    const { handler, test } = setup()
    const stream = direction === 'inbound' ? inbound(test) : outbound(test, handler)
    test.connection.handleStreamReset(stream)
    test.drive()
    test.advance(100)
    expect(test.connection.status.phase).toBe('closing')
  })

  it('the timer starts at creation if the connection is idle from the start, and tells its end (S6.4, S6.5)', () => {
    const { test } = setup()
    expect(test.connection.status).toEqual({ phase: 'open', activity: 'idle', since: 0, until: 100 })
    expect(reportsOf(test, 'connection-idle')).toEqual([{ type: 'connection-idle', until: 100 }])
    expect(test.connection.pollTimeout()).toBe(100)
  })

  it('polls, notices and address changes do not move the end of an idle time (S6.4)', () => {
    const { handler, test } = setup()
    test.advance(50)
    handler.protocols = ['/b']
    handler.wake()
    test.connection.handleRemoteReport('replaced', ['/x'])
    test.drive()
    test.connection.handleAddressChange('elsewhere')
    test.drive()
    test.advance(49)
    expect(test.connection.status).toEqual({ phase: 'open', activity: 'idle', since: 0, until: 100 })
    expect(reportsOf(test, 'connection-idle')).toHaveLength(1)
    test.advance(1)
    expect(test.connection.status.phase).toBe('closing')
  })

  it('activity drops the timer, and it starts anew (S6.4)', () => {
    const { test } = setup()
    test.advance(60)
    const stream = inbound(test)
    test.advance(60)
    closeStream(test, stream)
    test.advance(99)
    expect(test.connection.status.phase).toBe('open')
    expect(reportsOf(test, 'connection-idle').map(({ until }) => until)).toEqual([100, 220])
    test.advance(1)
    expect(test.connection.status.phase).toBe('closing')
  })

  it('with a time of 0 it closes in the very poll in which nothing holds it (S6.4)', () => {
    const { test } = setup({ idleTimeoutMs: 0 })
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'keep-alive-timeout' })
    expect(test.muxer.closes).toBe(1)
    expect(reportsOf(test, 'connection-idle')).toEqual([])
    const handler = new RecordingHandler()
    handler.isKeepAlive = true
    const kept = new ScriptedConnection(handler, { init: { idleTimeoutMs: 0 } })
    expect(kept.connection.status).toEqual(BUSY)
    handler.isKeepAlive = false
    handler.wake()
    kept.drive()
    expect(kept.connection.status.phase).toBe('closing')
  })

  it.each([2147483648, 2 ** 53 - 1, Infinity])('an idle time of %d ms is practically never over (C03, S1.4)', idleTimeoutMs => {
    const { test } = setup({ idleTimeoutMs })
    test.advance(60_000)
    expect(test.connection.status).toMatchObject({ phase: 'open', activity: 'idle' })
    const stream = inbound(test)
    closeStream(test, stream)
    test.advance(60_000)
    expect(test.connection.status).toMatchObject({ phase: 'open', activity: 'idle' })
    expect(test.connection.pollTimeout()).toBeGreaterThan(2147483648)
  })

  it('everything of S6.2 holds the connection, and nothing else does', () => {
    const { handler, test } = setup({ idleTimeoutMs: 100, maxNegotiatingOutboundStreams: 1, maxNegotiatingInboundStreams: 1 })
    const isBusy = (): boolean => test.connection.status.phase === 'open' && test.connection.status.activity === 'busy'
    const holds: Array<[string, () => void, () => void]> = [
      ['a waiting request', () => { handler.request(['/a'], { token: 1 }); handler.request(['/a'], { token: 1 }) },
        () => { handler.push({ type: 'cancel-outbound-request', token: 1 }) }],
      ['an opening request', () => { handler.request(['/a'], { token: 2 }) }, () => { handler.push({ type: 'cancel-outbound-request', token: 2 }) }],
      ['keepAlive()', () => { handler.isKeepAlive = true; handler.wake() }, () => { handler.isKeepAlive = false; handler.wake() }],
      ['a tag of the peer', () => { test.connection.handlePeerTag(true) }, () => { test.connection.handlePeerTag(false) }]
    ]
    for (const [, hold, release] of holds) {
      expect(isBusy()).toBe(false)
      hold()
      test.drive()
      expect(isBusy()).toBe(true)
      release()
      test.drive()
    }
    const [negotiating, queued] = [test.offer(), test.offer()]
    test.connection.handleStreamReset(negotiating)
    test.connection.handleStreamReset(queued)
    expect(isBusy()).toBe(true)
    test.drive()
    expect(isBusy()).toBe(false)
  })

  it('a stream that waits for a slot holds the connection, also where none negotiates (S6.2)', () => {
    const { test } = setup({ idleTimeoutMs: 100, maxNegotiatingInboundStreams: 0 })
    test.offer()
    test.advance(1000)
    expect(test.connection.status).toEqual(BUSY)
  })

  it('a handler that changes its mind for no reason must wake to be heard (S4.10)', () => {
    const { handler, test } = setup()
    handler.isKeepAlive = true
    test.drive()
    expect(test.connection.status).toMatchObject({ activity: 'idle' })
    handler.wake()
    test.drive()
    expect(test.connection.status).toEqual(BUSY)
  })

  it('ignoreForKeepAlive takes a stream out once, whatever comes after (S6.3)', () => {
    const { test } = setup()
    const [ignored, other] = [inbound(test), inbound(test)]
    for (let time = 0; time < 3; time++) {
      test.connection.ignoreForKeepAlive(ignored)
    }
    test.drive()
    expect([...test.connection.streams]).toEqual([other])
    closeStream(test, ignored)
    expect(test.connection.status).toEqual(BUSY)
    closeStream(test, other)
    expect(test.connection.status).toMatchObject({ activity: 'idle' })
    test.connection.ignoreForKeepAlive(other)
    test.drive()
    expect(test.connection.status).toMatchObject({ activity: 'idle' })
  })

  it('ignoring wakes the connection, and may be done while the stream is handed over', () => {
    const { handler, test } = setup()
    handler.onEvent = event => {
      if (event.type === 'fully-negotiated-inbound') {
        test.connection.ignoreForKeepAlive(event.stream as ScriptedStream)
      }
    }
    inbound(test)
    expect(test.connection.status).toMatchObject({ activity: 'idle' })
    handler.onEvent = undefined
    const stream = inbound(test)
    const { wakes } = test
    test.connection.ignoreForKeepAlive(stream)
    expect(test.wakes).toBe(wakes + 1)
  })

  it('a stream closed here is not counted, and is reset if the peer does not end it in time (S6.3)', () => {
    const { test } = setup({ idleTimeoutMs: Infinity, streamCloseTimeoutMs: 500 })
    const [stuck, closed] = [inbound(test), inbound(test)]
    test.advance(100)
    for (const stream of [stuck, closed]) {
      test.connection.handleStreamClosing(stream, test.clock.now)
      test.drive()
    }
    expect([...test.connection.streams]).toEqual([stuck, closed])
    test.advance(300)
    test.connection.handleStreamClosing(stuck, test.clock.now)
    closeStream(test, closed)
    test.advance(199)
    expect(stuck.resets).toEqual([])
    test.advance(1)
    expect(stuck.resets).toMatchObject([{ name: 'ConnectionClosedError', message: 'The peer did not end the stream in time after it was closed' }])
    expect(closed.resets).toEqual([])
    expect([...test.connection.streams]).toEqual([])
    expect(test.connection.pollTimeout()).toBe(Infinity)
  })

  describe('that was closed here and is read', () => {
    function closedAndRead () {
      const { test } = setup({ idleTimeoutMs: Infinity, streamCloseTimeoutMs: 500 })
      const state: { reading: 'takes' | 'waits' | 'no' } = { reading: 'waits' }
      const stream = Object.assign(inbound(test), { reading: () => state.reading })
      test.connection.handleStreamClosing(stream, test.clock.now)
      return { test, stream, state }
    }

    it('is not given up as long as bytes come, and no later than it is read (S6.3)', () => {
      const { test, stream, state } = closedAndRead()
      state.reading = 'takes'
      for (let left = 200; left > 0; left--) {
        test.advance(500)
      }
      expect([stream.resets, [...test.connection.streams]]).toEqual([[], [stream]])
      state.reading = 'no'
      test.advance(500)
      expect(stream.resets).toMatchObject([{ name: 'ConnectionClosedError' }])
      expect(test.connection.pollTimeout()).toBe(Infinity)
    })

    it('waits in silence for 24 times as long, and no longer: a peer cannot have it kept for ever (S6.3, S10.12)', () => {
      const { test, stream } = closedAndRead()
      test.advance(500 + 24 * 500 - 1)
      expect(stream.resets).toEqual([])
      test.advance(1)
      expect(stream.resets).toMatchObject([{ name: 'ConnectionClosedError' }])
      expect([[...test.connection.streams], test.connection.pollTimeout()]).toEqual([[], Infinity])
    })

    it('may wait as long again after bytes came', () => {
      const { test, stream, state } = closedAndRead()
      test.advance(12_000)
      state.reading = 'takes'
      test.advance(500)
      state.reading = 'waits'
      test.advance(12_499)
      expect(stream.resets).toEqual([])
      test.advance(1)
      expect(stream.resets).toHaveLength(1)
    })

    it('has the short time again from when it is read no longer', () => {
      const { test, stream, state } = closedAndRead()
      test.advance(5000)
      state.reading = 'no'
      test.connection.handleStreamClosing(stream, test.clock.now)
      test.advance(499)
      expect(stream.resets).toEqual([])
      test.advance(1)
      expect(stream.resets).toHaveLength(1)
    })
  })

  it('a stream that the host negotiates by itself counts until its end (S6.3)', () => {
    const { test } = setup()
    const stream = test.offer()
    test.connection.handleStreamReset(stream)
    test.drive()
    test.connection.handleForeignStream(stream, 'outbound')
    test.connection.handleForeignStream(stream, 'outbound')
    test.drive()
    test.feed(stream, wire('HDR A'))
    expect([...test.connection.streams]).toEqual([stream])
    test.advance(1000)
    closeStream(test, stream)
    expect(test.connection.status).toMatchObject({ activity: 'idle' })
  })
})

/** S6.4 as a naive model: what happens to it is one count and one clock. */
class Model {
  phase: 'open' | 'closing' = 'open'
  until: number | undefined
  holds = 0
  readonly #idleMs: number

  constructor (idleMs: number) {
    this.#idleMs = idleMs
    this.evaluate(0)
  }

  evaluate (now: number): void {
    if (this.phase === 'closing') {
      return
    }
    if (this.holds > 0) {
      this.until = undefined
    } else if (this.until === undefined && this.#idleMs === 0) {
      this.phase = 'closing'
    } else if (this.until === undefined) {
      this.until = now + this.#idleMs
    } else if (now >= this.until) {
      this.phase = 'closing'
    }
  }
}

describe('Connection: what does not hold it', () => {
  const PING = '/ipfs/ping/1.0.0'

  it.each([
    { what: 'a refused negotiation', protocol: '/nope', end: true },
    { what: 'a stream of the host that it opens by itself', protocol: PING, end: false }
  ])('does not begin the idle time anew: $what (HOST 13)', ({ protocol, end }) => {
    const hostProtocols = { list: new ProtocolList([PING]), offers: () => false }
    const test = new ScriptedConnection(new RecordingHandler(), { init: { idleTimeoutMs: 100 }, hostProtocols })
    test.advance(60)
    const stream = test.offer()
    test.feed(stream, encodeOpening(protocol))
    expect(stream.protocol).toBe(end ? undefined : protocol)
    if (end) {
      test.connection.handleStreamReset(stream)
      test.drive()
    }
    test.advance(39)
    expect(test.connection.status).toMatchObject({ phase: 'open', activity: 'idle', until: 100 })
    test.advance(1)
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'keep-alive-timeout' })
    expect(test.reports.filter(({ type }) => type === 'connection-idle')).toHaveLength(1)
  })

  it('waits for a negotiation that is under way when the idle time ends', () => {
    const test = new ScriptedConnection(new RecordingHandler(['/a']), { init: { idleTimeoutMs: 100 } })
    test.advance(60)
    const stream = test.offer()
    test.advance(100)
    expect(test.connection.status).toMatchObject({ phase: 'open', activity: 'busy' })
    test.feed(stream, encodeOpening('/a'))
    test.advance(1000)
    expect(test.connection.status).toMatchObject({ phase: 'open', activity: 'busy' })
    test.connection.handleStreamClosed(stream)
    test.drive()
    expect(test.connection.status).toMatchObject({ phase: 'open', activity: 'idle', until: test.clock.now + 100 })
  })

  it('begins the idle time anew after a counted stream, also one that came and went in one drain', () => {
    const handler = new RecordingHandler(['/a'])
    const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: 100 } })
    test.advance(60)
    const stream = test.offer()
    test.connection.handleStreamData(stream, encodeOpening('/a'))
    test.connection.poll(test.clock.now)
    test.connection.handleStreamClosed(stream)
    test.drive()
    expect(test.connection.status).toMatchObject({ activity: 'idle', until: 160 })
  })

  it('begins the idle time anew when a stream that held it is taken out of the count (S6.3, S6.4)', () => {
    const { test } = setup()
    test.advance(60)
    const stream = inbound(test)
    test.advance(30)
    test.connection.ignoreForKeepAlive(stream)
    test.drive()
    expect(test.connection.status).toMatchObject({ activity: 'idle', until: 190 })
  })

  it('begins the idle time anew after a stream at which its handler threw (S4.15, S6.3)', () => {
    const { handler, test } = setup()
    handler.onEvent = ({ type }) => {
      if (type === 'fully-negotiated-inbound') {
        throw new Error('broken')
      }
    }
    test.advance(60)
    expect(inbound(test).resets).toHaveLength(1)
    expect(test.connection.status).toMatchObject({ activity: 'idle', until: 160 })
  })
})

describe('Connection: keep-alive against a model', () => {
  it('equals a reference model of S6.4 over random activity (S10.13)', () => {
    const step = fc.oneof(
      fc.record({ type: fc.constant('wait' as const), ms: fc.constantFrom(0, 1, 2, 5, 10) }),
      fc.record({ type: fc.constantFrom('open' as const, 'close' as const, 'keep' as const, 'leave' as const, 'tag' as const, 'untag' as const, 'noise' as const), ms: fc.constant(0) })
    )
    fc.assert(fc.property(fc.constantFrom(0, 1, 7, Infinity, 2 ** 31 + 1), fc.array(step, { maxLength: 60 }), (idleTimeoutMs, steps) => {
      const handler = new RecordingHandler(['/a'])
      const test = new ScriptedConnection(handler, { init: { idleTimeoutMs } })
      const model = new Model(idleTimeoutMs)
      const streams: ScriptedStream[] = []
      let isTagged = false
      for (const { type, ms } of steps) {
        switch (type) {
          case 'wait':
            for (let tick = 0; tick < ms; tick++) {
              test.advance(1)
              model.evaluate(test.clock.now)
            }
            break
          case 'open':
            if (model.phase === 'open') {
              streams.push(inbound(test))
            }
            break
          case 'close': {
            const stream = streams.pop()
            if (stream !== undefined) {
              closeStream(test, stream)
            }
            break
          }
          case 'keep':
          case 'leave':
            handler.isKeepAlive = type === 'keep'
            handler.wake()
            test.drive()
            break
          case 'tag':
          case 'untag':
            test.connection.handlePeerTag(type === 'tag')
            test.drive()
            isTagged = type === 'tag'
            break
          case 'noise':
            test.connection.handleAddressChange('elsewhere')
            test.drive()
        }
        model.holds = streams.length + (handler.isKeepAlive ? 1 : 0) + (isTagged ? 1 : 0)
        model.evaluate(test.clock.now)
        const { status } = test.connection
        expect(status.phase).toBe(model.phase)
        expect(status.phase === 'open' && status.activity === 'idle' ? status.until : undefined).toBe(model.phase === 'open' ? model.until : undefined)
        if (model.phase === 'closing') {
          break
        }
      }
    }), { numRuns: 300 })
  })
})
