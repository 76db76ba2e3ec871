import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { OpenRate } from '../../src/connection/open-rate.ts'
import { Connection } from '../../src/connection/index.ts'
import { ProtocolList } from '../../src/protocols/index.ts'
import { RecordingHandler, ScriptedConnection, ScriptedMuxer, ScriptedStream } from '../../src/testing/index.ts'
import { closeStream, failuresOf, inbound, outbound, outputsOf, reportsOf } from '../support/scripted.ts'
import { SILENT_METER } from '../support/silent-meter.ts'
import { wire } from '../support/wire.ts'
import type { ConnectionInit } from '../../src/connection/index.ts'
import type { Poll } from '../../src/core/poll.ts'
import type { StreamUpgrade } from '../../src/handler/stream-upgrade.ts'
import type { StreamPort } from '../../src/connection/index.ts'

function setup (init: ConnectionInit = {}, protocols: readonly string[] = ['/a', '/b', '/c']) {
  const handler = new RecordingHandler(protocols)
  const test = new ScriptedConnection(handler, {
    init: { idleTimeoutMs: Infinity, ...init },
    hostProtocols: { list: new ProtocolList(['/host']), offers: () => false }
  })
  return { handler, test }
}

/** The peer opens `count` streams at once; how many of them were reset. */
function resetOf (test: ScriptedConnection, count: number): number {
  return Array.from({ length: count }, () => test.offer()).filter(({ resets }) => resets.length > 0).length
}

const limitsReached = (test: ScriptedConnection) => reportsOf(test, 'limit-reached').map(({ option, limit, count }) => [option, limit, count])

describe('the rate of inbound opens (S5.9 a)', () => {
  it('takes a burst, then so many a second; the others are reset and leave no state', () => {
    const { handler, test } = setup({ inboundStreamBurst: 3, inboundStreamsPerSecond: 2, maxNegotiatingInboundStreams: 100 })
    expect(resetOf(test, 5)).toBe(2)
    test.advance(500)
    expect(resetOf(test, 2)).toBe(1)
    test.advance(60_000)
    expect(resetOf(test, 4)).toBe(1)
    expect(handler.events.map(({ type }) => type)).toEqual(['local-protocols-change'])
    expect(limitsReached(test)).toEqual([['inboundStreamsPerSecond', 2, 1], ['inboundStreamsPerSecond', 2, 2], ['inboundStreamsPerSecond', 2, 1]])
  })

  it('counts streams of the host too (S9.3)', () => {
    const { test } = setup({ inboundStreamBurst: 2, inboundStreamsPerSecond: 1 })
    closeStream(test, inbound(test, 'A'))
    const hosted = test.offer()
    test.feed(hosted, wire('HDR 062f686f73740a'))
    expect(outputsOf(test, 'host-stream')).toHaveLength(1)
    expect(resetOf(test, 1)).toBe(1)
  })

  it('Infinity turns it off', () => {
    expect(resetOf(setup({ inboundStreamsPerSecond: Infinity, inboundStreamBurst: 1, maxNegotiatingInboundStreams: 50 }).test, 50)).toBe(0)
  })

  it('is 10 000 with a burst of 10 000', () => {
    const { test } = setup()
    for (let left = 10_000; left > 0; left--) {
      const stream = test.offer()
      expect(stream.resets).toEqual([])
      test.connection.handleStreamReset(stream)
    }
    expect(resetOf(test, 1)).toBe(1)
  })

  it('never admits more than the burst and the time allow, whatever the arrivals (S10.12)', () => {
    fc.assert(fc.property(
      fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 20 }), fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 60 }),
      (perSecond, burst, gaps) => {
        const rate = new OpenRate(perSecond, burst, 0)
        let now = 0
        let taken = 0
        for (const gap of gaps) {
          now += gap
          taken += rate.take(now) ? 1 : 0
          expect(taken).toBeLessThanOrEqual(burst + now * perSecond / 1000)
        }
        const patient = new OpenRate(perSecond, burst, 0)
        expect(Array.from({ length: 20 }, (_, index) => patient.take(index * 1001 / perSecond))).not.toContain(false)
      }
    ))
  })
})

describe('maxOpenInboundStreams', () => {
  it('counts those that wait, negotiate, are upgraded, and are in use, until they end (S5.9 a)', () => {
    const { test } = setup({ maxOpenInboundStreams: 4, maxNegotiatingInboundStreams: 2 })
    const used = inbound(test, 'A')
    const hosted = inbound(test, '062f686f73740a')
    const [, waiting] = [test.offer(), test.offer()]
    expect(resetOf(test, 1)).toBe(1)
    closeStream(test, used)
    expect(resetOf(test, 2)).toBe(1)
    test.connection.handleStreamReset(waiting)
    test.connection.handleStreamReset(hosted)
    expect(resetOf(test, 3)).toBe(1)
    expect(limitsReached(test)).toEqual([['maxOpenInboundStreams', 4, 1]])
  })

  it('does not count what this side opened, and counts streams that hold nothing open', () => {
    const { handler, test } = setup({ maxOpenInboundStreams: 1 })
    outbound(test, handler)
    const stream = inbound(test, 'A')
    test.connection.ignoreForKeepAlive(stream)
    expect(resetOf(test, 1)).toBe(1)
    closeStream(test, stream)
    expect(resetOf(test, 1)).toBe(0)
  })
})

describe('a stream of the peer that is one too many', () => {
  it.each([
    ['inboundStreamsPerSecond', 'rate', { inboundStreamBurst: 1, inboundStreamsPerSecond: 1 }],
    ['maxOpenInboundStreams', 'open-limit', { maxOpenInboundStreams: 1 }],
    ['maxQueuedInboundStreams', 'queue-full', { maxNegotiatingInboundStreams: 1, maxQueuedInboundStreams: 0 }]
  ])('over %s is told so, with an error that all of them share, and counted as %s (S9.1, S11.1)', (option, reason, init) => {
    const rejected: string[] = []
    const test = new ScriptedConnection(new RecordingHandler(['/a']), {
      init: { idleTimeoutMs: Infinity, ...init }, meter: { ...SILENT_METER, rejected: why => { rejected.push(why) } }
    })
    expect(test.offer().resets).toEqual([])
    const [second, third] = [test.offer(), test.offer()]
    expect(second.resets).toMatchObject([
      { name: 'AbortError', message: expect.stringContaining(`Too many inbound streams (${option})`) as string, phase: 'queue', direction: 'inbound', tried: [], elapsedMs: 0 }
    ])
    expect(third.resets[0]).toBe(second.resets[0])
    expect(rejected).toEqual([reason, reason])
    expect(reportsOf(test, 'inbound-failure')).toEqual([])
  })
})

describe('closeAfterOverLimitMs (S6.4)', () => {
  const over = { maxOpenInboundStreams: 0, closeAfterOverLimitMs: 2000 }

  it('ends a connection whose peer goes on, by aborting the muxer', () => {
    const { test } = setup(over)
    for (let at = 0; at < 2000; at += 500) {
      test.offer()
      test.advance(500)
    }
    expect([test.connection.status.phase, test.muxer.aborts]).toEqual(['open', []])
    test.offer()
    expect(test.muxer.aborts).toMatchObject([{ name: 'ConnectionClosedError' }])
    expect(outputsOf(test, 'closed')).toMatchObject([{ reason: 'abuse', cause: { message: expect.stringContaining('2000 ms') as unknown } }])
    expect(test.muxer.closes).toBe(0)
  })

  it('forgives a peer that has kept to the limits for more than a second', () => {
    const { test } = setup(over)
    for (let at = 0; at < 20_000; at += 1001) {
      test.offer()
      test.advance(1001)
    }
    expect(test.connection.status.phase).toBe('open')
  })

  it('does not forgive one that comes back exactly a second later', () => {
    for (const [gap, phase] of [[1000, 'closed'], [1001, 'open']] as const) {
      const { test } = setup({ maxOpenInboundStreams: 0, closeAfterOverLimitMs: 1000 })
      test.offer()
      test.advance(gap)
      test.offer()
      expect(test.connection.status.phase).toBe(phase)
    }
  })

  it('0: the first stream too many ends it; by default none does', () => {
    const { test } = setup({ ...over, closeAfterOverLimitMs: 0 })
    test.offer()
    expect(outputsOf(test, 'closed')).toMatchObject([{ reason: 'abuse' }])
    const { test: patient } = setup({ maxOpenInboundStreams: 0 })
    for (let left = 100; left > 0; left--) {
      patient.offer()
      patient.advance(1000)
    }
    expect(patient.connection.status.phase).toBe('open')
  })

  it('goes for a full queue as well', () => {
    const { test } = setup({ maxNegotiatingInboundStreams: 0, maxQueuedInboundStreams: 0, closeAfterOverLimitMs: 0 })
    test.offer()
    expect(outputsOf(test, 'closed')).toMatchObject([{ reason: 'abuse' }])
  })
})

describe('limit-reached', () => {
  it('comes once a second and option, with the number since the last one (S9.1)', () => {
    const { test } = setup({ maxOpenInboundStreams: 0 })
    for (let times = 0; times < 21; times++) {
      test.offer()
      test.advance(100)
    }
    expect(limitsReached(test)).toEqual([['maxOpenInboundStreams', 0, 1], ['maxOpenInboundStreams', 0, 9], ['maxOpenInboundStreams', 0, 10]])
  })

  it('tells of a full inbox, with as many as were not taken (S7.12)', () => {
    const { handler, test } = setup({ maxQueuedBehaviourEvents: 2 })
    expect([1, 2, 3, 4].map(event => test.connection.onBehaviourEvent(event))).toEqual([true, true, false, false])
    test.drive()
    expect(handler.behaviourEvents).toEqual([1, 2])
    expect(limitsReached(test)).toEqual([['maxQueuedBehaviourEvents', 2, 2]])
  })
})

describe('limits per protocol (S5.8)', () => {
  it('reset an inbound stream over the limit when its name is agreed; closing one frees its slot', () => {
    const { handler, test } = setup({ maxInboundStreamsPerProtocol: 2 })
    const [first] = [inbound(test, 'A'), inbound(test, 'A')]
    const third = inbound(test, 'A')
    expect(third.resets).toMatchObject([{ name: 'AbortError', message: expect.stringMatching(/2 inbound streams of \/a \(maxInboundStreamsPerProtocol\)/) as unknown }])
    expect(inbound(test, 'B').resets).toEqual([])
    closeStream(test, first)
    expect(inbound(test, 'A').resets).toEqual([])
    expect(handler.eventsOf('fully-negotiated-inbound').map(({ protocol }) => protocol)).toEqual(['/a', '/a', '/b', '/a'])
    expect(limitsReached(test)).toEqual([['maxInboundStreamsPerProtocol', 2, 1]])
    expect(test.connection.status.phase).toBe('open')
  })

  it('fail an outbound request over the limit with kind limit, naming protocol and limit', () => {
    const { handler, test } = setup({ maxOutboundStreamsPerProtocol: 1 })
    const first = outbound(test, handler, 1)
    const second = outbound(test, handler, 2)
    expect(second.resets).toHaveLength(1)
    expect(handler.eventsOf('dial-upgrade-error')).toMatchObject([
      { info: 2, error: { kind: 'limit', tried: ['/a'], message: expect.stringMatching(/1 outbound streams of \/a \(maxOutboundStreamsPerProtocol\)/) as unknown } }
    ])
    closeStream(test, first)
    outbound(test, handler, 3)
    expect(handler.eventsOf('fully-negotiated-outbound').map(({ info }) => info)).toEqual([1, 3])
    expect(limitsReached(test)).toEqual([['maxOutboundStreamsPerProtocol', 1, 1]])
  })

  it('hold for lazy streams before a byte of them is sent', () => {
    const { handler, test } = setup({ maxOutboundStreamsPerProtocol: 1 })
    test.connection.handleRemoteReport('replaced', ['/a'])
    const [first, second] = [1, 2].map(info => {
      handler.request(['/a'], { lazy: true, info })
      test.drive()
      return test.grant()
    })
    expect([first?.opening, second?.opening, second?.resets.length, failuresOf(handler)]).toEqual([expect.anything(), undefined, 1, [[2, 'limit']]])
    test.feed(first!, wire('HDR NA'))
    outbound(test, handler, 3)
    expect(failuresOf(handler)).toEqual([[2, 'limit']])
  })

  it('leave the streams of the host alone, whose own limits hold', () => {
    const { handler, test } = setup({ maxInboundStreamsPerProtocol: 0, maxOutboundStreamsPerProtocol: 0 })
    expect(inbound(test, '062f686f73740a').resets).toEqual([])
    test.connection.requestHostStream({ protocols: ['/a'], token: 1 }, 0)
    test.drive()
    test.feed(test.grant(), wire('HDR A'))
    expect(outputsOf(test, 'host-stream-opened')).toHaveLength(1)
    expect(inbound(test, 'A').resets).toHaveLength(1)
    outbound(test, handler, 'own')
    expect(failuresOf(handler)).toEqual([['own', 'limit']])
  })

  it('an upgrade holds its slot, and gives it back when it fails, is reset or takes too long', () => {
    let answer: () => Poll<unknown> = () => PENDING
    class Upgrading extends RecordingHandler {
      inboundUpgrade (): StreamUpgrade<unknown> {
        return { poll: () => answer() }
      }
    }
    const test = new ScriptedConnection(new Upgrading(['/a']), { init: { idleTimeoutMs: Infinity, inboundTimeoutMs: 100, maxInboundStreamsPerProtocol: 1 } })
    const ends: Array<(stream: ScriptedStream) => void> = [
      stream => { test.connection.handleStreamReset(stream); test.drive() },
      () => { test.advance(100) }
    ]
    for (const end of ends) {
      answer = () => PENDING
      const stream = inbound(test, 'A')
      expect([stream.resets.length, inbound(test, 'A').resets.length]).toEqual([0, 1])
      end(stream)
    }
    answer = () => { throw new Error('no') }
    inbound(test, 'A')
    answer = () => 'done'
    const last = inbound(test, 'A')
    expect([last.resets.length, inbound(test, 'A').resets.length]).toEqual([0, 1])
    closeStream(test, last)
    expect(inbound(test, 'A').resets).toEqual([])
  })

  it('no way to end costs a slot: refused, failed to write, timed out, reset, cancelled, thrown at (C19)', () => {
    const { handler, test } = setup({ maxOutboundStreamsPerProtocol: 1, maxInboundStreamsPerProtocol: 1, outboundTimeoutMs: 50, inboundTimeoutMs: 50 })
    const asked = () => {
      handler.request(['/a'], { token: 'one' })
      test.drive()
      return test.grant()
    }
    const rounds: Array<() => void> = [
      () => { test.feed(asked(), wire('HDR NA')) },
      () => { asked(); test.advance(50) },
      () => { test.connection.handleStreamReset(asked()); test.drive() },
      () => { asked(); handler.push({ type: 'cancel-outbound-request', token: 'one' }); test.drive() },
      () => {
        handler.onEvent = () => { throw new Error('no') }
        test.feed(asked(), wire('HDR A'))
        inbound(test, 'A')
        handler.onEvent = () => {}
      },
      () => {
        const stream = asked()
        test.connection.handleStreamData(stream, wire('HDR A'))
        test.connection.handleStreamReset(stream)
        test.drive()
      },
      () => {
        const stream = test.offer()
        test.connection.handleStreamData(stream, wire('HDR A'))
        test.connection.handleStreamReset(stream)
        test.drive()
      },
      () => { closeStream(test, outbound(test, handler)); closeStream(test, inbound(test, 'A')) }
    ]
    for (let round = 0; round < 100; round++) {
      rounds[round % rounds.length]?.()
    }
    expect(limitsReached(test)).toEqual([])
    expect([outbound(test, handler).resets, inbound(test, 'A').resets]).toEqual([[], []])
  })

  it('closing one protocol does not give room to another, under any order of opens and ends (S10.12)', () => {
    fc.assert(fc.property(fc.array(fc.record({ name: fc.constantFrom('A', 'B'), ends: fc.integer({ min: -1, max: 4 }) }), { maxLength: 40 }), steps => {
      const { test } = setup({ maxInboundStreamsPerProtocol: 2 })
      const open: Array<{ name: string, stream: ScriptedStream }> = []
      for (const { name, ends } of steps) {
        const before = open.filter(one => one.name === name).length
        const stream = inbound(test, name)
        expect(stream.resets.length).toBe(before < 2 ? 0 : 1)
        if (before < 2) {
          open.push({ name, stream })
        }
        for (const { stream: ended } of open.splice(ends, ends < 0 ? 0 : 1)) {
          closeStream(test, ended)
        }
      }
    }))
  })
})

describe('a muxer that can hold streams back (S5.9)', () => {
  class HoldingMuxer extends ScriptedMuxer {
    readonly held: ScriptedStream[] = []
    asked = 0

    pollInbound (): Poll<StreamPort<ScriptedStream>> {
      this.asked++
      return this.held.shift() ?? PENDING
    }
  }

  function holding (init: ConnectionInit) {
    const muxer = new HoldingMuxer()
    const handler = new RecordingHandler(['/a'])
    const connection = new Connection<ScriptedStream>(
      { id: 'c', peer: 'p', direction: 'inbound', handler, muxer, wake: () => {} }, { idleTimeoutMs: Infinity, ...init }, 0
    )
    const drain = (now = 0) => {
      let output = connection.poll(now)
      while (output !== PENDING) {
        output = connection.poll(now)
      }
    }
    const hold = (count: number, now = 0) => {
      const streams = Array.from({ length: count }, () => new ScriptedStream())
      muxer.held.push(...streams)
      connection.handleInboundReady()
      drain(now)
      return streams
    }
    drain()
    return { muxer, connection, hold, drain }
  }

  it('is asked while slots are free and not while they are taken; each freed one takes the next', () => {
    const { muxer, connection, hold, drain } = holding({ maxNegotiatingInboundStreams: 2, maxQueuedInboundStreams: 0 })
    const streams = hold(4)
    expect([streams.map(({ isStarted }) => isStarted), muxer.held.length]).toEqual([[true, true, false, false], 2])
    const { asked } = muxer
    hold(0)
    expect(muxer.asked).toBe(asked)
    connection.handleStreamData(streams[0]!, wire('HDR A'))
    drain()
    expect([streams[2]?.isStarted, muxer.held.length]).toEqual([true, 1])
    expect(streams.flatMap(({ resets }) => resets)).toEqual([])
  })

  it('its streams arrive when they are taken: then their deadline begins', () => {
    const { muxer, hold, drain } = holding({ maxNegotiatingInboundStreams: 1, inboundTimeoutMs: 100 })
    const [first, second] = hold(2)
    drain(100)
    expect([first?.resets.length, second?.resets.length, muxer.held.length]).toEqual([1, 0, 0])
    drain(199)
    expect(second?.resets).toEqual([])
    drain(200)
    expect(second?.resets).toMatchObject([{ name: 'TimeoutError', elapsedMs: 100 }])
  })

  it('is not asked once the connection closes, and its throw ends the connection (S5.11)', () => {
    const { muxer, connection, hold } = holding({})
    connection.close()
    hold(1)
    expect(muxer.held).toHaveLength(1)
    const broken = holding({})
    broken.muxer.pollInbound = () => { throw new Error('broken') }
    broken.hold(0)
    expect(broken.connection.status).toMatchObject({ reason: 'io-error', cause: { message: 'broken' } })
  })

  it('may give a stream twice (S5.11)', () => {
    const { connection, muxer, hold } = holding({})
    const [stream] = hold(1)
    muxer.held.push(stream!)
    hold(0)
    expect([stream?.resets, connection.status.phase]).toEqual([[], 'open'])
    expect(connection.load).toMatchObject({ negotiatingInbound: 1, queuedInbound: 0 })
  })
})

describe('reports of the host (S3.20)', () => {
  function reporting (init: ConnectionInit = {}) {
    const notices: unknown[] = []
    const { handler, test } = setup(init)
    handler.onEvent = event => {
      if (event.type === 'remote-protocols-change') {
        notices.push([test.clock.now, event.change.type, event.change.protocols.toArray()])
      }
    }
    const report = (...names: string[]) => { test.connection.handleRemoteReport('replaced', names); test.drive() }
    return { test, notices, report }
  }

  it('the first one applies at once, a burst is one change, and the last one is always applied', () => {
    const { test, notices, report } = reporting()
    report('/a')
    report('/b')
    report('/c')
    report('/d')
    expect(test.connection.remoteProtocols.toArray()).toEqual(['/a'])
    expect(test.connection.pollTimeout()).toBe(100)
    test.advance(99)
    expect(notices).toEqual([[0, 'added', ['/a']]])
    test.advance(1)
    expect(notices.slice(1)).toEqual([[100, 'added', ['/d']], [100, 'removed', ['/a']]])
    expect(test.connection.pollTimeout()).toBe(Infinity)
    test.advance(1000)
    report('/e')
    expect(test.connection.remoteProtocols.toArray()).toEqual(['/e'])
  })

  it('at most remoteReportsPerSecond are applied in any second, and the last state is that of the last report', () => {
    const reports = fc.array(fc.tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 9 })))
    fc.assert(fc.property(fc.integer({ min: 1, max: 20 }), reports, (rate, steps) => {
      const { test, notices, report } = reporting({ remoteReportsPerSecond: rate })
      for (const [gap, name] of steps) {
        test.advance(gap)
        report(`/${name}`)
      }
      test.advance(1000 / rate)
      const times = [...new Set(notices.map(notice => (notice as [number])[0]))]
      for (const [index, at] of times.entries()) {
        expect(at - (times[index - 1] ?? -Infinity)).toBeGreaterThanOrEqual(1000 / rate - 1e-6)
      }
      expect(test.connection.remoteProtocols.toArray()).toEqual(steps.length === 0 ? [] : [`/${steps.at(-1)?.[1] ?? ''}`])
    }))
  })

  it('one that was cut counts as cut when it is applied, and no longer when the next full one is (S3.21)', () => {
    const { test, report } = reporting({ maxRemoteProtocols: 1 })
    report('/a')
    expect(test.connection.isRemoteCut).toBe(false)
    report('/a', '/b')
    expect(test.connection.isRemoteCut).toBe(false)
    test.advance(100)
    expect(test.connection.isRemoteCut).toBe(true)
    report('/a')
    expect(test.connection.isRemoteCut).toBe(true)
    test.advance(100)
    expect(test.connection.isRemoteCut).toBe(false)
  })

  it('wait no longer than the connection', () => {
    const { test, notices, report } = reporting()
    report('/a')
    report('/b')
    test.connection.close()
    test.drive()
    test.connection.handleMuxerClosed()
    test.advance(1000)
    expect([notices.length, test.connection.pollTimeout()]).toEqual([1, Infinity])
  })

  it('wait no longer than what they hold is within maxRemoteProtocolsBytes, a full one aside (S9.1)', () => {
    const long = (index: number) => `/${String(index).padStart(98, 'x')}`
    const { test, notices, report } = reporting({ maxRemoteProtocolsBytes: 1000 })
    const add = (change: 'added' | 'removed', ...names: string[]) => { test.connection.handleRemoteReport(change, names); test.drive() }
    report('/a')
    for (let index = 0; index < 9; index++) {
      add(index === 4 ? 'removed' : 'added', long(index))
    }
    add('added', '/' + 'y'.repeat(98))
    expect(notices).toHaveLength(1)
    add('added', '/b')
    expect(notices.length).toBeGreaterThan(1)
    expect(test.connection.pollTimeout()).toBe(Infinity)
    // The next one waits again, and so does a full one, whatever it holds.
    add('added', '/c')
    expect(test.connection.pollTimeout()).toBe(100)
    report(...Array.from({ length: 50 }, (_, index) => long(index)))
    expect(test.connection.pollTimeout()).toBe(100)
    test.advance(100)
    expect(test.connection.remoteProtocols.size).toBe(10)
  })

  it('an address change does not wait for them', () => {
    const { handler, test } = setup()
    test.connection.handleRemoteReport('replaced', ['/a'])
    test.connection.handleRemoteReport('replaced', ['/b'])
    test.connection.handleAddressChange('there')
    test.drive()
    expect(handler.eventsOf('remote-protocols-change')).toHaveLength(1)
    expect(handler.eventsOf('address-change')).toHaveLength(1)
  })
})
