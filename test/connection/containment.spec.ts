import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { composeHandlers } from '../../src/handler/compose.ts'
import { mapHandler } from '../../src/handler/map.ts'
import { ProtocolList } from '../../src/protocols/index.ts'
import { RecordingHandler, ScriptedConnection, ScriptedStream } from '../../src/testing/index.ts'
import { eventsOf, failuresOf, inbound, outbound, outputsOf, reportsOf, settle } from '../support/scripted.ts'
import { hex, toHex, wire } from '../support/wire.ts'

/** What user code may throw; nothing needs to be an error. */
const THROWN: ReadonlyArray<[string, unknown]> = [
  ['an error', new Error('thrown')], ['undefined', undefined], ['a string', 'thrown'], ['null', null], ['something unprintable', Object.create(null)]
]

/** One that throws as soon as it is asked what it is: `instanceof` of it is a throw. */
const UNTOUCHABLE = new Proxy(new Error('thrown'), { getPrototypeOf: throwing(new Error('trap')) })

function throwing (thrown: unknown): () => never {
  return () => { throw thrown }
}

/** A promise that is settled by hand. */
function task (): { readonly promise: PromiseLike<void>, reject (reason: unknown): void, attached (): number } {
  const rejections: Array<(reason: unknown) => unknown> = []
  const promise = {
    then (_onFulfilled: unknown, onRejected?: ((reason: unknown) => unknown) | null) {
      if (onRejected != null) {
        rejections.push(onRejected)
      }
      return promise
    }
  } as unknown as PromiseLike<void>
  return {
    promise,
    reject: reason => { rejections.forEach(onRejected => onRejected(reason)) },
    attached: () => rejections.length
  }
}

/** Does with the tasks that came out what a driver does: a rejection becomes an input. */
function watchTasks (test: ScriptedConnection): void {
  for (const output of outputsOf(test, 'handler-task')) {
    output.promise.then(undefined, (reason: unknown) => {
      test.connection.handleTaskFailure(output, reason)
      test.drive()
    })
  }
}

describe('Connection: a handler that fails with a stream (S4.15)', () => {
  it.each(THROWN)('throws %s: that stream is reset and reported, everything else goes on (C25 i, iii)', (_name, thrown) => {
    const handler = new RecordingHandler(['/a', '/b'])
    const test = new ScriptedConnection(handler)
    const parallel = inbound(test, 'B')
    handler.onEvent = throwing(thrown)
    const stream = test.offer()
    test.feed(stream, wire('HDR A ping'))
    expect(stream.resets).toHaveLength(1)
    expect(stream.resets[0]).toBeInstanceOf(Error)
    expect(stream.leftOver).toEqual([])
    expect(reportsOf(test, 'handler-error')).toEqual([{ type: 'handler-error', handler: '', method: 'onConnectionEvent', cause: thrown }])
    expect(parallel.resets).toEqual([])
    expect([...test.connection.streams]).toEqual([parallel])
    expect(test.connection.status.phase).toBe('open')
    handler.onEvent = undefined
    expect(inbound(test).resets).toEqual([])
  })

  it('throws what cannot even be asked whether it is an error: the same (S10.18)', () => {
    for (const method of ['onConnectionEvent', 'inboundUpgrade'] as const) {
      const part = new RecordingHandler(['/a'])
      const test = new ScriptedConnection(composeHandlers({ part }))
      Object.assign(part, { [method]: throwing(UNTOUCHABLE) })
      expect(inbound(test).resets.map(({ message }) => message)).toHaveLength(1)
      const [report] = reportsOf(test, 'handler-error')
      expect([report?.handler, report?.method, report?.cause === UNTOUCHABLE]).toEqual(['part', method, true])
    }
  })

  it('has a stream with a listener that throws: it is reset and reported; a listener of what is no stream is only reported', () => {
    const test = new ScriptedConnection(new RecordingHandler(['/a']))
    const stream = inbound(test)
    const thrown = new RangeError('mine')
    test.connection.handleListenerFault(stream, 'listener for message', thrown)
    test.connection.handleListenerFault(undefined, 'listener for stream', undefined)
    test.drive()
    expect(stream.resets).toEqual([thrown])
    expect(reportsOf(test, 'handler-error')).toEqual([
      { type: 'handler-error', handler: '', method: 'listener for message', cause: thrown },
      { type: 'handler-error', handler: '', method: 'listener for stream', cause: undefined }
    ])
    expect(test.connection.status.phase).toBe('open')
  })

  it('throws for an outbound stream: the same, and the request had its outcome', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler)
    const thrown = new Error('thrown')
    handler.onEvent = throwing(thrown)
    const stream = outbound(test, handler, 'x')
    expect(stream.resets).toEqual([thrown])
    expect(handler.events.map(({ type }) => type)).toEqual(['fully-negotiated-outbound'])
    expect(test.connection.status.phase).toBe('open')
  })

  it.each(THROWN)('rejects later with %s: the same (C25 ii)', (_name, thrown) => {
    const [left, right] = [new RecordingHandler(['/a']), new RecordingHandler(['/b'])]
    const test = new ScriptedConnection(composeHandlers({ left, nested: composeHandlers({ right }) }))
    const { promise, reject } = task()
    right.onEvent = () => promise
    const [stream, parallel] = [inbound(test, 'B'), inbound(test)]
    watchTasks(test)
    reject(thrown)
    expect(stream.resets).toHaveLength(1)
    expect(parallel.resets).toEqual([])
    expect(reportsOf(test, 'handler-error')).toEqual([{ type: 'handler-error', handler: 'nested.right', method: 'onConnectionEvent', cause: thrown }])
    expect([...test.connection.streams]).toEqual([parallel])
    expect(test.connection.status.phase).toBe('open')
  })

  it('rejects after the stream has ended: it is reported, and nothing is left to reset', () => {
    const handler = new RecordingHandler(['/a'])
    const test = new ScriptedConnection(handler)
    const { promise, reject } = task()
    handler.onEvent = () => promise
    const stream = inbound(test)
    watchTasks(test)
    test.connection.handleStreamClosed(stream)
    test.drive()
    reject(new Error('late'))
    expect(stream.resets).toEqual([])
    expect(reportsOf(test, 'handler-error')).toMatchObject([{ handler: '', method: 'onConnectionEvent', cause: { message: 'late' } }])
  })

  it('fulfilling says nothing, and what is no thenable is no task', () => {
    const handler = new RecordingHandler(['/a'])
    const test = new ScriptedConnection(handler)
    for (const returned of [1, 'text', null, {}, { then: 1 }, () => {}]) {
      handler.onEvent = () => returned as unknown as undefined
      inbound(test)
    }
    expect(outputsOf(test, 'handler-task')).toEqual([])
    handler.onEvent = async () => {}
    const stream = inbound(test)
    expect(outputsOf(test, 'handler-task')).toMatchObject([{ port: stream }])
  })

  it.each(['inboundInfo', 'inboundUpgrade'] as const)('throws in %s: that stream is reset, kind apply', method => {
    for (const [, thrown] of THROWN) {
      const part = Object.assign(new RecordingHandler(['/a']), { [method]: throwing(thrown) })
      const test = new ScriptedConnection(composeHandlers({ part, other: new RecordingHandler(['/b']) }))
      const stream = inbound(test)
      expect(stream.resets).toHaveLength(1)
      expect(part.eventsOf('listen-upgrade-error')).toMatchObject([{ protocol: '/a', error: { kind: 'apply', cause: thrown } }])
      expect(reportsOf(test, 'handler-error')).toMatchObject([{ handler: 'part', method, cause: thrown }])
      expect(inbound(test, 'B').resets).toEqual([])
    }
  })
})

/** Everything else that a handler has, and how to have it called. */
const METHODS: ReadonlyArray<[string, (test: ScriptedConnection, handler: RecordingHandler) => void]> = [
  ['poll', (_test, handler) => { handler.wake() }],
  ['listenProtocols', (_test, handler) => { handler.wake() }],
  ['keepAlive', (_test, handler) => { handler.wake() }],
  ['onBehaviourEvent', test => { test.connection.onBehaviourEvent({ handler: 'bad', event: 1 }) }],
  ['onConnectionEvent', test => { test.connection.handleAddressChange('elsewhere') }]
]

describe('Connection: a handler that fails otherwise (S4.15)', () => {
  it('throws what cannot even be asked whether it is an error: the connection closes (S10.18)', () => {
    const handler = new RecordingHandler(['/a'])
    const test = new ScriptedConnection(composeHandlers({ handler }))
    Object.assign(handler, { poll: throwing(UNTOUCHABLE) })
    handler.wake()
    test.drive()
    const [report] = reportsOf(test, 'handler-error')
    expect([report?.handler, report?.cause === UNTOUCHABLE, test.connection.status.phase]).toEqual(['handler', true, 'closing'])
  })

  it.each(METHODS)('throws in %s: the connection closes with that cause, the thrower is not called again, its siblings have their last word', (method, provoke) => {
    for (const [, thrown] of THROWN) {
      const [bad, good] = [new RecordingHandler(['/a']), new RecordingHandler(['/b'])]
      const last = ['last']
      Object.assign(good, { pollClose: () => last.shift() })
      const test = new ScriptedConnection(composeHandlers({ bad, inner: composeHandlers({ good }) }))
      const stream = inbound(test)
      bad.request(['/a'], { info: 'bad' })
      good.request(['/b'], { info: 'good' })
      test.drive()
      const calls: string[] = []
      for (const name of ['poll', 'listenProtocols', 'keepAlive', 'onBehaviourEvent', 'onConnectionEvent', 'pollClose']) {
        Object.assign(bad, { [name]: () => { calls.push(name); return name === method ? throwing(thrown)() : name === 'poll' ? PENDING : [] } })
      }
      provoke(test, bad)
      test.drive()
      expect(calls.filter(call => call === method)).toHaveLength(1)
      expect(calls.at(-1)).toBe(method)
      expect(reportsOf(test, 'handler-error')).toEqual([{ type: 'handler-error', handler: 'bad', method, cause: thrown }])
      expect(failuresOf(good)).toEqual([['good', 'connection-closed']])
      expect(eventsOf(test)).toEqual([{ handler: 'inner', event: { handler: 'good', event: 'last' } }])
      // The end is graceful (S6.4): streams are flushed.
      expect([test.muxer.closes, test.muxer.aborts.length, stream.resets.length]).toEqual([1, 0, 0])
      test.connection.handleMuxerClosed()
      test.drive()
      expect(outputsOf(test, 'closed')).toMatchObject([{ reason: 'handler-error' }])
      expect(outputsOf(test, 'closed')[0]?.cause).toBe(thrown)
    }
  })

  it.each(METHODS)('the only handler throws in %s: the same, and its outcomes are dropped', (method, provoke) => {
    const bad = new RecordingHandler(['/a'])
    const test = new ScriptedConnection(bad)
    bad.request(['/a'], { info: 'x' })
    test.drive()
    const told = bad.events.length
    const thrown = new Error('thrown')
    Object.assign(bad, { [method]: throwing(thrown), pollClose: throwing(new Error('never called')) })
    provoke(test, bad)
    test.drive()
    expect(reportsOf(test, 'handler-error')).toEqual([{ type: 'handler-error', handler: '', method, cause: thrown }])
    expect(bad.events).toHaveLength(told)
    expect(test.muxer.closes).toBe(1)
  })

  it.each(['alone', 'composed'])('a notice that is answered by a rejection counts as a throw, %s', how => {
    const [bad, good] = [new RecordingHandler(['/a']), new RecordingHandler(['/b'])]
    const test = new ScriptedConnection(how === 'alone' ? bad : composeHandlers({ good, bad, inner: composeHandlers({ good: new RecordingHandler() }) }))
    const [first, second] = [task(), task()]
    bad.onEvent = () => first.promise
    good.onEvent = () => second.promise
    test.connection.handleAddressChange('elsewhere')
    test.drive()
    watchTasks(test)
    const { polls } = bad
    const thrown = new Error('late')
    first.reject(thrown)
    expect(reportsOf(test, 'handler-error')).toEqual([
      { type: 'handler-error', handler: how === 'alone' ? '' : 'bad', method: 'onConnectionEvent', cause: thrown }
    ])
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'handler-error', cause: thrown })
    expect(bad.polls).toBe(polls)
  })

  it('a part that throws does not leave the promises of its siblings unhandled', () => {
    const [good, bad, odd] = [new RecordingHandler(), new RecordingHandler(), new RecordingHandler()]
    const test = new ScriptedConnection(composeHandlers({ good, bad, odd }))
    const { promise, attached } = task()
    good.onEvent = () => promise
    bad.onEvent = throwing(new Error('thrown'))
    odd.onEvent = () => ({ then: throwing(new Error('odd')) })
    test.connection.handleAddressChange('elsewhere')
    test.drive()
    expect(attached()).toBe(1)
    expect([good, bad, odd].map(handler => handler.eventsOf('address-change').length)).toEqual([1, 1, 1])
    expect(reportsOf(test, 'handler-error')).toMatchObject([{ handler: 'bad' }])
  })

  it('while it closes, a throw ends the last word of the thrower and of nobody else', () => {
    const parts = ['a', 'b', 'c', 'd'].map(key => Object.assign(new RecordingHandler(), { pollClose: (): unknown => key }))
    const test = new ScriptedConnection(composeHandlers({ a: parts[0]!, inner: composeHandlers({ b: parts[1]!, c: parts[2]! }), d: parts[3]! }))
    parts[0]!.pollClose = throwing(new Error('a'))
    parts[1]!.pollClose = throwing(undefined)
    for (const at of [2, 3]) {
      const last = ['last']
      parts[at]!.pollClose = () => last.shift()
    }
    test.connection.close()
    test.drive()
    expect(eventsOf(test)).toEqual([{ handler: 'inner', event: { handler: 'c', event: 'last' } }, { handler: 'd', event: 'last' }])
    expect(reportsOf(test, 'handler-error')).toMatchObject([{ handler: 'a', method: 'pollClose' }, { handler: 'inner.b', method: 'pollClose', cause: undefined }])
    test.connection.handleMuxerClosed()
    test.drive()
    expect(outputsOf(test, 'closed')).toMatchObject([{ reason: 'local-close' }])
  })

  it('an only handler that throws its last word away is done', () => {
    for (const method of ['poll', 'pollClose']) {
      const handler = new RecordingHandler()
      const test = new ScriptedConnection(handler)
      Object.assign(handler, { [method]: throwing(new Error('thrown')) })
      test.connection.close()
      test.drive()
      expect(reportsOf(test, 'handler-error')).toMatchObject([{ method }])
      expect(test.muxer.closes).toBe(1)
    }
  })

  it('a throw in the constructor’s notice closes in the first poll', () => {
    const handler = new RecordingHandler(['/a'])
    handler.onEvent = throwing(new Error('thrown'))
    const test = new ScriptedConnection(handler)
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'handler-error' })
    expect(handler.polls).toBe(0)
  })

  it.each([
    ['a listing', { listenProtocols: () => null }],
    ['a poll', { poll: () => undefined }],
    ['keepAlive', { keepAlive: () => 'yes' }],
    ['a timeout', { get inboundTimeoutMs (): number { throw new Error('thrown') } }]
  ])('%s of a wrong kind breaks nothing but its own connection', (_name, wrong) => {
    const handler = Object.defineProperties(new RecordingHandler(['/a']), Object.getOwnPropertyDescriptors(wrong))
    for (const root of [handler, composeHandlers({ handler })]) {
      const test = new ScriptedConnection(root)
      test.offer()
      expect(['open', 'closing']).toContain(test.connection.status.phase)
    }
  })
})

/** It can be thrown, too. */
const NOTHING: unknown = undefined

describe('Connection: the k-th callback throws', () => {
  /** One run through everything that a handler can be told and asked. */
  function run (throwAt: number): { readonly calls: number, readonly test: ScriptedConnection } {
    let calls = 0
    const guarded = <Args extends unknown[], Result>(method: (...args: Args) => Result) => (...args: Args): Result => {
      if (++calls === throwAt) {
        throw NOTHING
      }
      return method(...args)
    }
    const made = (name: string): RecordingHandler => {
      const handler = new RecordingHandler(new ProtocolList([name]))
      const last = ['last']
      const upgrade = { poll: guarded(() => 'output') }
      Object.assign(handler, {
        listenProtocols: guarded(handler.listenProtocols.bind(handler)),
        keepAlive: guarded(handler.keepAlive.bind(handler)),
        poll: guarded(handler.poll.bind(handler)),
        pollClose: guarded(() => last.shift()),
        onConnectionEvent: guarded(handler.onConnectionEvent.bind(handler)),
        onBehaviourEvent: guarded(handler.onBehaviourEvent.bind(handler)),
        inboundInfo: guarded(() => 'info'),
        inboundUpgrade: guarded(() => upgrade)
      })
      handler.push({ type: 'outbound-stream-request', protocols: ['/a'], info: 'x', upgrade: guarded(() => upgrade) })
      handler.request(['/a'], { timeoutMs: 5 })
      handler.push({ type: 'notify-behaviour', event: name })
      return handler
    }
    const test = new ScriptedConnection(composeHandlers({ a: made('/a'), inner: composeHandlers({ b: made('/b') }) }))
    for (const name of ['A', 'B']) {
      inbound(test, name)
    }
    for (let left = test.muxer.openings.length; left > 1; left--) {
      test.feed(test.grant(), wire('HDR A'))
    }
    test.connection.onBehaviourEvent({ handler: 'a', event: 1 })
    test.connection.onBehaviourEvent({ handler: 'inner', event: { handler: 'b', event: 1 } })
    test.connection.handleRemoteReport('replaced', ['/x'])
    test.advance(10)
    test.connection.close()
    test.drive()
    test.connection.handleMuxerClosed()
    test.drive()
    return { calls, test }
  }

  it('for every k nothing escapes, it is reported, and the connection ends in order (S10.18)', () => {
    const { calls } = run(Infinity)
    expect(calls).toBeGreaterThan(40)
    for (let throwAt = 1; throwAt <= calls; throwAt++) {
      const { test } = run(throwAt)
      expect(outputsOf(test, 'closed')).toHaveLength(1)
      expect(test.outputs.at(-1)?.type).toBe('closed')
      const reported = reportsOf(test, 'handler-error').length
      const applied = test.reports.length
      // An outbound upgrade is told to its requester instead.
      expect(reported).toBeLessThanOrEqual(1)
      expect(applied).toBeGreaterThan(0)
      expect([...test.connection.streams]).toEqual([])
      expect(test.connection.pollTimeout()).toBe(Infinity)
    }
  })
})

describe('Connection: a muxer that misbehaves (S5.11)', () => {
  const calls: ReadonlyArray<[string, (test: ScriptedConnection, handler: RecordingHandler, broken: () => never) => void]> = [
    ['cancelOpening', (test, handler, broken) => {
      test.muxer.cancelOpening = broken
      handler.push({ type: 'cancel-outbound-request', token: 't' })
    }],
    ['start of a granted stream', (test, _handler, broken) => {
      test.connection.handleOutboundStream(test.muxer.takeOpening(), Object.assign(new ScriptedStream(), { start: broken }))
    }],
    ['start of an offered stream', (test, _handler, broken) => {
      test.connection.handleInboundStream(Object.assign(new ScriptedStream(), { start: broken }), 0)
    }],
    ['accept', (test, _handler, broken) => {
      const stream = test.offer()
      stream.accept = broken
      test.connection.handleStreamData(stream, wire('HDR A'))
    }],
    ['unread', (test, _handler, broken) => {
      const stream = test.offer()
      stream.unread = broken
      test.connection.handleStreamData(stream, wire('HDR A ping'))
    }],
    ['reset', (test, _handler, broken) => {
      const stream = test.offer()
      stream.reset = broken
      test.connection.handleStreamData(stream, wire('00'))
    }],
    ['reset of a late grant', (test, _handler, broken) => {
      test.connection.handleOutboundStream({ options: 'old', protocols: [] }, Object.assign(new ScriptedStream(), { reset: broken }))
    }],
    ['reset of a task’s stream', (test, handler, broken) => {
      handler.onEvent = () => task().promise
      const stream = inbound(test)
      handler.onEvent = undefined
      stream.reset = broken
      test.connection.handleTaskFailure(outputsOf(test, 'handler-task')[0]!, new Error('late'))
    }],
    ['reset of a stream that closes too slowly', (test, _handler, broken) => {
      const stream = inbound(test)
      stream.reset = broken
      test.connection.handleStreamClosing(stream, 0)
      test.clock.advance(5000)
    }]
  ]

  it.each(calls)('and throws from %s: the connection ends with io-error', (_name, provoke) => {
    for (const [, thrown] of THROWN) {
      const handler = new RecordingHandler(['/a'])
      const test = new ScriptedConnection(handler, { init: { outboundTimeoutMs: Infinity } })
      handler.request(['/a'], { info: 'x', token: 't' })
      test.drive()
      provoke(test, handler, throwing(thrown))
      test.drive()
      expect(outputsOf(test, 'closed')).toMatchObject([{ reason: 'io-error' }])
      expect(test.muxer.aborts).toHaveLength(1)
      expect(test.muxer.aborts[0]).toBeInstanceOf(Error)
      expect(handler.eventsOf('dial-upgrade-error')).toHaveLength(1)
      expect([...test.connection.streams]).toEqual([])
    }
  })

  it('and throws from openStream: that request fails', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler)
    const thrown = new Error('no stream')
    const openStream = test.muxer.openStream.bind(test.muxer)
    test.muxer.openStream = throwing(thrown)
    handler.request(['/a'], { info: 'x' })
    test.drive()
    expect(failuresOf(handler)).toEqual([['x', 'io']])
    test.muxer.openStream = openStream
    expect(outbound(test, handler).protocol).toBe('/a')
  })

  it('and throws from write: that stream fails, nothing is written again (S2.7, S2.17)', () => {
    const handler = new RecordingHandler(['/a'])
    const test = new ScriptedConnection(handler)
    handler.request(['/a'], { info: 'x' })
    test.drive()
    const unwritable = new ScriptedStream()
    unwritable.writeError = new Error('no write')
    test.connection.handleOutboundStream(test.muxer.takeOpening(), unwritable)
    test.drive()
    expect(failuresOf(handler)).toEqual([['x', 'io']])
    expect(handler.eventsOf('dial-upgrade-error')[0]?.error.cause).toMatchObject({ name: 'StreamResetError', cause: unwritable.writeError })
    expect(unwritable.resets).toHaveLength(1)
    const refusing = test.offer()
    refusing.writeError = new Error('no write')
    test.feed(refusing, wire('HDR NA'))
    expect(refusing.resets).toMatchObject([{ name: 'StreamResetError' }])
  })

  it('and answers from inside the call: that is refused, and the request fails', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler)
    test.muxer.openStream = opening => { test.connection.handleOutboundStream(opening, new ScriptedStream()) }
    handler.request(['/a'], { info: 'x' })
    test.drive()
    expect(failuresOf(handler)).toEqual([['x', 'io']])
  })

  it('and throws from close and abort: the connection ends all the same', () => {
    const test = new ScriptedConnection(new RecordingHandler())
    const thrown = new Error('no close')
    const aborts: Error[] = []
    test.muxer.close = throwing(thrown)
    test.muxer.abort = error => { aborts.push(error); throw error }
    test.connection.close()
    test.drive()
    expect(aborts).toEqual([thrown])
    expect(outputsOf(test, 'closed')).toMatchObject([{ reason: 'local-close' }])
  })

  it('and is never asked to write to a stream that was reset', () => {
    const handler = new RecordingHandler(['/a'])
    const test = new ScriptedConnection(handler)
    const stream = test.offer()
    test.feed(stream, wire('HDR'))
    test.connection.handleStreamReset(stream)
    test.drive()
    test.feed(stream, wire('A'))
    expect(stream.writes.map(toHex)).toEqual([hex('HDR')])
    expect(settle(test)).toBe(1)
  })
})

describe('Connection: a poll that returns neither an output nor PENDING (S4.15)', () => {
  const RETURNED: ReadonlyArray<[string, () => unknown, string]> = [
    ['a promise', async () => await Promise.reject(new Error('async')), 'received a promise: it must not be async'],
    ['nothing', () => undefined, 'received undefined'],
    ['an output that there is not', () => ({ type: 'notify' }), 'received an object of type "notify"'],
    ['an object', () => ({}), 'received an object without a type']
  ]

  it.each(RETURNED)('%s from an only handler counts as a throw of poll', (_name, poll, message) => {
    const test = new ScriptedConnection({ listenProtocols: () => [], onConnectionEvent: () => {}, poll: poll as never })
    expect(reportsOf(test, 'handler-error')).toMatchObject([
      { handler: '', method: 'poll', cause: { name: 'TypeError', message: `poll must return an output or PENDING, ${message}` } }
    ])
  })

  it.each(RETURNED)('%s from a part counts as a throw of that part', (_name, poll, message) => {
    const broken = { listenProtocols: () => [], onConnectionEvent: () => {}, poll: poll as never }
    const test = new ScriptedConnection(composeHandlers({ well: new RecordingHandler(['/a']), broken }))
    expect(reportsOf(test, 'handler-error')).toMatchObject([
      { handler: 'broken', method: 'poll', cause: { message: expect.stringContaining(message) as string } }
    ])
  })
})

describe('Connection: a pollClose that is async (S4.15)', () => {
  const asyncLast = () => ({
    listenProtocols: () => [], onConnectionEvent: () => {}, pollClose: (async () => await Promise.reject(new Error('async'))) as never
  })

  it.each([
    ['an only handler', () => asyncLast(), ''],
    ['a part', () => composeHandlers({ well: new RecordingHandler(['/a']), broken: asyncLast() }), 'broken'],
    ['a mapped handler', () => mapHandler(asyncLast(), { out: (event) => event }), '']
  ])('of %s counts as a throw of it, and the connection ends', (_name, make, handler) => {
    const test = new ScriptedConnection(make())
    test.connection.close()
    test.drive()
    test.connection.handleMuxerClosed()
    test.drive()
    expect(outputsOf(test, 'handler-event')).toEqual([])
    expect(reportsOf(test, 'handler-error')).toMatchObject([{
      handler, method: 'pollClose',
      cause: { name: 'TypeError', message: 'pollClose must return an event, undefined or PENDING, received a promise: it must not be async' }
    }])
    expect(test.outputs.at(-1)).toMatchObject({ type: 'closed' })
  })
})

describe('Connection: an output that throws when it is read (S4.15)', () => {
  const get = throwing(new Error('read'))
  const UNREADABLE = ([
    { type: 'notify-behaviour', get event () { return get() } },
    { type: 'outbound-stream-request', protocols: ['/a'], info: 1, get token () { return get() } },
    { type: 'outbound-stream-request', protocols: ['/a'], info: 1, get upgrade () { return get() } },
    { type: 'report-remote-protocols', change: 'replaced', get protocols () { return get() } },
    { type: 'cancel-outbound-request', get token () { return get() } }
  ] as const).map((output) => [`${output.type} with ${Object.keys(output).join(', ')}`, output] as const)

  it.each(UNREADABLE)('%s: is a throw of poll', (_name, output) => {
    const handler = new RecordingHandler(['/a'])
    const test = new ScriptedConnection(handler)
    handler.push(output)
    expect(() => { test.drive() }).not.toThrow()
    expect(reportsOf(test, 'handler-error')).toMatchObject([{ handler: '', method: 'poll', cause: { message: 'read' } }])
    expect(test.connection.status.phase).not.toBe('open')
  })

  it.each(UNREADABLE)('%s: is blamed on its part, and the others have their last word', (_name, output) => {
    const parts = { bad: new RecordingHandler(), good: new RecordingHandler(['/a']) }
    const test = new ScriptedConnection(composeHandlers(parts))
    parts.bad.push(output)
    parts.good.push({ type: 'notify-behaviour', event: 'last' })
    test.drive()
    expect(reportsOf(test, 'handler-error')).toMatchObject([{ handler: 'bad', method: 'poll', cause: { message: 'read' } }])
    expect(outputsOf(test, 'handler-event').map(({ event }) => event)).toEqual([{ handler: 'good', event: 'last' }])
  })

  it.each(UNREADABLE.slice(0, 3))('%s: ends nothing but the last words when the connection closes', (_name, output) => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler)
    handler.push(output)
    test.connection.close()
    expect(() => { test.drive() }).not.toThrow()
    expect(reportsOf(test, 'handler-error')).toMatchObject([{ handler: '', method: 'poll', cause: { message: 'read' } }])
  })

  it('inherits its fields: a composition says that they are lost on the way, and of which part', () => {
    const inheriting = Object.create({ type: 'cancel-outbound-request', token: 1 }) as { type: 'cancel-outbound-request', token: number }
    const bad = new RecordingHandler()
    const test = new ScriptedConnection(composeHandlers({ bad }))
    bad.push(inheriting)
    test.drive()
    expect(reportsOf(test, 'handler-error')).toMatchObject([{ handler: 'bad', method: 'poll', cause: { message: expect.stringContaining('its own') as string } }])
  })
})
