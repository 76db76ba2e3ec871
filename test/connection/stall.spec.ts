/** S8.3 from the side of a connection: while it is stalled its handler is not polled, and everything else goes on. */

import { describe, expect, it } from 'vitest'
import { ProtocolList } from '../../src/protocols/index.ts'
import { RecordingHandler, ScriptedConnection } from '../../src/testing/index.ts'
import { inbound, outbound, outputsOf, reportsOf } from '../support/scripted.ts'
import type { ConnectionInit } from '../../src/connection/index.ts'

function setup (init: ConnectionInit = {}, protocols = new ProtocolList(['/a'])) {
  const handler = new RecordingHandler(protocols)
  const test = new ScriptedConnection(handler, { init })
  const say = (event: unknown) => { handler.push({ type: 'notify-behaviour', event }) }
  const heard = () => outputsOf(test, 'handler-event').map(({ event }) => event)
  return { handler, test, say, heard, protocols }
}

describe('a stalled connection (S8.3)', () => {
  it('does not poll its handler, loses nothing, and asks for no turn in vain', () => {
    const { handler, test, say, heard } = setup()
    test.connection.stall()
    const { polls } = handler
    say(1)
    say(2)
    test.drive()
    const { wakes } = test
    test.drive()
    expect([handler.polls, heard(), test.wakes]).toEqual([polls, [], wakes])
    test.connection.resume()
    expect(test.wakes).toBe(wakes + 1)
    test.drive()
    expect(heard()).toEqual([1, 2])
  })

  it('does not wake for nothing when it goes on', () => {
    const { test } = setup()
    test.connection.stall()
    test.drive()
    const { wakes } = test
    test.connection.resume()
    test.connection.resume()
    expect(test.wakes).toBe(wakes)
  })

  it('may be stalled in the middle of a turn', () => {
    const { test, say } = setup()
    say(1)
    say(2)
    expect(test.connection.poll(test.clock.now)).toMatchObject({ type: 'handler-event', event: 1 })
    test.connection.stall()
    expect(typeof test.connection.poll(test.clock.now)).toBe('symbol')
    test.connection.resume()
    expect(test.connection.poll(test.clock.now)).toMatchObject({ type: 'handler-event', event: 2 })
  })

  it('goes on with negotiations, changes of its listing and messages to its handler', () => {
    const { handler, test, protocols } = setup()
    test.connection.stall()
    inbound(test)
    expect(handler.eventsOf('fully-negotiated-inbound')).toHaveLength(1)
    protocols.add('/b')
    test.drive()
    expect(reportsOf(test, 'protocols-change').at(-1)).toMatchObject({ side: 'local', added: ['/b'] })
    expect(test.connection.onBehaviourEvent('hello')).toBe(true)
    test.drive()
    expect(handler.behaviourEvents).toEqual(['hello'])
  })

  it('goes on with deadlines: of requests, and of its handler, who is polled after the stall', () => {
    const { handler, test } = setup({ outboundTimeoutMs: 50 })
    handler.request(['/x'])
    test.drive()
    test.connection.stall()
    test.advance(50)
    expect(handler.eventsOf('dial-upgrade-error')).toMatchObject([{ error: { kind: 'timeout' } }])
    expect(test.connection.pollTimeout()).toBe(Infinity)
  })

  it('closes: the last words of its handler are heard, and it ends (S6.6)', () => {
    const { test, say, heard } = setup()
    test.connection.stall()
    say(1)
    say(2)
    test.connection.close()
    test.drive()
    test.connection.handleMuxerClosed()
    test.drive()
    expect(heard()).toEqual([1, 2])
    expect(test.outputs.at(-1)).toMatchObject({ type: 'closed', reason: 'local-close' })
  })

  it('is not closed for idleness while its handler has something to say, nor does the stall renew its idle time', () => {
    const { test, say } = setup({ idleTimeoutMs: 100 })
    test.advance(60)
    test.connection.stall()
    say(1)
    test.advance(60)
    expect(test.connection.status).toMatchObject({ phase: 'open', activity: 'busy' })
    test.connection.resume()
    test.drive()
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'keep-alive-timeout' })
  })

  it('is closed for idleness in a stall if its handler has nothing to say', () => {
    const { test } = setup({ idleTimeoutMs: 100 })
    test.connection.stall()
    test.advance(100)
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'keep-alive-timeout' })
  })

  it('holds streams as ever', () => {
    const { handler, test } = setup({ idleTimeoutMs: 100 })
    outbound(test, handler)
    test.connection.stall()
    test.advance(1000)
    expect(test.connection.status).toMatchObject({ phase: 'open', activity: 'busy' })
  })
})
