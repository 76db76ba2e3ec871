import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { composeHandlers, oneShotHandler } from '../../src/index.ts'
import { ScriptedConnection } from '../../src/testing/index.ts'
import { eventsOf, inbound, reportsOf, settle } from '../support/scripted.ts'
import { wire } from '../support/wire.ts'
import type { ConnectionInit } from '../../src/connection/connection-config.ts'
import type { Poll, PollContext } from '../../src/core/poll.ts'
import type { OneShotEvent, OneShotHandlerInit, StreamUpgrade } from '../../src/index.ts'

/** An upgrade that is done when the test says so. */
class Upgrade implements StreamUpgrade<string> {
  readonly what: string
  readonly ended: unknown[] = []
  output: Poll<string> = PENDING
  error: Error | undefined
  #cx: PollContext | undefined

  constructor (what: string) {
    this.what = what
  }

  poll (cx: PollContext): Poll<string> {
    this.#cx = cx
    if (this.error !== undefined) {
      throw this.error
    }
    return this.output
  }

  end (reason: unknown): void {
    this.ended.push(reason)
  }

  done (output: string): void {
    this.output = output
    this.#cx?.wake()
  }

  fail (error: Error): void {
    this.error = error
    this.#cx?.wake()
  }
}

function setUp (options: Partial<OneShotHandlerInit<number, string, string>> = {}, init: ConnectionInit = {}) {
  const upgrades: Upgrade[] = []
  const made = (what: string): Upgrade => {
    const upgrade = new Upgrade(what)
    upgrades.push(upgrade)
    return upgrade
  }
  const handler = oneShotHandler<number, string, string>({
    protocols: '/a',
    outbound: (_stream, message, protocol) => made(`out ${message} ${protocol}`),
    inbound: (_stream, protocol) => made(`in ${protocol}`),
    ...options
  })
  const test = new ScriptedConnection(handler, { init })
  const send = (...messages: number[]): void => {
    messages.forEach(message => test.connection.onBehaviourEvent(message))
    test.drive()
  }
  const agree = () => {
    const stream = test.grant()
    test.feed(stream, wire('HDR A'))
    return stream
  }
  return { test, upgrades, send, agree, events: () => (eventsOf(test) as Array<OneShotEvent<number, string, string>>) }
}

/** Message and outcome of each message, in the order of the outcomes. */
function outcomesOf (events: Array<OneShotEvent<number, string, string>>): Array<[number, string]> {
  return events.flatMap(event => {
    switch (event.type) {
      case 'sent':
        return [[event.message, event.output] as [number, string]]
      case 'failed':
        return [[event.message, 'kind' in event.error ? event.error.kind : event.error.name] as [number, string]]
      case 'received':
      case 'inbound-failed':
        return []
    }
  })
}

describe('oneShotHandler: messages', () => {
  it('each goes over a stream of its own, and the output of its upgrade is its event', () => {
    const { test, upgrades, send, agree, events } = setUp()
    send(1, 2)
    expect(test.muxer.openings.map(({ protocols }) => protocols)).toEqual([['/a'], ['/a']])
    agree()
    agree()
    expect(upgrades.map(({ what }) => what)).toEqual(['out 1 /a', 'out 2 /a'])
    expect(events()).toEqual([])
    upgrades[1]!.done('second')
    test.drive()
    upgrades[0]!.done('first')
    test.drive()
    expect(events()).toEqual([{ type: 'sent', message: 2, output: 'second' }, { type: 'sent', message: 1, output: 'first' }])
    expect(upgrades.map(({ ended }) => ended)).toEqual([[], []])
  })

  it('at most maxConcurrentDials are on their way, the others wait in order', () => {
    const { test, upgrades, send, agree, events } = setUp({ maxConcurrentDials: 2 })
    send(1, 2, 3, 4)
    expect(test.muxer.openings).toHaveLength(2)
    agree()
    agree()
    expect(test.muxer.openings).toHaveLength(0)
    upgrades[1]!.done('x')
    test.drive()
    expect(test.muxer.openings).toHaveLength(1)
    test.refuse(new Error('no stream'))
    expect(test.muxer.openings).toHaveLength(1)
    agree()
    expect(upgrades.at(-1)!.what).toBe('out 4 /a')
    expect(outcomesOf(events())).toEqual([[2, 'x'], [3, 'io']])
  })

  it('one that finds maxQueuedMessages waiting fails at once, and the others go on', () => {
    const { send, events } = setUp({ maxConcurrentDials: 1, maxQueuedMessages: 2 })
    send(1)
    send(2, 3, 4)
    expect(outcomesOf(events())).toEqual([[4, 'OverflowError']])
    expect(events()).toMatchObject([{ error: { message: 'Cannot send message: 2 may wait (maxQueuedMessages)' } }])
  })

  it('its deadline is timeoutMs from its dial on, or that of the connection', () => {
    for (const [options, atMs] of [[{ timeoutMs: 50 }, 50], [{}, 1000]] as const) {
      const { test, upgrades, send, agree, events } = setUp({ ...options, maxConcurrentDials: 1 }, { outboundTimeoutMs: 1000, idleTimeoutMs: Infinity })
      send(1, 2)
      const stream = agree()
      test.advance(atMs - 1)
      expect(events()).toEqual([])
      test.advance(1)
      expect(outcomesOf(events())).toEqual([[1, 'timeout']])
      expect(upgrades[0]!.ended).toHaveLength(1)
      expect(stream.resets).toHaveLength(1)
      test.advance(atMs)
      expect(outcomesOf(events())).toEqual([[1, 'timeout'], [2, 'timeout']])
    }
  })

  it('fails with kind apply when its upgrade throws, and nothing else does', () => {
    const { test, upgrades, send, agree, events } = setUp()
    send(1)
    agree()
    upgrades[0]!.fail(new Error('not sent'))
    test.drive()
    expect(events()).toMatchObject([{ type: 'failed', message: 1, error: { kind: 'apply', cause: new Error('not sent') } }])
    expect(test.connection.status.phase).toBe('open')
  })

  it('every message has exactly one outcome, whatever state the end finds it in (S10.6)', () => {
    for (const end of ['close', 'abort'] as const) {
      const { test, upgrades, send, agree, events } = setUp({ maxConcurrentDials: 3 })
      send(1, 2, 3, 4, 5)
      agree()
      upgrades[0]!.done('done')
      test.drive()
      agree()
      test.grant()
      if (end === 'close') {
        test.connection.close()
      } else {
        test.connection.abort(new Error('gone'))
      }
      settle(test)
      expect(outcomesOf(events()).sort()).toEqual([
        [1, 'done'], [2, 'connection-closed'], [3, 'connection-closed'], [4, 'connection-closed'], [5, 'AbortError']
      ])
      expect(upgrades.map(({ ended }) => ended.length)).toEqual([0, 1])
    }
  })

  it('as a part that is removed too, and its upgrades end (S4.13)', () => {
    const upgrade = new Upgrade('out')
    const part = oneShotHandler({ protocols: '/a', maxConcurrentDials: 1, outbound: (_stream, _message: number) => upgrade })
    const composed = composeHandlers<{ part?: typeof part }>({ part })
    const test = new ScriptedConnection(composed)
    test.connection.onBehaviourEvent({ handler: 'part', event: 1 })
    test.connection.onBehaviourEvent({ handler: 'part', event: 2 })
    test.drive()
    test.feed(test.grant(), wire('HDR A'))
    composed.remove('part')
    settle(test)
    const events = eventsOf(test).map(event => (event as { event: OneShotEvent<number, string, string> }).event)
    expect(outcomesOf(events)).toEqual([[1, 'aborted'], [2, 'AbortError']])
    expect(upgrade.ended).toHaveLength(1)
  })

  it('holds the connection while messages have no outcome, or always with keepAlive (S6.2)', () => {
    const { test, upgrades, send, agree } = setUp({ maxConcurrentDials: 1 }, { idleTimeoutMs: 100, outboundTimeoutMs: Infinity })
    send(1, 2)
    const stream = agree()
    test.advance(1000)
    expect(test.connection.status).toMatchObject({ phase: 'open', activity: 'busy' })
    upgrades[0]!.done('x')
    test.drive()
    test.connection.handleStreamClosed(stream)
    test.drive()
    test.refuse(new Error('no stream'))
    test.advance(100)
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'keep-alive-timeout' })
    const kept = setUp({ keepAlive: true }, { idleTimeoutMs: 100 })
    kept.test.advance(1000)
    expect(kept.test.connection.status.phase).toBe('open')
  })
})

describe('oneShotHandler: streams of the peer', () => {
  it('what the upgrade makes of one is an event', () => {
    const { test, upgrades, events } = setUp()
    inbound(test)
    expect(events()).toEqual([])
    upgrades[0]!.done('hello')
    test.drive()
    expect(events()).toEqual([{ type: 'received', protocol: '/a', output: 'hello' }])
  })

  it('one whose upgrade fails, or takes too long, is an event too', () => {
    const { test, upgrades, events } = setUp({ inboundTimeoutMs: 2000 }, { inboundTimeoutMs: 1000, idleTimeoutMs: Infinity })
    const failing = inbound(test)
    const slow = inbound(test)
    upgrades[0]!.fail(new Error('nonsense'))
    test.drive()
    test.advance(1999)
    expect(events()).toMatchObject([{ type: 'inbound-failed', protocol: '/a', error: { kind: 'apply', cause: new Error('nonsense') } }])
    test.advance(1)
    expect(events().slice(1)).toMatchObject([{ type: 'inbound-failed', protocol: '/a', error: { kind: 'timeout' } }])
    expect(upgrades.map(({ ended }) => ended.length)).toEqual([0, 1])
    expect([failing.resets.length, slow.resets.length]).toEqual([1, 1])
  })

  it('of those that nobody takes there are at most maxInboundStreams (S10.12)', () => {
    const { test, upgrades, events } = setUp({ maxInboundStreams: 2 })
    test.connection.stall()
    const streams = Array.from({ length: 4 }, () => inbound(test))
    upgrades[0]!.done('first')
    test.drive()
    streams.push(inbound(test))
    expect(streams.map(({ resets }) => resets.length)).toEqual([0, 0, 1, 1, 1])
    expect(reportsOf(test, 'handler-error')[0]).toMatchObject({ method: 'inboundInfo', cause: { name: 'OverflowError' } })
    test.connection.resume()
    test.drive()
    expect(events()).toEqual([{ type: 'received', protocol: '/a', output: 'first' }])
    expect([inbound(test).resets.length, inbound(test).resets.length]).toEqual([0, 1])
    upgrades[1]!.fail(new Error('second'))
    test.drive()
    expect(inbound(test).resets).toEqual([])
    expect(events()).toHaveLength(2)
  })

  it('without inbound the names are not offered', () => {
    const test = new ScriptedConnection(oneShotHandler({ protocols: '/a', outbound: () => new Upgrade('out') }))
    expect(test.connection.localProtocols.size).toBe(0)
  })
})

describe('oneShotHandler: options (S9.2)', () => {
  const outbound = () => new Upgrade('out')

  it.each([
    [{ protocols: '/a' }, 'Cannot make a handler: outbound must be a function, received undefined'],
    [{ protocols: '/a', outbound, inbound: 1 }, 'Cannot make a handler: inbound must be a function, received number'],
    [{ protocols: 'a', outbound }, 'must start with "/"'],
    [{ protocols: '/a', outbound, maxConcurrentDials: 0 }, 'maxConcurrentDials must be a whole number from 1 to Infinity, received 0'],
    [{ protocols: '/a', outbound, timeoutMs: -1 }, 'timeoutMs must be milliseconds of at least 0, received -1'],
    [{ protocols: '/a', outbound, maxDials: 1 }, 'maxDials']
  ])('%o is refused', (init, message) => {
    expect(() => oneShotHandler(init as unknown as OneShotHandlerInit<number, string, string>)).toThrow(message)
  })
})
