import { beforeEach, describe, expect, it, vi } from 'vitest'
import { attachBehaviour } from '../../src/behaviour/attach.ts'
import { composeBehaviours } from '../../src/behaviour/compose.ts'
import { PENDING } from '../../src/core/poll.ts'
import { ProtocolList } from '../../src/protocols/protocol-list.ts'
import { Swarm } from '../../src/swarm/swarm.ts'
import { RecordingHandler } from '../../src/testing/recording-handler.ts'
import { RecordingBehaviour } from '../support/recording-behaviour.ts'
import { ALICE, BOB, NEVER_ABORTED, SOMEWHERE, VirtualWorld, componentsOf } from '../support/virtual-world.ts'
import type { ConnectionDenied } from '../../src/behaviour/connection-denied.ts'
import type { Behaviours, EstablishedConnection } from '../../src/behaviour/network-behaviour.ts'
import type { PollContext } from '../../src/core/poll.ts'

const CONNECTION: EstablishedConnection = { id: 'c1', peer: BOB, direction: 'outbound', address: SOMEWHERE, limits: undefined, signal: NEVER_ABORTED }

/** Whoever polls the composition. */
class Poller implements PollContext {
  now = 0
  wakes = 0
  wakeInstant = Infinity

  wake (): void { this.wakes++ }
  wakeAt (instant: number): void { this.wakeInstant = instant }
}

function composed<const Parts extends Behaviours> (parts: Parts) {
  const composition = composeBehaviours(parts)
  attachBehaviour(composition, componentsOf(ALICE))
  const cx = new Poller()
  const drain = () => {
    const outputs = []
    for (let output = composition.poll?.(cx); output !== PENDING && output !== undefined; output = composition.poll?.(cx)) {
      outputs.push(output)
    }
    return outputs
  }
  return { composition, cx, drain }
}

let a: RecordingBehaviour
let b: RecordingBehaviour
let c: RecordingBehaviour

beforeEach(() => {
  a = new RecordingBehaviour()
  b = new RecordingBehaviour()
  c = new RecordingBehaviour()
})

describe('events of a composition (S7.13)', () => {
  it('carry the key of their part', () => {
    const { drain } = composed({ a, b })
    b.push({ type: 'event', event: 1, peer: BOB, connection: 'c1' })

    expect(drain()).toEqual([{ type: 'event', peer: BOB, connection: 'c1', event: { behaviour: 'b', peer: BOB, connection: 'c1', event: 1 } }])
  })

  it('carry the id of the node when they are about no one peer', () => {
    const { drain } = composed({ a })
    a.emit('x')

    expect(drain()).toMatchObject([{ event: { behaviour: 'a', peer: ALICE, event: 'x' } }])
  })

  it('nest', () => {
    const { drain } = composed({ outer: composeBehaviours({ inner: a }) })
    a.push({ type: 'event', event: 1, peer: BOB })

    expect(drain()).toMatchObject([{
      peer: BOB, event: { behaviour: 'outer', peer: BOB, event: { behaviour: 'inner', peer: BOB, event: 1 } }
    }])
  })
})

describe('commands of a composition', () => {
  it('reach the handler of the part only, also when compositions nest', () => {
    const { drain } = composed({ outer: composeBehaviours({ inner: a }) })
    a.push({ type: 'notify-handler', peer: BOB, connection: 'c1', event: 'x' })

    expect(drain()).toEqual([{
      type: 'notify-handler', peer: BOB, connection: 'c1', except: undefined, event: { handler: 'outer', event: { handler: 'inner', event: 'x' } }
    }])
  })

  it('name the connections on which the part has no handler, for `any`', () => {
    const inner = new RecordingBehaviour()
    a.makeHandler = ({ id }) => id === 'c1' ? undefined : new RecordingHandler()
    inner.makeHandler = ({ id }) => id === 'c2' ? undefined : new RecordingHandler()
    const { composition, drain } = composed({ a, b, outer: composeBehaviours({ inner, other: new RecordingBehaviour() }) })
    composition.commitEstablished(CONNECTION)
    composition.commitEstablished({ ...CONNECTION, id: 'c2' })
    for (const behaviour of [a, b, inner]) {
      behaviour.push({ type: 'notify-handler', peer: BOB, connection: 'any', event: 'x' })
    }
    const exceptions = () => drain().map(output => output.type === 'notify-handler' ? [...output.except ?? []] : output)
    expect(exceptions()).toEqual([['c1'], [], ['c2']])

    composition.onSwarmEvent?.({ type: 'connection-closed', connection: 'c1', peer: BOB, reason: 'local-close', cause: undefined, remaining: 1, undelivered: [] })
    a.push({ type: 'notify-handler', peer: BOB, connection: 'any', event: 'x' })
    expect(exceptions()).toEqual([[]])
  })

  it('join what a nested part and its composition are not on', () => {
    const inner = new RecordingBehaviour()
    inner.makeHandler = ({ id }) => id === 'c1' ? new RecordingHandler() : undefined
    const other = new RecordingBehaviour()
    other.makeHandler = ({ id }) => id === 'c2' ? new RecordingHandler() : undefined
    const { composition, drain } = composed({ outer: composeBehaviours({ inner, other }), b })
    for (const id of ['c1', 'c2', 'c3']) {
      composition.commitEstablished({ ...CONNECTION, id })
    }
    inner.push({ type: 'notify-handler', peer: BOB, connection: 'any', event: 'x' })
    const [output] = drain()

    expect(output?.type === 'notify-handler' && [...output.except ?? []].sort()).toEqual(['c2', 'c3'])
  })

  it('to close a connection pass as they are', () => {
    const { drain } = composed({ a })
    a.push({ type: 'close-connection', peer: BOB, connection: 'all' })

    expect(drain()).toEqual([{ type: 'close-connection', peer: BOB, connection: 'all' }])
  })
})

describe('handlers of a composition', () => {
  it('are composed under the keys of their behaviours, and events find the way back', async () => {
    const world = new VirtualWorld()
    const alice = world.node(ALICE, { a, outer: { commitEstablished: () => undefined }, group: composeBehaviours({ b, c }) })
    a.makeHandler = () => new RecordingHandler(['/a'])
    c.makeHandler = () => new RecordingHandler(['/c'])
    const [connection] = world.connect(alice, world.node(BOB, {}))
    expect(connection.machine.localProtocols.toArray()).toEqual(['/a', '/c'])
    a.handlers.get('c1')?.push({ type: 'notify-behaviour', event: 1 })
    c.handlers.get('c1')?.push({ type: 'notify-behaviour', event: 2 })
    await world.settle()

    expect(a.handlerEvents).toEqual([{ peer: BOB.toString(), connection: 'c1', event: 1 }])
    expect(b.handlerEvents).toEqual([])
    expect(c.handlerEvents).toEqual([{ peer: BOB.toString(), connection: 'c1', event: 2 }])
  })

  it('are none when no part has one', () => {
    a.makeHandler = () => undefined
    const { composition } = composed({ group: composeBehaviours({ a }) })

    expect(composition.commitEstablished(CONNECTION)).toBeUndefined()
  })

  it('whose key is unknown are ignored', () => {
    const { composition } = composed({ a })
    composition.onHandlerEvent?.(BOB, 'c1', { handler: 'b', event: 1 })

    expect(a.handlerEvents).toEqual([])
  })
})

describe('what parts are told', () => {
  it('goes to all, in composition order, and wakes them', () => {
    const order: string[] = []
    const { composition, drain } = composed({ b, a })
    drain()
    a.onTold = () => { order.push('a') }
    b.onTold = () => { order.push('b') }
    composition.onSwarmEvent?.({ type: 'new-listen-address', address: SOMEWHERE })

    expect(order).toEqual(['b', 'a'])
    a.emit(1)
    b.emit(2)
    expect(drain()).toHaveLength(2)
  })

  it('of undelivered messages is their own ones', () => {
    const { composition } = composed({ a, group: composeBehaviours({ b }), c })
    composition.onSwarmEvent?.({
      type: 'connection-closed', connection: 'c1', peer: BOB, reason: 'local-close', cause: undefined, remaining: 0,
      undelivered: [{ handler: 'a', event: 1 }, { handler: 'group', event: { handler: 'b', event: 2 } }, { handler: 'a', event: 3 }, 'no event of a part']
    })

    expect([a, b, c].map(({ swarmEvents }) => swarmEvents)).toMatchObject([[{ undelivered: [1, 3] }], [{ undelivered: [2] }], [{ undelivered: [] }]])
  })
})

describe('polling a composition', () => {
  it('polls every part once at first, then those that woke only', () => {
    const { drain } = composed({ a, b, c })
    drain()
    b.cx?.wake()
    b.cx?.wake()
    drain()

    expect([a.polls, b.polls, c.polls]).toEqual([1, 2, 1])
  })

  it('passes a wake on, once polled', () => {
    const { cx, drain } = composed({ a })
    drain()
    a.emit(1)

    expect(cx.wakes).toBe(1)
  })

  it('lets a part that always has something delay another by one value', () => {
    const { composition, cx } = composed({ a, b })
    a.onPoll = () => { a.emit('busy') }
    b.emit(1, 2, 3)
    const first = Array.from({ length: 6 }, () => composition.poll?.(cx))

    expect(first.map(output => typeof output === 'object' && output.type === 'event' ? output.event.behaviour : output))
      .toEqual(['a', 'b', 'a', 'b', 'a', 'b'])
  })

  it('leaves a part that wakes itself to the next turn, which it asks for (S4.8)', () => {
    const { cx, drain } = composed({ a })
    a.onPoll = ({ wake }) => { wake.call(a.cx) }
    drain()
    expect([a.polls, cx.wakes]).toEqual([1, 1])
    drain()
    expect([a.polls, cx.wakes]).toEqual([2, 2])
  })

  it('serves a part that another one woke in the same turn', () => {
    const { cx, drain } = composed({ a, b })
    drain()
    a.onPoll = () => { b.emit('told by a') }
    a.cx?.wake()

    expect(drain()).toHaveLength(1)
    expect(cx.wakes).toBe(1)
  })

  it('lets parts that wake each other without end leave the turn, and goes on in the next one (S10.10)', () => {
    const { cx, drain } = composed({ a, b, c })
    drain()
    const before = [a.polls, b.polls, cx.wakes]
    a.onPoll = () => { b.cx?.wake() }
    b.onPoll = () => { a.cx?.wake() }
    c.emit('heard')
    a.cx?.wake()
    expect(drain()).toHaveLength(1)
    expect(a.polls - before[0]!).toBeLessThan(10)
    expect(cx.wakes).toBeGreaterThan(before[2]!)
    const { polls } = b
    drain()
    expect(b.polls).toBeGreaterThan(polls)
  })

  it('wakes each part at its own instant', () => {
    const { cx, drain } = composed({ a, b })
    a.onPoll = ({ now }) => { a.cx?.wakeAt(now + 100) }
    b.onPoll = ({ now }) => { b.cx?.wakeAt(now + 250) }
    drain()
    const wakes = []
    for (let at = 0; at < 4; at++) {
      cx.now = cx.wakeInstant
      drain()
      wakes.push([cx.now, a.polls, b.polls])
    }

    expect(wakes).toEqual([[100, 2, 1], [200, 3, 1], [250, 3, 2], [300, 4, 2]])
  })

  it('forgets an instant that was cleared', () => {
    const { cx, drain } = composed({ a })
    a.onPoll = () => { a.cx?.wakeAt(100) }
    drain()
    a.onPoll = () => {}
    a.cx?.wakeAt(Infinity)
    cx.now = 100
    drain()

    expect(a.polls).toBe(1)
    expect(cx.wakeInstant).toBe(Infinity)
  })

  it('of nothing is pending', () => {
    const { drain } = composed({})

    expect(drain()).toEqual([])
  })

  it('is fine with parts that have no poll', () => {
    const { drain } = composed({ silent: { commitEstablished: () => undefined } })

    expect(drain()).toEqual([])
  })
})

describe('a part that throws (S4.15)', () => {
  const broken = new Error('broken')
  const fault = (behaviour: string, method: string) => ({ type: 'behaviour-fault', behaviour, method, cause: broken })

  it('in commitEstablished denies that connection', () => {
    a.makeHandler = () => { throw broken }
    const { composition, drain } = composed({ a, b })
    const denied = composition.commitEstablished(CONNECTION)

    expect(denied).toMatchObject({ name: 'ConnectionDenied', behaviour: 'a', stage: 'established', direction: 'outbound', cause: broken })
    expect(b.handlers.size).toBe(0)
    expect(drain()).toEqual([fault('a', 'commitEstablished')])
  })

  it('when told something keeps nobody else from hearing it', () => {
    const { composition, drain } = composed({ a, b })
    a.onTold = () => { throw broken }
    composition.onSwarmEvent?.({ type: 'new-listen-address', address: SOMEWHERE })
    composition.onHandlerEvent?.(BOB, 'c1', { handler: 'a', event: 1 })

    expect(b.swarmEvents).toHaveLength(1)
    expect(drain()).toEqual([fault('a', 'onSwarmEvent'), fault('a', 'onHandlerEvent')])
  })

  it('in poll is skipped, and polled again when it woke', () => {
    const { drain } = composed({ a, b })
    a.onPoll = () => { throw broken }
    b.emit(1)
    expect(drain()).toMatchObject([fault('a', 'poll'), { type: 'event' }])

    a.onPoll = () => {}
    a.emit(2)
    a.cx?.wake()
    expect(drain()).toMatchObject([{ type: 'event', event: { event: 2 } }])
  })

  it('is named by its path', () => {
    a.onPoll = () => { throw broken }
    const { drain } = composed({ outer: composeBehaviours({ inner: composeBehaviours({ a }) }) })

    expect(drain()).toEqual([fault('outer.inner.a', 'poll')])
  })

  it('may throw undefined', () => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- user code may throw anything
    a.onPoll = () => { throw undefined }
    const { drain } = composed({ a })

    expect(drain()).toEqual([{ type: 'behaviour-fault', behaviour: 'a', method: 'poll', cause: undefined }])
  })
})

describe('declared protocols of a composition', () => {
  it('are those of its parts, the same array until one changes', () => {
    const list = new ProtocolList(['/list'])
    const { composition } = composed({ a: new RecordingBehaviour(['/a', '/b']), b, group: composeBehaviours({ c: new RecordingBehaviour(list) }) })
    const names = composition.protocols

    expect(names).toEqual(['/a', '/b', '/list'])
    expect(Object.isFrozen(names)).toBe(true)
    expect(composition.protocols).toBe(names)
    list.add('/more')
    expect(composition.protocols).toEqual(['/a', '/b', '/list', '/more'])
    list.replace([])
    expect(composition.protocols).toEqual(['/a', '/b'])
  })

  it('wake whoever polls it when a ProtocolList changes (S3.16)', () => {
    const list = new ProtocolList(['/list'])
    const { cx, drain } = composed({ group: composeBehaviours({ c: new RecordingBehaviour(list) }) })
    drain()
    list.add('/more')

    expect(cx.wakes).toBe(1)
  })
})

describe('a part that wakes itself', () => {
  it('is polled in the next turn, also if another part gave a value meanwhile (S4.8)', () => {
    const wakes = vi.fn()
    const { composition } = composed({ a, b })
    const swarm = new Swarm(composition, wakes)
    a.onPoll = (cx) => { cx.wake() }
    const drain = () => {
      for (let output = swarm.poll(0); output !== PENDING;) {
        output = swarm.poll(0)
      }
    }
    for (let turn = 0; turn < 5; turn++) {
      b.emit('x')
      const { polls } = a
      drain()
      expect(a.polls).toBeGreaterThan(polls)
      expect(swarm.wantsTurn).toBe(true)
    }
  })
})

describe('composeBehaviours()', () => {
  it('keeps the record as it was given', () => {
    const parts = { a, b }
    const { composition } = composed(parts)
    Object.assign(parts, { c })

    expect(composition.parts).toEqual({ a, b })
    expect(Object.isFrozen(composition.parts)).toBe(true)
  })

  it('cannot be used before a node took it', () => {
    const composition = composeBehaviours({ a })

    expect(() => composition.protocols).toThrow('before a node took it')
    expect(() => composition.commitEstablished(CONNECTION)).toThrow('before a node took it')
  })
})

describe('a part that returns what it must not', () => {
  it.each<[string, () => unknown, string]>([
    ['a promise', async () => await Promise.reject(new Error('async')), 'received a promise: it must not be async'],
    ['null', () => null, 'received null'],
    ['an object that is no handler', () => ({}), 'received object']
  ])('%s from commitEstablished denies the connection, with an error that names the behaviour and the rule', (_, make, message) => {
    a.makeHandler = make as never
    const { composition, drain } = composed({ b, a })
    const rollback = vi.fn()
    Object.assign(b, { rollback })
    const denied = composition.commitEstablished(CONNECTION) as ConnectionDenied

    expect(denied).toMatchObject({ name: 'ConnectionDenied', behaviour: 'a', stage: 'established', cause: { name: 'TypeError' } })
    expect(denied.message).toMatch(/^Connection denied by "a" .* commitEstablished must return a handler/)
    expect(denied.message).toContain(message)
    expect(rollback).toHaveBeenCalledTimes(1)
    expect(drain()).toMatchObject([{
      type: 'behaviour-fault', behaviour: 'a', method: 'commitEstablished', cause: { message: expect.stringContaining(message) as string }
    }])
  })

  it('a promise from poll is a throw of poll, and its siblings go on', () => {
    b.emit('x')
    const broken = { commitEstablished: () => undefined, poll: async () => await Promise.reject(new Error('async')) }
    const { drain } = composed({ broken: broken as never, b })

    expect(drain()).toMatchObject([{ type: 'behaviour-fault', behaviour: 'broken', method: 'poll', cause: { name: 'TypeError' } }, { type: 'event' }])
  })
})
