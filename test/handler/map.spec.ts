import { beforeEach, describe, expect, it } from 'vitest'
import { composeHandlers } from '../../src/handler/compose.ts'
import { mapHandler } from '../../src/handler/map.ts'
import { PENDING } from '../../src/core/poll.ts'
import { RecordingHandler } from '../../src/testing/recording-handler.ts'
import { ScriptedConnection } from '../../src/testing/scripted-connection.ts'
import { inbound } from '../support/scripted.ts'
import type { PollContext } from '../../src/core/poll.ts'
import type { RoutedHandler } from '../../src/handler/route.ts'

const cx: PollContext = { now: 0, wake: () => {}, wakeAt: () => {} }

let inner: RecordingHandler

beforeEach(() => {
  inner = new RecordingHandler(['/a'])
})

describe('mapHandler() (S4.14)', () => {
  it('maps events in both directions', () => {
    const mapped = mapHandler(inner, { in: (text: string) => ({ text }), out: (event) => ({ was: event }) })
    mapped.onBehaviourEvent?.('hello')
    inner.push({ type: 'notify-behaviour', event: 1 })
    inner.request(['/p'])
    expect(inner.behaviourEvents).toEqual([{ text: 'hello' }])
    expect(mapped.poll?.(cx)).toEqual({ type: 'notify-behaviour', event: { was: 1 } })
    expect(mapped.poll?.(cx)).toMatchObject({ type: 'outbound-stream-request' })
    expect(mapped.poll?.(cx)).toBe(PENDING)
  })

  it('maps nothing that it is not told to', () => {
    const mapped = mapHandler(inner, {})
    mapped.onBehaviourEvent?.('hello')
    inner.push({ type: 'notify-behaviour', event: 1 })
    expect(inner.behaviourEvents).toEqual(['hello'])
    expect(mapped.poll?.(cx)).toEqual({ type: 'notify-behaviour', event: 1 })
  })

  it('forwards every other call', () => {
    const info = { inboundInfo: () => 'info', inboundUpgrade: () => ({ poll: () => 'output' }), inboundTimeoutMs: 7 }
    const mapped = mapHandler(Object.assign(inner, info), {})
    inner.isKeepAlive = true
    const routed: RoutedHandler = mapped
    expect([routed.inboundTimeoutMs, routed.listenProtocols(), routed.keepAlive?.(), routed.inboundInfo?.('/a')]).toEqual([7, ['/a'], true, 'info'])
    expect(routed.inboundUpgrade?.({}, '/a')?.poll(cx)).toBe('output')
    const bare: RoutedHandler = mapHandler({ listenProtocols: () => [], onConnectionEvent: () => {} }, {})
    expect([bare.inboundTimeoutMs, bare.keepAlive?.(), bare.inboundInfo?.('/a'), bare.poll?.(cx), bare.pollClose?.(cx)]).toEqual([0, false, undefined, PENDING, undefined])
  })

  it('maps last events, of a handler with pollClose and of one that is drained', () => {
    const last = ['last']
    const closing = Object.assign(new RecordingHandler(), { pollClose: () => last.shift() })
    const mapped = mapHandler(closing, { out: (event) => `<${String(event)}>` })
    expect([mapped.pollClose?.(cx), mapped.pollClose?.(cx)]).toEqual(['<last>', undefined])
    inner.request(['/p'])
    inner.push({ type: 'notify-behaviour', event: 'drained' })
    expect(mapHandler(inner, { out: (event) => `<${String(event)}>` }).pollClose?.(cx)).toBe('<drained>')
  })

  it('stands for its handler in a composition, at any depth: streams find their owner', () => {
    const deep = new RecordingHandler(['/b'])
    const root = composeHandlers({ one: mapHandler(inner, {}), group: mapHandler(composeHandlers({ deep }), { out: (event) => event }) })
    const test = new ScriptedConnection(root)
    inbound(test, 'A')
    inbound(test, 'B')
    expect(inner.eventsOf('fully-negotiated-inbound')).toMatchObject([{ protocol: '/a' }])
    expect(deep.eventsOf('fully-negotiated-inbound')).toMatchObject([{ protocol: '/b' }])
    deep.push({ type: 'notify-behaviour', event: 1 })
    test.drive()
    expect(test.outputs.filter(({ type }) => type === 'handler-event')).toMatchObject([{ event: { handler: 'group', event: { handler: 'deep', event: 1 } } }])
    test.connection.close()
    test.drive()
    expect(test.connection.status.phase).not.toBe('open')
  })
})
