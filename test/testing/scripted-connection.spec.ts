import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { ProtocolList } from '../../src/protocols/index.ts'
import { RecordingHandler, ScriptedConnection, ScriptedMuxer, ScriptedStream } from '../../src/testing/index.ts'
import { hex, toHex, wire } from '../support/wire.ts'
import type { PollContext } from '../../src/core/poll.ts'

describe('ScriptedConnection', () => {
  it('drives a connection at once and writes down what comes out', () => {
    const handler = new RecordingHandler(['/a'])
    handler.push({ type: 'notify-behaviour', event: 1 })
    const test = new ScriptedConnection(handler)
    expect(test.outputs).toEqual([{ type: 'handler-event', event: 1 }])
    expect(test.reports.map(({ type }) => type)).toEqual(['protocols-change', 'connection-idle'])
    expect(test.wakes).toBe(1)
    expect(test.connection).toMatchObject({ id: 'scripted', peer: 'peer', direction: 'inbound' })
  })

  it('passes options and names of the host on', () => {
    const hostProtocols = { list: new ProtocolList(['/h']), offers: () => false }
    const test = new ScriptedConnection(new RecordingHandler(), { init: { idleTimeoutMs: 7 }, hostProtocols })
    expect(test.connection.localProtocols.toArray()).toEqual(['/h'])
    expect(test.connection.pollTimeout()).toBe(7)
  })

  it('offers, grants, refuses and feeds, with a drain after each', () => {
    const handler = new RecordingHandler(['/a'])
    const test = new ScriptedConnection(handler)
    const offered = test.offer()
    test.feed(offered, wire('HDR A'))
    expect(offered.writes.map(toHex)).toEqual([hex('HDR A')])
    handler.request(['/b'], { info: 1 })
    handler.request(['/b'], { info: 2 })
    test.drive()
    expect(test.grant().writes.map(toHex)).toEqual([hex('HDR B')])
    test.refuse(new Error('no'))
    expect(handler.eventsOf('dial-upgrade-error')).toMatchObject([{ info: 2, error: { kind: 'io' } }])
    expect(() => test.grant()).toThrow(RangeError)
  })

  it('advance polls now, at each deadline, and at the end', () => {
    const polledAt: number[] = []
    const handler = new RecordingHandler()
    handler.poll = (cx: PollContext) => {
      polledAt.push(cx.now)
      cx.wakeAt(cx.now + 30)
      return PENDING
    }
    const test = new ScriptedConnection(handler)
    test.advance(75)
    expect(polledAt).toEqual([0, 30, 60])
    expect(test.clock.now).toBe(75)
    test.connection.close()
    test.advance(0)
    expect(test.muxer.closes).toBe(1)
  })

  it('a drain that never comes to rest is told, not endured', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler, { init: { maxHandlerEventsPerTurn: 1_000_000 } })
    handler.poll = () => ({ type: 'notify-behaviour', event: 1 })
    handler.wake()
    expect(() => { test.drive() }).toThrow('did not come to rest')
  })
})

describe('RecordingHandler', () => {
  it('writes a change of protocols down as plain names, and everything else as it comes', () => {
    const handler = new RecordingHandler(['/a'])
    const test = new ScriptedConnection(handler)
    test.connection.handleAddressChange('elsewhere')
    test.connection.onBehaviourEvent('told')
    test.drive()
    expect(handler.events).toEqual([
      { type: 'local-protocols-change', change: 'added', protocols: ['/a'] }, { type: 'address-change', address: 'elsewhere' }
    ])
    expect(handler.eventsOf('address-change')).toHaveLength(1)
    expect(handler.behaviourEvents).toEqual(['told'])
    expect(handler.polls).toBeGreaterThan(0)
  })

  it('offers nothing unless told, and reads what it is told after a wake', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler)
    handler.protocols = ['/a']
    test.drive()
    expect(test.connection.localProtocols.size).toBe(0)
    handler.wake()
    test.drive()
    expect(test.connection.localProtocols.toArray()).toEqual(['/a'])
    handler.isKeepAlive = true
    handler.wake()
    test.drive()
    expect(test.connection.status).toMatchObject({ activity: 'busy' })
  })

  it('may be woken before anybody polled it', () => {
    const handler = new RecordingHandler()
    handler.wake()
    expect(handler.polls).toBe(0)
  })
})

describe('ScriptedMuxer', () => {
  it('writes down what is asked of it', () => {
    const muxer = new ScriptedMuxer()
    const [first, second] = [{ options: 1, protocols: [] }, { options: 2, protocols: [] }]
    muxer.openStream(first)
    muxer.openStream(second)
    muxer.cancelOpening(second)
    muxer.close()
    muxer.abort(new Error('why'))
    expect(muxer.takeOpening()).toBe(first)
    expect(muxer.openings).toEqual([second])
    expect(muxer.cancelled).toEqual([second])
    expect([muxer.closes, muxer.aborts.length]).toEqual([1, 1])
  })

  it('a stream copies what is written, and may refuse it', () => {
    const stream = new ScriptedStream()
    const bytes = wire('A')
    stream.write(bytes)
    bytes.fill(0)
    expect(stream.writes.map(toHex)).toEqual([hex('A')])
    stream.writeError = new Error('no write')
    expect(() => { stream.write(bytes) }).toThrow('no write')
    expect(stream.stream).toBe(stream)
  })
})
