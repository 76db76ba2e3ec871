import { KEEP_ALIVE, TypedEventEmitter } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { describe, expect, it } from 'vitest'
import { feedIdentify } from '../../src/libp2p/identify-feed.ts'
import { listenToHost } from '../../src/libp2p/host-listener.ts'
import { ListenAddresses } from '../../src/libp2p/listen-addresses.ts'
import { followPeerTags, readPeerTags } from '../../src/libp2p/peer-tags.ts'
import type { Libp2pEvents, Peer, PeerStore } from '@libp2p/interface'

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
