/** Requests at the edges of S5.4 to S5.7: who gets a late stream, what holds the connection, and what each failure says. */

import { describe, expect, it } from 'vitest'
import { composeHandlers } from '../../src/handler/compose.ts'
import { RecordingHandler, ScriptedConnection, ScriptedStream } from '../../src/testing/index.ts'
import { failuresOf, outputsOf } from '../support/scripted.ts'
import { hex, toHex, wire } from '../support/wire.ts'
import type { ConnectionInit } from '../../src/connection/index.ts'

const PING = '/ipfs/ping/1.0.0'

function setup (init: ConnectionInit = {}) {
  const handler = new RecordingHandler()
  const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity, outboundTimeoutMs: Infinity, ...init } })
  return { handler, test }
}

/** Asks for streams for `/a`, one per info, which is its token too. */
function request ({ handler, test }: ReturnType<typeof setup>, ...infos: unknown[]): void {
  for (const info of infos) {
    handler.request(['/a'], { info, token: info })
  }
  test.drive()
}

const infosOf = (handler: RecordingHandler) => handler.eventsOf('fully-negotiated-outbound').map(({ info }) => info)

const errorsOf = (handler: RecordingHandler) => handler.eventsOf('dial-upgrade-error').map(({ error }) => error)

describe('a stream that comes too late for its own request (S5.7)', () => {
  it('serves the oldest waiting request of a handler, if there is room before the next turn', () => {
    const made = setup({ maxNegotiatingOutboundStreams: 1 })
    const { handler, test } = made
    const hostRequest = (token: string) => { test.connection.requestHostStream({ protocols: ['/h'], token, options: token }, 0) }
    request(made, 'old')
    hostRequest('first')
    hostRequest('second')
    request(made, 'next', 'last')
    handler.push({ type: 'cancel-outbound-request', token: 'old' })
    test.drive()
    expect(test.muxer.openings.map(({ options }) => options)).toEqual([undefined, 'first'])
    test.connection.cancelHostStream('first')
    const late = test.grant()
    expect(late.writes.map(toHex)).toEqual([hex('HDR A')])
    expect(test.muxer.openings.map(({ options }) => options)).toEqual(['first'])
    test.feed(late, wire('HDR A'))
    expect(infosOf(handler)).toEqual(['next'])
    test.muxer.takeOpening()
    expect(test.muxer.openings.map(({ options }) => options)).toEqual(['second'])
    test.connection.cancelHostStream('second')
    test.drive()
    test.muxer.takeOpening()
    test.feed(test.grant(), wire('HDR A'))
    expect(infosOf(handler)).toEqual(['next', 'last'])
    expect(outputsOf(test, 'host-stream-failed').map(({ token }) => token)).toEqual(['first', 'second'])
  })

  it('is reset when nobody but the host waits', () => {
    const made = setup({ maxNegotiatingOutboundStreams: 1 })
    const { handler, test } = made
    request(made, 'old')
    for (const token of ['first', 'second']) {
      test.connection.requestHostStream({ protocols: ['/h'], token }, 0)
    }
    handler.push({ type: 'cancel-outbound-request', token: 'old' })
    test.drive()
    test.connection.cancelHostStream('first')
    expect(test.grant().resets).toMatchObject([{ name: 'AbortError' }])
    expect(test.muxer.openings).toHaveLength(2)
  })

  it('leaves the host the opening with its options, whichever is granted first (S10.11)', () => {
    const made = setup()
    const { handler, test } = made
    request(made, 'a')
    test.connection.requestHostStream({ protocols: ['/h'], options: 'host', token: 'h' }, 0)
    request(made, 'b')
    const [a, h, b] = test.muxer.openings
    const [forB, forA, forH] = [b!, a!, h!].map(opening => {
      const stream = new ScriptedStream()
      test.connection.handleOutboundStream(opening, stream)
      test.drive()
      return stream
    })
    expect([forB, forA, forH].map(stream => stream?.writes.map(toHex).join(''))).toEqual([hex('HDR A'), hex('HDR A'), hex('HDR 032f680a')])
    test.feed(forA!, wire('HDR A'))
    test.feed(forB!, wire('HDR A'))
    expect(infosOf(handler)).toEqual(['b', 'a'])
  })
})

describe('a request that waits', () => {
  it('ends at its own deadline, after another one ended at an earlier one (S2.33)', () => {
    const { handler, test } = setup({ maxNegotiatingOutboundStreams: 1 })
    handler.request(['/a'], { info: 'opening' })
    handler.request(['/a'], { info: 'later', timeoutMs: 100 })
    handler.request(['/a'], { info: 'sooner', timeoutMs: 50 })
    test.advance(100)
    expect(failuresOf(handler)).toEqual([['sooner', 'timeout'], ['later', 'timeout']])
    expect(errorsOf(handler).map(({ phase, elapsedMs }) => [phase, elapsedMs])).toEqual([['queue', 50], ['queue', 100]])
    // The muxer was never asked for them.
    expect(test.muxer.cancelled).toEqual([])
  })

  it('is counted with those that are opened (S11.1)', () => {
    const made = setup({ maxNegotiatingOutboundStreams: 2 })
    request(made, 1, 2, 3)
    expect(made.test.connection.load).toMatchObject({ queuedOutbound: 3, negotiatingOutbound: 0 })
    made.test.grant()
    expect(made.test.connection.load).toMatchObject({ queuedOutbound: 2, negotiatingOutbound: 1 })
  })
})

describe('what holds the connection (S6.2)', () => {
  it('is a request in each of its states', () => {
    const made = setup({ idleTimeoutMs: 100 })
    const { handler, test } = made
    const isBusy = (): boolean => {
      test.advance(1000)
      return test.connection.status.phase === 'open' && test.connection.status.activity === 'busy'
    }
    request(made, 'x')
    expect(isBusy()).toBe(true)
    const stream = test.grant()
    expect(isBusy()).toBe(true)
    test.connection.handleStreamReset(stream)
    test.drive()
    expect(failuresOf(handler)).toEqual([['x', 'io']])
    expect(isBusy()).toBe(false)
  })

  it('is a request for several names of which one counts (S6.3)', () => {
    const { handler, test } = setup({ idleTimeoutMs: 100 })
    test.advance(60)
    handler.request([PING, '/a'])
    test.drive()
    test.refuse(new Error('no stream'))
    expect(test.connection.status).toMatchObject({ activity: 'idle', until: 160 })
  })
})

describe('cancelling', () => {
  it('ends the streams with the token that negotiate, and leaves the others (S4.2)', () => {
    const made = setup()
    const { handler, test } = made
    request(made, 'mine', 'other')
    const [mine, other] = [test.grant(), test.grant()]
    handler.push({ type: 'cancel-outbound-request', token: 'mine' })
    test.drive()
    expect(failuresOf(handler)).toEqual([['mine', 'aborted']])
    expect(errorsOf(handler)).toMatchObject([{ message: expect.stringContaining('Cancelled') as string }])
    expect([mine, other].map(({ resets }) => resets.length)).toEqual([1, 0])
    test.feed(other, wire('HDR A'))
    expect(infosOf(handler)).toEqual(['other'])
  })

  it('wins over an answer that was not looked at yet (S5.1, S5.5)', () => {
    const made = setup()
    const { handler, test } = made
    request(made, 'mine', 'other')
    const stream = test.grant()
    test.grant()
    test.connection.handleStreamData(stream, wire('HDR A'))
    handler.push({ type: 'cancel-outbound-request', token: 'mine' })
    test.drive()
    expect(failuresOf(handler)).toEqual([['mine', 'aborted']])
    expect(infosOf(handler)).toEqual([])
  })
})

describe('cancelling by a part of a composition (S4.13)', () => {
  it('ends the requests with the token, and not the others of that part', () => {
    const part = new RecordingHandler()
    const test = new ScriptedConnection(composeHandlers({ part }))
    for (const token of [1, 2]) {
      part.request(['/a'], { info: token, token })
    }
    part.push({ type: 'cancel-outbound-request', token: 1 })
    test.drive()
    expect(failuresOf(part)).toEqual([[1, 'aborted']])
    test.feed(test.grant(), wire('HDR A'))
    expect(infosOf(part)).toEqual([2])
  })
})

describe('two answers in one turn', () => {
  it('are both told in it: openings that failed', () => {
    const made = setup()
    const { handler, test } = made
    request(made, 1, 2)
    for (const opening of test.muxer.openings) {
      test.connection.handleOutboundStreamFailure(opening, new Error('no'))
    }
    test.drive()
    expect(failuresOf(handler)).toEqual([[1, 'io'], [2, 'io']])
  })

  it('are both told in it: peers that agree to lazy requests (S2.25)', () => {
    const { handler, test } = setup()
    test.connection.handleRemoteReport('replaced', ['/a'])
    test.drive()
    for (let left = 3; left > 0; left--) {
      handler.request(['/a'], { lazy: true })
    }
    test.drive()
    const streams = [test.grant(), test.grant()]
    const half = test.grant()
    test.connection.handleStreamData(half, wire('HDR'))
    for (const stream of streams) {
      test.connection.handleStreamData(stream, wire('HDR A pong'))
    }
    test.drive()
    expect(streams.map(({ leftOver }) => leftOver.map(toHex))).toEqual([[hex('pong')], [hex('pong')]])
    expect(half.leftOver).toEqual([])
  })
})

describe('what a failed request says (S2.36)', () => {
  const opened = { phase: 'open', tried: [], direction: 'outbound', elapsedMs: 7 }

  it('when the connection closes before its failed opening is told (S5.5)', () => {
    const made = setup()
    const { handler, test } = made
    request(made, 1)
    test.advance(7)
    test.connection.handleOutboundStreamFailure(test.muxer.takeOpening(), new Error('no stream'))
    test.connection.close()
    test.drive()
    expect(errorsOf(handler)).toMatchObject([{ ...opened, kind: 'connection-closed', cause: { message: 'no stream' } }])
  })

  it('when it is made while the connection closes (S5.5)', () => {
    const { handler, test } = setup()
    test.connection.close()
    handler.request(['/a'])
    test.drive()
    expect(errorsOf(handler)).toMatchObject([
      { phase: 'queue', kind: 'connection-closed', elapsedMs: 0, message: expect.stringContaining('The connection closes') as string }
    ])
  })

  it('when its part leaves before its failed opening is told (S4.13)', () => {
    const part = new RecordingHandler()
    const composed = composeHandlers({ part })
    const test = new ScriptedConnection(composed)
    part.request(['/a'])
    test.advance(7)
    test.connection.handleOutboundStreamFailure(test.muxer.takeOpening(), new Error('no stream'))
    composed.remove('part')
    test.drive()
    expect(errorsOf(part)).toMatchObject([{ ...opened, kind: 'aborted', cause: { message: 'no stream' } }])
  })

  it('when it breaks a rule (S2.18)', () => {
    const { handler, test } = setup()
    test.advance(5)
    handler.request([])
    test.drive()
    expect(errorsOf(handler)).toMatchObject([{ phase: 'queue', kind: 'invalid-request', elapsedMs: 0 }])
  })
})

describe('streams for the host', () => {
  it('are told from those that the peer opened (S6.3)', () => {
    const { test } = setup({ maxOpenInboundStreams: 1 })
    test.connection.requestHostStream({ protocols: ['/a'], token: 1 }, 0)
    test.drive()
    const stream = test.grant()
    test.feed(stream, wire('HDR A'))
    expect([...test.connection.openStreams].map(({ port, isInbound }) => ({ port, isInbound }))).toEqual([{ port: stream, isInbound: false }])
    expect(test.offer().resets).toEqual([])
  })
})
