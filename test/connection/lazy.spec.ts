import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { RecordingHandler, ScriptedConnection, ScriptedStream } from '../../src/testing/index.ts'
import { closeStream, failuresOf, outputsOf, reportsOf } from '../support/scripted.ts'
import { hex, toHex, wire } from '../support/wire.ts'
import type { ConnectionInit } from '../../src/connection/index.ts'
import type { Poll } from '../../src/core/poll.ts'
import type { StreamUpgrade } from '../../src/handler/stream-upgrade.ts'

function setup (init: ConnectionInit = {}, announced: readonly string[] = ['/a']) {
  const handler = new RecordingHandler()
  const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity, ...init } })
  announce(test, announced)
  return { handler, test }
}

function announce (test: ScriptedConnection, protocols: readonly string[]): void {
  test.connection.handleRemoteReport('replaced', protocols)
  test.drive()
}

/** A stream for `/a` that is handed over before the peer said a word. */
function openLazily (init: ConnectionInit = {}) {
  const { handler, test } = setup(init)
  handler.request(['/a'], { lazy: true, info: 'x' })
  test.drive()
  const stream = test.grant()
  return { handler, test, stream }
}

/** The names of the errors that the stream was reset with. */
const resetsOf = (stream: ScriptedStream) => stream.resets.map(({ name }) => name)

const leftOver = (stream: ScriptedStream) => stream.leftOver.map(toHex)

describe('Connection: a lazy request', () => {
  it('is given its stream at once, with the opening for its first write; then the peer agrees (S2.23, S5.5)', () => {
    const { handler, test, stream } = openLazily()
    expect(handler.eventsOf('fully-negotiated-outbound')).toMatchObject([{ stream, protocol: '/a', info: 'x', lazy: true }])
    expect([stream.isStarted, stream.writes, toHex(stream.opening!)]).toEqual([true, [], hex('HDR A')])
    test.feed(stream, wire('HDR'))
    test.feed(stream, wire('A pong'))
    expect([leftOver(stream), stream.writes, stream.resets]).toEqual([[hex('pong')], [], []])
    expect(handler.eventsOf('fully-negotiated-outbound')).toHaveLength(1)
  })

  it('is read at once, whatever maxFramesPerTurn: its stream is in use and takes nothing back', () => {
    const { test, stream } = openLazily({ maxFramesPerTurn: 1 })
    test.feed(stream, wire('HDR A pong'))
    expect([leftOver(stream), stream.kept]).toEqual([[hex('pong')], []])
  })

  it.each([
    { name: 'that has several names', request: { lazy: true }, names: ['/a', '/b'], announced: ['/a', '/b'] },
    { name: 'for a name that was not announced', request: { lazy: true }, names: ['/a'], announced: ['/b'] },
    { name: 'that does not ask for it', request: {}, names: ['/a'], announced: ['/a'] }
  ])('$name runs as V1 (S2.24)', ({ request, names, announced }) => {
    const { handler, test } = setup({}, announced)
    handler.request(names, request)
    test.drive()
    const stream = test.grant()
    expect([handler.eventsOf('fully-negotiated-outbound'), stream.writes.map(toHex), stream.opening]).toEqual([[], [hex('HDR A')], undefined])
    test.feed(stream, wire('HDR A'))
    expect(handler.eventsOf('fully-negotiated-outbound')).toMatchObject([{ protocol: '/a', lazy: false }])
  })

  it('goes by what is announced when the stream is there, not when it was asked for (S2.24)', () => {
    const { handler, test } = setup({}, [])
    handler.request(['/a'], { lazy: true, info: 'announced since' })
    handler.request(['/a'], { lazy: true, info: 'withdrawn since' })
    test.drive()
    announce(test, ['/a'])
    test.advance(100)
    test.grant()
    announce(test, [])
    test.advance(100)
    test.feed(test.grant(), wire('HDR A'))
    expect(handler.eventsOf('fully-negotiated-outbound').map(({ info, lazy }) => [info, lazy])).toEqual([['announced since', true], ['withdrawn since', false]])
  })

  it('is checked like any other when it is made (S2.18)', () => {
    const { handler, test } = setup()
    handler.request(['a'], { lazy: true, info: 'x' })
    test.drive()
    expect([failuresOf(handler), test.muxer.openings]).toEqual([[['x', 'invalid-request']], []])
  })

  it('of the host is answered in the same way', () => {
    const { test } = setup()
    test.connection.requestHostStream({ protocols: ['/a'], lazy: true, token: 't' }, 0)
    test.drive()
    const stream = test.grant()
    expect(outputsOf(test, 'host-stream-opened')).toEqual([{ type: 'host-stream-opened', token: 't', port: stream, protocol: '/a' }])
    test.feed(stream, wire('HDR NA'))
    expect(resetsOf(stream)).toEqual(['NegotiationError'])
    expect(outputsOf(test, 'host-stream-failed')).toEqual([])
    expect([...test.connection.streams]).toEqual([])
  })

  it('whose stream is gone before it is handed over fails', () => {
    const { handler, test } = setup()
    handler.request(['/a'], { lazy: true, info: 'x' })
    test.drive()
    const stream = new ScriptedStream()
    test.connection.handleOutboundStream(test.muxer.takeOpening(), stream)
    test.connection.handleStreamReset(stream)
    test.drive()
    expect([failuresOf(handler), stream.opening, stream.resets]).toEqual([[['x', 'io']], undefined, []])
  })
})

describe('Connection: a stream whose peer has yet to agree', () => {
  it.each([
    { script: 'HDR NA B', error: { name: 'NegotiationError', phase: 'confirmation', tried: ['/a'], direction: 'outbound' } },
    { script: 'HDR B', error: { name: 'RemoteProtocolError', outcome: 'invalid' } },
    { script: 'A', error: { name: 'RemoteProtocolError', phase: 'header' } },
    { script: 'ff7f', error: { name: 'RemoteProtocolError', outcome: 'too-long' } }
  ])('is reset with the error of the negotiation at $script, once, and gets nothing (S2.26, N13, N19)', ({ script, error }) => {
    const { handler, test, stream } = openLazily()
    test.feed(stream, wire(script))
    test.feed(stream, wire('HDR A pong'))
    test.advance(20_000)
    expect(stream.resets).toMatchObject([error])
    expect([stream.leftOver, failuresOf(handler), [...test.connection.streams]]).toEqual([[], [], []])
    expect(test.connection.status.phase).toBe('open')
  })

  it.each([
    { script: '', name: 'NegotiationError' },
    { script: 'HDR', name: 'NegotiationError' },
    { script: 'HDR 03', name: 'UnexpectedEOFError' }
  ])('is reset with $name when the peer ends it after "$script" (S2.5)', ({ script, name }) => {
    const { test, stream } = openLazily()
    test.feed(stream, wire(script))
    test.connection.handleStreamEnd(stream)
    test.drive()
    expect(resetsOf(stream)).toEqual([name])
  })

  it('is reset at the deadline of its request, which wins over an answer at the same instant (S2.28, S2.33)', () => {
    const { test, stream } = openLazily({ outboundTimeoutMs: 100 })
    test.advance(99)
    expect(stream.resets).toEqual([])
    test.clock.advanceTo(100)
    test.feed(stream, wire('HDR A pong'))
    expect(stream.resets).toMatchObject([{ name: 'TimeoutError', tried: ['/a'], elapsedMs: 100 }])
    expect(stream.leftOver).toEqual([])
  })

  it('keeps its deadline when that of another one has passed (S2.28)', () => {
    const { handler, test } = setup()
    for (const timeoutMs of [100, 50]) {
      handler.request(['/a'], { lazy: true, timeoutMs })
    }
    test.drive()
    const streams = [test.grant(), test.grant()]
    test.advance(50)
    expect(streams.map(stream => resetsOf(stream))).toEqual([[], ['TimeoutError']])
    expect(test.connection.pollTimeout()).toBe(100)
    test.advance(50)
    expect(streams.map(stream => resetsOf(stream))).toEqual([['TimeoutError'], ['TimeoutError']])
  })

  it('has no deadline any more once the peer agreed, or it has ended', () => {
    const agreed = openLazily({ outboundTimeoutMs: 100 })
    agreed.test.feed(agreed.stream, wire('HDR A'))
    const reset = openLazily({ outboundTimeoutMs: 100 })
    reset.test.connection.handleStreamReset(reset.stream)
    const closed = openLazily({ outboundTimeoutMs: 100 })
    closeStream(closed.test, closed.stream)
    for (const { test, stream } of [agreed, reset, closed]) {
      test.advance(1000)
      expect(stream.resets).toEqual([])
    }
  })

  it('holds no slot, and the connection as long as it is open (S5.9, S6.3)', () => {
    const { handler, test, stream } = openLazily({ maxNegotiatingOutboundStreams: 1, idleTimeoutMs: 100, outboundTimeoutMs: Infinity })
    handler.request(['/a'], { lazy: true })
    test.drive()
    const second = test.grant()
    expect(handler.eventsOf('fully-negotiated-outbound')).toHaveLength(2)
    test.connection.ignoreForKeepAlive(second)
    test.advance(1000)
    expect(test.connection.status).toMatchObject({ activity: 'busy' })
    test.connection.handleStreamReset(stream)
    test.advance(0)
    expect(test.connection.status).toMatchObject({ activity: 'idle', until: 1100 })
  })

  it('is no request any more: cancelling has no effect', () => {
    const { handler, test } = setup()
    handler.request(['/a'], { lazy: true, token: 't' })
    test.drive()
    const stream = test.grant()
    handler.push({ type: 'cancel-outbound-request', token: 't' })
    test.drive()
    expect([stream.resets, failuresOf(handler)]).toEqual([[], []])
  })

  it('is reset once when it is closed and the peer neither agrees nor ends it', () => {
    const { test, stream } = openLazily({ outboundTimeoutMs: 10_000, streamCloseTimeoutMs: 50 })
    test.connection.handleStreamClosing(stream, 0)
    test.drive()
    test.advance(20_000)
    expect(resetsOf(stream)).toEqual(['ConnectionClosedError'])
  })

  it('is reset once when its handler throws, at once or later (S4.15)', () => {
    const at = setup()
    at.handler.onEvent = ({ type }) => {
      if (type === 'fully-negotiated-outbound') {
        throw new RangeError('no')
      }
    }
    at.handler.request(['/a'], { lazy: true })
    at.test.drive()
    const thrown = at.test.grant()
    at.test.advance(20_000)
    expect([resetsOf(thrown), reportsOf(at.test, 'handler-error')]).toMatchObject([['RangeError'], [{ method: 'onConnectionEvent' }]])

    const later = openLazily()
    later.test.connection.handleTaskFailure({ type: 'handler-task', promise: Promise.resolve(), port: later.stream }, new RangeError('no'))
    later.test.advance(20_000)
    expect(resetsOf(later.stream)).toEqual(['RangeError'])
  })

  it('still gets its answer while the connection closes, and forgets it with the connection', () => {
    const { handler, test, stream } = openLazily()
    handler.request(['/a'], { lazy: true })
    test.drive()
    const refused = test.grant()
    test.connection.close()
    test.drive()
    expect(test.muxer.closes).toBe(1)
    test.feed(stream, wire('HDR A pong'))
    expect([leftOver(stream), stream.resets]).toEqual([[hex('pong')], []])
    test.connection.handleMuxerClosed()
    test.drive()
    test.connection.handleStreamData(refused, wire('HDR NA'))
    test.drive()
    expect([refused.resets, outputsOf(test, 'closed')]).toMatchObject([[], [{ reason: 'local-close' }]])
  })
})

describe('Connection: a lazy request with an upgrade', () => {
  function upgrading () {
    const { handler, test } = setup()
    let output: Poll<unknown> = PENDING
    let wake = () => {}
    const upgrade: StreamUpgrade<unknown> = {
      poll: cx => {
        wake = () => { cx.wake() }
        return output
      }
    }
    handler.push({ type: 'outbound-stream-request', protocols: ['/a'], lazy: true, info: 'x', token: 't', upgrade: () => upgrade })
    test.drive()
    const stream = test.grant()
    const finish = () => {
      output = 'done'
      wake()
      test.drive()
    }
    return { handler, test, stream, finish }
  }

  it.each(['before', 'after'])('runs it at once, and the peer may agree %s it is done', when => {
    const { handler, test, stream, finish } = upgrading()
    expect(toHex(stream.opening!)).toBe(hex('HDR A'))
    const steps = [() => { test.feed(stream, wire('HDR A pong')) }, finish]
    for (const step of when === 'before' ? steps : steps.reverse()) {
      step()
    }
    expect(handler.eventsOf('fully-negotiated-outbound')).toMatchObject([{ info: 'x', output: 'done', lazy: true }])
    expect([leftOver(stream), stream.resets]).toEqual([[hex('pong')], []])
  })

  it('fails with the refusal that comes before it is done', () => {
    const { handler, test, stream } = upgrading()
    test.feed(stream, wire('HDR NA'))
    expect([failuresOf(handler), resetsOf(stream)]).toEqual([[['x', 'negotiation-failed']], ['NegotiationError']])
  })

  it('fails once when it is cancelled, out of time, or its stream is lost', () => {
    const ends: Array<[kind: string, end: (setup: ReturnType<typeof upgrading>) => void]> = [
      ['aborted', ({ handler }) => { handler.push({ type: 'cancel-outbound-request', token: 't' }) }],
      ['timeout', ({ test }) => { test.advance(10_000) }],
      ['io', ({ test, stream }) => { test.connection.handleStreamReset(stream) }]
    ]
    for (const [kind, end] of ends) {
      const all = upgrading()
      end(all)
      all.test.drive()
      all.test.feed(all.stream, wire('HDR NA'))
      all.test.advance(20_000)
      expect([failuresOf(all.handler), all.stream.resets.length]).toEqual([[['x', kind]], kind === 'io' ? 0 : 1])
    }
  })
})
