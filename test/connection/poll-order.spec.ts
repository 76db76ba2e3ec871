import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { Connection } from '../../src/connection/index.ts'
import { composeHandlers } from '../../src/handler/compose.ts'
import { ProtocolList } from '../../src/protocols/index.ts'
import { RecordingHandler, ScriptedConnection, ScriptedMuxer, ScriptedStream } from '../../src/testing/index.ts'
import { eventsOf, failuresOf, inbound, outputsOf, settle } from '../support/scripted.ts'
import { wire } from '../support/wire.ts'
import type { AnyHandler, HandlerOutput } from '../../src/handler/connection-handler.ts'
import type { Poll, PollContext } from '../../src/core/poll.ts'

/** A handler that does at each poll what the test sets, after it wrote the instant down. */
class PolledHandler extends RecordingHandler {
  readonly polledAt: number[] = []
  cx: PollContext | undefined
  onPoll: (cx: PollContext) => Poll<HandlerOutput<unknown, unknown, unknown>> | undefined = () => undefined

  override poll (cx: PollContext): Poll<HandlerOutput<unknown, unknown, unknown>> {
    this.cx = cx
    this.polledAt.push(cx.now)
    return this.onPoll(cx) ?? super.poll(cx)
  }
}

const notify = (event: unknown): HandlerOutput<unknown, unknown, unknown> => ({ type: 'notify-behaviour', event })

describe('Connection: one pass', () => {
  it('goes through the steps in the documented order (S5.1)', () => {
    const order: string[] = []
    const list = new ProtocolList(['/a'])
    const handler = new RecordingHandler(list)
    const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: 100, maxNegotiatingInboundStreams: 1 } })
    handler.request(['/a'], { info: 'late', timeoutMs: 20 })
    handler.request(['/a'], { info: 'outbound' })
    test.drive()
    const [late, outbound] = [test.grant(), test.grant()]
    const arrived = test.offer()
    handler.onEvent = event => { order.push(event.type) }
    handler.onBehaviourEvent = () => { order.push('behaviour event') }
    for (const stream of [late, outbound]) {
      stream.write = () => { order.push('write') }
    }
    const { muxer } = test
    muxer.openStream = () => { order.push('open') }
    const waiting = new ScriptedStream()
    waiting.start = () => { order.push('accept') }
    test.clock.advance(20)
    test.connection.handleAddressChange('elsewhere')
    test.connection.handleInboundStream(waiting, 20)
    test.connection.handleStreamData(arrived, wire('HDR A'))
    test.connection.handleStreamData(outbound, wire('HDR A'))
    list.add('/b')
    handler.push(notify('event'))
    handler.request(['/a'])
    test.connection.onBehaviourEvent('x')
    expect(test.connection.poll(20)).toEqual({ type: 'handler-event', event: 'event' })
    expect(order).toEqual(['behaviour event', 'dial-upgrade-error'])
    test.drive()
    expect(order).toEqual([
      'behaviour event', // 1
      'dial-upgrade-error', // 2
      'local-protocols-change', // 4, after 3 gave a value and a request
      'fully-negotiated-outbound', // 5
      'fully-negotiated-inbound', // 6
      'address-change', // 7
      'open', // 8
      'accept' // 9
    ])
  })

  it('one poll carries out the reaction of a handler to a change (C08)', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler)
    handler.onEvent = event => {
      if (event.type === 'local-protocols-change') {
        handler.push(notify('x'))
      }
    }
    handler.protocols = ['/foo']
    handler.wake()
    expect(test.connection.poll(0)).toEqual({ type: 'handler-event', event: 'x' })
    expect(test.connection.poll(0)).toBe(PENDING)
  })

  it('what is queued from outside wakes the connection, once per turn, and keeps its order (C27, S4.9, S10.20)', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity } })
    handler.onBehaviourEvent = event => {
      handler.behaviourEvents.push(event)
      handler.request(['/a'], { info: event })
    }
    expect(test.connection.pollTimeout()).toBe(Infinity)
    const { wakes } = test
    for (let event = 0; event < 100; event++) {
      test.connection.onBehaviourEvent(event)
      handler.wake()
    }
    expect(test.wakes).toBe(wakes + 1)
    settle(test)
    expect(handler.behaviourEvents).toEqual(Array.from({ length: 100 }, (_, event) => event))
    expect(test.muxer.openings).toHaveLength(100)
    for (let event = 0; event < 100; event++) {
      test.feed(test.grant(), wire('HDR A'))
    }
    expect(handler.eventsOf('fully-negotiated-outbound').map(({ info }) => info)).toEqual(handler.behaviourEvents)
  })

  it.each<[string, (test: ScriptedConnection, handler: PolledHandler) => void]>([
    ['a value pushed', (_test, handler) => { handler.push(notify(1)) }],
    ['close', test => { test.connection.close() }],
    ['abort', test => { test.connection.abort(new Error('why')) }],
    ['a request of the host', test => { test.connection.requestHostStream({ protocols: ['/a'], token: 1 }, 0) }],
    ['an input', test => { test.connection.handleAddressChange(1) }],
    ['an earlier deadline', (_test, handler) => { handler.cx?.wakeAt(5) }]
  ])('%s asks for a turn', (_name, act) => {
    const handler = new PolledHandler()
    const test = new ScriptedConnection(handler)
    const { wakes } = test
    act(test, handler)
    act(test, handler)
    expect(test.wakes).toBe(wakes + 1)
  })

  it('a full inbox refuses, and keeps what it has (S7.12)', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler, { init: { maxQueuedBehaviourEvents: 2 } })
    expect([1, 2, 3].map(event => test.connection.onBehaviourEvent(event))).toEqual([true, true, false])
    test.drive()
    expect(handler.behaviourEvents).toEqual([1, 2])
    expect(test.connection.onBehaviourEvent(4)).toBe(true)
  })

  it('calls out of turn throw, commands do not (S1.3)', () => {
    const handler = new PolledHandler()
    const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity } })
    const stream = new ScriptedStream()
    const { connection } = test
    const refused: Array<() => void> = [
      () => connection.poll(0),
      () => connection.pollReport(),
      () => { connection.handleInboundStream(stream, 0) },
      () => { connection.handleOutboundStream({ options: undefined, protocols: [] }, stream) },
      () => { connection.handleOutboundStreamFailure({ options: undefined, protocols: [] }, undefined) },
      () => { connection.handleForeignStream(stream, 'outbound') },
      () => { connection.handleStreamData(stream, wire('A')) },
      () => { connection.handleStreamEnd(stream) },
      () => { connection.handleStreamReset(stream) },
      () => { connection.handleStreamClosed(stream) },
      () => { connection.handleStreamClosing(stream, 0) },
      () => { connection.handleTaskFailure({ type: 'handler-task', promise: { then: () => { throw new Error('never') } }, port: stream }, 0) },
      () => { connection.handleRemoteReport('replaced', []) },
      () => { connection.handleAddressChange(0) },
      () => { connection.handleMuxerEnd() },
      () => { connection.handleMuxerError(new Error('why')) },
      () => { connection.handleMuxerClosed() },
      () => { connection.handlePeerTag(true) }
    ]
    let checked = 0
    handler.onPoll = () => {
      for (const call of refused) {
        expect(call).toThrow(expect.objectContaining({ name: 'InvalidStateError', message: expect.stringContaining('inside a poll') as string }) as Error)
        checked++
      }
      connection.onBehaviourEvent(1)
      connection.requestHostStream({ protocols: ['/a'], token: 't' }, 0)
      connection.cancelHostStream('t')
      connection.ignoreForKeepAlive(stream)
      connection.pollTimeout()
      handler.onPoll = () => undefined
      return undefined
    }
    handler.wake()
    expect(settle(test)).toBe(2)
    expect(checked).toBe(refused.length)
    expect(handler.behaviourEvents).toEqual([1])
    expect(outputsOf(test, 'host-stream-failed')).toHaveLength(1)
    expect(connection.status.phase).toBe('open')
  })
})

describe('Connection: turns', () => {
  it('a handler that always has something gets its share, and everything else its own (S5.2, S10.10)', () => {
    const handler = new PolledHandler(['/a'])
    const test = new ScriptedConnection(handler, { init: { maxHandlerEventsPerTurn: 8 } })
    handler.request(['/a'], { info: 'x', timeoutMs: 100 })
    test.drive()
    let value = 0
    handler.onPoll = () => notify(value++)
    const stream = new ScriptedStream()
    test.connection.handleInboundStream(stream, 0)
    test.connection.handleRemoteReport('replaced', ['/x'])
    const { wakes } = test
    test.drive()
    expect(eventsOf(test)).toHaveLength(8)
    expect(test.wakes).toBe(wakes + 1)
    expect(stream.isStarted).toBe(true)
    expect(test.connection.remoteProtocols.has('/x')).toBe(true)
    test.feed(stream, wire('HDR A'))
    expect(stream.protocol).toBe('/a')
    handler.protocols = ['/a', '/b']
    test.clock.advance(100)
    test.drive()
    expect(failuresOf(handler)).toEqual([['x', 'timeout']])
    expect(test.connection.localProtocols.has('/b')).toBe(true)
    expect(eventsOf(test)).toEqual(Array.from({ length: 24 }, (_, at) => at))
    handler.onPoll = () => undefined
    settle(test)
    expect(eventsOf(test)).toHaveLength(24)
  })

  it('a self-wake in a poll that gave nothing means the next turn (S4.8)', () => {
    for (const again of [(cx: PollContext) => { cx.wake() }, (cx: PollContext) => { cx.wakeAt(cx.now) }, (cx: PollContext) => { cx.wakeAt(0); cx.wake() }]) {
      const handler = new PolledHandler()
      const test = new ScriptedConnection(handler)
      handler.onPoll = cx => { again(cx); return undefined }
      handler.wake()
      const polls = handler.polledAt.length
      for (let turn = 1; turn <= 5; turn++) {
        const { wakes } = test
        test.drive()
        expect(handler.polledAt).toHaveLength(polls + turn)
        expect(test.wakes).toBe(wakes + 1)
      }
      handler.onPoll = () => undefined
      expect(settle(test)).toBe(1)
    }
  })

  it('after a value the handler is polled again in the same turn, and asks for no other one (S4.8)', () => {
    const handler = new PolledHandler()
    const test = new ScriptedConnection(handler)
    let left = 3
    handler.onPoll = cx => {
      if (left-- > 0) {
        cx.wake()
        return notify(left)
      }
      return undefined
    }
    handler.wake()
    const { wakes } = test
    test.drive()
    expect(eventsOf(test)).toEqual([2, 1, 0])
    expect(test.wakes).toBe(wakes)
  })

  it('a wake while it is told something is served in the same turn', () => {
    const handler = new PolledHandler(['/a'])
    const test = new ScriptedConnection(handler)
    handler.onEvent = () => {
      handler.wake()
      handler.onPoll = () => {
        handler.onPoll = () => undefined
        return notify('woken')
      }
    }
    const { wakes } = test
    const stream = test.offer()
    test.feed(stream, wire('HDR A'))
    expect(eventsOf(test)).toEqual(['woken'])
    expect(test.wakes).toBe(wakes + 2)
  })

  it('a wake while it lists its names is not lost', () => {
    const handler = new PolledHandler()
    const test = new ScriptedConnection(handler)
    handler.listenProtocols = () => {
      handler.listenProtocols = () => []
      handler.push(notify('from listenProtocols'))
      return []
    }
    handler.wake()
    settle(test)
    expect(eventsOf(test)).toEqual(['from listenProtocols'])
  })

  it('wakeAt keeps one deadline, a later call replaces it, Infinity clears it (S4.7)', () => {
    const handler = new PolledHandler()
    const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity } })
    handler.polledAt.length = 0
    handler.cx?.wakeAt(10)
    handler.cx?.wakeAt(30)
    expect(test.connection.pollTimeout()).toBe(30)
    test.advance(29)
    expect(handler.polledAt).toEqual([])
    test.advance(1)
    expect(handler.polledAt).toEqual([30])
    expect(test.connection.pollTimeout()).toBe(Infinity)
    handler.cx?.wakeAt(50)
    handler.cx?.wakeAt(Infinity)
    test.advance(100)
    expect(handler.polledAt).toEqual([30])
    handler.cx?.wakeAt(7)
    test.advance(0)
    expect(handler.polledAt).toEqual([30, 130])
  })

  it('wakeAt refuses what is no number, so that the other deadlines go on', () => {
    const handler = new PolledHandler()
    const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: 100 } })
    expect(() => { handler.cx?.wakeAt(NaN) }).toThrow(RangeError)
    test.advance(100)
    expect(test.connection.status.phase).toBe('closing')
  })

  it('the earliest of all deadlines is the next timeout (S4.7)', () => {
    const handler = new PolledHandler(['/a'])
    const init = { idleTimeoutMs: 5000, inboundTimeoutMs: 300, outboundTimeoutMs: 400, streamCloseTimeoutMs: 50 }
    const test = new ScriptedConnection(handler, { init })
    expect(test.connection.pollTimeout()).toBe(5000)
    handler.request(['/a'])
    test.drive()
    expect(test.connection.pollTimeout()).toBe(400)
    const stream = test.offer()
    expect(test.connection.pollTimeout()).toBe(300)
    handler.cx?.wakeAt(200)
    expect(test.connection.pollTimeout()).toBe(200)
    const negotiated = inbound(test)
    test.connection.handleStreamClosing(negotiated, 0)
    test.drive()
    expect(test.connection.pollTimeout()).toBe(50)
    test.advance(50)
    expect(test.connection.pollTimeout()).toBe(200)
    test.advance(150)
    expect(test.connection.pollTimeout()).toBe(300)
    test.advance(100)
    expect(stream.resets).toHaveLength(1)
    expect(test.connection.pollTimeout()).toBe(400)
  })
})

describe('Connection: the cost of a poll', () => {
  it('where nothing woke no handler is called and no name looked at (S10.9, S4.6)', () => {
    const calls: string[] = []
    const watched = <Of extends object> (target: Of): Of => new Proxy(target, {
      get (of, key) {
        calls.push(String(key))
        const value: unknown = Reflect.get(of, key)
        return typeof value === 'function' ? value.bind(of) as unknown : value
      }
    })
    const names = watched(Object.freeze(['/a', '/b']))
    const hostList = new ProtocolList(['/h'])
    const handler: AnyHandler = watched<AnyHandler>({
      listenProtocols: () => names, poll: () => PENDING, keepAlive: () => true, onConnectionEvent: () => {}, onBehaviourEvent: () => {}
    })
    const connection = new Connection({
      id: 'c', peer: 'p', direction: 'inbound', handler, muxer: new ScriptedMuxer(), wake: () => {}, hostProtocols: { list: hostList, offers: () => false }
    }, {}, 0)
    expect(connection.poll(0)).toBe(PENDING)
    expect(calls.length).toBeGreaterThan(0)
    calls.length = 0
    for (let now = 0; now < 1000; now++) {
      expect(connection.poll(now)).toBe(PENDING)
    }
    expect(calls).toEqual([])
  })

  it('one woken part among many is the only one that is called (S10.9, S4.6, S4.10)', () => {
    for (const count of [1, 1000]) {
      const calls: string[] = []
      let woken: PollContext | undefined
      const parts: Record<string, AnyHandler> = {}
      for (let at = 0; at < count; at++) {
        const key = `part-${at}`
        parts[key] = {
          listenProtocols: () => { calls.push(`${key}.listenProtocols`); return NAMES },
          poll: cx => { calls.push(`${key}.poll`); if (at === count - 1) { woken = cx } return PENDING },
          keepAlive: () => { calls.push(`${key}.keepAlive`); return false },
          onConnectionEvent: () => {}
        }
      }
      const test = new ScriptedConnection(composeHandlers(parts), { init: { idleTimeoutMs: Infinity } })
      calls.length = 0
      woken?.wake()
      test.drive()
      const key = `part-${count - 1}`
      expect(calls.sort()).toEqual([`${key}.keepAlive`, `${key}.listenProtocols`, `${key}.poll`])
    }
  })
})

const NAMES = Object.freeze(['/a'])
