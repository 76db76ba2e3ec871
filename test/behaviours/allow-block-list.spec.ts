import { describe, expect, it } from 'vitest'
import { composeBehaviours } from '../../src/behaviour/compose.ts'
import { toggle } from '../../src/behaviour/toggle.ts'
import { allowList, blockList } from '../../src/behaviours/allow-block-list.ts'
import { ALICE, BOB, CAROL, NEVER_ABORTED, SOMEWHERE, VirtualWorld } from '../support/virtual-world.ts'
import type { PeerId } from '@libp2p/interface'
import type { Behaviours, EstablishedConnection, PendingConnection } from '../../src/behaviour/network-behaviour.ts'

function nodeWith<const Parts extends Behaviours> (parts: Parts) {
  const world = new VirtualWorld()
  const alice = world.node(ALICE, parts)
  return { world, alice, gates: alice.swarm.gates, behaviours: alice.behaviours, bob: world.node(BOB, {}), carol: world.node(CAROL, {}) }
}

const attempt = (direction: 'inbound' | 'outbound', peer?: PeerId): PendingConnection =>
  ({ id: 'c9', direction, addresses: [SOMEWHERE], peer, signal: NEVER_ABORTED })

const connection = (peer: PeerId, id = 'c9'): EstablishedConnection =>
  ({ id, peer, direction: 'inbound', address: SOMEWHERE, limits: undefined, signal: NEVER_ABORTED })

const denial = (name: string, peer: PeerId) =>
  expect.objectContaining({ name: 'ConnectionDenied', cause: expect.objectContaining({ name, peer }) as unknown }) as unknown

describe('blockList()', () => {
  it('closes the connections of a peer that is blocked in a stall (S8.3)', async () => {
    const { world, alice, bob, behaviours } = nodeWith({ blocked: blockList() })
    const [connection] = world.connect(alice, bob)
    await world.settle()
    alice.swarm.stall()
    behaviours.blocked.block(BOB)
    await world.settle()
    expect(connection.status.phase).not.toBe('open')
  })

  it('lets everybody in but those on it, and denies dials of them before they begin', () => {
    const { world, alice, bob, carol, gates } = nodeWith({ blocked: blockList({ peers: [BOB] }) })
    world.connect(carol, alice)
    expect(() => world.connect(bob, alice, { id: 'c2' })).toThrow(denial('PeerBlockedError', BOB))
    expect(gates.checkPending(attempt('outbound', BOB))).toEqual(denial('PeerBlockedError', BOB))
    expect(gates.commitPending(attempt('outbound', BOB))).toEqual(denial('PeerBlockedError', BOB))
    expect([gates.checkPending(attempt('outbound', CAROL)), gates.checkPending(attempt('outbound'))]).toEqual([undefined, undefined])
  })

  it('believes no address of an inbound connection, but the handshake', () => {
    const { gates } = nodeWith({ blocked: blockList({ peers: [BOB] }) })
    expect(gates.checkPending(attempt('inbound', BOB))).toBe(undefined)
    expect(gates.checkEstablished(connection(BOB))).toEqual(denial('PeerBlockedError', BOB))
  })

  it('aborts the connections of a peer that is blocked, all of them, with the cause', async () => {
    const { world, alice, bob, carol, behaviours } = nodeWith({ blocked: blockList() })
    world.connect(bob, alice)
    world.connect(alice, bob, { id: 'c2' })
    world.connect(carol, alice, { id: 'c3' })
    expect([behaviours.blocked.block(BOB), behaviours.blocked.block(BOB)]).toEqual([true, false])
    await world.settle()
    expect(alice.logOf('connection-closed')).toMatchObject(['c1', 'c2'].map((id) => ({ connection: id, reason: 'aborted', cause: { name: 'PeerBlockedError', peer: BOB } })))
    expect([...alice.swarm.connections()]).toHaveLength(1)
    expect(() => world.connect(bob, alice, { id: 'c4' })).toThrow(denial('PeerBlockedError', BOB))
    expect([behaviours.blocked.unblock(BOB), behaviours.blocked.unblock(BOB)]).toEqual([true, false])
    world.connect(bob, alice, { id: 'c5' })
    await world.settle()
    expect([...alice.swarm.connections()]).toHaveLength(2)
  })

  it('leaves alone who is unblocked again before anything happened', async () => {
    const { world, alice, bob, behaviours } = nodeWith({ blocked: blockList() })
    world.connect(bob, alice)
    behaviours.blocked.block(BOB)
    behaviours.blocked.unblock(BOB)
    await world.settle()
    expect(alice.logOf('connection-closed')).toEqual([])
  })

  it('aborts a connection whose peer is blocked between its last gate and its beginning', async () => {
    const { world, alice, bob, gates, behaviours } = nodeWith({ blocked: blockList() })
    alice.turn(() => { gates.commitEstablished(connection(BOB, 'c1')) })
    behaviours.blocked.block(BOB)
    await world.settle()
    world.connect(bob, alice)
    await world.settle()
    expect(alice.logOf('connection-closed')).toMatchObject([{ connection: 'c1', cause: { name: 'PeerBlockedError' } }])
  })

  it('denies at the commit who was blocked while another gate took its time', () => {
    const { gates, behaviours } = nodeWith({ blocked: blockList() })
    expect(gates.checkEstablished(connection(BOB))).toBe(undefined)
    behaviours.blocked.block(BOB)
    expect(gates.commitEstablished(connection(BOB))).toEqual(denial('PeerBlockedError', BOB))
  })

  it('lists its peers in order of addition, as a frozen array that is the same until it changes', () => {
    const { behaviours: { blocked } } = nodeWith({ blocked: blockList({ peers: [CAROL] }) })
    blocked.block(BOB)
    blocked.block(CAROL)
    const list = blocked.list()
    expect(list).toEqual([CAROL, BOB])
    expect(Object.isFrozen(list)).toBe(true)
    expect(blocked.list()).toBe(list)
    blocked.unblock(CAROL)
    blocked.block(CAROL)
    expect(blocked.list()).toEqual([BOB, CAROL])
    expect(list).toEqual([CAROL, BOB])
    expect([blocked.has(BOB), blocked.has(ALICE)]).toEqual([true, false])
  })
})

describe('allowList()', () => {
  it('lets in those on it only; an empty one nobody', () => {
    const { world, alice, bob, carol, gates, behaviours } = nodeWith({ friends: allowList() })
    expect(() => world.connect(bob, alice)).toThrow(denial('PeerNotAllowedError', BOB))
    expect([behaviours.friends.allow(BOB), behaviours.friends.allow(BOB)]).toEqual([true, false])
    world.connect(bob, alice, { id: 'c2' })
    expect(() => world.connect(carol, alice, { id: 'c3' })).toThrow(denial('PeerNotAllowedError', CAROL))
    expect(gates.checkPending(attempt('outbound', CAROL))).toEqual(denial('PeerNotAllowedError', CAROL))
    expect([gates.checkPending(attempt('outbound', BOB)), gates.checkPending(attempt('inbound'))]).toEqual([undefined, undefined])
  })

  it('aborts the connections of a peer that is taken off it', async () => {
    const { world, alice, bob, carol, behaviours } = nodeWith({ friends: allowList({ peers: new Set([BOB, CAROL]) }) })
    world.connect(bob, alice)
    world.connect(carol, alice, { id: 'c2' })
    expect([behaviours.friends.disallow(BOB), behaviours.friends.disallow(BOB)]).toEqual([true, false])
    await world.settle()
    expect(alice.logOf('connection-closed')).toMatchObject([{ connection: 'c1', reason: 'aborted', cause: { name: 'PeerNotAllowedError', peer: BOB } }])
    expect(behaviours.friends.list()).toEqual([CAROL])
    expect(behaviours.friends.has(BOB)).toBe(false)
  })
})

describe('both lists', () => {
  it('work side by side, in compositions and toggles, and each denial names its path', async () => {
    const { world, alice, bob, carol, behaviours } = nodeWith({
      access: composeBehaviours({ friends: allowList({ peers: [BOB, CAROL] }), blocked: toggle(blockList({ peers: [BOB] }), { enabled: false }) })
    })
    const { friends, blocked } = behaviours.access
    world.connect(bob, alice)
    world.connect(carol, alice, { id: 'c2' })
    blocked.inner.block(CAROL)
    await world.settle()
    expect(alice.logOf('connection-closed')).toEqual([])
    blocked.enable()
    await world.settle()
    expect(alice.logOf('connection-closed').map(({ connection }) => connection)).toEqual(['c1', 'c2'])
    expect(() => world.connect(bob, alice, { id: 'c3' })).toThrow(expect.objectContaining({ behaviour: 'access.blocked' }))
    friends.disallow(BOB)
    expect(() => world.connect(bob, alice, { id: 'c4' })).toThrow(expect.objectContaining({ behaviour: 'access.friends' }))
    blocked.disable()
    world.connect(carol, alice, { id: 'c5' })
    blocked.inner.unblock(CAROL)
    blocked.enable()
    await world.settle()
    expect([...alice.swarm.connections()].map(({ id }) => id)).toEqual(['c5'])
  })

  it('refuse what is no peer, and options that are none', () => {
    for (const make of [allowList, blockList]) {
      expect(() => make({ peers: BOB as never })).toThrow(TypeError)
      expect(() => make({ peers: ['12D3Koo'] as never })).toThrow(TypeError)
      expect(() => make({ peers: 'all' as never })).toThrow(TypeError)
      expect(() => make({ allowed: [] } as object)).toThrow(TypeError)
      expect(() => make([BOB] as object)).toThrow(TypeError)
      expect(() => new VirtualWorld().node(ALICE, { list: make as never })).toThrow(/uncalled/)
    }
    expect(() => allowList().allow('x' as never)).toThrow(TypeError)
    expect(() => allowList().disallow('x' as never)).toThrow(TypeError)
    expect(() => blockList().block('x' as never)).toThrow(TypeError)
    expect(() => blockList().unblock('x' as never)).toThrow(TypeError)
    expect(() => blockList().has('x' as never)).toThrow(TypeError)
  })

  it('may be changed from inside a callback that their own change led to', async () => {
    const { world, alice, bob, behaviours } = nodeWith({
      blocked: blockList(),
      other: { commitEstablished: () => undefined, onSwarmEvent: ({ type }: { type: string }) => { if (type === 'connection-closed') { behaviours.blocked.unblock(BOB) } } }
    })
    world.connect(bob, alice)
    behaviours.blocked.block(BOB)
    await world.settle()
    expect(behaviours.blocked.list()).toEqual([])
    world.connect(bob, alice, { id: 'c2' })
    await world.settle()
    expect([...alice.swarm.connections()]).toHaveLength(1)
  })
})
