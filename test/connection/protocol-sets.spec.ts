import { describe, expect, it } from 'vitest'
import { Connection } from '../../src/connection/index.ts'
import { PENDING } from '../../src/core/poll.ts'
import { composeHandlers } from '../../src/handler/compose.ts'
import { ProtocolList, SupportedProtocols } from '../../src/protocols/index.ts'
import { RecordingHandler, ScriptedConnection, ScriptedMuxer } from '../../src/testing/index.ts'
import { eventsOf, inbound, reportsOf, settle } from '../support/scripted.ts'
import type { RemoteReportChange } from '../../src/protocols/index.ts'

type Side = 'local' | 'remote'
type Notice = ['added' | 'removed', readonly string[]]

/** The notices of one side that a handler got, in order. */
function noticesOf (handler: RecordingHandler, side: Side): Notice[] {
  return handler.eventsOf(`${side}-protocols-change`).map(({ change, protocols }) => [change, protocols])
}

function report (handler: RecordingHandler, change: RemoteReportChange, ...protocols: string[]): void {
  handler.push({ type: 'report-remote-protocols', change, protocols })
}

describe('Connection: notices of the local set', () => {
  it('the first one comes with the creation, before any poll (S3.13)', () => {
    const handler = new RecordingHandler(['/a', '/b'])
    const made = new Connection({ id: 'c', peer: 'p', direction: 'inbound', handler, muxer: new ScriptedMuxer(), wake: () => {} }, {}, 0)
    expect(noticesOf(handler, 'local')).toEqual([['added', ['/a', '/b']]])
    expect(handler.polls).toBe(0)
    expect(made.localProtocols.toArray()).toEqual(['/a', '/b'])
    expect(made.remoteProtocols.size).toBe(0)
    expect(made.hasRemoteReport).toBe(false)
  })

  it('an empty set gives none (S3.13)', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler)
    expect(handler.events).toEqual([])
    expect(test.reports.filter(({ type }) => type === 'protocols-change')).toEqual([])
  })

  it('Added comes before Removed, and the new set is in force in both (S3.9, S3.10)', () => {
    const handler = new RecordingHandler(['/a', '/b'])
    const test = new ScriptedConnection(handler)
    const seen: Array<readonly string[]> = []
    handler.onEvent = () => { seen.push(test.connection.localProtocols.toArray()) }
    handler.protocols = ['/b', '/c']
    handler.wake()
    test.drive()
    expect(noticesOf(handler, 'local').slice(1)).toEqual([['added', ['/c']], ['removed', ['/a']]])
    expect(seen).toEqual([['/b', '/c'], ['/b', '/c']])
    expect(reportsOf(test, 'protocols-change')).toEqual([
      { type: 'protocols-change', side: 'local', added: ['/a', '/b'], removed: [] },
      { type: 'protocols-change', side: 'local', added: ['/c'], removed: ['/a'] }
    ])
    const [, second] = reportsOf(test, 'protocols-change')
    expect([second?.added, second?.removed].every(Object.isFrozen)).toBe(true)
  })

  it('a change is a view that ends with the callback (S3.11)', () => {
    const handler = new RecordingHandler(['/a'])
    const kept: Array<{ readonly size: number, toArray (): readonly string[] }> = []
    const copies: Array<readonly string[]> = []
    handler.onEvent = event => {
      if (event.type === 'local-protocols-change') {
        kept.push(event.change.protocols)
        copies.push(event.change.protocols.toArray())
      }
    }
    const test = new ScriptedConnection(handler)
    handler.protocols = ['/b']
    handler.wake()
    test.drive()
    expect(copies).toEqual([['/a'], ['/b'], ['/a']])
    for (const view of kept) {
      expect(() => view.size).toThrow(expect.objectContaining({ name: 'InvalidStateError' }) as Error)
      expect(() => view.toArray()).toThrow(expect.objectContaining({ name: 'InvalidStateError' }) as Error)
    }
  })

  it('a change made inside a callback is told after the running one has reached all parts (S3.12)', () => {
    const list = new ProtocolList(['/a'])
    const [first, second] = [new RecordingHandler(list), new RecordingHandler(['/z'])]
    first.onEvent = () => { list.add('/b') }
    const test = new ScriptedConnection(composeHandlers({ first, second }))
    const expected = [['added', ['/a', '/z']], ['added', ['/b']]]
    expect(noticesOf(first, 'local')).toEqual(expected)
    expect(noticesOf(second, 'local')).toEqual(expected)
    expect(test.connection.localProtocols.toArray()).toEqual(['/a', '/z', '/b'])
  })

  it('changes between two turns become one, and the last state is not lost (S3.15)', () => {
    const list = new ProtocolList(['/a'])
    const handler = new RecordingHandler(list)
    const test = new ScriptedConnection(handler)
    list.add('/b')
    list.add('/c')
    list.delete('/b')
    list.delete('/a')
    test.drive()
    list.add('/x')
    list.delete('/x')
    test.drive()
    expect(noticesOf(handler, 'local')).toEqual([['added', ['/a']], ['added', ['/c']], ['removed', ['/a']]])
  })

  it('a shared list wakes every connection that offers it, and nobody who no longer does (S3.16)', () => {
    const list = new ProtocolList(['/a'])
    const handlers = [new RecordingHandler(list), new RecordingHandler(list), new RecordingHandler(list)]
    const roots = [handlers[0]!, handlers[1]!, composeHandlers({ part: handlers[2]!, same: new RecordingHandler(list) })]
    const tests = roots.map(root => new ScriptedConnection(root))
    handlers[1]!.protocols = ['/other']
    handlers[1]!.wake()
    tests[1]!.drive()
    const wakes = tests.map(test => test.wakes)
    list.add('/b')
    list.add('/c')
    expect(tests.map((test, at) => test.wakes - wakes[at]!)).toEqual([1, 0, 1])
    tests.forEach(test => { test.drive() })
    expect(tests.map(({ connection }) => connection.localProtocols.toArray())).toEqual([['/a', '/b', '/c'], ['/other'], ['/a', '/b', '/c']])
    expect(reportsOf(tests[2]!, 'protocol-warning').map(({ reason }) => reason)).toEqual(['shadowed', 'shadowed', 'shadowed'])
  })

  it('a change of the host’s names is told like any other (S3.3)', () => {
    const list = new ProtocolList(['/h'])
    const handler = new RecordingHandler(['/a'])
    const test = new ScriptedConnection(handler, { hostProtocols: { list, offers: () => false } })
    const { wakes } = test
    list.replace(['/i', '/a'])
    expect(test.wakes).toBe(wakes + 1)
    test.drive()
    expect(noticesOf(handler, 'local')).toEqual([['added', ['/a', '/h']], ['added', ['/i']], ['removed', ['/h']]])
    expect(test.connection.localProtocols.toArray()).toEqual(['/a', '/i'])
  })

  it('bad and shadowed names are warned of once, too many are left out with a report (S3.2, S3.4, S9)', () => {
    const handler = new RecordingHandler(['bad', '/a', '/b', '/c'])
    const hostProtocols = { list: new ProtocolList(['/a']), offers: () => false }
    const test = new ScriptedConnection(handler, { init: { maxLocalProtocols: 2, maxFrameLength: 20 }, hostProtocols })
    handler.protocols = ['bad', '/a', '/b', '/c', `/${'x'.repeat(20)}`]
    handler.wake()
    test.drive()
    expect(test.connection.localProtocols.toArray()).toEqual(['/a', '/b'])
    expect(reportsOf(test, 'protocol-warning')).toMatchObject([
      { protocol: 'bad', reason: 'invalid', rule: 'must start with "/"' }, { protocol: '/a', reason: 'shadowed', rule: undefined },
      { reason: 'invalid' }
    ])
    expect(reportsOf(test, 'limit-reached')).toEqual([{ type: 'limit-reached', option: 'maxLocalProtocols', limit: 2, count: 1 }])
  })

  it('a change of owner alone is no change of the set (S3.4)', () => {
    const [first, second] = [new RecordingHandler(['/a']), new RecordingHandler(['/a'])]
    const test = new ScriptedConnection(composeHandlers({ first, second }))
    first.protocols = []
    first.wake()
    test.drive()
    expect(noticesOf(first, 'local')).toEqual([['added', ['/a']]])
    inbound(test)
    expect(second.eventsOf('fully-negotiated-inbound')).toHaveLength(1)
  })
})

describe('Connection: notices of the remote set', () => {
  it('only real changes are told (C09)', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler)
    report(handler, 'added', '/foo')
    report(handler, 'added', '/foo', '/bar')
    report(handler, 'removed', '/baz')
    report(handler, 'removed', '/bar')
    report(handler, 'added')
    test.drive()
    expect(noticesOf(handler, 'remote')).toEqual([['added', ['/foo']], ['added', ['/bar']], ['removed', ['/bar']]])
    expect(test.connection.remoteProtocols.toArray()).toEqual(['/foo'])
    const supported = new SupportedProtocols()
    expect([
      supported.add(['/foo']), supported.add(['/foo']), supported.add(['/foo', '/bar']), new SupportedProtocols().remove(['/foo']), supported.remove(['/foo'])
    ]).toEqual([true, false, true, false, true])
  })

  it('the set is in force inside the callbacks, Added before Removed (S3.9, S3.10, S3.19)', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler)
    report(handler, 'replaced', '/a', '/b')
    test.drive()
    const seen: Array<readonly string[]> = []
    handler.onEvent = () => { seen.push(test.connection.remoteProtocols.toArray()) }
    report(handler, 'replaced', '/b', '/c')
    test.drive()
    expect(noticesOf(handler, 'remote').slice(1)).toEqual([['added', ['/c']], ['removed', ['/a']]])
    expect(seen).toEqual([['/b', '/c'], ['/b', '/c']])
    expect(reportsOf(test, 'protocols-change').at(-1)).toEqual({ type: 'protocols-change', side: 'remote', added: ['/c'], removed: ['/a'] })
  })

  it('each part is a source of its own, and so is the host; every part hears of every change (S3.12, S3.18)', () => {
    const [left, right, nested] = [new RecordingHandler(), new RecordingHandler(), new RecordingHandler()]
    const test = new ScriptedConnection(composeHandlers({ left, inner: composeHandlers({ right, nested }) }))
    for (const handler of [left, right, nested]) {
      report(handler, 'added', '/a')
    }
    test.drive()
    test.connection.handleRemoteReport('replaced', ['/a', '/h'])
    test.drive()
    report(left, 'removed', '/a', '/h')
    report(right, 'replaced')
    report(nested, 'removed', '/a')
    test.drive()
    expect(test.connection.remoteProtocols.toArray()).toEqual(['/a', '/h'])
    expect(test.connection.hasRemoteReport).toBe(true)
    test.connection.handleRemoteReport('replaced', [])
    test.advance(100)
    for (const handler of [left, right, nested]) {
      expect(noticesOf(handler, 'remote')).toEqual([['added', ['/a']], ['added', ['/h']], ['removed', ['/a', '/h']]])
    }
  })

  it('reports of the host are applied in order; a full one stands for those before it (S3.19, S3.20)', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler)
    test.connection.handleRemoteReport('added', ['/never'])
    test.connection.handleRemoteReport('replaced', ['/a'])
    test.connection.handleRemoteReport('added', ['/b'])
    test.connection.handleRemoteReport('removed', ['/a'])
    test.drive()
    expect(noticesOf(handler, 'remote')).toEqual([['added', ['/a']], ['added', ['/b']], ['removed', ['/a']]])
  })

  it('a source holds so many names and bytes, and one report tells what was dropped (S3.21)', () => {
    const [left, right] = [new RecordingHandler(), new RecordingHandler()]
    const test = new ScriptedConnection(composeHandlers({ left, right }), { init: { maxRemoteProtocols: 2, maxRemoteProtocolsBytes: 10 } })
    report(left, 'added', '/a', 'no slash', '/b', '/c', '/d')
    report(right, 'added', '/123456', '/1234567')
    test.drive()
    test.connection.handleRemoteReport('replaced', ['/x', '/y', '/z'])
    test.drive()
    expect(reportsOf(test, 'protocols-truncated')).toEqual([
      { type: 'protocols-truncated', source: 'handler', kept: 2, dropped: 3 },
      { type: 'protocols-truncated', source: 'handler', kept: 1, dropped: 1 },
      { type: 'protocols-truncated', source: 'host', kept: 2, dropped: 1 }
    ])
    expect(test.connection.remoteProtocols.toArray()).toEqual(['/a', '/b', '/123456', '/x', '/y'])
  })

  it('a report that is none counts as a throw of its handler, and nothing else is touched (S4.15)', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler)
    report(handler, 'added', '/a')
    handler.push({ type: 'report-remote-protocols', change: 'replaced', protocols: undefined as unknown as readonly string[] })
    test.drive()
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'handler-error' })
    expect(reportsOf(test, 'handler-error')).toMatchObject([{ handler: '', method: 'poll' }])
    expect(test.connection.remoteProtocols.toArray()).toEqual(['/a'])
  })

  it('each connection starts anew: a reconnect is told in full, an old handler hears nothing (C18, S3.14)', () => {
    const connect = (): { handler: RecordingHandler, test: ScriptedConnection } => {
      const handler = new RecordingHandler(['/a'])
      const test = new ScriptedConnection(handler)
      test.connection.handleRemoteReport('replaced', ['/x'])
      test.drive()
      return { handler, test }
    }
    const first = connect()
    first.test.connection.close()
    first.test.drive()
    first.test.connection.handleMuxerClosed()
    first.test.drive()
    const told = first.handler.events.length
    const second = connect()
    first.test.connection.handleRemoteReport('replaced', ['/y'])
    first.test.drive()
    for (const { handler } of [first, second]) {
      expect(noticesOf(handler, 'local')).toEqual([['added', ['/a']]])
      expect(noticesOf(handler, 'remote')).toEqual([['added', ['/x']]])
    }
    expect(first.handler.events).toHaveLength(told)
  })
})

describe('Connection: a report about the peer that changes nothing', () => {
  it('gives no notice, and is reported to nobody (S3.19)', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity } })
    for (let time = 0; time < 3; time++) {
      handler.push({ type: 'report-remote-protocols', change: 'replaced', protocols: ['/x'] })
      test.drive()
    }
    expect(handler.eventsOf('remote-protocols-change')).toHaveLength(1)
    expect(reportsOf(test, 'protocols-change')).toEqual([{ type: 'protocols-change', side: 'remote', added: ['/x'], removed: [] }])
  })

  it('leaves out names that are too long to be opened, and keeps the longest that are not (S3.21)', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity, maxFrameLength: 20 } })
    const [longest, tooLong] = [`/${'x'.repeat(18)}`, `/${'x'.repeat(19)}`]
    handler.push({ type: 'report-remote-protocols', change: 'replaced', protocols: [longest, tooLong] })
    test.drive()
    expect(test.connection.remoteProtocols.toArray()).toEqual([longest])
    expect(reportsOf(test, 'protocols-truncated')).toMatchObject([{ source: 'handler', kept: 1, dropped: 1 }])
  })
})

describe('Connection: reports', () => {
  it('of changes are made only while somebody wants them (S5.13)', () => {
    const interest = { protocolChanges: false }
    const handler = new RecordingHandler(['/a'])
    const connection = new Connection({ id: 'c', peer: 'p', direction: 'inbound', handler, muxer: new ScriptedMuxer(), wake: () => {}, interest }, {}, 0)
    const changes = (): number => {
      let count = 0
      connection.poll(0)
      for (let next = connection.pollReport(); next !== PENDING; next = connection.pollReport()) {
        count += next.type === 'protocols-change' ? 1 : 0
      }
      return count
    }
    expect(changes()).toBe(0)
    interest.protocolChanges = true
    handler.protocols = ['/b']
    handler.wake()
    expect(changes()).toBe(1)
  })

  it('an address change reaches every part and whoever watches (S4.3)', () => {
    const [left, right] = [new RecordingHandler(), new RecordingHandler()]
    const test = new ScriptedConnection(composeHandlers({ left, right }))
    left.onEvent = () => { left.push({ type: 'notify-behaviour', event: 'moved' }) }
    test.connection.handleAddressChange('elsewhere')
    test.drive()
    expect([left, right].map(handler => handler.eventsOf('address-change').map(({ address }) => address))).toEqual([['elsewhere'], ['elsewhere']])
    expect(reportsOf(test, 'address-change')).toEqual([{ type: 'address-change', address: 'elsewhere' }])
    expect(eventsOf(test)).toEqual([{ handler: 'left', event: 'moved' }])
  })
})

describe('Connection: a handler that lists something else each time', () => {
  it('does not hold the loop: the rest of its changes comes in other turns (S5.2, S10.10)', () => {
    let asked = 0
    const handler = new RecordingHandler()
    const fickle = Object.assign(handler, { listenProtocols: () => [`/fickle/${asked++}`] })
    const test = new ScriptedConnection(fickle, { init: { idleTimeoutMs: Infinity } })
    const before = asked
    expect(before).toBeLessThan(200)
    test.offer()
    expect(asked).toBeGreaterThan(before)
    expect(asked - before).toBeLessThan(200)
    expect(test.wakes).toBeGreaterThan(0)
  })

  it('comes to rest with the last of them, in as many turns as it takes (S3.15)', () => {
    let asked = 0
    const handler = Object.assign(new RecordingHandler(), { listenProtocols: () => [`/fickle/${Math.min(asked++, 150)}`] })
    const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity } })
    settle(test)
    expect(test.connection.localProtocols.toArray()).toEqual(['/fickle/150'])
  })
})
