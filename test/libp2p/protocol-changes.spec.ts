import '../support/polyfill.ts'
import { peerIdFromString } from '@libp2p/peer-id'
import { describe, expect, it } from 'vitest'
import { ProtocolChanges } from '../../src/libp2p/protocol-changes.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'
import type { PeerId } from '@libp2p/interface'
import type { PeerProtocolsChange, ProtocolFilter } from '../../src/libp2p/change-subscribers.ts'

const ALICE = peerIdFromString('12D3KooWAQjs5Ew5PHaE1KNcdRCJ9oA7F89YjVV15b5V9STgR6J3')
const BOB = peerIdFromString('12D3KooWMLzmhwNzuFR3zH4tBKZ69Yt3wQ7iv62PNQkaysFjqxka')

interface Holder { id: string, peer: PeerId, names: string[], isRemoteKnown: boolean }

function changes () {
  const holders: Holder[] = []
  const errors: unknown[] = []
  const scheduler = new ManualScheduler()
  const protocols = new ProtocolChanges({
    scheduler,
    connections: () => holders.map(({ id, peer, names, isRemoteKnown }) => ({
      id, peer, isRemoteKnown, remoteProtocols: { has: (name: string) => names.includes(name), toArray: () => names }
    })),
    onError: (cause) => { errors.push(cause) }
  })
  const publish = (change: Partial<PeerProtocolsChange>) => {
    protocols.publish(Object.freeze({ type: 'protocols-change', side: 'remote', peer: ALICE, connection: 'c1', added: [], removed: [], ...change }))
  }
  const record = (filter: ProtocolFilter = {}) => {
    const heard: PeerProtocolsChange[] = []
    return { heard, subscription: protocols.subscribe(filter, (change) => { heard.push(change) }) }
  }
  const connect = (id: string, peer: PeerId, names: string[], isRemoteKnown = true) => {
    const holder: Holder = { id, peer, names, isRemoteKnown }
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

  it('delivers in the order of subscription, over a snapshot (S8.8)', () => {
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
    [{ scope: 'peer' }, () => {}, 'there is no filter "scope"'],
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
})

describe('questions about now (S8.11)', () => {
  it('answers supports with true, false, or undefined when an absent name says nothing', () => {
    const { protocols, connect } = changes()
    expect(protocols.supports(ALICE, '/a')).toBe(undefined)
    connect('c1', ALICE, ['/x'], false)
    expect([protocols.supports(ALICE, '/x'), protocols.supports(ALICE, '/a')]).toEqual([true, undefined])
    connect('c2', ALICE, ['/a'])
    expect([protocols.supports(ALICE, '/a'), protocols.supports(ALICE, '/b'), protocols.supports(BOB, '/a')]).toEqual([true, false, undefined])
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
