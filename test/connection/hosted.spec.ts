import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { composeHandlers } from '../../src/handler/compose.ts'
import { ProtocolList } from '../../src/protocols/protocol-list.ts'
import { RecordingHandler, ScriptedConnection } from '../../src/testing/index.ts'
import { closeStream, eventsOf, failuresOf, outputsOf, reportsOf } from '../support/scripted.ts'
import type { ConnectionInit } from '../../src/connection/index.ts'
import type { Poll } from '../../src/core/poll.ts'

/** A connection whose streams the host negotiates (S1.5). */
function hosted (names: readonly string[] = ['/a'], init: ConnectionInit = {}) {
  const handler = new RecordingHandler(names)
  const test = new ScriptedConnection(handler, { negotiates: true, init: { idleTimeoutMs: Infinity, ...init } })
  return { handler, test }
}

describe('an inbound stream that the host has agreed on (S1.5, S7.7)', () => {
  it('goes to its handler at once, with nothing read or written', () => {
    const { handler, test } = hosted()
    const stream = test.offerAgreed('/a')
    expect(handler.eventsOf('fully-negotiated-inbound')).toMatchObject([{ stream, protocol: '/a' }])
    expect(stream).toMatchObject({ protocol: '/a', isStarted: false, writes: [], leftOver: [], resets: [] })
    expect([...test.connection.streams]).toEqual([stream])
  })

  it('goes to the part that lists the name in that turn (S3.4, S2.11)', () => {
    const list = new ProtocolList(['/b'])
    const [one, other] = [new RecordingHandler(['/a']), new RecordingHandler(list)]
    const test = new ScriptedConnection(composeHandlers({ one, other }), { negotiates: true })
    test.offerAgreed('/b')
    list.replace(['/c'])
    test.offerAgreed('/c')
    expect(one.eventsOf('fully-negotiated-inbound')).toEqual([])
    expect(other.eventsOf('fully-negotiated-inbound').map(({ protocol }) => protocol)).toEqual(['/b', '/c'])
    expect(test.offerAgreed('/b').resets).toMatchObject([{ name: 'NegotiationError' }])
  })

  it('is reset and reported when nobody lists the name, the host\'s own names included (S8.9)', () => {
    const handler = new RecordingHandler(['/a'])
    const hostProtocols = { list: new ProtocolList(['/host']), offers: () => true }
    const test = new ScriptedConnection(handler, { negotiates: true, hostProtocols })
    for (const name of ['/none/\u0007', '/host']) {
      const stream = test.offerAgreed(name)
      expect(stream.resets).toMatchObject([{ name: 'NegotiationError', outcome: 'failed', phase: 'proposal', direction: 'inbound' }])
      test.advance(1000)
    }
    expect(reportsOf(test, 'inbound-failure')).toMatchObject([
      { phase: 'proposal', outcome: 'failed', proposed: '/none/\\x07', violation: false }, { proposed: '/host' }
    ])
    expect(handler.eventsOf('fully-negotiated-inbound')).toEqual([])
    expect(outputsOf(test, 'host-stream')).toEqual([])
  })

  it('keeps to the limits of streams, and waits in no queue (S5.8, S5.9)', () => {
    const { test } = hosted(['/a', '/b'], {
      maxNegotiatingInboundStreams: 0, maxQueuedInboundStreams: 0, maxInboundStreamsPerProtocol: 1, maxOpenInboundStreams: 2
    })
    const first = test.offerAgreed('/a')
    expect(first.resets).toEqual([])
    expect(test.offerAgreed('/a').resets).toHaveLength(1)
    expect(test.offerAgreed('/b').resets).toEqual([])
    expect(test.offerAgreed('/b').resets).toHaveLength(1)
    closeStream(test, first)
    expect(test.offerAgreed('/a').resets).toEqual([])
    expect(reportsOf(test, 'limit-reached').map(({ option }) => option)).toEqual(['maxInboundStreamsPerProtocol', 'maxOpenInboundStreams'])
  })

  it('is upgraded under its deadline, of which its owner hears (S2.33, S4.3)', () => {
    class Slow extends RecordingHandler {
      inboundUpgrade () {
        return { poll: (): Poll<string> => PENDING }
      }
    }
    const handler = new Slow(['/a'])
    const test = new ScriptedConnection(handler, { negotiates: true, init: { inboundTimeoutMs: 100 } })
    const stream = test.offerAgreed('/a')
    test.advance(99)
    expect(stream.resets).toEqual([])
    test.advance(1)
    expect(stream.resets).toHaveLength(1)
    expect(handler.eventsOf('listen-upgrade-error')).toMatchObject([{ protocol: '/a', error: { kind: 'timeout' } }])
  })

  it('that is told twice is heard once (S5.11)', () => {
    const { handler, test } = hosted()
    const stream = test.offerAgreed('/a')
    test.connection.handleNegotiatedInbound(stream, '/a', test.clock.now)
    test.drive()
    expect(handler.eventsOf('fully-negotiated-inbound')).toHaveLength(1)
  })

  it('is reset once the connection closes', () => {
    const { test } = hosted()
    test.connection.close()
    test.drive()
    expect(test.offerAgreed('/a').resets).toMatchObject([{ name: 'ConnectionClosedError', message: 'The connection closes' }])
  })
})

describe('a request on a muxer that negotiates', () => {
  it('carries its names, and comes back with the agreed one; lazy is ignored (S1.5)', () => {
    const { handler, test } = hosted()
    test.connection.handleRemoteReport('replaced', ['/x'])
    handler.request(['/x'], { info: 1, lazy: true })
    handler.request(['/y', '/z'], { info: 2 })
    test.drive()
    expect(test.muxer.openings.map(({ protocols }) => protocols)).toEqual([['/x'], ['/y', '/z']])
    const stream = test.grant('/x')
    test.grant('/z')
    expect(handler.eventsOf('fully-negotiated-outbound')).toMatchObject([
      { info: 1, protocol: '/x', lazy: false, stream }, { info: 2, protocol: '/z', lazy: false }
    ])
    expect(stream).toMatchObject({ protocol: '/x', isStarted: false, writes: [], opening: undefined })
  })

  it('keeps its own opening, in whatever order they are granted', () => {
    const { handler, test } = hosted()
    handler.request(['/x'], { info: 1 })
    handler.request(['/y'], { info: 2 })
    test.drive()
    test.muxer.openings.reverse()
    test.grant('/y')
    test.grant('/x')
    expect(handler.eventsOf('fully-negotiated-outbound')).toMatchObject([{ info: 2, protocol: '/y' }, { info: 1, protocol: '/x' }])
  })

  it('that is granted too late serves nobody else (S5.7)', () => {
    const { handler, test } = hosted()
    handler.request(['/x'], { info: 'late', timeoutMs: 10 })
    handler.request(['/y'], { info: 'other' })
    test.drive()
    test.advance(10)
    expect(failuresOf(handler)).toEqual([['late', 'timeout']])
    expect(test.muxer.cancelled).toMatchObject([{ protocols: ['/x'] }])
    expect(test.grant('/x').resets).toHaveLength(1)
    expect(test.grant('/y').resets).toEqual([])
    expect(handler.eventsOf('fully-negotiated-outbound')).toMatchObject([{ info: 'other' }])
  })

  it.each([
    { reason: { type: 'failed', detail: 'refused' }, kind: 'negotiation-failed', name: 'NegotiationError' },
    { reason: { type: 'invalid', detail: 'noise' }, kind: 'io', name: 'RemoteProtocolError' },
    { reason: { type: 'eof' }, kind: 'io', name: 'UnexpectedEOFError' },
    { reason: { type: 'limit' }, kind: 'limit', name: 'Error' },
    { reason: undefined, kind: 'io', name: 'StreamResetError' }
  ] as const)('fails with kind $kind for $reason, with the names that were tried (S5.5)', ({ reason, kind, name }) => {
    const { handler, test } = hosted()
    handler.request(['/x', '/y'], { info: 1 })
    test.drive()
    test.refuse(new Error('by the host'), reason)
    expect(handler.eventsOf('dial-upgrade-error')).toMatchObject([{ info: 1, error: { kind, phase: 'open', tried: ['/x', '/y'], cause: { name } } }])
  })

  it('has tried no name while it waits for its opening (S2.36)', () => {
    const { handler, test } = hosted([], { maxNegotiatingOutboundStreams: 1 })
    handler.request(['/x'], { timeoutMs: 20 })
    handler.request(['/y'], { timeoutMs: 10 })
    test.drive()
    test.advance(20)
    expect(handler.eventsOf('dial-upgrade-error').map(({ error: { phase, tried } }) => ({ phase, tried }))).toEqual([
      { phase: 'queue', tried: [] }, { phase: 'open', tried: ['/x'] }
    ])
  })

  it('has tried the agreed name when its upgrade fails (S2.36)', () => {
    const { handler, test } = hosted()
    handler.request(['/x', '/y'], { upgrade: () => { throw new Error('broken') } })
    test.drive()
    test.grant('/y')
    expect(handler.eventsOf('dial-upgrade-error')).toMatchObject([{ error: { kind: 'apply', tried: ['/y'], direction: 'outbound' } }])
  })

  it('keeps to the limit of its protocol, and ends with the connection (S5.8, S5.5)', () => {
    const { handler, test } = hosted([], { maxOutboundStreamsPerProtocol: 1 })
    for (const info of [1, 2, 3]) {
      handler.request(['/x'], { info })
    }
    test.drive()
    test.grant('/x')
    expect(test.grant('/x').resets).toHaveLength(1)
    test.connection.close()
    test.drive()
    expect(failuresOf(handler)).toEqual([[2, 'limit'], [3, 'connection-closed']])
    expect(test.muxer.cancelled).toHaveLength(1)
    expect(test.grant('/x').resets).toHaveLength(1)
    expect(eventsOf(test)).toEqual([])
  })

  it('holds the connection open, and so does its stream until it ends (S6.2, S6.3)', () => {
    const { handler, test } = hosted([], { idleTimeoutMs: 10 })
    handler.request(['/x'])
    test.drive()
    test.advance(100)
    const stream = test.grant('/x')
    test.advance(100)
    expect(test.connection.status).toMatchObject({ phase: 'open', activity: 'busy' })
    closeStream(test, stream)
    test.advance(10)
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'keep-alive-timeout' })
  })
})
