import { beforeEach, describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { RemoteProtocolError } from '../../src/errors.ts'
import { ProtocolList } from '../../src/protocols/protocol-list.ts'
import { RecordingHandler, ScriptedConnection } from '../../src/testing/index.ts'
import { inbound, outbound, outputsOf } from '../support/scripted.ts'
import { wire } from '../support/wire.ts'
import type { ConnectionInit } from '../../src/connection/connection-config.ts'
import type { ConnectionMeter } from '../../src/connection/connection-meter.ts'
import type { ScriptedStream } from '../../src/testing/index.ts'

/** Writes down what it is told, streams and times left out. */
class Meter implements ConnectionMeter<ScriptedStream> {
  readonly told: string[] = []

  opened (direction: string, protocol: string, _port: unknown, isHost: boolean): void {
    this.told.push(`opened ${direction} ${protocol}${isHost ? ' of the host' : ''}`)
  }

  negotiated (role: string, elapsedMs: number): void { this.told.push(`negotiated ${role} in ${elapsedMs}`) }
  requested (): void { this.told.push('requested') }
  requestFailed (kind: string): void { this.told.push(`failed ${kind}`) }
  inboundFailed (outcome: string): void { this.told.push(`inbound ${outcome}`) }
  violated (outcome: string): void { this.told.push(`violated ${outcome}`) }
  rejected (reason: string): void { this.told.push(`rejected ${reason}`) }
  protocolsChanged (): void {}
  yielded (cause: string): void { this.told.push(`yielded ${cause}`) }
}

let handler: RecordingHandler
let meter: Meter
let test: ScriptedConnection

function start (init: ConnectionInit = {}): void {
  handler = new RecordingHandler(['/a'])
  meter = new Meter()
  const hostProtocols = { list: new ProtocolList(['/b']), offers: () => false }
  test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity, ...init }, meter, hostProtocols })
}

beforeEach(() => { start() })

describe('what a connection counts (S11.1)', () => {
  it('streams of either direction, of handlers and of the host, with their time', () => {
    const stream = test.offer()
    test.advance(7)
    test.feed(stream, wire('HDR A'))
    inbound(test, 'B')
    outbound(test, handler)
    test.connection.requestHostStream({ protocols: ['/a'], token: 1 }, test.clock.now)
    test.drive()
    test.feed(test.grant(), wire('HDR A'))
    expect(meter.told).toEqual([
      'negotiated listener in 7', 'opened inbound /a', 'negotiated listener in 0', 'opened inbound /b of the host',
      'requested', 'negotiated dialer in 0', 'opened outbound /a', 'requested', 'negotiated dialer in 0', 'opened outbound /a of the host'
    ])
  })

  it('a peer that breaks the protocol, and other failures, each once', () => {
    handler.request(['/a'])
    test.drive()
    test.feed(test.grant(), wire('A'))
    handler.request(['/a'])
    test.drive()
    test.connection.handleStreamReset(test.grant())
    test.drive()
    handler.request([])
    test.drive()
    expect(meter.told).toEqual(['requested', 'failed io', 'violated invalid', 'requested', 'failed io', 'requested', 'failed invalid-request'])
  })

  it('no peer that breaks the protocol where it is an upgrade that throws the error of one', () => {
    handler.request(['/a'], { upgrade: () => { throw new RemoteProtocolError('of another protocol', 'invalid') } })
    test.drive()
    test.feed(test.grant(), wire('HDR A'))
    expect(meter.told).toEqual(['requested', 'negotiated dialer in 0', 'opened outbound /a', 'failed apply'])
  })

  it('streams of the peer that are one too many for their protocol (S5.8)', () => {
    start({ maxInboundStreamsPerProtocol: 1 })
    inbound(test)
    const second = inbound(test)
    expect(second.resets).toMatchObject([{ message: expect.stringContaining('There may be 1 inbound streams of /a (maxInboundStreamsPerProtocol)') as string, direction: 'inbound' }])
    expect(meter.told).toContain('rejected protocol-limit')
  })
})

describe('what a connection has on its hands', () => {
  it('is told by load and status (S6.2)', () => {
    start({ maxNegotiatingInboundStreams: 1, maxNegotiatingOutboundStreams: 1 })
    test.offer()
    test.offer()
    handler.request(['/a'])
    test.drive()
    test.grant()
    handler.request(['/a'])
    test.drive()
    handler.request(['/a'])
    test.drive()
    expect(test.connection.load).toEqual({ negotiatingInbound: 1, negotiatingOutbound: 1, queuedInbound: 1, queuedOutbound: 2 })
    expect(test.connection.status).toMatchObject({ phase: 'open', activity: 'busy' })
  })

  it.each([['/ipfs/ping/1.0.0', 100], ['/x/ipfs/ping/1.0.0', 160], ['/ipfs/ping/1.0.0/x', 160], ['/ipfs/id/push/1.0.0', 100]])(
    'a request for %s that fails leaves the idle time at %d (S6.3)', (protocol, until) => {
      start({ idleTimeoutMs: 100 })
      test.advance(60)
      handler.request([protocol])
      test.drive()
      test.refuse(new Error('no stream'))
      expect(test.connection.status).toMatchObject({ activity: 'idle', until })
    })
})

describe('where something failed (S2.36)', () => {
  const upgrade = () => ({ poll: () => PENDING, ended: [] as unknown[], end (reason: unknown): void { this.ended.push(reason) } })

  it('is told of every request that the close of the connection ends, and of every stream (S6.6 a, b)', () => {
    start({ maxNegotiatingInboundStreams: 1 })
    const [negotiating, waiting] = [test.offer(), test.offer()]
    const own = upgrade()
    handler.request(['/a'], { info: 'upgrade', upgrade: () => own })
    test.drive()
    const upgrading = test.grant()
    test.feed(upgrading, wire('HDR A'))
    handler.request(['/a'], { info: 'header' })
    test.drive()
    const opened = test.grant()
    handler.request(['/a'], { info: 'open' })
    test.advance(5)
    test.connection.close()
    test.drive()
    const closed = { kind: 'connection-closed', direction: 'outbound', elapsedMs: 5, cause: { message: expect.stringContaining('The connection closes') as string } }
    expect(handler.eventsOf('dial-upgrade-error').map(({ info, error }) => ({ info, error }))).toMatchObject([
      { info: 'upgrade', error: { ...closed, phase: 'upgrade', tried: ['/a'] } },
      { info: 'header', error: { ...closed, phase: 'header', tried: ['/a'] } },
      { info: 'open', error: { ...closed, phase: 'open', tried: [] } }
    ])
    expect(own.ended).toMatchObject([{ name: 'AbortError', message: expect.stringContaining('The connection closes') as string, phase: 'upgrade' }])
    expect([upgrading, opened].map(({ resets }) => resets.length)).toEqual([1, 1])
    expect(waiting.resets).toMatchObject([{ message: expect.stringContaining('The connection closes') as string, phase: 'queue', direction: 'inbound', tried: [], elapsedMs: 5 }])
    expect(negotiating.resets).toMatchObject([{ message: expect.stringContaining('The connection closes') as string, phase: 'header', direction: 'inbound', tried: [], elapsedMs: 5 }])
  })

  it('an upgrade whose stream is reset ends with that, one that threw is not told (S4.4)', () => {
    const [lost, thrown] = [upgrade(), { ...upgrade(), poll: () => { throw new Error('broken') } }]
    handler.request(['/a'], { upgrade: () => lost })
    test.drive()
    const stream = test.grant()
    test.feed(stream, wire('HDR A'))
    test.connection.handleStreamReset(stream, new Error('gone'))
    test.drive()
    handler.request(['/a'], { upgrade: () => thrown })
    test.drive()
    test.feed(test.grant(), wire('HDR A'))
    expect(handler.eventsOf('dial-upgrade-error').map(({ error }) => [error.kind, error.phase])).toEqual([['io', 'upgrade'], ['apply', 'upgrade']])
    expect(lost.ended).toMatchObject([{ name: 'StreamResetError', phase: 'upgrade' }])
    expect(thrown.ended).toEqual([])
  })

  it('a stream that comes after its request ended is reset with the reason (S5.7)', () => {
    handler.request(['/a'], { timeoutMs: 10 })
    test.drive()
    const opening = test.muxer.takeOpening()
    test.advance(10)
    expect(handler.eventsOf('dial-upgrade-error').map(({ error }) => [error.kind, error.phase, error.tried])).toEqual([['timeout', 'open', []]])
    test.muxer.openings.push(opening)
    expect(test.grant().resets).toMatchObject([{ name: 'AbortError', message: expect.stringContaining('Nobody waits for this stream any more') as string, phase: 'open', direction: 'outbound', tried: [] }])
  })
})

describe('cancelling', () => {
  it('ends what has the token, and leaves what has another one, of the handler and of the host (S4.2)', () => {
    for (const token of ['mine', 'other']) {
      handler.request(['/a'], { info: token, token })
      test.connection.requestHostStream({ protocols: ['/a'], token }, test.clock.now)
    }
    test.drive()
    handler.push({ type: 'cancel-outbound-request', token: 'mine' })
    test.drive()
    expect(handler.eventsOf('dial-upgrade-error').map(({ info, error }) => [info, error.kind])).toEqual([['mine', 'aborted']])
    expect(outputsOf(test, 'host-stream-failed')).toEqual([])
    test.connection.cancelHostStream('other')
    test.drive()
    expect(outputsOf(test, 'host-stream-failed').map(({ token, error }) => [token, error.kind])).toEqual([['other', 'aborted']])
    expect(handler.eventsOf('dial-upgrade-error')).toHaveLength(1)
  })
})

describe('the end', () => {
  it('gives back messages only, whatever else was asked behind them (S6.9)', () => {
    test.connection.onBehaviourEvent('first')
    test.connection.close()
    test.connection.close()
    test.connection.onBehaviourEvent('second')
    test.connection.abort(new Error('at once'))
    test.drive()
    test.connection.handleMuxerClosed()
    test.drive()
    expect([...handler.behaviourEvents, ...outputsOf(test, 'closed').flatMap(({ undelivered }) => undelivered)]).toEqual(['first', 'second'])
  })
})
