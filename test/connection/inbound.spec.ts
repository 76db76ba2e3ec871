import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { composeHandlers } from '../../src/handler/compose.ts'
import { ProtocolList } from '../../src/protocols/index.ts'
import { RecordingHandler, ScriptedConnection, ScriptedStream } from '../../src/testing/index.ts'
import { eventsOf, inbound, outputsOf, reportsOf } from '../support/scripted.ts'
import { hex, toHex, wire } from '../support/wire.ts'
import type { ConnectionInit } from '../../src/connection/index.ts'
import type { Poll, PollContext } from '../../src/core/poll.ts'
import type { StreamUpgrade } from '../../src/handler/stream-upgrade.ts'

interface Setup {
  readonly handler: RecordingHandler
  readonly test: ScriptedConnection
}

function setup (init: ConnectionInit = {}, protocols: readonly string[] = ['/a', '/b']): Setup {
  const handler = new RecordingHandler(protocols)
  const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity, ...init } })
  return { handler, test }
}

/** A handler whose inbound streams are upgraded by what the test sets. */
class UpgradingHandler extends RecordingHandler {
  onUpgrade: (cx: PollContext) => Poll<unknown> = () => PENDING
  inboundTimeoutMs = 0

  inboundInfo (protocol: string): unknown {
    return `info of ${protocol}`
  }

  inboundUpgrade (): StreamUpgrade<unknown> {
    return { poll: cx => this.onUpgrade(cx) }
  }
}

function countsOf (streams: readonly ScriptedStream[]): { negotiating: number, waiting: number, reset: number } {
  const reset = streams.filter(({ resets }) => resets.length > 0).length
  const negotiating = streams.filter(({ isStarted, resets }) => isStarted && resets.length === 0).length
  return { negotiating, waiting: streams.length - negotiating - reset, reset }
}

describe('Connection: inbound streams', () => {
  it('an agreed stream goes to the handler with its left-over bytes behind it (S4.3, S2.30)', () => {
    const { handler, test } = setup()
    const stream = test.offer()
    expect(stream.isStarted).toBe(true)
    expect(stream.writes).toEqual([])
    let leftOverWhenTold: number | undefined
    handler.onEvent = () => { leftOverWhenTold = stream.leftOver.length }
    test.feed(stream, wire('HDR NA A ping'))
    expect(stream.writes.map(toHex)).toEqual([hex('HDR NA A')])
    expect(handler.eventsOf('fully-negotiated-inbound')).toMatchObject([{ stream, protocol: '/a', info: undefined, output: undefined }])
    expect(leftOverWhenTold).toBe(0)
    expect(stream.leftOver.map(toHex)).toEqual([hex('ping')])
    expect(stream.protocol).toBe('/a')
    expect([...test.connection.streams]).toEqual([stream])
  })

  it('what cannot be agreed is reset once, in the same turn, and no handler hears of it (S2.32, S4.3)', () => {
    const { handler, test } = setup()
    for (const script of ['A', 'HDR HDR', '00', '808001']) {
      const stream = test.offer()
      test.feed(stream, wire(script))
      expect(stream.resets).toHaveLength(1)
      expect(stream.resets[0]).toMatchObject({ name: 'RemoteProtocolError', direction: 'inbound', tried: [] })
      test.feed(stream, wire('HDR A'))
      expect(stream.resets).toHaveLength(1)
    }
    const refused = test.offer()
    test.feed(refused, wire('HDR 032f7a0a'))
    test.connection.handleStreamEnd(refused)
    test.drive()
    expect(refused.resets).toMatchObject([{ name: 'NegotiationError' }])
    expect(handler.events.map(({ type }) => type)).toEqual(['local-protocols-change'])
    expect(test.connection.status).toMatchObject({ phase: 'open', activity: 'idle' })
  })

  it('a stream that ended by itself is not reset (S2.32)', () => {
    const { test } = setup()
    for (const end of ['handleStreamReset', 'handleStreamClosed'] as const) {
      const stream = test.offer()
      test.connection[end](stream)
      test.drive()
      expect(stream.resets).toEqual([])
    }
    expect(test.connection.status).toMatchObject({ activity: 'idle' })
  })

  it('a reset after the agreement was read does not undo it (S2.6, S2.17)', () => {
    const { handler, test } = setup()
    const stream = test.offer()
    test.connection.handleStreamData(stream, wire('HDR A'))
    test.connection.handleStreamReset(stream)
    test.drive()
    expect(handler.eventsOf('fully-negotiated-inbound')).toHaveLength(1)
    expect([...test.connection.streams]).toEqual([])
    const unwritable = test.offer()
    unwritable.writeError = new Error('no write')
    test.feed(unwritable, wire('HDR A'))
    expect(handler.eventsOf('fully-negotiated-inbound')).toHaveLength(2)
  })

  it('at most so many negotiate, the next ones wait, the others are reset (C06, S5.9 b-d)', () => {
    const offer = (init: ConnectionInit, count: number): { counts: ReturnType<typeof countsOf>, setup: Setup } => {
      const made = setup(init)
      const streams = Array.from({ length: count }, () => new ScriptedStream())
      for (const stream of streams) {
        made.test.connection.handleInboundStream(stream, 0)
      }
      made.test.drive()
      return { counts: countsOf(streams), setup: made }
    }
    expect(offer({ maxNegotiatingInboundStreams: 3 }, 10).counts).toEqual({ negotiating: 3, waiting: 7, reset: 0 })
    expect(offer({ maxNegotiatingInboundStreams: 255 }, 300).counts).toEqual({ negotiating: 255, waiting: 45, reset: 0 })
    expect(offer({}, 500).counts).toEqual({ negotiating: 128, waiting: 256, reset: 116 })
    const none = offer({ maxNegotiatingInboundStreams: 0 }, 2)
    expect(none.counts).toEqual({ negotiating: 0, waiting: 2, reset: 0 })
    const { counts, setup: { handler, test } } = offer({ maxNegotiatingInboundStreams: 3, maxQueuedInboundStreams: 2 }, 10)
    expect(counts).toEqual({ negotiating: 3, waiting: 2, reset: 5 })
    expect(handler.events.map(({ type }) => type)).toEqual(['local-protocols-change'])
    expect(reportsOf(test, 'limit-reached')).toEqual([{ type: 'limit-reached', option: 'maxQueuedInboundStreams', limit: 2, count: 1 }])
  })

  it('each freed slot takes the one that has waited longest (S5.9)', () => {
    const { test } = setup({ maxNegotiatingInboundStreams: 1 })
    const streams = [test.offer(), test.offer(), test.offer()]
    const started = (): boolean[] => streams.map(({ isStarted }) => isStarted)
    expect(started()).toEqual([true, false, false])
    test.feed(streams[0]!, wire('HDR A'))
    expect(started()).toEqual([true, true, false])
    test.connection.handleStreamReset(streams[1]!)
    test.drive()
    expect(started()).toEqual([true, true, true])
  })

  it('one that ends while it waits leaves the queue (S5.9)', () => {
    const { test } = setup({ maxNegotiatingInboundStreams: 1, maxQueuedInboundStreams: 1 })
    const [first, second, third] = [test.offer(), test.offer(), new ScriptedStream()]
    test.connection.handleStreamReset(second)
    test.connection.handleInboundStream(third, 0)
    test.drive()
    expect(third.resets).toEqual([])
    test.feed(first, wire('HDR A'))
    expect([second.isStarted, third.isStarted]).toEqual([false, true])
  })

  it('each that waits is reset at its own deadline (S5.9)', () => {
    const { test } = setup({ maxNegotiatingInboundStreams: 0, inboundTimeoutMs: 100 })
    const first = test.offer()
    test.advance(50)
    const second = test.offer()
    test.advance(100)
    expect([first, second].map(({ resets }) => resets.map(error => error.name))).toEqual([['TimeoutError'], ['TimeoutError']])
  })

  it('the end of one that waits, or of one that nobody knows, leaves the others waiting (S5.9, S5.11)', () => {
    const { test } = setup({ maxNegotiatingInboundStreams: 1 })
    const [first, second, third] = [test.offer(), test.offer(), test.offer()]
    test.connection.handleStreamReset(third)
    test.connection.handleStreamReset(new ScriptedStream())
    test.drive()
    expect(test.connection.load).toMatchObject({ negotiatingInbound: 1, queuedInbound: 1 })
    test.feed(first, wire('HDR A'))
    expect([second.isStarted, third.isStarted]).toEqual([true, false])
  })

  it('one that was lost behind its agreement needs no place among those of its protocol (S2.6, S5.8)', () => {
    const { handler, test } = setup({ maxInboundStreamsPerProtocol: 1 })
    inbound(test)
    const lost = test.offer()
    test.connection.handleStreamData(lost, wire('HDR A'))
    test.connection.handleStreamReset(lost)
    test.drive()
    expect(handler.eventsOf('fully-negotiated-inbound').map(({ stream }) => stream)).toContain(lost)
    expect(reportsOf(test, 'limit-reached')).toEqual([])
  })

  it('its deadline runs from arrival, waiting included (C06, S5.9, S2.33)', () => {
    const { test } = setup({ maxNegotiatingInboundStreams: 1, inboundTimeoutMs: 1000 })
    const first = test.offer()
    test.advance(400)
    const second = test.offer()
    test.advance(599)
    expect([first, second].map(({ resets }) => resets.length)).toEqual([0, 0])
    test.advance(1)
    expect([first, second].map(({ resets }) => resets.length)).toEqual([1, 0])
    expect(first.resets).toMatchObject([{ name: 'TimeoutError', phase: 'header', elapsedMs: 1000 }])
    test.feed(second, wire('HDR'))
    const third = test.offer()
    test.advance(400)
    expect(second.resets).toMatchObject([{ name: 'TimeoutError', phase: 'proposal' }])
    // It waited for most of its time, and has what is left of it.
    test.advance(599)
    expect(third.resets).toEqual([])
    test.advance(1)
    expect(third.resets).toHaveLength(1)
    expect(test.connection.pollTimeout()).toBe(Infinity)
  })

  it('one that waits until its deadline is reset in the queue', () => {
    const { test } = setup({ maxNegotiatingInboundStreams: 0, inboundTimeoutMs: 1000 })
    const stream = test.offer()
    test.advance(1000)
    expect(stream.resets).toMatchObject([{ name: 'TimeoutError', phase: 'queue' }])
    expect(stream.isStarted).toBe(false)
  })

  it('the longest time that the option or a part names is in force at arrival (S4.5)', () => {
    const [slow, quick] = [new UpgradingHandler(['/a']), new UpgradingHandler(['/b'])]
    slow.inboundTimeoutMs = 3000
    quick.inboundTimeoutMs = NaN
    const test = new ScriptedConnection(composeHandlers({ quick, nested: composeHandlers({ slow }) }), { init: { inboundTimeoutMs: 1000 } })
    const stream = test.offer()
    slow.inboundTimeoutMs = 10
    test.feed(stream, wire('HDR'))
    test.advance(2999)
    expect(stream.resets).toEqual([])
    test.advance(1)
    expect(stream.resets).toHaveLength(1)
    const second = test.offer()
    test.advance(1000)
    expect(second.resets).toHaveLength(1)
  })

  it('a part that names no number of milliseconds changes no deadline (S4.5)', () => {
    for (const inboundTimeoutMs of [NaN, -5]) {
      const handler = new UpgradingHandler(['/a'])
      handler.inboundTimeoutMs = inboundTimeoutMs
      const test = new ScriptedConnection(handler, { init: { inboundTimeoutMs: 1000 } })
      const stream = test.offer()
      test.advance(999)
      expect(stream.resets).toEqual([])
      test.advance(1)
      expect(stream.resets).toHaveLength(1)
    }
  })

  it('a stream reported twice is one stream (S5.11)', () => {
    const { handler, test } = setup({ maxNegotiatingInboundStreams: 1 })
    const [first, waiting] = [test.offer(), test.offer()]
    for (const stream of [first, waiting, first]) {
      test.connection.handleInboundStream(stream, 0)
      test.drive()
    }
    test.feed(first, wire('HDR A'))
    test.connection.handleInboundStream(first, 0)
    test.feed(waiting, wire('HDR A'))
    expect(handler.eventsOf('fully-negotiated-inbound').map(({ stream }) => stream)).toEqual([first, waiting])
    expect([...test.connection.streams]).toHaveLength(2)
    test.connection.handleStreamClosed(first)
    test.connection.handleStreamClosed(first)
    test.connection.handleStreamReset(waiting)
    test.drive()
    expect([...test.connection.streams]).toHaveLength(0)
    expect(test.connection.status).toMatchObject({ activity: 'idle' })
  })

  it('one stream cannot be both granted and offered (S5.11)', () => {
    const { handler, test } = setup()
    handler.request(['/a'], { info: 1 })
    handler.request(['/a'], { info: 2 })
    test.drive()
    const stream = test.grant()
    test.connection.handleInboundStream(stream, 0)
    test.connection.handleOutboundStream(test.muxer.takeOpening(), stream)
    test.drive()
    expect(handler.eventsOf('dial-upgrade-error')).toMatchObject([
      { info: 2, error: { kind: 'io', cause: { cause: { message: 'The muxer granted a stream that is in use' } } } }
    ])
    expect(stream.resets).toEqual([])
    test.feed(stream, wire('HDR A'))
    expect(handler.eventsOf('fully-negotiated-outbound')).toMatchObject([{ info: 1 }])
  })

  it('an answer given twice serves once (S5.11)', () => {
    const { handler, test } = setup()
    handler.request(['/a'])
    test.drive()
    const opening = test.muxer.takeOpening()
    const [first, second] = [new ScriptedStream(), new ScriptedStream()]
    for (const stream of [first, first, second]) {
      test.connection.handleOutboundStream(opening, stream)
      test.drive()
    }
    test.connection.handleOutboundStreamFailure(opening, new Error('late'))
    test.feed(first, wire('HDR A'))
    expect(handler.eventsOf('fully-negotiated-outbound')).toHaveLength(1)
    expect(handler.eventsOf('dial-upgrade-error')).toHaveLength(0)
    expect([first, second].map(({ resets }) => resets.length)).toEqual([0, 1])
  })

  it('data after the end of the peer’s side, and for unknown streams, is ignored (S5.11)', () => {
    const { handler, test } = setup()
    const stream = test.offer()
    test.connection.handleStreamEnd(stream)
    test.connection.handleStreamData(stream, wire('HDR A'))
    test.connection.handleStreamData(new ScriptedStream(), wire('HDR A'))
    test.connection.handleStreamEnd(new ScriptedStream())
    test.connection.handleStreamReset(new ScriptedStream())
    test.connection.handleStreamClosing(new ScriptedStream(), 0)
    test.drive()
    expect(stream.resets).toMatchObject([{ name: 'NegotiationError' }])
    expect(handler.eventsOf('fully-negotiated-inbound')).toEqual([])
  })
})

describe('Connection: which names a stream meets', () => {
  it('a change of the names does not touch a stream that negotiates (S2.11, D9)', () => {
    const list = new ProtocolList(['/a'])
    const handler = new RecordingHandler(list)
    const test = new ScriptedConnection(handler)
    const [old, another] = [test.offer(), test.offer()]
    list.replace(['/b'])
    test.drive()
    test.feed(old, wire('HDR B A'))
    expect(old.writes.map(toHex).join('')).toBe(hex('HDR NA A'))
    expect(handler.eventsOf('fully-negotiated-inbound')).toMatchObject([{ stream: old, protocol: '/a' }])
    const fresh = test.offer()
    test.feed(fresh, wire('HDR A B'))
    expect(fresh.writes.map(toHex).join('')).toBe(hex('HDR NA B'))
    test.feed(another, wire('HDR A'))
    expect(another.protocol).toBe('/a')
  })

  it('one that waits for a slot keeps the names of its arrival (S2.11, S4.13)', () => {
    const list = new ProtocolList(['/a'])
    const test = new ScriptedConnection(new RecordingHandler(list), { init: { maxNegotiatingInboundStreams: 1 } })
    const [first, waiting] = [test.offer(), test.offer()]
    list.replace(['/b'])
    test.drive()
    test.feed(first, wire('HDR A'))
    test.feed(waiting, wire('HDR B A'))
    expect(waiting.protocol).toBe('/a')
  })

  it.each([0, 1, 2, 3])('those that arrived before a change keep the old names, those behind it meet the new ones, when number %d of them is lost in between (S2.11)', lost => {
    const list = new ProtocolList(['/a'])
    const handler = new RecordingHandler(list)
    const test = new ScriptedConnection(handler, { init: { maxNegotiatingInboundStreams: 1 } })
    const first = test.offer()
    const waiting = [test.offer(), test.offer(), new ScriptedStream(), new ScriptedStream()]
    list.add('/b')
    for (const stream of waiting.slice(2)) {
      test.connection.handleInboundStream(stream, test.clock.now)
    }
    test.connection.handleStreamReset(waiting[lost]!)
    test.drive()
    test.connection.handleStreamReset(first)
    test.drive()
    for (const stream of waiting) {
      test.feed(stream, wire('HDR B'))
      test.connection.handleStreamReset(stream)
      test.drive()
    }
    expect(handler.eventsOf('fully-negotiated-inbound').map(({ stream }) => stream)).toEqual(waiting.filter((_, at) => at > 1 && at !== lost))
  })

  it('one that arrives behind a change, before the next turn, meets the new names (S5.1 step 4)', () => {
    const list = new ProtocolList(['/a'])
    const test = new ScriptedConnection(new RecordingHandler(list), { init: { maxNegotiatingInboundStreams: 1 } })
    list.add('/b')
    expect(inbound(test, 'B').protocol).toBe('/b')
  })

  it('a stream goes to the part that owned the name when it arrived, though another one owns it now (S5.10, S4.13)', () => {
    const [first, second] = [new RecordingHandler(['/a']), new RecordingHandler(['/a', '/b'])]
    const test = new ScriptedConnection(composeHandlers({ first, second }))
    const old = test.offer()
    first.protocols = []
    first.wake()
    test.drive()
    expect(first.eventsOf('local-protocols-change')).toHaveLength(1)
    const fresh = test.offer()
    first.protocols = ['/a']
    first.wake()
    test.drive()
    test.feed(fresh, wire('HDR A'))
    test.feed(old, wire('HDR A'))
    expect(first.eventsOf('fully-negotiated-inbound').map(({ stream }) => stream)).toEqual([old])
    expect(second.eventsOf('fully-negotiated-inbound').map(({ stream }) => stream)).toEqual([fresh])
  })
})

describe('Connection: streams on protocols of the host', () => {
  it('come out to be re-emitted, after the handlers’ names, with left-over bytes first (S3.3, S5.13)', () => {
    const handler = new RecordingHandler(['/a'])
    const asked: string[] = []
    const hostProtocols = {
      list: new ProtocolList(['/b', '/a']),
      offers: (protocol: string) => { asked.push(protocol); return protocol === '/c' }
    }
    const test = new ScriptedConnection(handler, { hostProtocols })
    expect(test.connection.localProtocols.toArray()).toEqual(['/a', '/b'])
    const own = inbound(test, 'A')
    const listed = test.offer()
    test.feed(listed, wire('HDR B ping'))
    const unlisted = inbound(test, 'C')
    const nobodys = inbound(test, '032f640a')
    expect(handler.eventsOf('fully-negotiated-inbound').map(({ stream }) => stream)).toEqual([own])
    expect(outputsOf(test, 'host-stream')).toEqual([
      { type: 'host-stream', port: listed, protocol: '/b' }, { type: 'host-stream', port: unlisted, protocol: '/c' }
    ])
    expect(listed.leftOver.map(toHex)).toEqual([hex('ping')])
    expect(nobodys.writes.map(toHex).join('')).toBe(hex('HDR NA'))
    expect(asked).toEqual(['/c', '/d'])
    expect([...test.connection.streams]).toEqual([own, listed, unlisted])
  })

  it('those that a host opens by itself do not hold the connection open (S6.3, HOST 13)', () => {
    const names = ['/ipfs/id/1.0.0', '/ipfs/id/push/1.0.0', '/ipfs/ping/1.0.0', '/other/ping/1.0.0']
    const hostProtocols = { list: new ProtocolList([...names, '/ipfs/pinger/1.0.0']), offers: () => false }
    const test = new ScriptedConnection(new RecordingHandler(), { hostProtocols })
    const counted: string[] = []
    for (const name of hostProtocols.list.snapshot) {
      const stream = inbound(test, toHex(Uint8Array.of(name.length + 1, ...new TextEncoder().encode(`${name}\n`))))
      expect(stream.protocol).toBe(name)
      if ([...test.connection.streams].includes(stream)) {
        counted.push(name)
      }
    }
    expect(counted).toEqual(['/ipfs/pinger/1.0.0'])
  })

  it('one that ended before it was agreed is not counted', () => {
    const test = new ScriptedConnection(new RecordingHandler(), { hostProtocols: { list: new ProtocolList(['/a']), offers: () => false } })
    const stream = test.offer()
    test.connection.handleStreamData(stream, wire('HDR A'))
    test.connection.handleStreamReset(stream)
    test.drive()
    expect(outputsOf(test, 'host-stream')).toHaveLength(1)
    expect([...test.connection.streams]).toEqual([])
  })
})

describe('Connection: upgrades of inbound streams', () => {
  it('info and output come with the event (S4.3, S4.4)', () => {
    const handler = new UpgradingHandler(['/a'])
    const test = new ScriptedConnection(handler)
    let cx: PollContext | undefined
    handler.onUpgrade = context => { cx = context; return PENDING }
    const stream = test.offer()
    test.feed(stream, wire('HDR A ping'))
    expect(stream.leftOver.map(toHex)).toEqual([hex('ping')])
    expect(handler.eventsOf('fully-negotiated-inbound')).toEqual([])
    expect(test.connection.status).toMatchObject({ activity: 'busy' })
    handler.onUpgrade = () => undefined
    cx?.wake()
    test.drive()
    expect(handler.eventsOf('fully-negotiated-inbound')).toMatchObject([{ stream, protocol: '/a', info: 'info of /a', output: undefined }])
    expect(stream.leftOver).toHaveLength(1)
  })

  it('an upgrade holds no slot (S5.9)', () => {
    const handler = new UpgradingHandler(['/a'])
    const test = new ScriptedConnection(handler, { init: { maxNegotiatingInboundStreams: 1 } })
    const streams = [test.offer(), test.offer()]
    test.feed(streams[0]!, wire('HDR A'))
    expect(streams[1]?.isStarted).toBe(true)
    test.connection.handleStreamReset(streams[0]!)
    test.connection.handleStreamReset(streams[1]!)
    expect(test.offer().isStarted).toBe(true)
    expect(test.offer().isStarted).toBe(false)
  })

  it('one that fails, times out or ends with its stream is told to the owner alone (S4.3, S4.15)', () => {
    const [owner, other] = [new UpgradingHandler(['/a']), new UpgradingHandler(['/b'])]
    const test = new ScriptedConnection(composeHandlers({ owner, other }), { init: { inboundTimeoutMs: 1000, idleTimeoutMs: Infinity } })
    const thrown = new Error('no upgrade')
    owner.onUpgrade = () => { throw thrown }
    const failing = inbound(test)
    owner.onUpgrade = () => PENDING
    const ended = inbound(test)
    test.connection.handleStreamReset(ended, new Error('gone'))
    test.drive()
    const late = inbound(test)
    test.advance(1000)
    expect(owner.eventsOf('listen-upgrade-error')).toMatchObject([
      { info: 'info of /a', protocol: '/a', error: { kind: 'apply', phase: 'upgrade', cause: thrown, direction: 'inbound' } },
      { error: { kind: 'io' } },
      { error: { kind: 'timeout', elapsedMs: 1000 } }
    ])
    expect(other.eventsOf('listen-upgrade-error')).toEqual([])
    expect([failing, ended, late].map(({ resets }) => resets.length)).toEqual([1, 0, 1])
    expect(failing.resets).toEqual([thrown])
    expect(test.connection.status.phase).toBe('open')
    expect(eventsOf(test)).toEqual([])
  })
})
