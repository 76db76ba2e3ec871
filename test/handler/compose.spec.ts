import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { composeHandlers } from '../../src/handler/compose.ts'
import { IdleHandler } from '../../src/handler/idle-handler.ts'
import { ProtocolList } from '../../src/protocols/index.ts'
import { RecordingHandler, ScriptedConnection } from '../../src/testing/index.ts'
import { eventsOf, failuresOf, inbound, reportsOf, settle } from '../support/scripted.ts'
import { hex, toHex, wire } from '../support/wire.ts'
import type { AnyHandler, ConnectionEvent, HandlerOutput } from '../../src/handler/connection-handler.ts'
import type { Poll, PollContext } from '../../src/core/poll.ts'

type Output = HandlerOutput<unknown, unknown, unknown>

/** A part that does at each poll what the test sets. */
class Part extends RecordingHandler {
  cx: PollContext | undefined
  onPoll: (cx: PollContext) => Poll<Output> | undefined = () => undefined

  override poll (cx: PollContext): Poll<Output> {
    this.cx = cx
    const given = this.onPoll(cx)
    if (given === undefined) {
      return super.poll(cx)
    }
    this.polls++
    return given
  }

  notify (event: unknown): void {
    this.push({ type: 'notify-behaviour', event })
  }
}

function notify (event: unknown): Output {
  return { type: 'notify-behaviour', event }
}

describe('composeHandlers', () => {
  it('an empty composition does nothing (C12, S4.13)', () => {
    const empty = composeHandlers({})
    expect(empty.listenProtocols()).toEqual([])
    expect(empty.keepAlive?.()).toBe(false)
    for (const root of [empty, composeHandlers({ nested: composeHandlers({}) })]) {
      const test = new ScriptedConnection(root, { init: { idleTimeoutMs: 100 } })
      expect(test.outputs).toEqual([])
      const stream = test.offer()
      test.feed(stream, wire('HDR A'))
      expect(stream.writes.map(toHex).join('')).toBe(hex('HDR NA'))
      test.connection.handleStreamReset(stream)
      test.connection.handleAddressChange('elsewhere')
      test.connection.onBehaviourEvent({ handler: 'nobody', event: 1 })
      test.drive()
      test.advance(100)
      expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'keep-alive-timeout' })
      expect(test.muxer.closes).toBe(1)
    }
  })

  it('parts that have nothing to say may leave methods out', () => {
    const test = new ScriptedConnection(composeHandlers({ idle: new IdleHandler(), other: new IdleHandler() }), { init: { idleTimeoutMs: 100 } })
    test.connection.onBehaviourEvent({ handler: 'idle', event: 1 })
    test.drive()
    test.advance(100)
    expect(test.muxer.closes).toBe(1)
  })

  it('events come out and go in under the keys, nesting nests (S4.13)', () => {
    const [left, right] = [new Part(), new Part()]
    const test = new ScriptedConnection(composeHandlers({ left, inner: composeHandlers({ right }) }))
    left.notify(1)
    right.notify(2)
    test.drive()
    expect(eventsOf(test)).toEqual([{ handler: 'left', event: 1 }, { handler: 'inner', event: { handler: 'right', event: 2 } }])
    test.connection.onBehaviourEvent({ handler: 'inner', event: { handler: 'right', event: 'in' } })
    test.connection.onBehaviourEvent({ handler: 'left', event: 'in too' })
    test.connection.onBehaviourEvent({ handler: 'nobody', event: 'lost' })
    test.drive()
    expect([left.behaviourEvents, right.behaviourEvents]).toEqual([['in too'], ['in']])
  })

  it('keys of any kind are just keys', () => {
    const [first, second] = [new Part(), new Part()]
    const test = new ScriptedConnection(composeHandlers({ constructor: first, ['__proto__']: second, 'a.b': new Part() }))
    first.notify(1)
    second.notify(2)
    test.drive()
    expect(eventsOf(test)).toEqual([{ handler: 'constructor', event: 1 }, { handler: '__proto__', event: 2 }])
  })

  it('each outcome comes back to the part that asked, with its own info (S4.5, S10.19)', () => {
    const [left, right, deep] = [new Part(), new Part(), new Part()]
    const test = new ScriptedConnection(composeHandlers({ left, inner: composeHandlers({ right, deeper: composeHandlers({ deep }) }) }))
    for (const [part, info] of [[left, 'left'], [right, 'right'], [deep, 'deep']] as const) {
      part.request(['/a'], { info })
      part.request(['bad'], { info: `${info} bad` })
    }
    test.drive()
    for (let left = test.muxer.openings.length; left > 0; left--) {
      test.feed(test.grant(), wire('HDR A'))
    }
    for (const [part, info] of [[left, 'left'], [right, 'right'], [deep, 'deep']] as const) {
      expect(part.eventsOf('fully-negotiated-outbound').map(event => event.info)).toEqual([info])
      expect(failuresOf(part)).toEqual([[`${info} bad`, 'invalid-request']])
    }
  })

  it('each inbound stream comes to the first part that lists its name, however deep (S3.4, S10.19)', () => {
    const [left, right, deep] = [new Part(['/a']), new Part(['/a', '/b']), new Part(['/b', '/c', '/a'])]
    const test = new ScriptedConnection(composeHandlers({ inner: composeHandlers({ right, deeper: composeHandlers({ deep }) }), left }))
    for (const name of ['A', 'B', 'C']) {
      inbound(test, name)
    }
    expect([left, right, deep].map(part => part.eventsOf('fully-negotiated-inbound').map(({ protocol }) => protocol))).toEqual([[], ['/a', '/b'], ['/c']])
    expect(reportsOf(test, 'protocol-warning').map(({ protocol, reason }) => [protocol, reason])).toEqual([['/b', 'shadowed'], ['/a', 'shadowed']])
  })

  it('info and upgrade are asked of the owner only, with its own answers (S4.3, S4.5)', () => {
    const asked: string[] = []
    const part = (name: string, protocol: string): Part => Object.assign(new Part([protocol]), {
      inboundInfo: (agreed: string) => { asked.push(`${name} info ${agreed}`); return name },
      inboundUpgrade: (_stream: unknown, agreed: string) => ({ poll: () => `${name} upgraded ${agreed}` })
    })
    const [left, deep] = [part('left', '/a'), part('deep', '/b')]
    const test = new ScriptedConnection(composeHandlers({ left, plain: new Part(['/c']), inner: composeHandlers({ deep }) }))
    for (const name of ['A', 'B', 'C']) {
      inbound(test, name)
    }
    expect(asked).toEqual(['left info /a', 'deep info /b'])
    expect(left.eventsOf('fully-negotiated-inbound')).toMatchObject([{ info: 'left', output: 'left upgraded /a' }])
    expect(deep.eventsOf('fully-negotiated-inbound')).toMatchObject([{ info: 'deep', output: 'deep upgraded /b' }])
  })

  it('its listing is frozen, and the same one until a name or an owner changes (S4.13)', () => {
    const list = new ProtocolList(['/b'])
    const [first, second] = [new Part(['/a']), new Part(list)]
    const composed = composeHandlers({ first, inner: composeHandlers({ second }) })
    const test = new ScriptedConnection(composed)
    const listing = composed.listenProtocols()
    expect(listing).toEqual(['/a', '/b'])
    expect(Object.isFrozen(listing)).toBe(true)
    first.wake()
    second.wake()
    test.drive()
    expect(composed.listenProtocols()).toBe(listing)
    list.add('/c')
    test.drive()
    expect(composed.listenProtocols()).toEqual(['/a', '/b', '/c'])
    expect(listing).toEqual(['/a', '/b'])
    expect(reportsOf(test, 'protocol-warning')).toEqual([])
  })

  it('an owner that changes deep down is found by the listing of that time (S4.13, S5.10)', () => {
    const [first, second] = [new Part(['/a']), new Part(['/a'])]
    const test = new ScriptedConnection(composeHandlers({ outer: composeHandlers({ inner: composeHandlers({ first, second }) }) }))
    const streams = [test.offer()]
    for (const protocols of [[], ['/a'], [], ['/a']]) {
      first.protocols = protocols
      first.wake()
      test.drive()
      streams.push(test.offer())
    }
    expect(first.eventsOf('local-protocols-change')).toHaveLength(1)
    for (const stream of streams) {
      test.feed(stream, wire('HDR A'))
    }
    expect(first.eventsOf('fully-negotiated-inbound').map(({ stream }) => streams.indexOf(stream as never))).toEqual([0, 2, 4])
    expect(second.eventsOf('fully-negotiated-inbound').map(({ stream }) => streams.indexOf(stream as never))).toEqual([1, 3])
  })

  it('keeps the connection while any part does (S4.13)', () => {
    const [left, right] = [new Part(), new Part()]
    const test = new ScriptedConnection(composeHandlers({ left, inner: composeHandlers({ right }) }), { init: { idleTimeoutMs: 100 } })
    const isBusy = (): boolean => test.connection.status.phase === 'open' && test.connection.status.activity === 'busy'
    const set = (part: Part, isKeepAlive: boolean): boolean => {
      part.isKeepAlive = isKeepAlive
      part.wake()
      test.drive()
      return isBusy()
    }
    expect([set(right, true), set(left, true), set(right, false), set(right, false), set(left, false)]).toEqual([true, true, true, true, false])
  })

  it('parts have their last word in order, each until it is done (S4.13)', () => {
    const parts = ['a', 'b', 'c'].map(key => {
      const last: Array<Poll<unknown>> = [`${key}1`, PENDING, `${key}2`]
      return Object.assign(new Part(), { pollClose: (cx: PollContext) => { cx.wake(); return last.shift() } })
    })
    const drained = new Part()
    const test = new ScriptedConnection(composeHandlers({ a: parts[0]!, inner: composeHandlers({ b: parts[1]!, drained }), c: parts[2]! }))
    test.connection.close()
    drained.notify('d1')
    drained.notify('d2')
    settle(test)
    expect(eventsOf(test).map(event => JSON.stringify(event).match(/"event":"(..)"/)?.[1])).toEqual(['a1', 'a2', 'b1', 'b2', 'd1', 'd2', 'c1', 'c2'])
    expect(test.muxer.closes).toBe(1)
  })
})

describe('composeHandlers: polling', () => {
  it('a part that always has something delays another by one value at most (S4.13, S10.10)', () => {
    const [busy, quiet, third] = [new Part(), new Part(), new Part()]
    const test = new ScriptedConnection(composeHandlers({ busy, quiet, third }), { init: { maxHandlerEventsPerTurn: 12 } })
    let count = 0
    busy.onPoll = () => notify(`busy ${count++}`)
    busy.wake()
    for (const value of [1, 2, 3]) {
      quiet.notify(value)
      third.notify(value)
    }
    test.drive()
    const order = eventsOf(test).map(event => (event as { handler: string }).handler)
    expect(order).toHaveLength(12)
    expect(order.slice(0, 9).sort()).toEqual([...Array(3).fill('busy') as string[], ...Array(3).fill('quiet') as string[], ...Array(3).fill('third') as string[]])
    for (let at = 0; at + 2 < 9; at += 3) {
      expect(new Set(order.slice(at, at + 3)).size).toBe(3)
    }
  })

  it('a new turn starts after the part served last (S4.13)', () => {
    const parts = [new Part(), new Part(), new Part()]
    parts.forEach((part, at) => { part.onPoll = () => notify(at) })
    const test = new ScriptedConnection(composeHandlers({ a: parts[0]!, b: parts[1]!, c: parts[2]! }), { init: { maxHandlerEventsPerTurn: 2 } })
    test.drive()
    test.drive()
    expect(eventsOf(test).map(event => (event as { event: unknown }).event)).toEqual([0, 1, 2, 0, 1, 2])
  })

  it('only woken parts are polled, wherever they are (S4.6, S4.8)', () => {
    const parts = Array.from({ length: 1000 }, () => new Part())
    const halves = [parts.slice(0, 500), parts.slice(500)].map(half => composeHandlers(Object.fromEntries(half.map((part, at) => [`p${at}`, part]))))
    const test = new ScriptedConnection(composeHandlers({ left: halves[0]!, right: halves[1]! }))
    const before = parts.map(({ polls }) => polls)
    parts[777]!.wake()
    parts[777]!.wake()
    test.drive()
    expect(parts.flatMap(({ polls }, at) => polls === before[at] ? [] : [[at, polls - before[at]!]])).toEqual([[777, 1]])
  })

  it('every event that a part is told sets its bit (S4.8, C08)', () => {
    const [told, other] = [new Part(['/a']), new Part(['/b'])]
    const test = new ScriptedConnection(composeHandlers({ told, other }))
    const polls = other.polls
    told.onEvent = () => { told.notify('reaction') }
    inbound(test)
    expect(eventsOf(test)).toEqual([{ handler: 'told', event: 'reaction' }])
    expect(other.polls).toBe(polls)
    test.connection.handleRemoteReport('replaced', ['/x'])
    test.drive()
    expect(eventsOf(test)).toHaveLength(2)
    expect(other.polls).toBe(polls + 1)
  })

  it('a part that wakes itself and has nothing waits for the next turn, alone or nested, and starves nobody (S4.8)', () => {
    for (const isNested of [false, true]) {
      const [selfish, other] = [new Part(), new Part()]
      const test = new ScriptedConnection(composeHandlers({ a: isNested ? composeHandlers({ selfish }) : selfish, other }))
      const polls = selfish.polls
      selfish.onPoll = cx => { cx.wake(); return PENDING }
      selfish.wake()
      for (let turn = 1; turn <= 3; turn++) {
        const { wakes } = test
        other.notify(turn)
        test.drive()
        expect(selfish.polls).toBe(polls + turn)
        expect(test.wakes).toBeGreaterThan(wakes)
      }
      expect(eventsOf(test)).toHaveLength(3)
      selfish.onPoll = () => undefined
      expect(settle(test)).toBe(1)
    }
  })

  it('a part that wakes itself and has a value is polled again in the same turn (S4.8)', () => {
    const part = new Part()
    const test = new ScriptedConnection(composeHandlers({ inner: composeHandlers({ part }) }))
    let left = 3
    part.onPoll = cx => {
      if (left === 0) {
        return undefined
      }
      cx.wake()
      return notify(left--)
    }
    part.wake()
    const { wakes } = test
    test.drive()
    expect(eventsOf(test)).toHaveLength(3)
    expect(test.wakes).toBe(wakes)
  })

  it('a part that is told something is polled in that turn even if it waits for the next one (S4.8, C08)', () => {
    const part = new Part(['/a'])
    const test = new ScriptedConnection(composeHandlers({ part }))
    part.onPoll = cx => { cx.wake(); return undefined }
    part.onEvent = () => { part.notify('x') }
    test.drive()
    const stream = test.offer()
    test.feed(stream, wire('HDR A'))
    expect(eventsOf(test).length).toBeGreaterThan(0)
  })

  it('a part that wakes another one is served by the same turn (S5.3)', () => {
    const [first, second] = [new Part(), new Part()]
    const test = new ScriptedConnection(composeHandlers({ first, inner: composeHandlers({ second }) }))
    second.onPoll = () => { first.notify('woken by a sibling'); second.onPoll = () => undefined; return PENDING }
    second.wake()
    const { wakes } = test
    test.drive()
    expect(eventsOf(test)).toHaveLength(1)
    expect(test.wakes).toBe(wakes)
  })

  it('parts that wake each other without end leave the turn (S10.10)', () => {
    const [first, second] = [new Part(['/a']), new Part()]
    const test = new ScriptedConnection(composeHandlers({ first, second }))
    first.onPoll = () => { second.wake(); return PENDING }
    second.onPoll = () => { first.wake(); return PENDING }
    first.wake()
    const { wakes } = test
    const stream = test.offer()
    expect(stream.isStarted).toBe(true)
    expect(test.wakes).toBe(wakes + 1)
    test.feed(stream, wire('HDR A'))
    expect(first.eventsOf('fully-negotiated-inbound')).toHaveLength(1)
  })

  it('deadlines of parts are folded into one, each part is polled at its own (S4.7)', () => {
    const polledAt: Array<[string, number]> = []
    const part = (name: string): Part => {
      const made = new Part()
      made.onPoll = cx => { polledAt.push([name, cx.now]); return undefined }
      return made
    }
    const [left, right, deep] = [part('left'), part('right'), part('deep')]
    const test = new ScriptedConnection(composeHandlers({ left, right, inner: composeHandlers({ deep }) }), { init: { idleTimeoutMs: Infinity } })
    polledAt.length = 0
    left.cx?.wakeAt(30)
    right.cx?.wakeAt(20)
    deep.cx?.wakeAt(10)
    expect(test.connection.pollTimeout()).toBe(10)
    right.cx?.wakeAt(40)
    test.advance(35)
    expect(polledAt).toEqual([['deep', 10], ['left', 30]])
    right.cx?.wakeAt(Infinity)
    test.advance(100)
    expect(polledAt).toEqual([['deep', 10], ['left', 30]])
    expect(test.connection.pollTimeout()).toBe(Infinity)
    expect(() => { deep.cx?.wakeAt(NaN) }).toThrow(RangeError)
  })

  it('a part that asks for a poll now, in its poll, gets the next turn (S4.7, S4.8)', () => {
    for (const isNested of [false, true]) {
      const part = new Part()
      const test = new ScriptedConnection(composeHandlers({ a: isNested ? composeHandlers({ part }) : part }))
      const { polls } = part
      part.onPoll = cx => { cx.wakeAt(cx.now); return PENDING }
      part.wake()
      test.drive()
      expect(part.polls).toBe(polls + 1)
      test.drive()
      expect(part.polls).toBe(polls + 2)
    }
  })

  it('a deadline asked for before the first poll is kept, and one that is past is served', () => {
    const part = new Part()
    const composed = composeHandlers({ part })
    const told: number[] = []
    part.onEvent = () => { part.cx?.wakeAt(0) }
    const test = new ScriptedConnection(composed)
    test.clock.advance(5)
    part.onPoll = cx => { told.push(cx.now); return undefined }
    test.connection.handleAddressChange('elsewhere')
    test.drive()
    expect(told.length).toBeGreaterThan(0)
    expect(new Set(told)).toEqual(new Set([5]))
    expect(settle(test)).toBe(1)
  })

  it('a part is not polled for a list that it no longer returns (S3.16)', () => {
    const list = new ProtocolList(['/a'])
    const [first, second] = [new Part(list), new Part(list)]
    const test = new ScriptedConnection(composeHandlers({ first, second }))
    second.protocols = []
    second.wake()
    test.drive()
    const polls = [first.polls, second.polls]
    list.add('/b')
    test.connection.poll(0)
    expect(test.connection.localProtocols.has('/b')).toBe(true)
    // Both are told of the change; only the first one was woken by the list itself.
    expect([first.polls, second.polls]).toEqual([polls[0]! + 2, polls[1]! + 1])
  })
})

/** A wrapper as an author may write it: it forwards every call, and passes on copies of events and outputs. */
function wrap (inner: AnyHandler): AnyHandler {
  return {
    listenProtocols: () => inner.listenProtocols(),
    inboundInfo: (...args) => inner.inboundInfo?.(...args) as unknown,
    inboundUpgrade: (...args: Parameters<NonNullable<AnyHandler['inboundUpgrade']>>) => inner.inboundUpgrade?.(...args),
    poll: (cx: PollContext) => {
      const output = inner.poll?.(cx) ?? PENDING
      return output === PENDING ? PENDING : Object.freeze({ ...output }) as Output
    },
    pollClose: (cx: PollContext) => inner.pollClose?.(cx) as Poll<unknown>,
    keepAlive: () => inner.keepAlive?.() === true,
    onConnectionEvent: (event: ConnectionEvent<unknown, unknown>) => inner.onConnectionEvent(Object.freeze({ ...event })),
    onBehaviourEvent: (event: unknown) => { inner.onBehaviourEvent?.(event) }
  } as AnyHandler
}

describe('composeHandlers: wrappers (S4.13)', () => {
  it('a wrapper that passes copies on changes nothing, at any depth (S10.19)', () => {
    const [left, deep] = [new Part(['/a']), new Part(['/b', '/a'])]
    const test = new ScriptedConnection(wrap(composeHandlers({ left, inner: wrap(composeHandlers({ w: wrap(composeHandlers({ deep })) })) })))
    left.request(['/a'], { info: 'left', token: 't' })
    deep.request(['/a'], { info: 'deep', token: 't' })
    deep.request(['bad'], { info: 'bad' })
    test.drive()
    deep.push({ type: 'cancel-outbound-request', token: 't' })
    test.drive()
    expect(failuresOf(deep)).toEqual([['bad', 'invalid-request'], ['deep', 'aborted']])
    test.feed(test.grant(), wire('HDR A'))
    expect(left.eventsOf('fully-negotiated-outbound')).toMatchObject([{ info: 'left' }])
    const old = test.offer()
    left.protocols = []
    left.wake()
    test.drive()
    inbound(test)
    inbound(test, 'B')
    test.feed(old, wire('HDR A'))
    expect(left.eventsOf('fully-negotiated-inbound').map(({ protocol }) => protocol)).toEqual(['/a'])
    expect(deep.eventsOf('fully-negotiated-inbound').map(({ protocol }) => protocol)).toEqual(['/a', '/b'])
    deep.push({ type: 'report-remote-protocols', change: 'added', protocols: ['/x'] })
    left.push({ type: 'report-remote-protocols', change: 'removed', protocols: ['/x'] })
    test.drive()
    expect(test.connection.remoteProtocols.toArray()).toEqual(['/x'])
    const polls = deep.polls
    deep.notify('out')
    test.connection.onBehaviourEvent({ handler: 'left', event: 'in' })
    test.drive()
    expect(deep.polls).toBe(polls + 2)
    expect(eventsOf(test)).toEqual([{ handler: 'inner', event: { handler: 'w', event: { handler: 'deep', event: 'out' } } }])
    expect(left.behaviourEvents).toEqual(['in'])
    test.connection.close()
    deep.notify('last')
    test.drive()
    expect(eventsOf(test)).toHaveLength(2)
    expect(reportsOf(test, 'handler-error')).toEqual([])
  })

  it('the requests of parts below a wrapper are dropped at the close, their events are not', () => {
    const part = new Part()
    const test = new ScriptedConnection(wrap(composeHandlers({ part })))
    test.connection.close()
    part.request(['/a'])
    part.push({ type: 'report-remote-protocols', change: 'added', protocols: ['/x'] })
    part.notify('last')
    test.drive()
    expect(eventsOf(test)).toEqual([{ handler: 'part', event: 'last' }])
  })

  it('a wrapper that lists a copy still gets its streams to the owners of now', () => {
    const [left, right] = [new Part(['/a']), new Part(['/b'])]
    const composed = composeHandlers({ left, right })
    const wrapped = wrap(composed)
    const test = new ScriptedConnection({ ...wrapped, listenProtocols: () => [...composed.listenProtocols() as readonly string[], '/c'] })
    inbound(test, 'B')
    expect(right.eventsOf('fully-negotiated-inbound')).toHaveLength(1)
    // Its own name is its own affair: below nobody owns it.
    const stream = test.offer()
    test.feed(stream, wire('HDR C'))
    expect(stream.resets).toMatchObject([{ name: 'InvalidStateError', message: expect.stringContaining('"/c"') as string }])
  })

  it('a wrapper that makes events anew is told what it does wrong', () => {
    const part = new Part()
    const composed = composeHandlers({ part })
    const test = new ScriptedConnection({
      ...wrap(composed),
      onConnectionEvent: (event: ConnectionEvent<unknown, unknown>) => {
        composed.onConnectionEvent(event.type === 'dial-upgrade-error' ? { type: event.type, info: undefined, error: event.error } : event as never)
      }
    })
    part.request(['bad'])
    test.drive()
    expect(test.connection.status).toMatchObject({ reason: 'handler-error', cause: { name: 'InvalidStateError', message: expect.stringContaining('spread') as string } })
  })
})
