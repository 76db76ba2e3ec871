/** Upgrades of streams in both directions: when they are polled, what they hold, and what is told when they come to nothing. */

import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { composeHandlers } from '../../src/handler/compose.ts'
import { RecordingHandler, ScriptedConnection } from '../../src/testing/index.ts'
import { failuresOf, inbound, reportsOf, settle } from '../support/scripted.ts'
import { wire } from '../support/wire.ts'
import type { ConnectionInit } from '../../src/connection/index.ts'
import type { Poll, PollContext } from '../../src/core/poll.ts'
import type { StreamUpgrade } from '../../src/handler/stream-upgrade.ts'

/** Upgrades what the peer opens by `onPoll`. */
class Upgrading extends RecordingHandler {
  upgradePolls = 0
  cx: PollContext | undefined
  onPoll: (cx: PollContext) => Poll<unknown> = () => PENDING

  inboundUpgrade (): StreamUpgrade<unknown> {
    return this.made()
  }

  made (): StreamUpgrade<unknown> {
    return {
      poll: cx => {
        this.cx = cx
        this.upgradePolls++
        return this.onPoll(cx)
      }
    }
  }
}

/** A stream in each direction that is agreed on and upgrades. */
const DIRECTIONS = [
  ['inbound', (test: ScriptedConnection) => inbound(test)],
  ['outbound', (test: ScriptedConnection, handler: Upgrading) => {
    handler.request(['/a'], { upgrade: () => handler.made() })
    test.drive()
    const stream = test.grant()
    test.feed(stream, wire('HDR A'))
    return stream
  }]
] as const

function setup (init: ConnectionInit = {}) {
  const handler = new Upgrading(['/a'])
  const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity, ...init } })
  return { handler, test }
}

describe.each(DIRECTIONS)('an upgrade of an %s stream', (direction, open) => {
  it('that wakes itself, or asks for the instant that it is, goes on in the next turn (S4.7, S4.8)', () => {
    for (const again of [(cx: PollContext) => { cx.wake() }, (cx: PollContext) => { cx.wakeAt(cx.now) }, (cx: PollContext) => { cx.wakeAt(cx.now - 1) }]) {
      const { handler, test } = setup()
      test.advance(10)
      handler.onPoll = cx => {
        again(cx)
        return PENDING
      }
      open(test, handler)
      expect(handler.upgradePolls).toBe(1)
      test.drive()
      expect(handler.upgradePolls).toBe(2)
      handler.onPoll = () => 'done'
      settle(test)
      expect(handler.upgradePolls).toBe(3)
      expect(handler.eventsOf(`fully-negotiated-${direction}`)).toMatchObject([{ output: 'done' }])
    }
  })

  it('is polled once for any number of wakes, and not for deadlines of others (S4.8, S10.20)', () => {
    const { handler, test } = setup()
    open(test, handler)
    handler.cx?.wake()
    handler.cx?.wake()
    test.drive()
    expect(handler.upgradePolls).toBe(2)
    handler.request(['/b'], { timeoutMs: 10 })
    test.advance(10)
    expect(failuresOf(handler)).toMatchObject([[undefined, 'timeout']])
    expect(handler.upgradePolls).toBe(2)
  })

  it('wakes nobody once it is over (S4.9)', () => {
    const { handler, test } = setup()
    handler.onPoll = () => 'done'
    open(test, handler)
    const { wakes } = test
    handler.cx?.wake()
    test.drive()
    expect([test.wakes, handler.upgradePolls]).toEqual([wakes, 1])
  })

  it('that need not hear of its end is out of time like any other (S2.33)', () => {
    const { handler, test } = setup({ inboundTimeoutMs: 100, outboundTimeoutMs: 100 })
    const stream = open(test, handler)
    test.advance(100)
    expect(stream.resets).toMatchObject([{ name: 'TimeoutError', phase: 'upgrade', elapsedMs: 100 }])
    expect(reportsOf(test, 'handler-error')).toEqual([])
    // It has an owner, who hears of it.
    expect(reportsOf(test, 'inbound-failure')).toEqual([])
  })
})

describe('what the owner of an upgrade hears (S4.3)', () => {
  it('is why its stream was lost, and that the connection closed', () => {
    const { handler, test } = setup()
    const lost = inbound(test)
    test.connection.handleStreamReset(lost, new Error('gone'))
    test.drive()
    inbound(test)
    test.connection.close()
    test.drive()
    expect(handler.eventsOf('listen-upgrade-error').map(({ error }) => error)).toMatchObject([
      { kind: 'io', cause: { name: 'StreamResetError', phase: 'upgrade', cause: { message: 'gone' } } },
      { kind: 'connection-closed', cause: { name: 'AbortError', phase: 'upgrade' } }
    ])
    expect(reportsOf(test, 'inbound-failure')).toEqual([])
  })

  it('is that it threw, and so does whoever watches (S4.15)', () => {
    const { handler, test } = setup()
    handler.onPoll = () => { throw new Error('broken') }
    inbound(test)
    expect(handler.eventsOf('listen-upgrade-error')).toMatchObject([{ error: { kind: 'apply' } }])
    expect(reportsOf(test, 'handler-error')).toMatchObject([{ method: 'StreamUpgrade.poll', cause: { message: 'broken' } }])
  })
})

describe('an upgrade that throws when it hears of its end', () => {
  it('is reported, and its request fails with what ended it (S4.15)', () => {
    const { handler, test } = setup()
    handler.request(['/a'], { timeoutMs: 10, upgrade: () => ({ poll: () => PENDING, end: () => { throw new Error('broken') } }) })
    test.drive()
    test.feed(test.grant(), wire('HDR A'))
    test.advance(10)
    expect(failuresOf(handler)).toEqual([[undefined, 'timeout']])
    expect(reportsOf(test, 'handler-error')).toMatchObject([{ method: 'StreamUpgrade.end', cause: { message: 'broken' } }])
  })
})

describe('a part that leaves while its upgrade is polled (S4.13)', () => {
  function leaving (init: ConnectionInit = {}) {
    const [part, other] = [new Upgrading(['/a']), new RecordingHandler()]
    const composed = composeHandlers({ part, other })
    const test = new ScriptedConnection(composed, { init: { idleTimeoutMs: Infinity, ...init } })
    part.onPoll = () => {
      composed.remove('part')
      return 'done'
    }
    return { part, other, test }
  }

  it('gets no inbound stream: it is reset, and reported as refused (S5.10)', () => {
    const { part, test } = leaving()
    const stream = inbound(test)
    expect(part.eventsOf('fully-negotiated-inbound')).toEqual([])
    expect(stream.resets).toMatchObject([{ name: 'AbortError', message: expect.stringContaining('The handler was removed') as string }])
    expect(reportsOf(test, 'inbound-failure')).toMatchObject([{ outcome: 'failed', proposed: '/a' }])
    expect([...test.connection.openStreams]).toEqual([])
  })

  it('gets no outbound stream, and leaves its slot to others (S5.6)', () => {
    const { part, other, test } = leaving({ maxNegotiatingOutboundStreams: 2 })
    other.request(['/b'])
    test.drive()
    test.grant()
    part.request(['/a'], { upgrade: () => part.made() })
    test.drive()
    const stream = test.grant()
    test.feed(stream, wire('HDR A'))
    expect(part.eventsOf('fully-negotiated-outbound')).toEqual([])
    expect(stream.resets).toHaveLength(1)
    for (const info of [1, 2]) {
      other.request(['/a'], { info })
    }
    settle(test)
    expect(test.muxer.openings).toHaveLength(1)
    test.feed(test.grant(), wire('HDR A'))
    expect(other.eventsOf('fully-negotiated-outbound')).toMatchObject([{ info: 1 }])
    expect(test.muxer.openings).toHaveLength(1)
  })
})
