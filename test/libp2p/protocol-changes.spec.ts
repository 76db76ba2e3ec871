import '../support/polyfill.ts'
import { peerIdFromString } from '@libp2p/peer-id'
import { describe, expect, it } from 'vitest'
import { ProtocolChanges } from '../../src/libp2p/protocol-changes.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'
import type { PeerId } from '@libp2p/interface'
import type { ProtocolFilter } from '../../src/libp2p/change-subscribers.ts'
import type { PeerProtocolsChange } from '../../src/libp2p/peer-protocols-change.ts'

const ALICE = peerIdFromString('12D3KooWAQjs5Ew5PHaE1KNcdRCJ9oA7F89YjVV15b5V9STgR6J3')
const BOB = peerIdFromString('12D3KooWMLzmhwNzuFR3zH4tBKZ69Yt3wQ7iv62PNQkaysFjqxka')

interface Holder { id: string, peer: PeerId, names: string[], local: string[], isRemoteKnown: boolean, isRemoteCut: boolean }

function changes () {
  const holders: Holder[] = []
  const errors: unknown[] = []
  const scheduler = new ManualScheduler()
  const protocols = new ProtocolChanges({
    scheduler,
    connections: () => holders.map(({ id, peer, names, local, isRemoteKnown, isRemoteCut }) => ({
      id, peer, isRemoteKnown, isRemoteCut,
      localProtocols: { toArray: () => [...local] },
      remoteProtocols: { has: (name: string) => names.includes(name), toArray: () => [...names] }
    })),
    onError: (cause) => { errors.push(cause) }
  })
  const publish = (change: Partial<PeerProtocolsChange>) => {
    const { added = [], removed = [] } = change
    protocols.publish(Object.freeze({
      type: 'protocols-change', side: 'remote', peer: ALICE, connection: 'c1', ...change, added: Object.freeze(added), removed: Object.freeze(removed)
    }))
  }
  const record = (filter: ProtocolFilter = {}) => {
    const heard: PeerProtocolsChange[] = []
    return { heard, subscription: protocols.subscribe(filter, (change) => { heard.push(change) }) }
  }
  const connect = (id: string, peer: PeerId, names: string[], { local = [] as string[], isRemoteKnown = true, isRemoteCut = false } = {}) => {
    const holder: Holder = { id, peer, names, local, isRemoteKnown, isRemoteCut }
    holders.push(holder)
    return holder
  }
  return { protocols, publish, record, connect, errors, scheduler, holders }
}

describe('a subscriber that is async', () => {
  it.each<[string, ProtocolFilter]>([['without a filter', {}], ['with one', { protocol: '/a' }]])('is contained when it rejects, %s', async (_, filter) => {
    const { protocols, publish, record, errors } = changes()
    const [rejected, { heard }] = [new Error('rejected'), record()]
    protocols.subscribe(filter, async () => { throw rejected })
    publish({ added: ['/a'] })
    await Promise.resolve()
    expect(heard).toHaveLength(1)
    expect(errors).toEqual([rejected])
  })
})

describe('what makes no sense is refused at once', () => {
  it.each<[unknown, string]>([
    [undefined, 'the filter must be an object, received undefined'],
    [{ protocols: '/a' }, 'there is no filter "protocols", did you mean protocol?'],
    [{ protocol: 'a' }, 'must start with "/"'],
    [{ protocol: ['/a', 1] }, 'must be a string'],
    [{ peer: ALICE.toString() }, 'the peer must be a PeerId, received string']
  ])('the filter %o', (filter, message) => {
    const { protocols } = changes()
    expect(() => protocols.subscribe(filter as never, () => {})).toThrow(expect.objectContaining({
      name: 'TypeError', message: expect.stringContaining(message) as string
    }))
  })

  it.each<[unknown, string]>([['a', 'must start with "/"'], ['', 'must start with "/"'], [undefined, 'must be a string']])(
    'waiting for the protocol %o', async (protocol, message) => {
      const { protocols } = changes()
      await expect(protocols.whenSupports(ALICE, protocol as never)).rejects.toMatchObject({
        name: 'TypeError', message: expect.stringContaining(message) as string
      })
    }
  )

  it.each<[string, (protocols: ReturnType<typeof changes>['protocols']) => unknown, string]>([
    ['supports() of a text', (protocols) => protocols.supports(ALICE.toString() as never, '/a'), 'the peer must be a PeerId, received string'],
    ['supports() of a name that is none', (protocols) => protocols.supports(ALICE, 'a'), 'must start with "/"'],
    ['supports() of nothing', (protocols) => protocols.supports(ALICE, undefined as never), 'must be a string'],
    ['of() of nobody', (protocols) => protocols.of(undefined as never), 'the peer must be a PeerId, received undefined'],
    ['peers() of a name that is none', (protocols) => protocols.peers('a'), 'must start with "/"']
  ])('%s (S3.1, S8.11)', (_, ask, message) => {
    const { protocols } = changes()
    expect(() => ask(protocols)).toThrow(expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) as string }))
  })

  it('waiting for nobody', async () => {
    const { protocols } = changes()
    await expect(protocols.whenSupports(undefined as never, '/a')).rejects.toThrow('the peer must be a PeerId, received undefined')
  })
})

describe('subscribe (S8.5, S8.6)', () => {
  it.each<[ProtocolFilter, string[]]>([
    [{}, ['remote c1', 'local c1', 'remote c2']],
    [{ side: 'local' }, ['local c1']],
    [{ side: 'remote' }, ['remote c1', 'remote c2']],
    [{ connection: 'c2' }, ['remote c2']],
    [{ peer: ALICE }, ['remote c1', 'local c1']],
    [{ protocol: '/b' }, ['remote c1', 'remote c2']],
    [{ protocol: ['/b', '/x'] }, ['remote c1', 'local c1', 'remote c2']],
    [{ protocol: '/b', side: 'remote', peer: BOB }, ['remote c2']],
    [{ protocol: '/none' }, []]
  ])('passes what fits %j', (filter, expected) => {
    const { publish, record } = changes()
    const { heard } = record(filter)
    publish({ added: ['/a', '/b'] })
    publish({ side: 'local', removed: ['/x'] })
    publish({ peer: BOB, connection: 'c2', added: ['/c'], removed: ['/b'] })
    expect(heard.map(({ side, connection }) => `${side} ${connection}`)).toEqual(expected)
  })

  it('cuts the change down to the protocols of the filter, frozen; without one it hands the change on', () => {
    const { publish, record } = changes()
    const [some, all] = [record({ protocol: ['/a', '/c'] }), record()]
    publish({ added: ['/a', '/b'], removed: ['/c', '/d'] })
    expect(some.heard).toEqual([{ type: 'protocols-change', side: 'remote', peer: ALICE, connection: 'c1', added: ['/a'], removed: ['/c'] }])
    expect([some.heard[0], some.heard[0]?.added, some.heard[0]?.removed].every((part) => Object.isFrozen(part))).toBe(true)
    expect(all.heard[0]?.added).toEqual(['/a', '/b'])
  })

  it('delivers before the publication returns, in the order of subscription, over a snapshot (S8.4, S8.8)', () => {
    const { protocols, publish } = changes()
    const order: string[] = []
    const first = protocols.subscribe({ protocol: '/a' }, () => {
      order.push('first')
      second.unsubscribe()
      protocols.subscribe({}, () => { order.push('added meanwhile') })
    })
    const second = protocols.subscribe({}, () => { order.push('second') })
    protocols.subscribe({ protocol: '/b' }, () => { order.push('third') })
    protocols.subscribe({}, () => { order.push('fourth') })
    publish({ added: ['/b', '/a'] })
    expect(order).toEqual(['first', 'third', 'fourth'])
    expect([first.closed, second.closed]).toEqual([false, true])
  })

  it('ends with unsubscribe and with dispose, once', () => {
    const { protocols, publish, record } = changes()
    const [one, other] = [record({ protocol: '/a' }), record()]
    expect(protocols.isWatched).toBe(true)
    one.subscription.unsubscribe()
    one.subscription.unsubscribe()
    other.subscription[Symbol.dispose]()
    publish({ added: ['/a'] })
    expect([one.heard, other.heard]).toEqual([[], []])
    expect(protocols.isWatched).toBe(false)
  })

  it('contains what a subscriber throws, and serves the others', () => {
    const { protocols, publish, record, errors } = changes()
    protocols.subscribe({}, () => { throw new Error('mine') })
    const { heard } = record()
    publish({ added: ['/a'] })
    expect(heard).toHaveLength(1)
    expect(errors).toMatchObject([{ message: 'mine' }])
  })

  it.each([
    [{ scope: 'node' }, () => {}, 'scope must be "connection" or "peer", received "node"'],
    [{ replay: 1 }, () => {}, 'replay must be true or false, received number'],
    [{ connection: 1 }, () => {}, 'connection must be the id of one, received number'],
    [{ side: 'both' }, () => {}, 'side must be "local" or "remote", received "both"'],
    [{}, undefined, 'callback must be a function, received undefined']
  ])('refuses %j with callback %s', (filter, callback, message) => {
    const { protocols } = changes()
    expect(() => protocols.subscribe(filter as never, callback as never)).toThrow(TypeError)
    expect(() => protocols.subscribe(filter as never, callback as never)).toThrow(message)
  })
})

describe('whenSupports (S8.10)', () => {
  it('refuses a protocol that is no string, and leaves nothing behind', async () => {
    const { protocols, scheduler } = changes()
    await expect(protocols.whenSupports(ALICE, 5 as unknown as string, { timeoutMs: 10 })).rejects.toThrow(TypeError)
    expect(scheduler.timers).toEqual([])
    expect(protocols.isWatched).toBe(false)
  })

  it('resolves with the oldest connection that has the name already', async () => {
    const { protocols, connect } = changes()
    connect('c1', ALICE, [])
    connect('c2', ALICE, ['/a'])
    connect('c3', ALICE, ['/a'])
    expect(await protocols.whenSupports(ALICE, '/a')).toEqual({ peer: ALICE, connection: 'c2' })
    expect(protocols.isWatched).toBe(false)
  })

  it('resolves with the first one that reports it, on this peer and this side, and leaves nothing behind', async () => {
    const { protocols, publish, scheduler } = changes()
    const support = protocols.whenSupports(ALICE, '/a', { timeoutMs: 100 })
    publish({ side: 'local', added: ['/a'] })
    publish({ peer: BOB, added: ['/a'] })
    publish({ removed: ['/a'] })
    publish({ connection: 'c7', added: ['/b', '/a'] })
    expect(await support).toEqual({ peer: ALICE, connection: 'c7' })
    expect(protocols.isWatched).toBe(false)
    expect(scheduler.timers.map(({ deadline }) => deadline)).toEqual([Infinity])
  })

  it('rejects by signal, by time and at the end, and leaves nothing behind', async () => {
    const { protocols, scheduler } = changes()
    const abort = new AbortController()
    const outcomes = Promise.allSettled([
      protocols.whenSupports(ALICE, '/a', { signal: abort.signal }),
      protocols.whenSupports(ALICE, '/a', { timeoutMs: 10 }),
      protocols.whenSupports(ALICE, '/a'),
      protocols.whenSupports(ALICE, '/a', { signal: AbortSignal.abort() }),
      protocols.whenSupports(ALICE, '/a', { timeoutMs: -1 })
    ])
    abort.abort()
    scheduler.advance(10)
    protocols.close()
    expect((await outcomes).map((outcome) => outcome.status === 'rejected' && (outcome.reason as Error).name)).toEqual([
      'AbortError', 'TimeoutError', 'InvalidStateError', 'AbortError', 'RangeError'
    ])
    expect(protocols.isWatched).toBe(false)
  })

  it('rejects at once when the node has stopped, and waits again when it runs', async () => {
    const { protocols, connect } = changes()
    connect('c1', ALICE, ['/a'])
    protocols.close()
    await expect(protocols.whenSupports(ALICE, '/a')).rejects.toMatchObject({ name: 'InvalidStateError' })
    protocols.reopen()
    expect(await protocols.whenSupports(ALICE, '/a')).toEqual({ peer: ALICE, connection: 'c1' })
  })

  it('does not resolve before the call returned, also when the name is there already', async () => {
    const { protocols, connect } = changes()
    connect('c1', ALICE, ['/a'])
    const order: string[] = []
    const support = protocols.whenSupports(ALICE, '/a').then(() => { order.push('resolved') })
    order.push('returned')
    await support
    expect(order).toEqual(['returned', 'resolved'])
  })

  it('outlives connections: the one that has the name at last is another', async () => {
    const { protocols, publish, connect, holders } = changes()
    connect('c1', ALICE, [])
    const support = protocols.whenSupports(ALICE, '/a')
    holders.length = 0
    protocols.ended('c1')
    connect('c2', ALICE, ['/a'])
    publish({ connection: 'c2', added: ['/a'] })
    expect(await support).toEqual({ peer: ALICE, connection: 'c2' })
    expect(protocols.isWatched).toBe(false)
  })
})

describe('questions about now (S8.11)', () => {
  it('answers supports with true, false, or undefined when an absent name says nothing', () => {
    const { protocols, connect } = changes()
    expect(protocols.supports(ALICE, '/a')).toBe(undefined)
    connect('c1', ALICE, ['/x'], { isRemoteKnown: false })
    expect([protocols.supports(ALICE, '/x'), protocols.supports(ALICE, '/a')]).toEqual([true, undefined])
    connect('c2', ALICE, ['/a'])
    expect([protocols.supports(ALICE, '/a'), protocols.supports(ALICE, '/b'), protocols.supports(BOB, '/a')]).toEqual([true, false, undefined])
  })

  it('answers supports with undefined when the name may be among those that were cut off, on any connection', () => {
    const { protocols, connect } = changes()
    const cut = connect('c1', ALICE, ['/a'], { isRemoteCut: true })
    expect([protocols.supports(ALICE, '/a'), protocols.supports(ALICE, '/b')]).toEqual([true, undefined])
    connect('c2', ALICE, ['/c'])
    expect(protocols.supports(ALICE, '/b')).toBe(undefined)
    cut.isRemoteCut = false
    expect(protocols.supports(ALICE, '/b')).toBe(false)
  })

  it('answers of with a set that cannot be changed', () => {
    const { protocols, connect } = changes()
    connect('c1', ALICE, ['/a'])
    const snapshot = protocols.of(ALICE) as Set<string>
    expect(Object.isFrozen(snapshot)).toBe(true)
    for (const change of [() => snapshot.add('/b'), () => snapshot.delete('/a'), () => { snapshot.clear() }]) {
      expect(change).toThrow(TypeError)
    }
    expect([...snapshot]).toEqual(['/a'])
  })

  it('answers of with a snapshot of the union, and peers with each peer once', () => {
    const { protocols, connect } = changes()
    const first = connect('c1', ALICE, ['/a', '/b'])
    connect('c2', ALICE, ['/b', '/c'])
    connect('c3', BOB, ['/c'])
    const ofAlice = protocols.of(ALICE)
    first.names.push('/late')
    expect(ofAlice).toEqual(new Set(['/a', '/b', '/c']))
    expect(protocols.peers('/c')).toEqual([ALICE, BOB])
    expect(protocols.peers('/b')).toEqual([ALICE])
    expect(Object.isFrozen(protocols.peers('/b'))).toBe(true)
  })
})

/** What a subscriber heard, in short: `remote c1 +/a -/b`. */
const shortOf = (heard: readonly PeerProtocolsChange[]): string[] => heard.map(({ side, connection, added, removed }) =>
  [side, connection, ...added.map((name) => `+${name}`), ...removed.map((name) => `-${name}`)].join(' '))

describe('scope "peer" (S8.7)', () => {
  it('tells of a name with the first connection that has it, and of its loss with the last', () => {
    const { publish, record } = changes()
    const { heard } = record({ scope: 'peer' })
    publish({ connection: 'c1', added: ['/a', '/b'] })
    publish({ connection: 'c2', added: ['/b', '/c'] })
    publish({ connection: 'c1', removed: ['/a', '/b'] })
    publish({ connection: 'c2', removed: ['/b'] })
    expect(shortOf(heard)).toEqual(['remote c1 +/a +/b', 'remote c2 +/c', 'remote c1 -/a', 'remote c2 -/b'])
    expect(heard.every((change) => [change, change.added, change.removed].every((part) => Object.isFrozen(part)))).toBe(true)
  })

  it('counts the end of a connection, of which scope "connection" hears nothing', () => {
    const { protocols, publish, record } = changes()
    const [union, plain] = [record({ scope: 'peer' }), record()]
    publish({ connection: 'c1', added: ['/a', '/b'] })
    publish({ connection: 'c1', side: 'local', added: ['/l'] })
    publish({ connection: 'c2', added: ['/b'] })
    protocols.ended('c1')
    protocols.ended('c2')
    protocols.ended('c2')
    expect(shortOf(union.heard).slice(2)).toEqual(['local c1 -/l', 'remote c1 -/a', 'remote c2 -/b'])
    expect(plain.heard).toHaveLength(3)
  })

  it('knows what was there before, each side and each peer for itself', () => {
    const { publish, record, connect } = changes()
    connect('c1', ALICE, ['/a'], { local: ['/a'] })
    const { heard } = record({ scope: 'peer' })
    publish({ connection: 'c2', added: ['/a', '/b'] })
    publish({ connection: 'c3', peer: BOB, added: ['/a'] })
    publish({ connection: 'c1', removed: ['/a'] })
    publish({ connection: 'c1', side: 'local', removed: ['/a'] })
    expect(shortOf(heard)).toEqual(['remote c2 +/b', 'remote c3 +/a', 'local c1 -/a'])
  })

  it('is cut down to the protocols of the filter', () => {
    const { publish, record } = changes()
    const { heard } = record({ scope: 'peer', protocol: ['/a', '/c'], side: 'remote', peer: ALICE })
    publish({ connection: 'c1', added: ['/a', '/b'] })
    publish({ connection: 'c2', added: ['/a', '/b', '/c'] })
    publish({ connection: 'c2', peer: BOB, added: ['/a'] })
    expect(shortOf(heard)).toEqual(['remote c1 +/a', 'remote c2 +/c'])
  })

  it('is told in the order of subscription, whatever the scope', () => {
    const { protocols, publish } = changes()
    const order: number[] = []
    protocols.subscribe({ scope: 'peer' }, () => { order.push(1) })
    protocols.subscribe({}, () => { order.push(2) })
    protocols.subscribe({ replay: true }, () => { order.push(3) })
    protocols.subscribe({ scope: 'peer', protocol: '/a' }, () => { order.push(4) })
    publish({ added: ['/a'] })
    expect(order).toEqual([1, 2, 3, 4])
  })
})

describe('replay (S8.5)', () => {
  it('gives the present state of each connection as added, before the call returns, then the changes', () => {
    const { publish, record, connect } = changes()
    connect('c1', ALICE, ['/a', '/b'], { local: ['/l'] })
    connect('c2', BOB, [])
    connect('c3', BOB, ['/b'])
    const { heard } = record({ replay: true })
    expect(shortOf(heard)).toEqual(['local c1 +/l', 'remote c1 +/a +/b', 'remote c3 +/b'])
    expect(heard.every((change) => [change, change.added, change.removed].every((part) => Object.isFrozen(part)))).toBe(true)
    publish({ connection: 'c1', added: ['/c'], removed: ['/a'] })
    expect(shortOf(heard).slice(3)).toEqual(['remote c1 +/c -/a'])
  })

  it.each<[ProtocolFilter, string[]]>([
    [{ side: 'remote' }, ['remote c1 +/a +/b', 'remote c2 +/b']],
    [{ peer: BOB }, ['remote c2 +/b']],
    [{ connection: 'c1' }, ['local c1 +/l', 'remote c1 +/a +/b']],
    [{ protocol: '/b' }, ['remote c1 +/b', 'remote c2 +/b']],
    [{ protocol: '/none' }, []],
    [{ scope: 'peer', protocol: ['/a', '/b'] }, ['remote c1 +/a +/b', 'remote c2 +/b']]
  ])('passes what fits %j', (filter, expected) => {
    const { record, connect } = changes()
    connect('c1', ALICE, ['/a', '/b'], { local: ['/l'] })
    connect('c2', BOB, ['/b'])
    expect(shortOf(record({ ...filter, replay: true }).heard)).toEqual(expected)
  })

  it('gives the union of each peer with scope "peer"', () => {
    const { record, connect, publish } = changes()
    connect('c1', ALICE, ['/a'])
    connect('c2', ALICE, ['/a', '/b'])
    const { heard } = record({ scope: 'peer', replay: true })
    expect(shortOf(heard)).toEqual(['remote c1 +/a +/b'])
    publish({ connection: 'c1', removed: ['/a'] })
    publish({ connection: 'c2', removed: ['/a'] })
    expect(shortOf(heard).slice(1)).toEqual(['remote c2 -/a'])
  })

  it('says nothing twice: changes that were made before the call, and are reported after it', () => {
    const { record, connect, publish } = changes()
    connect('c1', ALICE, ['/a', '/b'])
    const [before, replayed] = [record(), record({ replay: true })]
    // `/b` came and `/x` went before anybody asked.
    publish({ connection: 'c1', added: ['/b'], removed: ['/x'] })
    publish({ connection: 'c1', added: ['/c'] })
    expect(shortOf(replayed.heard)).toEqual(['remote c1 +/a +/b', 'remote c1 +/c'])
    expect(shortOf(before.heard)).toEqual(['remote c1 +/b -/x', 'remote c1 +/c'])
  })

  it('is the state as it was told to the others, for those who come later', () => {
    const { record, connect, publish } = changes()
    const holder = connect('c1', ALICE, ['/a'])
    const first = record({ replay: true })
    holder.names.push('/b')
    const second = record({ replay: true })
    publish({ connection: 'c1', added: ['/b'] })
    for (const { heard } of [first, second]) {
      expect(shortOf(heard)).toEqual(['remote c1 +/a', 'remote c1 +/b'])
    }
  })

  it('puts changes that a callback causes behind the state that they change', () => {
    const { protocols, connect, publish } = changes()
    connect('c1', ALICE, ['/a'])
    connect('c2', BOB, ['/a'])
    const heard: PeerProtocolsChange[] = []
    protocols.subscribe({ replay: true }, (change) => {
      heard.push(change)
      if (heard.length === 1) {
        publish({ connection: 'c2', peer: BOB, removed: ['/a'] })
      }
    })
    expect(shortOf(heard)).toEqual(['remote c1 +/a', 'remote c2 +/a', 'remote c2 -/a'])
  })

  it('contains what a callback throws, or rejects with, and goes on', async () => {
    const { protocols, connect, publish, errors } = changes()
    connect('c1', ALICE, ['/a'])
    connect('c2', BOB, ['/a'])
    let calls = 0
    const subscription = protocols.subscribe({ replay: true }, () => { calls++; throw new Error('mine') })
    protocols.subscribe({ replay: true, peer: BOB }, async () => { throw new Error('later') })
    publish({ added: ['/b'] })
    await Promise.resolve()
    expect([calls, errors.length]).toEqual([3, 4])
    subscription.unsubscribe()
    publish({ added: ['/c'] })
    expect(calls).toBe(3)
  })
})

describe('a change costs what it concerns (S8.8)', () => {
  it.each<ProtocolFilter>([{}, { scope: 'peer' }, { replay: true }])('10 000 subscriptions of %j on different protocols: one callback', (filter) => {
    const { protocols, publish } = changes()
    const called: number[] = []
    for (let index = 0; index < 10_000; index++) {
      protocols.subscribe({ ...filter, protocol: `/protocol/${index}` }, () => { called.push(index) })
    }
    publish({ added: ['/protocol/7777'] })
    expect(called).toEqual([7777])
  })

  it('does not look at connections unless somebody subscribed to their state or to unions, and forgets with the last one', () => {
    let looks = 0
    const protocols = new ProtocolChanges({ scheduler: new ManualScheduler(), connections: () => { looks++; return [] }, onError: () => {} })
    protocols.subscribe({}, () => {})
    expect(looks).toBe(0)
    const both = [protocols.subscribe({ scope: 'peer' }, () => {}), protocols.subscribe({ replay: true }, () => {})]
    expect(looks).toBe(1)
    both.forEach((subscription) => { subscription.unsubscribe(); subscription.unsubscribe() })
    protocols.subscribe({ scope: 'peer' }, () => {})
    expect(looks).toBe(2)
  })
})
