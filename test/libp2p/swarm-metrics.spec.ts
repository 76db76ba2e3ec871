/** S11 with a component that writes down what it is told. */

import { describe, expect, it } from 'vitest'
import { MetricLabels } from '../../src/libp2p/metric-labels.ts'
import { SwarmMetrics } from '../../src/libp2p/swarm-metrics.ts'
import { RecordingHandler, ScriptedConnection, ScriptedStream } from '../../src/testing/index.ts'
import { RecordingMetrics } from '../support/recording-metrics.ts'
import { closeStream, inbound, outbound, settle } from '../support/scripted.ts'
import { wire } from '../support/wire.ts'
import type { ConnectionInit, ConnectionMeter } from '../../src/connection/index.ts'
import type { MeasuredConnection } from '../../src/libp2p/swarm-metrics.ts'

/** The table of S11.1. */
const TABLE: ReadonlyArray<readonly [name: string, kind: string, label: string | undefined]> = [
  ['inbound_streams_total', 'counter group', 'protocol'],
  ['outbound_streams_total', 'counter group', 'protocol'],
  ['open_inbound_streams', 'metric group', 'protocol'],
  ['open_outbound_streams', 'metric group', 'protocol'],
  ['outbound_requests_total', 'counter', undefined],
  ['outbound_failures_total', 'counter group', 'kind'],
  ['inbound_failures_total', 'counter group', 'outcome'],
  ['violations_total', 'counter group', 'outcome'],
  ['rejected_streams_total', 'counter group', 'reason'],
  ['negotiation_seconds', 'histogram group', 'role'],
  ['negotiating_streams', 'metric group', 'direction'],
  ['queued_inbound_streams', 'metric', undefined],
  ['queued_outbound_requests', 'metric', undefined],
  ['connections', 'metric group', 'state'],
  ['connections_closed_total', 'counter group', 'reason'],
  ['connections_denied_total', 'counter group', 'behaviour'],
  ['protocol_changes_total', 'counter group', 'side'],
  ['undelivered_events_total', 'counter group', 'reason'],
  ['event_buffer_length', 'metric', undefined],
  ['user_errors_total', 'counter group', 'source'],
  ['yields_total', 'counter group', 'cause']
]

/** A connection that is measured; its streams carry the protocol that was agreed, as those of the host do. */
function measured (init: ConnectionInit = {}) {
  const metrics = new RecordingMetrics()
  const errors: unknown[] = []
  const connections: MeasuredConnection[] = []
  const swarm = new SwarmMetrics(metrics.component, { connections: () => connections, bufferedEvents: () => 7, onError: (cause) => { errors.push(cause) } })
  const handler = new RecordingHandler(['/a'])
  const test = new ScriptedConnection(handler, { init, meter: swarm as unknown as ConnectionMeter<ScriptedStream> })
  connections.push({
    get status () { return test.connection.status },
    get load () { return test.connection.load },
    get openStreams () {
      return Array.from(test.connection.openStreams, ({ port, isInbound }) => ({ port: { ...port, stream: { protocol: '/a' } } as never, isInbound }))
    }
  })
  return { metrics, swarm, handler, test, errors, valueOf: (name: string) => metrics.valueOf(name) }
}

describe('the metrics of a swarm (S11.1)', () => {
  it('are those of the table, and no others', () => {
    const { metrics } = measured()
    expect(Array.from(metrics.registered, ([name, { kind, label }]) => [name, kind, label]).sort()).toEqual(
      TABLE.map(([name, kind, label]) => [`libp2p_behaviours_${name}`, kind, label]).sort()
    )
  })

  it('are all 0 before anything happened', () => {
    const { valueOf } = measured()
    for (const [name, kind] of TABLE) {
      const value = valueOf(name)
      if (kind === 'metric' && name !== 'event_buffer_length') {
        expect(value).toBe(0)
      }
    }
    expect(valueOf('negotiating_streams')).toEqual({ inbound: 0, outbound: 0 })
    expect(valueOf('event_buffer_length')).toBe(7)
  })

  it('count streams by protocol and direction, and those that are open, until they end', () => {
    const { handler, test, valueOf, metrics } = measured()
    const streams = [inbound(test), inbound(test), outbound(test, handler)]
    expect([valueOf('inbound_streams_total'), valueOf('outbound_streams_total')]).toEqual([{ '/a': 2 }, { '/a': 1 }])
    expect([valueOf('open_inbound_streams'), valueOf('open_outbound_streams')]).toEqual([{ '/a': 2 }, { '/a': 1 }])
    expect(valueOf('outbound_requests_total')).toBe(1)
    expect(metrics.observedOf('negotiation_seconds')).toEqual([{ listener: 0 }, { listener: 0 }, { dialer: 0 }])
    streams.forEach((stream) => { closeStream(test, stream) })
    expect([valueOf('open_inbound_streams'), valueOf('open_outbound_streams')]).toEqual([{ '/a': 0 }, { '/a': 0 }])
    expect([valueOf('inbound_streams_total'), valueOf('outbound_streams_total')]).toEqual([{ '/a': 2 }, { '/a': 1 }])
  })

  it('count streams that the host negotiates by who opened them, once they have a name (S11.1)', () => {
    const metrics = new RecordingMetrics()
    const { connection } = new ScriptedConnection(new RecordingHandler(['/a']))
    const [theirs, ours, unnamed] = [new ScriptedStream(), new ScriptedStream(), new ScriptedStream()]
    const names = new Map<unknown, string>([[theirs, '/theirs'], [ours, '/ours'], [unnamed, '']])
    const measuredOne: MeasuredConnection = {
      status: connection.status,
      load: connection.load,
      get openStreams () {
        return Array.from(connection.openStreams, ({ port, isInbound }) => {
          return { port: { stream: { protocol: names.get(port) } } as never, isInbound }
        })
      }
    }
    new SwarmMetrics(metrics.component, { connections: () => [measuredOne], bufferedEvents: () => 0, onError: () => {} })
    connection.handleForeignStream(theirs, 'inbound')
    connection.handleForeignStream(ours, 'outbound')
    connection.handleForeignStream(unnamed, 'outbound')
    expect(metrics.valueOf('open_inbound_streams')).toEqual({ '/theirs': 1 })
    expect(metrics.valueOf('open_outbound_streams')).toEqual({ '/ours': 1 })
  })

  it('measure a negotiation in seconds from the request or the arrival, a lazy one until the peer agreed', () => {
    const { handler, test, metrics, valueOf } = measured()
    const stream = test.offer()
    expect(valueOf('negotiating_streams')).toEqual({ inbound: 1, outbound: 0 })
    test.advance(250)
    test.feed(stream, wire('HDR A'))
    test.connection.handleRemoteReport('replaced', ['/a'])
    handler.request(['/a'], { lazy: true })
    test.drive()
    const lazy = test.grant()
    expect(valueOf('outbound_streams_total')).toEqual({ '/a': 1 })
    test.advance(500)
    test.feed(lazy, wire('HDR A'))
    expect(metrics.observedOf('negotiation_seconds')).toEqual([{ listener: 0.25 }, { 'dialer-lazy': 0.5 }])
    expect(valueOf('negotiating_streams')).toEqual({ inbound: 0, outbound: 0 })
  })

  it('count failures on both sides, and what no conforming peer sends', () => {
    const { handler, test, valueOf } = measured({ outboundTimeoutMs: 50, inboundTimeoutMs: 50 })
    test.feed(test.offer(), wire('A'))
    test.offer()
    handler.request(['/x'])
    handler.request(['no slash'])
    test.drive()
    test.advance(50)
    handler.request(['/x'])
    test.drive()
    test.feed(test.grant(), wire('HDR HDR'))
    expect(valueOf('inbound_failures_total')).toEqual({ invalid: 1, timeout: 1 })
    expect(valueOf('outbound_failures_total')).toEqual({ timeout: 1, 'invalid-request': 1, io: 1 })
    expect(valueOf('violations_total')).toEqual({ invalid: 2 })
    expect(valueOf('outbound_requests_total')).toBe(3)
  })

  it('count streams that were one too many, by the reason', () => {
    const { test, valueOf } = measured({
      maxNegotiatingInboundStreams: 1, maxQueuedInboundStreams: 1, maxInboundStreamsPerProtocol: 1, maxOpenInboundStreams: 4, inboundStreamBurst: 8,
      inboundStreamsPerSecond: 1, streamCloseTimeoutMs: Infinity
    })
    inbound(test)
    inbound(test)
    expect(valueOf('rejected_streams_total')).toEqual({ 'protocol-limit': 1 })
    test.offer()
    test.offer()
    expect(valueOf('queued_inbound_streams')).toBe(1)
    test.offer()
    expect(valueOf('rejected_streams_total')).toEqual({ 'protocol-limit': 1, 'queue-full': 1 })
    for (let left = 4; left > 0; left--) {
      test.offer()
    }
    expect(valueOf('rejected_streams_total')).toMatchObject({ rate: 1 })
  })

  it('count changes of the protocol sets, also if nobody wants them reported', () => {
    const { test, valueOf, handler } = measured()
    expect(valueOf('protocol_changes_total')).toEqual({ local: 1 })
    test.connection.handleRemoteReport('replaced', ['/b'])
    handler.protocols = ['/c']
    handler.wake()
    test.drive()
    expect(valueOf('protocol_changes_total')).toEqual({ local: 2, remote: 1 })
  })

  it('count turns that ended before their work did', () => {
    const { test, valueOf, handler } = measured({ maxHandlerEventsPerTurn: 2, maxFramesPerTurn: 2 })
    for (let left = 3; left > 0; left--) {
      handler.push({ type: 'notify-behaviour', event: left })
    }
    settle(test)
    expect(valueOf('yields_total')).toEqual({ 'handler-events': 1 })
    test.feed(test.offer(), wire('HDR B B B B'))
    expect(valueOf('yields_total')).toMatchObject({ frames: 1 })
  })

  it('say what the connections are at', () => {
    const { test, valueOf } = measured({ idleTimeoutMs: 100 })
    expect(valueOf('connections')).toEqual({ busy: 0, idle: 1, closing: 0 })
    inbound(test)
    expect(valueOf('connections')).toEqual({ busy: 1, idle: 0, closing: 0 })
    test.connection.close()
    test.drive()
    expect(valueOf('connections')).toEqual({ busy: 0, idle: 0, closing: 1 })
  })

  it('count what the swarm tells of', () => {
    const { swarm, valueOf } = measured()
    swarm.closed('remote-close')
    swarm.denied('group.limits')
    swarm.undelivered('queue-full', 1)
    swarm.undelivered('connection-closed', 3)
    swarm.userError('chat')
    swarm.yielded('budget')
    expect(valueOf('connections_closed_total')).toEqual({ 'remote-close': 1 })
    expect(valueOf('connections_denied_total')).toEqual({ 'group.limits': 1 })
    expect(valueOf('undelivered_events_total')).toEqual({ 'queue-full': 1, 'connection-closed': 3 })
    expect(valueOf('user_errors_total')).toEqual({ chat: 1 })
    expect(valueOf('yields_total')).toEqual({ budget: 1 })
  })

  it('contain what the component throws: the connection goes on', () => {
    const { test, handler, metrics, errors } = measured()
    metrics.error = new Error('collector')
    inbound(test)
    outbound(test, handler)
    expect(handler.eventsOf('fully-negotiated-inbound')).toHaveLength(1)
    expect(handler.eventsOf('fully-negotiated-outbound')).toHaveLength(1)
    expect(new Set(errors)).toEqual(new Set([metrics.error]))
  })
})

describe('a label (S11.2)', () => {
  it('takes 256 names, then other, and knows the first ones again', () => {
    const labels = new MetricLabels()
    const names = Array.from({ length: 300 }, (_, at) => `/p/${at}`)
    expect(names.map((name) => labels.of(name))).toEqual(names.map((name, at) => at < 256 ? name : 'other'))
    expect(labels.of('/p/255')).toBe('/p/255')
    expect(labels.of('/p/256')).toBe('other')
  })

  it('shows names as printable text of bounded length', () => {
    const labels = new MetricLabels()
    expect(labels.of('/a\u0007\u2028')).toMatch(/^[ -~]+$/)
    expect(labels.of(`/${'x'.repeat(1000)}`).length).toBeLessThanOrEqual(120)
  })
})
