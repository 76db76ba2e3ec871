/** What a turn costs, and who is called in it (S4.6, S5.2, S10.9). */

import { describe, expect, it } from 'vitest'
import { ProtocolList } from '../../src/protocols/index.ts'
import { RecordingHandler, ScriptedConnection } from '../../src/testing/index.ts'
import { eventsOf, inbound, reportsOf } from '../support/scripted.ts'
import { SILENT_METER } from '../support/silent-meter.ts'
import { wire } from '../support/wire.ts'
import type { HandlerOutput } from '../../src/handler/connection-handler.ts'
import type { Poll, PollContext } from '../../src/core/poll.ts'

/** Counts how often it is asked for its names. */
class Listed extends RecordingHandler {
  listings = 0

  override listenProtocols (): ReturnType<RecordingHandler['listenProtocols']> {
    this.listings++
    return super.listenProtocols()
  }
}

const notify = (event: unknown): HandlerOutput<unknown, unknown, unknown> => ({ type: 'notify-behaviour', event })

describe('a turn in which the handler has nothing to do', () => {
  it('reads its names no more, whatever else goes on and whoever else has names (S3.6, S4.10, S10.9)', () => {
    for (const hostProtocols of [undefined, { list: new ProtocolList(['/h']), offers: () => false }]) {
      const handler = new Listed(['/a'])
      const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity }, hostProtocols })
      const { listings } = handler
      const stream = test.offer()
      test.feed(stream, wire('HDR'))
      test.connection.handleStreamReset(stream)
      test.drive()
      expect(handler.listings).toBe(listings)
    }
  })
})

describe('a turn that begins with a deadline', () => {
  it('asks for no other one where its handler asks for a stream in it (S10.20)', () => {
    class Timed extends RecordingHandler {
      override poll (cx: PollContext): Poll<HandlerOutput<unknown, unknown, unknown>> {
        if (this.polls === 0) {
          cx.wakeAt(10)
        } else if (this.polls === 1) {
          this.request(['/a'])
        }
        return super.poll(cx)
      }
    }
    const test = new ScriptedConnection(new Timed(), { init: { idleTimeoutMs: Infinity } })
    const { wakes } = test
    test.advance(10)
    expect(test.muxer.openings).toHaveLength(1)
    expect(test.wakes).toBe(wakes)
  })
})

describe('the share of the handler (S5.2)', () => {
  it('is one of values: polls without one do not use it up', () => {
    const handler = new RecordingHandler(['/a'])
    const test = new ScriptedConnection(handler, { init: { maxHandlerEventsPerTurn: 1 } })
    handler.onEvent = ({ type }) => {
      if (type === 'fully-negotiated-inbound') {
        handler.push(notify('opened'))
      }
    }
    handler.wake()
    const stream = test.offer()
    handler.wake()
    test.feed(stream, wire('HDR A'))
    expect(eventsOf(test)).toEqual(['opened'])
  })

  it('is not spent by a handler that is not polled (S8.3, S11.1)', () => {
    const yielded: string[] = []
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler, {
      init: { maxHandlerEventsPerTurn: 2 },
      meter: { ...SILENT_METER, yielded: cause => { yielded.push(cause) } }
    })
    test.connection.stall()
    handler.push(notify(1))
    test.connection.handleAddressChange('elsewhere')
    test.drive()
    expect(yielded).toEqual([])
    test.connection.resume()
    handler.push(notify(2))
    handler.push(notify(3))
    test.drive()
    expect(yielded).toEqual(['handler-events'])
  })
})

describe('a handler that threw (S4.15)', () => {
  it('in its poll is asked nothing more', () => {
    const handler = new Listed(['/a'])
    const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity } })
    const { listings } = handler
    handler.wake()
    handler.poll = () => { throw new Error('broken') }
    test.drive()
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'handler-error', cause: { message: 'broken' } })
    expect(handler.listings).toBe(listings)
  })

  it.each(['inboundInfo', 'inboundUpgrade'])('in %s is named with that', method => {
    const handler = Object.assign(new RecordingHandler(['/a']), { [method]: () => { throw new Error('broken') } })
    const test = new ScriptedConnection(handler)
    inbound(test)
    expect(reportsOf(test, 'handler-error')).toMatchObject([{ handler: '', method, cause: { message: 'broken' } }])
  })

  it('in the time that it names is named with that, and closes', () => {
    const handler = Object.defineProperty(new RecordingHandler(['/a']), 'inboundTimeoutMs', { get: () => { throw new Error('broken') } })
    const test = new ScriptedConnection(handler)
    test.offer()
    expect(reportsOf(test, 'handler-error')).toMatchObject([{ method: 'inboundTimeoutMs', cause: { message: 'broken' } }])
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'handler-error' })
  })
})
