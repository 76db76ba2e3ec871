import { describe, expect, it } from 'vitest'
import { ToggledHandler } from '../../src/behaviour/toggled-handler.ts'
import { PENDING } from '../../src/core/poll.ts'
import { composeHandlers } from '../../src/handler/compose.ts'
import { mapHandler } from '../../src/handler/map.ts'
import { RecordingHandler, ScriptedConnection } from '../../src/testing/index.ts'
import { inbound, outputsOf, settle } from '../support/scripted.ts'
import { wire } from '../support/wire.ts'
import type { EstablishedConnection } from '../../src/behaviour/network-behaviour.ts'
import type { AnyHandler } from '../../src/handler/connection-handler.ts'

const connection = { peer: 'peer', id: 'scripted' } as unknown as EstablishedConnection

const map = (inner: AnyHandler): AnyHandler => mapHandler(inner, {})
const toggle = (inner: AnyHandler): AnyHandler => new ToggledHandler(connection, inner) as AnyHandler
const late = (inner: AnyHandler): AnyHandler => {
  const composed = composeHandlers<Record<string, AnyHandler>>({})
  composed.listenProtocols()
  composed.add('late', inner)
  return composed
}

/** All that stands between a handler and its connection. */
const WRAPPERS = [
  { name: 'nothing', wrap: (inner: AnyHandler) => inner },
  { name: 'mapHandler', wrap: map },
  { name: 'toggle', wrap: toggle },
  { name: 'a composition', wrap: (inner: AnyHandler): AnyHandler => composeHandlers({ inner }) },
  { name: 'a composition that it was added to', wrap: late },
  { name: 'all of them', wrap: (inner: AnyHandler) => toggle(late(map(late(toggle(inner))))) }
]

describe.each(WRAPPERS)('through $name (S4.14)', ({ wrap }) => {
  it('the end of an upgrade comes, in both directions', () => {
    const ended: string[] = []
    const upgrade = (name: string) => ({ poll: () => PENDING, end (reason: unknown) { ended.push(`${name} ${(reason as Error).name}`) } })
    const handler = Object.assign(new RecordingHandler(['/a']), { inboundUpgrade: () => upgrade('inbound') })
    const test = new ScriptedConnection(wrap(handler), { init: { inboundTimeoutMs: 50, outboundTimeoutMs: 100, idleTimeoutMs: Infinity } })
    inbound(test)
    handler.request(['/a'], { upgrade: () => upgrade('outbound') })
    test.drive()
    test.feed(test.grant(), wire('HDR A'))
    expect(ended).toEqual([])
    test.advance(1000)
    expect(ended).toEqual(['inbound TimeoutError', 'outbound TimeoutError'])
    expect(handler.eventsOf('listen-upgrade-error')).toHaveLength(1)
    expect(handler.eventsOf('dial-upgrade-error')).toHaveLength(1)
    handler.request(['/a'], { upgrade: () => upgrade('closing') })
    test.drive()
    test.feed(test.grant(), wire('HDR A'))
    test.connection.close()
    test.drive()
    expect(ended.slice(2)).toEqual(['closing AbortError'])
  })

  it('pollClose is asked until it is done, and its events come', () => {
    const last = [1, 2, undefined, 'never']
    const handler = Object.assign(new RecordingHandler(), { pollClose: () => last.shift() })
    const test = new ScriptedConnection(wrap(handler))
    test.connection.close()
    settle(test)
    expect(outputsOf(test, 'handler-event').map(({ event }) => JSON.stringify(event).match(/[12]/)?.[0])).toEqual(['1', '2'])
    expect(last).toEqual(['never'])
  })

  it('keepAlive holds the connection, and lets it go', () => {
    const handler = new RecordingHandler()
    handler.isKeepAlive = true
    const test = new ScriptedConnection(wrap(handler), { init: { idleTimeoutMs: 100 } })
    test.advance(1000)
    expect(test.connection.status).toMatchObject({ phase: 'open', activity: 'busy' })
    handler.isKeepAlive = false
    handler.wake()
    test.advance(100)
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'keep-alive-timeout' })
  })

  it('parts of a composition come and go', () => {
    const composed = composeHandlers<Record<string, AnyHandler>>({ first: new RecordingHandler(['/first']) })
    const test = new ScriptedConnection(wrap(composed))
    const part = new RecordingHandler(['/part'])
    composed.add('part', part)
    part.push({ type: 'report-remote-protocols', change: 'replaced', protocols: ['/remote'] })
    part.request(['/x'], { info: 'mine' })
    test.drive()
    expect(part.eventsOf('local-protocols-change').map(({ protocols }) => protocols)).toEqual([['/first'], ['/part']])
    expect([test.connection.localProtocols.has('/part'), test.connection.remoteProtocols.has('/remote')]).toEqual([true, true])
    composed.remove('part')
    test.drive()
    expect([test.connection.localProtocols.has('/part'), test.connection.remoteProtocols.has('/remote')]).toEqual([false, false])
    expect(part.eventsOf('dial-upgrade-error')).toMatchObject([{ info: 'mine', error: { kind: 'aborted' } }])
  })
})
