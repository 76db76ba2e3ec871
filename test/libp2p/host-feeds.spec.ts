import { KEEP_ALIVE, TypedEventEmitter } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { describe, expect, it } from 'vitest'
import { followAddresses } from '../../src/libp2p/host-addresses.ts'
import { feedIdentify } from '../../src/libp2p/identify-feed.ts'
import { listenToHost } from '../../src/libp2p/host-listener.ts'
import { ListenAddresses } from '../../src/libp2p/listen-addresses.ts'
import { followPeerTags, readPeerTags } from '../../src/libp2p/peer-tags.ts'
import type { Libp2pEvents, ListenerEvents, Peer, PeerStore } from '@libp2p/interface'
import type { NodeAddress } from '@libp2p/interface-internal'
import type { FromSwarm } from '../../src/behaviour/from-swarm.ts'

describe('feedIdentify', () => {
  it('gives each name once, to the very connection that it came over (S3.20)', () => {
    const [ours, other] = [{}, {}]
    const reports: unknown[] = []
    const find = (connection: object) => connection === ours ? { remoteReport: (protocols: readonly string[]) => { reports.push(protocols) } } : undefined
    feedIdentify({ connection: ours, protocols: ['/b', '/a', '/b'] } as never, find)
    feedIdentify({ connection: ours, protocols: [] } as never, find)
    feedIdentify({ connection: other, protocols: ['/c'] } as never, find)
    expect(reports).toEqual([['/b', '/a'], []])
  })
})

describe('listenToHost', () => {
  it('hands on the detail, and contains what the callback throws', () => {
    const events = new TypedEventEmitter<Libp2pEvents>()
    const errors: unknown[] = []
    const seen: unknown[] = []
    listenToHost(events, 'peer:connect', (detail) => { seen.push(detail); throw new Error('mine') }, (cause) => { errors.push(cause) })
    events.safeDispatchEvent('peer:connect', { detail: 'peer' })
    expect(seen).toEqual(['peer'])
    expect(errors).toMatchObject([{ message: 'mine' }])
  })
})

describe('ListenAddresses', () => {
  it('tells the addresses of a listener when it is up, and again when it is gone and no longer knows them', () => {
    const addresses = new ListenAddresses()
    const [one, other] = [multiaddr('/ip4/127.0.0.1/tcp/1'), multiaddr('/ip4/127.0.0.1/tcp/2')]
    let known = [one, other]
    const listener = { getAddrs: () => known } as never
    expect(addresses.opened(listener)).toEqual([
      { type: 'new-listener', addresses: [one, other] }, { type: 'new-listen-address', address: one }, { type: 'new-listen-address', address: other }
    ])
    known = []
    expect(addresses.closed(listener)).toEqual([
      { type: 'expired-listen-address', address: one }, { type: 'expired-listen-address', address: other }, { type: 'listener-closed', addresses: [one, other] }
    ])
    expect(addresses.closed(listener)).toEqual([])
  })
})

describe('peer tags (S6.2)', () => {
  const peer = (name: string) => ({ name, equals: (other: { name: string }) => other.name === name }) as never
  const record = (name: string, ...tags: string[]) => ({ id: peer(name), tags: new Map(tags.map((tag) => [tag, { value: 1 }])) }) as unknown as Peer
  const connectionTo = (name: string) => {
    const kept: boolean[] = []
    return { peer: peer(name), kept, peerTag: (isKept: boolean) => { kept.push(isKept) } }
  }

  it('keep the connections of a peer that bears a keep-alive tag, and of nobody else', () => {
    const [alice, bob] = [connectionTo('alice'), connectionTo('bob')]
    followPeerTags([alice, bob], record('alice', 'other', `${KEEP_ALIVE}-circuit-relay`))
    followPeerTags([alice, bob], record('bob', 'other'))
    expect([alice.kept, bob.kept]).toEqual([[true], [false]])
  })

  it('are looked up for a new connection; an unknown peer bears none', async () => {
    const [alice, carol] = [connectionTo('alice'), connectionTo('carol')]
    const store = { get: async ({ name }: { name: string }) => name === 'alice' ? record('alice', KEEP_ALIVE) : Promise.reject(new Error('NotFound')) } as unknown as PeerStore
    await Promise.all([readPeerTags(alice, store), readPeerTags(carol, store)])
    expect([alice.kept, carol.kept]).toEqual([[true], [false]])
  })
})

describe('followAddresses (S7.8)', () => {
  const [one, other, third] = [multiaddr('/ip4/1.1.1.1/tcp/1'), multiaddr('/ip4/2.2.2.2/tcp/2'), multiaddr('/ip4/3.3.3.3/tcp/3')]

  function node () {
    const events = new TypedEventEmitter<Libp2pEvents>()
    const state = { addresses: [] as Array<Partial<NodeAddress>> }
    const told: FromSwarm[] = []
    const errors: unknown[] = []
    const external = followAddresses({
      node: { events, addressManager: { getAddressesWithMetadata: () => state.addresses } } as never,
      tell: (changes) => { told.push(...changes) },
      onError: (cause) => { errors.push(cause) }
    })
    const take = () => told.splice(0)
    return { events, state, external, take, errors }
  }

  class FakeListener extends TypedEventEmitter<ListenerEvents> {
    addresses = [one, other]
    getAddrs () { return this.addresses }
  }

  it('tells of a listener once, then of what changes at it, of its faults, and of its end', () => {
    const { events, take } = node()
    const listener = new FakeListener()
    const fault = new Error('The cable was cut')
    events.safeDispatchEvent('transport:listening', { detail: listener as never })
    expect(take().map(({ type }) => type)).toEqual(['new-listener', 'new-listen-address', 'new-listen-address'])
    listener.addresses = [other, third]
    events.safeDispatchEvent('transport:listening', { detail: listener as never })
    expect(take()).toEqual([{ type: 'expired-listen-address', address: one }, { type: 'new-listen-address', address: third }])
    listener.safeDispatchEvent('error', { detail: fault })
    expect(take()).toEqual([{ type: 'listener-error', address: other, error: fault }])
    events.safeDispatchEvent('transport:close', { detail: listener as never })
    expect(take().map(({ type }) => type)).toEqual(['expired-listen-address', 'expired-listen-address', 'listener-closed'])
    listener.safeDispatchEvent('error', { detail: fault })
    expect(take()).toEqual([])
  })

  it('tells of external addresses that other services find out, once each, and not of those that it listens on', () => {
    const { events, state, take } = node()
    state.addresses = [{ multiaddr: one, verified: true, type: 'transport' }, { multiaddr: other, verified: false, type: 'observed' }]
    events.safeDispatchEvent('peer:identify', { detail: { observedAddr: other } as never })
    expect(take()).toEqual([{ type: 'external-address-candidate', address: other }])
    state.addresses = [{ multiaddr: other.encapsulate('/p2p/QmcgpsyWgH8Y8ajJz1Cu72KnS5uo2Aa2LpzU7kinSupNKC'), verified: true, type: 'observed' }, { multiaddr: third, verified: true, type: 'ip-mapping' }]
    events.safeDispatchEvent('self:peer:update', { detail: {} as never })
    events.safeDispatchEvent('self:peer:update', { detail: {} as never })
    expect(take()).toEqual([{ type: 'external-address-confirmed', address: other }, { type: 'external-address-confirmed', address: third }])
    state.addresses = [{ multiaddr: other, verified: false, type: 'observed' }]
    events.safeDispatchEvent('self:peer:update', { detail: {} as never })
    expect(take()).toEqual([{ type: 'external-address-expired', address: other }, { type: 'external-address-expired', address: third }])
    state.addresses = []
    events.safeDispatchEvent('peer:identify', { detail: {} as never })
    events.safeDispatchEvent('self:peer:update', { detail: {} as never })
    expect(take()).toEqual([])
  })

  it('does not repeat what a behaviour said, but says what the node thinks of it', () => {
    const { events, state, external, take } = node()
    const refresh = () => { events.safeDispatchEvent('self:peer:update', { detail: {} as never }) }
    external.said({ type: 'external-address-candidate', address: one })
    external.said({ type: 'external-address-candidate', address: one })
    state.addresses = [{ multiaddr: one, verified: false, type: 'observed' }]
    refresh()
    external.said({ type: 'external-address-confirmed', address: one })
    external.said({ type: 'external-address-candidate', address: one })
    state.addresses = [{ multiaddr: one, verified: true, type: 'observed' }]
    refresh()
    external.said({ type: 'external-address-expired', address: one })
    state.addresses = []
    refresh()
    expect(take()).toEqual([])
    external.said({ type: 'external-address-confirmed', address: one })
    refresh()
    expect(take()).toEqual([{ type: 'external-address-expired', address: one }])
  })

  it('follows 256 of them', () => {
    const { events, state, take } = node()
    state.addresses = Array.from({ length: 300 }, (_, at) => ({ multiaddr: multiaddr(`/ip4/4.4.4.4/tcp/${at + 1}`), verified: false, type: 'observed' }))
    events.safeDispatchEvent('self:peer:update', { detail: {} as never })
    expect(take()).toHaveLength(256)
  })

  it('tells of addresses that became known of a peer, but for one that a behaviour is having stored', async () => {
    const { events, external, take } = node()
    const peer = { toString: () => 'bob' } as never
    const record = (...addresses: unknown[]) => ({ id: peer, addresses: addresses.map((address) => ({ multiaddr: address })) })
    const update = (peerNow: unknown, previous?: unknown) => { events.safeDispatchEvent('peer:update', { detail: { peer: peerNow, previous } as never }) }
    update(record(one))
    update(record(one, other), record(one))
    update(record(other), record(one, other))
    expect(take()).toEqual([{ type: 'peer-external-address', peer, address: one }, { type: 'peer-external-address', peer, address: other }])
    await external.storing({ type: 'peer-external-address', peer, address: third }, async () => { update(record(other, third), record(other)) })
    expect(take()).toEqual([])
    await expect(external.storing({ type: 'peer-external-address', peer, address: one }, async () => { throw new Error('full') })).rejects.toThrow('full')
    update(record(third, one), record(third))
    expect(take()).toHaveLength(1)
  })

  it('contains what the node throws', () => {
    const { events, external, errors } = node()
    expect(external).toBeDefined()
    events.safeDispatchEvent('transport:listening', { detail: {} as never })
    expect(errors).toHaveLength(1)
  })
})
