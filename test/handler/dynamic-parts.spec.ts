import { beforeEach, describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { composeHandlers } from '../../src/handler/compose.ts'
import { mapHandler } from '../../src/handler/map.ts'
import { ToggledHandler } from '../../src/behaviour/toggled-handler.ts'
import { ProtocolList } from '../../src/protocols/index.ts'
import { RecordingHandler, ScriptedConnection } from '../../src/testing/index.ts'
import { eventsOf, failuresOf, inbound, outbound, outputsOf, reportsOf, settle } from '../support/scripted.ts'
import { wire } from '../support/wire.ts'
import type { ConnectionInit } from '../../src/connection/connection-config.ts'
import type { Poll, PollContext } from '../../src/core/poll.ts'
import type { AnyHandler } from '../../src/handler/connection-handler.ts'
import type { ComposedHandler } from '../../src/handler/compose.ts'
import type { EstablishedConnection } from '../../src/behaviour/network-behaviour.ts'

type Open = ComposedHandler<Record<string, AnyHandler>>

/** A part that also writes down when it is asked anything. */
class Part extends RecordingHandler {
  /** Everything that was called, in order. */
  readonly calls: string[] = []
  cx: PollContext | undefined

  override listenProtocols (): ReturnType<RecordingHandler['listenProtocols']> {
    this.calls.push('listenProtocols')
    return super.listenProtocols()
  }

  override poll (cx: PollContext): ReturnType<RecordingHandler['poll']> {
    this.cx = cx
    this.calls.push('poll')
    return super.poll(cx)
  }

  override onConnectionEvent (event: Parameters<RecordingHandler['onConnectionEvent']>[0]): void | PromiseLike<void> {
    this.calls.push(event.type)
    return super.onConnectionEvent(event)
  }

  override onBehaviourEvent (event: unknown): void {
    this.calls.push('onBehaviourEvent')
    super.onBehaviourEvent(event)
  }

  notify (event: unknown): void {
    this.push({ type: 'notify-behaviour', event })
  }

  report (...protocols: string[]): void {
    this.push({ type: 'report-remote-protocols', change: 'replaced', protocols })
  }

  /** What it was told of protocols, in order. */
  get changes (): string[] {
    return this.events.flatMap(event => 'change' in event ? [`${event.type.split('-')[0]!} ${event.change} ${event.protocols.join()}`] : [])
  }
}

/** A part with last words. */
class ClosingPart extends Part {
  readonly last: Array<Poll<unknown>>
  closes = 0

  constructor (protocols: readonly string[], ...last: Array<Poll<unknown>>) {
    super(protocols)
    this.last = last
  }

  pollClose (cx: PollContext): Poll<unknown> {
    this.cx = cx
    this.closes++
    return this.last.shift()
  }
}

let first: Part
let composed: Open
let test: ScriptedConnection

function start (init: ConnectionInit = {}): void {
  first = new Part(['/first'])
  composed = composeHandlers<Record<string, AnyHandler>>({ first })
  test = new ScriptedConnection(composed, { init })
}

beforeEach(() => { start() })

describe('adding a part to a composition (S4.13)', () => {
  it('tells it the protocols of both sides before anything else, then announces its names to all (S3.13)', () => {
    first.report('/remote')
    test.drive()
    const late = new Part(['/late'])
    composed.add('late', late)
    expect(late.calls).toEqual([])
    test.connection.onBehaviourEvent({ handler: 'late', event: 'hello' })
    test.drive()
    expect(late.calls.slice(0, 3)).toEqual(['local-protocols-change', 'remote-protocols-change', 'onBehaviourEvent'])
    expect(late.changes).toEqual(['local added /first', 'remote added /remote', 'local added /late'])
    expect(first.changes.at(-1)).toBe('local added /late')
    expect(test.connection.localProtocols.toArray()).toEqual(['/first', '/late'])
    late.notify(1)
    test.drive()
    expect(eventsOf(test)).toEqual([{ handler: 'late', event: 1 }])
  })

  it('gives no empty notice, and no notice of what changes later twice', () => {
    composed = composeHandlers<Record<string, AnyHandler>>({})
    test = new ScriptedConnection(composed)
    const late = new Part(['/late'])
    composed.add('late', late)
    test.drive()
    expect(late.changes).toEqual(['local added /late'])
    test.connection.handleRemoteReport('replaced', ['/remote'])
    test.drive()
    expect(late.changes).toEqual(['local added /late', 'remote added /remote'])
  })

  it('asks for a poll by itself, from outside and at any depth', () => {
    const inner = composeHandlers<Record<string, AnyHandler>>({})
    test = new ScriptedConnection(composeHandlers({ outer: composeHandlers({ inner }) }))
    const { wakes } = test
    inner.add('late', new Part(['/late']))
    expect(test.wakes).toBe(wakes + 1)
    test.drive()
    expect(test.connection.localProtocols.toArray()).toEqual(['/late'])
  })

  it('its streams, requests and messages find it (S10.19)', () => {
    const inner = composeHandlers<Record<string, AnyHandler>>({})
    composed.add('inner', inner)
    const late = new Part(['/a'])
    inner.add('late', late)
    test.drive()
    inbound(test)
    outbound(test, late, 'mine')
    test.connection.onBehaviourEvent({ handler: 'inner', event: { handler: 'late', event: 'hi' } })
    test.drive()
    expect(late.eventsOf('fully-negotiated-inbound')).toHaveLength(1)
    expect(late.eventsOf('fully-negotiated-outbound').map(({ info }) => info)).toEqual(['mine'])
    expect(late.behaviourEvents).toEqual(['hi'])
    expect(late.changes).toEqual(['local added /first', 'local added /a'])
  })

  it('may hold the connection open, and has its deadlines', () => {
    start({ idleTimeoutMs: 100 })
    const late = new Part()
    late.isKeepAlive = true
    composed.add('late', late)
    test.advance(1000)
    expect(test.connection.status).toMatchObject({ phase: 'open', activity: 'busy' })
    late.cx?.wakeAt(1500)
    test.drive()
    const { polls } = late
    test.advance(499)
    expect(late.polls).toBe(polls)
    test.advance(1)
    expect(late.polls).toBe(polls + 1)
  })

  it('throws for a key that is in use, and changes nothing', () => {
    const late = new Part(['/late'])
    expect(() => { composed.add('first', late) }).toThrow('Cannot add a handler: the key must be free, and "first" is in use')
    test.drive()
    expect(late.calls).toEqual([])
    expect(test.connection.localProtocols.toArray()).toEqual(['/first'])
  })

  it('before there is a connection makes it a part like any other', () => {
    const late = new Part(['/late'])
    composed = composeHandlers<Record<string, AnyHandler>>({ first: new Part(['/first']) })
    composed.add('late', late)
    composed.add('gone', new Part(['/gone']))
    composed.remove('gone')
    test = new ScriptedConnection(composed)
    expect(late.changes).toEqual(['local added /first,/late'])
  })

  it('in the first notice, and before the first poll, is told the whole set once', () => {
    const late = new Part(['/late'])
    const eager = new Part(['/eager'])
    composed = composeHandlers<Record<string, AnyHandler>>({ eager, quiet: new Part() })
    eager.onEvent = () => { eager.onEvent = undefined; composed.add('late', late) }
    test = new ScriptedConnection(composed)
    expect(late.changes).toEqual(['local added /eager', 'local added /late'])
    expect(eager.changes).toEqual(['local added /eager', 'local added /late'])
  })

  it('from any callback of a sibling, in the middle of a change', () => {
    for (const type of ['local-protocols-change', 'remote-protocols-change', 'address-change'] as const) {
      const [eager, late] = [new Part(['/eager']), new Part(['/late'])]
      composed = composeHandlers<Record<string, AnyHandler>>({ eager })
      test = new ScriptedConnection(composed)
      eager.onEvent = event => {
        if (event.type === type) {
          eager.onEvent = undefined
          composed.add('late', late)
        }
      }
      eager.protocols = ['/new']
      eager.wake()
      test.drive()
      test.connection.handleRemoteReport('replaced', ['/remote'])
      test.drive()
      test.connection.handleAddressChange('elsewhere')
      test.drive()
      expect(test.connection.localProtocols.toArray()).toEqual(['/new', '/late'])
      const expected = { local: ['local added /new', 'local added /late', 'remote added /remote'] }
      expect(late.changes).toEqual(type === 'local-protocols-change'
        ? expected.local
        : ['local added /new', 'remote added /remote', 'local added /late'])
      expect(late.eventsOf('address-change').length).toBe(1)
    }
  })

  it('inside its poll, its listing and its messages', () => {
    for (const method of ['poll', 'listenProtocols', 'keepAlive', 'onBehaviourEvent'] as const) {
      const late = new Part(['/late'])
      const eager = new Part(['/eager'])
      composed = composeHandlers<Record<string, AnyHandler>>({ eager })
      test = new ScriptedConnection(composed)
      const original = eager[method].bind(eager) as (argument: never) => never
      Object.assign(eager, { [method]: (argument: never) => {
        Object.assign(eager, { [method]: original })
        composed.add('late', late)
        return original(argument)
      } })
      test.connection.onBehaviourEvent({ handler: 'eager', event: 1 })
      settle(test)
      expect(late.changes).toEqual(['local added /eager', 'local added /late'])
    }
  })

  it('after the end calls nothing any more (S4.11)', () => {
    test.connection.close()
    test.drive()
    const late = new Part(['/late'])
    composed.add('late', late)
    expect(() => { composed.add('late', late) }).toThrow('in use')
    test.drive()
    test.connection.handleMuxerClosed()
    test.drive()
    composed.add('later', late)
    test.drive()
    expect(late.calls).toEqual([])
    expect([composed.remove('late'), composed.remove('later')]).toEqual([true, true])
    expect(outputsOf(test, 'closed')).toHaveLength(1)
  })

  it('one that throws when it is greeted ends the connection, its siblings have their last word (S4.15)', () => {
    const late = new Part()
    late.onEvent = () => { throw new Error('not today') }
    composed.add('late', late)
    first.notify('last')
    test.drive()
    expect(reportsOf(test, 'handler-error')).toMatchObject([{ handler: 'late', method: 'onConnectionEvent', cause: new Error('not today') }])
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'handler-error' })
    expect(eventsOf(test)).toEqual([{ handler: 'first', event: 'last' }])
  })
})

describe('removing a part of a composition (S4.13)', () => {
  let leaving: ClosingPart

  function startLeaving (init: ConnectionInit = {}): void {
    start(init)
    leaving = new ClosingPart(['/a', '/b'], 'last 1', 'last 2')
    composed.add('leaving', leaving)
    test.drive()
  }

  beforeEach(() => { startLeaving() })

  it('takes its names away, tells the others, and gives its last events', () => {
    expect(composed.remove('leaving')).toBe(true)
    expect(composed.remove('leaving')).toBe(false)
    test.drive()
    expect(test.connection.localProtocols.toArray()).toEqual(['/first'])
    expect(first.changes.at(-1)).toBe('local removed /a,/b')
    expect(leaving.changes.at(-1)).not.toBe('local removed /a,/b')
    expect(eventsOf(test)).toEqual([{ handler: 'leaving', event: 'last 1' }, { handler: 'leaving', event: 'last 2' }])
    expect(leaving.closes).toBe(3)
    test.connection.close()
    settle(test)
    expect(leaving.closes).toBe(3)
    expect(test.muxer.closes).toBe(1)
  })

  it('drains the poll of a part without pollClose', () => {
    composed.remove('leaving')
    const drained = new Part(['/drained'])
    composed.add('drained', drained)
    test.drive()
    drained.notify(1)
    drained.notify(2)
    drained.report('/too late')
    composed.remove('drained')
    test.drive()
    expect(eventsOf(test).slice(-2)).toEqual([{ handler: 'drained', event: 1 }, { handler: 'drained', event: 2 }])
    expect(test.connection.remoteProtocols.size).toBe(0)
    const { polls } = drained
    drained.notify(3)
    drained.wake()
    drained.cx?.wakeAt(0)
    test.advance(10)
    expect(drained.polls).toBe(polls)
  })

  it('waits for last events that come later, by its wake or deadline', () => {
    leaving.last.unshift(PENDING)
    composed.remove('leaving')
    test.drive()
    expect(eventsOf(test)).toEqual([])
    leaving.last.unshift(PENDING)
    leaving.cx?.wakeAt(50)
    test.advance(49)
    expect(leaving.closes).toBe(1)
    test.advance(1)
    expect(leaving.closes).toBe(2)
    leaving.cx?.wake()
    test.drive()
    expect(eventsOf(test)).toHaveLength(2)
  })

  it('a close meanwhile gives its last events first, each once', () => {
    leaving.last.splice(1, 0, PENDING)
    first.notify('of the other')
    composed.remove('leaving')
    test.drive()
    test.connection.close()
    settle(test)
    expect(eventsOf(test)).toEqual([
      { handler: 'first', event: 'of the other' }, { handler: 'leaving', event: 'last 1' }, { handler: 'leaving', event: 'last 2' }
    ])
    expect(leaving.closes).toBe(4)
  })

  it('while the connection closes it has its last word in its turn', () => {
    first.onEvent = () => {}
    const last = ['of the first']
    Object.assign(first, { pollClose: () => { composed.remove('leaving'); return last.shift() } })
    test.connection.close()
    settle(test)
    expect(eventsOf(test)).toEqual([
      { handler: 'first', event: 'of the first' }, { handler: 'leaving', event: 'last 1' }, { handler: 'leaving', event: 'last 2' }
    ])
  })

  it('ends its requests as aborted, in every state, one outcome each (S5.5, S10.6)', () => {
    startLeaving({ maxNegotiatingOutboundStreams: 2 })
    const upgrade = { poll: () => PENDING, ended: [] as unknown[], end (reason: unknown) { this.ended.push(reason) } }
    leaving.request(['/a'], { info: 'upgrading', upgrade: () => upgrade })
    test.drive()
    const upgrading = test.grant()
    test.feed(upgrading, wire('HDR A'))
    leaving.request(['/a'], { info: 'negotiating' })
    test.drive()
    const negotiating = test.grant()
    first.request(['/a'], { info: 'of another' })
    test.drive()
    leaving.request(['/a'], { info: 'waiting' })
    test.drive()
    leaving.request(['/a'], { info: 'not polled yet' })
    composed.remove('leaving')
    test.drive()
    settle(test)
    expect(failuresOf(leaving).sort()).toEqual([['negotiating', 'aborted'], ['upgrading', 'aborted'], ['waiting', 'aborted']])
    expect([upgrading.resets.length, negotiating.resets.length, upgrade.ended.length]).toEqual([1, 1, 1])
    test.feed(test.grant(), wire('HDR A'))
    expect(first.eventsOf('fully-negotiated-outbound').map(({ info }) => info)).toEqual(['of another'])
    expect(test.connection.load).toEqual({ negotiatingInbound: 0, negotiatingOutbound: 0, queuedInbound: 0, queuedOutbound: 0 })
  })

  it('a failure that is not told yet is told before the end', () => {
    leaving.request(['/a'], { info: 'refused' })
    test.drive()
    test.connection.handleOutboundStreamFailure(test.muxer.takeOpening(), new Error('no stream'))
    composed.remove('leaving')
    test.drive()
    expect(failuresOf(leaving)).toEqual([['refused', 'aborted']])
    expect(leaving.calls.at(-1)).toBe('dial-upgrade-error')
  })

  it('a request among its last outputs fails too', () => {
    const drained = new Part()
    composed.add('drained', drained)
    test.drive()
    drained.request(['/a'], { info: 1 })
    drained.request(['/a'], { info: 2 })
    drained.notify('after')
    composed.remove('drained')
    test.drive()
    expect(failuresOf(drained)).toEqual([[1, 'aborted'], [2, 'aborted']])
    expect(eventsOf(test).at(-1)).toEqual({ handler: 'drained', event: 'after' })
    expect(test.muxer.openings).toEqual([])
  })

  it('a stream that was agreed before the connection heard of it is reset, and its request fails as aborted', () => {
    leaving.request(['/a'], { info: 'in between' })
    test.drive()
    const stream = test.grant()
    test.connection.stall()
    composed.remove('leaving')
    test.feed(stream, wire('HDR A'))
    expect(leaving.eventsOf('fully-negotiated-outbound')).toEqual([])
    expect(failuresOf(leaving)).toEqual([['in between', 'aborted']])
    expect(stream.resets).toHaveLength(1)
    expect([...test.connection.openStreams]).toEqual([])
    expect(reportsOf(test, 'handler-error')).toEqual([])
    test.connection.resume()
    test.drive()
    expect(failuresOf(leaving)).toHaveLength(1)
  })

  it('leaves its negotiated streams alone', () => {
    const [inStream, outStream] = [inbound(test), outbound(test, leaving)]
    composed.remove('leaving')
    test.drive()
    expect([...test.connection.streams]).toEqual([inStream, outStream])
    expect([inStream.resets, outStream.resets]).toEqual([[], []])
  })

  it('resets and reports inbound streams that are agreed for it, with or without an upgrade (S5.10)', () => {
    for (const isUpgraded of [false, true]) {
      Object.assign(leaving, isUpgraded ? { inboundUpgrade: () => ({ poll: () => 'upgraded' }) } : {})
      leaving = new ClosingPart(['/a'])
      composed = composeHandlers<Record<string, AnyHandler>>({ leaving })
      test = new ScriptedConnection(composeHandlers({ composed }))
      const stream = test.offer()
      composed.remove('leaving')
      test.drive()
      test.feed(stream, wire('HDR A'))
      expect(stream.resets).toMatchObject([{ name: 'AbortError' }])
      expect(reportsOf(test, 'inbound-failure')).toMatchObject([{ outcome: 'failed', proposed: '/a', violation: false }])
      expect(reportsOf(test, 'handler-error')).toEqual([])
      expect(leaving.eventsOf('fully-negotiated-inbound')).toEqual([])
      expect(test.connection.load.negotiatingInbound).toBe(0)
    }
  })

  it('ends running upgrades of inbound streams, and tells nobody else (S5.10)', () => {
    const ended: unknown[] = []
    const upgrade = { poll: () => PENDING, end: (reason: unknown) => { ended.push(reason) } }
    Object.assign(leaving, { inboundUpgrade: () => upgrade })
    Object.assign(first, { inboundUpgrade: () => upgrade })
    const [own, other] = [inbound(test, 'A'), test.offer()]
    first.protocols = ['/c']
    first.wake()
    test.drive()
    const others = [other, inbound(test, 'C')]
    composed.remove('leaving')
    test.drive()
    expect(own.resets).toMatchObject([{ name: 'AbortError' }])
    expect(others.map(({ resets }) => resets)).toEqual([[], []])
    expect(ended).toMatchObject([{ name: 'AbortError' }])
    expect(leaving.eventsOf('listen-upgrade-error')).toEqual([])
    expect(reportsOf(test, 'inbound-failure')).toHaveLength(1)
  })

  it('withdraws what it reported of the peer, and what parts inside it reported (S3.18)', () => {
    const deep = new Part()
    const inner = composeHandlers<Record<string, AnyHandler>>({ deep })
    composed.add('inner', inner)
    test.drive()
    deep.report('/deep', '/both')
    leaving.report('/leaving', '/both')
    test.connection.handleRemoteReport('replaced', ['/host'])
    test.drive()
    composed.remove('inner')
    test.drive()
    expect(test.connection.remoteProtocols.toArray()).toEqual(['/both', '/leaving', '/host'])
    composed.remove('leaving')
    test.drive()
    expect(test.connection.remoteProtocols.toArray()).toEqual(['/host'])
    expect(first.changes.slice(-3)).toContain('remote removed /both,/leaving')
  })

  it('gives messages to it back to their sender (S10.15)', () => {
    test.connection.onBehaviourEvent({ handler: 'leaving', event: 1 }, 'token')
    composed.remove('leaving')
    test.drive()
    expect(leaving.behaviourEvents).toEqual([])
    expect(outputsOf(test, 'handler-notified')).toMatchObject([{ token: 'token', delivered: false }])
  })

  it('no longer holds the connection, and no list of it wakes anybody', () => {
    startLeaving({ idleTimeoutMs: 100 })
    const list = new ProtocolList(['/list'])
    leaving.protocols = list
    leaving.isKeepAlive = true
    leaving.wake()
    test.drive()
    composed.remove('leaving')
    test.drive()
    const { wakes } = test
    list.add('/more')
    expect(test.wakes).toBe(wakes)
    test.advance(100)
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'keep-alive-timeout' })
  })

  it('hands a name to the next part that lists it, and frees the key at once', () => {
    const heir = new Part(['/a'])
    composed.add('heir', heir)
    test.drive()
    composed.remove('leaving')
    const again = new Part(['/b'])
    composed.add('leaving', again)
    test.drive()
    inbound(test, 'A')
    inbound(test, 'B')
    expect(heir.eventsOf('fully-negotiated-inbound')).toHaveLength(1)
    expect(again.eventsOf('fully-negotiated-inbound')).toHaveLength(1)
    again.request(['/a'], { info: 'of the new one' })
    again.report('/new')
    test.drive()
    expect(failuresOf(again)).toEqual([])
    expect(test.connection.remoteProtocols.toArray()).toEqual(['/new'])
  })

  it('by itself, in any of its callbacks', () => {
    for (const method of ['poll', 'pollClose', 'listenProtocols', 'keepAlive', 'onBehaviourEvent', 'onConnectionEvent'] as const) {
      const selfish = new ClosingPart(['/selfish'], 'last')
      composed = composeHandlers<Record<string, AnyHandler>>({ first, selfish })
      test = new ScriptedConnection(composed)
      const original = selfish[method].bind(selfish) as (argument: never) => never
      Object.assign(selfish, { [method]: (argument: never) => { composed.remove('selfish'); return original(argument) } })
      selfish.request(['/a'], { info: 1 })
      test.drive()
      test.connection.onBehaviourEvent({ handler: 'selfish', event: 1 })
      test.connection.handleAddressChange(1)
      settle(test)
      if (method === 'pollClose') {
        test.connection.close()
        settle(test)
      }
      expect(eventsOf(test)).toEqual([{ handler: 'selfish', event: 'last' }])
      expect(failuresOf(selfish)).toEqual(method === 'pollClose' ? [[1, 'connection-closed']] : [[1, 'aborted']])
      expect(method === 'pollClose' || !test.connection.localProtocols.has('/selfish')).toBe(true)
    }
  })

  it('a sibling during a change: it hears nothing more of it', () => {
    const [before, after] = [new Part(['/before']), new Part(['/after'])]
    composed = composeHandlers<Record<string, AnyHandler>>({ before, after })
    test = new ScriptedConnection(composed)
    before.onEvent = event => {
      if (event.type === 'remote-protocols-change') {
        composed.remove('after')
      }
    }
    test.connection.handleRemoteReport('replaced', ['/remote'])
    test.drive()
    expect(after.changes).toEqual(['local added /before,/after'])
    expect(before.changes).toEqual(['local added /before,/after', 'remote added /remote', 'local removed /after'])
  })

  it('one that was not greeted yet: it is told nothing', () => {
    const late = new ClosingPart(['/late'], 'last')
    composed.add('late', late)
    composed.remove('late')
    test.drive()
    expect(late.calls).toEqual([])
    expect(test.connection.localProtocols.has('/late')).toBe(false)
    expect(eventsOf(test)).toEqual([{ handler: 'late', event: 'last' }])
  })

  it('one that throws in its last word ends the connection (S4.15)', () => {
    Object.assign(leaving, { pollClose: () => { throw new Error('bitter end') } })
    composed.remove('leaving')
    test.drive()
    expect(reportsOf(test, 'handler-error')).toMatchObject([{ handler: 'leaving', method: 'pollClose' }])
    expect(test.connection.status).toMatchObject({ phase: 'closing', reason: 'handler-error' })
  })

  it('a part of a composition that is wrapped and nested, with all that it has (S4.14, S10.19)', () => {
    const deep = new ClosingPart(['/a'], 'last')
    const inner = composeHandlers<Record<string, AnyHandler>>({ deep })
    const wrapped = new ToggledHandler({ peer: 'peer', id: 'scripted' } as unknown as EstablishedConnection, mapHandler(inner, {}))
    test = new ScriptedConnection(composeHandlers({ outer: composeHandlers({ wrapped: wrapped as AnyHandler }) }))
    deep.report('/remote')
    deep.request(['/x'], { info: 'mine' })
    test.drive()
    const stream = test.offer()
    inner.remove('deep')
    const late = new Part(['/late'])
    inner.add('late', late)
    test.drive()
    test.feed(stream, wire('HDR A'))
    expect(failuresOf(deep)).toEqual([['mine', 'aborted']])
    expect(test.connection.remoteProtocols.size).toBe(0)
    expect(stream.resets).toHaveLength(1)
    expect(late.changes[0]).toBe('local added /a')
    expect(test.connection.localProtocols.toArray()).toEqual(['/late'])
    expect(eventsOf(test)).toEqual([{ handler: 'outer', event: { handler: 'wrapped', event: { handler: 'deep', event: 'last' } } }])
  })

  it('a composition as a whole, with its parts (S10.19)', () => {
    const deep = new ClosingPart(['/deep'], 'last')
    const other = new Part(['/other'])
    const inner = composeHandlers<Record<string, AnyHandler>>({ deep, other })
    composed.add('inner', inner)
    test.drive()
    deep.request(['/x'], { info: 'mine' })
    test.drive()
    composed.remove('inner')
    inner.remove('deep')
    inner.add('late', new Part(['/late']))
    test.drive()
    expect(failuresOf(deep)).toEqual([['mine', 'aborted']])
    expect(eventsOf(test)).toEqual([{ handler: 'inner', event: { handler: 'deep', event: 'last' } }])
    expect(test.connection.localProtocols.toArray()).toEqual(['/first', '/a', '/b'])
  })

  it('that is switched off by what it catches up with: it is neither told more nor polled (S4.14)', () => {
    const part = new Part(['/part'])
    const wrapped = new ToggledHandler({ peer: 'peer', id: 'scripted' } as unknown as EstablishedConnection, part)
    test = new ScriptedConnection(composeHandlers({ wrapped: wrapped as AnyHandler }))
    wrapped.disable()
    test.connection.handleRemoteReport('replaced', ['/remote'])
    test.drive()
    const before = part.calls.length
    part.onEvent = () => { wrapped.disable() }
    wrapped.enable()
    test.drive()
    expect(part.calls.slice(before)).toEqual(['local-protocols-change'])
    part.onEvent = undefined
    wrapped.enable()
    test.drive()
    expect(part.changes.slice(-2)).toEqual(['remote added /remote', 'local added /part'])
  })

  it('behind a switch, with a request among its last outputs, gets that outcome with its own info (S5.5)', () => {
    const part = new Part()
    const wrapped = new ToggledHandler({ peer: 'peer', id: 'scripted' } as unknown as EstablishedConnection, part)
    test = new ScriptedConnection(composeHandlers({ wrapped: wrapped as AnyHandler }))
    test.connection.close()
    part.request(['/a'], { info: 'mine' })
    test.drive()
    expect(failuresOf(part)).toEqual([['mine', 'connection-closed']])
    expect(reportsOf(test, 'handler-error')).toEqual([])
  })

  it('in a wrapper that hides the sets: a late part hears of changes only', () => {
    const late = new Part(['/late'])
    const foreign: AnyHandler = {
      listenProtocols: () => composed.listenProtocols(),
      onConnectionEvent: event => composed.onConnectionEvent(event as never),
      poll: cx => composed.poll?.({ now: cx.now, wake: () => { cx.wake() }, wakeAt: instant => { cx.wakeAt(instant) } }) ?? PENDING
    }
    composed = composeHandlers<Record<string, AnyHandler>>({ first: new Part(['/first']) })
    test = new ScriptedConnection(foreign)
    composed.add('late', late)
    test.drive()
    expect(late.changes).toEqual(['local added /late'])
    expect(test.connection.localProtocols.toArray()).toEqual(['/first', '/late'])
  })
})
