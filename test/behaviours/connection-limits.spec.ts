import { describe, expect, it } from 'vitest'
import { composeBehaviours } from '../../src/behaviour/compose.ts'
import { toggle } from '../../src/behaviour/toggle.ts'
import { connectionLimits } from '../../src/behaviours/connection-limits.ts'
import { GatedBehaviour } from '../support/gated-behaviour.ts'
import { ALICE, BOB, CAROL, NEVER_ABORTED, SOMEWHERE, VirtualWorld } from '../support/virtual-world.ts'
import type { PeerId } from '@libp2p/interface'
import type { PendingConnection } from '../../src/behaviour/network-behaviour.ts'
import type { ConnectionLimitsInit } from '../../src/behaviours/connection-limits.ts'

function nodeWith (init: ConnectionLimitsInit) {
  const world = new VirtualWorld()
  const alice = world.node(ALICE, { limits: connectionLimits(init) })
  return { world, alice, gates: alice.swarm.gates, limits: alice.behaviours.limits, bob: world.node(BOB, {}), carol: world.node(CAROL, {}) }
}

const attempt = (id: string, direction: 'inbound' | 'outbound', peer?: PeerId): PendingConnection =>
  ({ id, direction, addresses: [SOMEWHERE], peer, signal: NEVER_ABORTED })

const denial = (kind: string, limit: number, current: number, behaviour = 'limits') =>
  expect.objectContaining({ name: 'ConnectionDenied', behaviour, cause: expect.objectContaining({ name: 'LimitExceededError', kind, limit, current }) as unknown }) as unknown

describe('connectionLimits()', () => {
  it('limits nothing by itself, and reads its limits and counts', () => {
    const { world, alice, bob, limits } = nodeWith({})
    expect(new Set(Object.values(limits.limits))).toEqual(new Set([Infinity]))
    for (let at = 0; at < 100; at++) {
      world.connect(bob, alice, { id: `c${at}` })
    }
    expect(limits.counts).toEqual({ pendingIncoming: 0, pendingOutgoing: 0, establishedIncoming: 100, establishedOutgoing: 0, established: 100 })
    expect(limits.countOf(BOB)).toBe(100)
    expect([limits.counts, limits.limits, limits.bypassing].every(Object.isFrozen)).toBe(true)
  })

  it.each([
    { option: 'maxEstablishedIncoming', kind: 'established-inbound' },
    { option: 'maxEstablishedPerPeer', kind: 'per-peer' },
    { option: 'maxEstablished', kind: 'total' }
  ])('denies the connection above $option, and lets the next one in when one has closed', async ({ option, kind }) => {
    const { world, alice, bob, limits } = nodeWith({ [option]: 2 })
    const [connection] = world.connect(bob, alice)
    world.connect(bob, alice, { id: 'c2' })
    expect(() => world.connect(bob, alice, { id: 'c3' })).toThrow(denial(kind, 2, 2))
    connection.close()
    await world.settle()
    expect(limits.counts.established).toBe(1)
    world.connect(bob, alice, { id: 'c4' })
    expect(limits.countOf(BOB)).toBe(2)
  })

  it('counts per peer and direction', () => {
    const { world, alice, bob, carol, limits } = nodeWith({ maxEstablishedPerPeer: 1, maxEstablishedOutgoing: 1 })
    world.connect(bob, alice)
    expect(() => world.connect(bob, alice, { id: 'c2' })).toThrow(denial('per-peer', 1, 1))
    world.connect(alice, carol, { id: 'c3' })
    expect(() => world.connect(alice, carol, { id: 'c4' })).toThrow(denial('established-outbound', 1, 1))
    expect(limits.counts).toMatchObject({ establishedIncoming: 1, establishedOutgoing: 1, established: 2 })
  })

  it('denies attempts above the pending limits, and takes back those that come to nothing (S7.5)', () => {
    const { gates, limits } = nodeWith({ maxPendingIncoming: 1, maxPendingOutgoing: 1 })
    for (const [direction, kind] of [['inbound', 'pending-inbound'], ['outbound', 'pending-outbound']] as const) {
      expect(gates.checkPending(attempt(direction, direction))).toBe(undefined)
      expect(gates.commitPending(attempt(direction, direction))).toBe(undefined)
      expect(gates.checkPending(attempt('next', direction))).toEqual(denial(kind, 1, 1))
      // Checked before the other one was committed: what counts is the commit.
      expect(gates.commitPending(attempt('next', direction))).toEqual(denial(kind, 1, 1))
    }
    expect(limits.counts).toMatchObject({ pendingIncoming: 1, pendingOutgoing: 1 })
    gates.undo('inbound', undefined)
    gates.undo('outbound', undefined)
    expect(limits.counts).toMatchObject({ pendingIncoming: 0, pendingOutgoing: 0 })
  })

  it('counts an attempt as pending or as established, never as both', () => {
    const { world, alice, bob, gates, limits } = nodeWith({})
    gates.commitPending(attempt('c1', 'outbound', BOB))
    gates.commitEstablished({ id: 'c1', peer: BOB, direction: 'outbound', address: SOMEWHERE, limits: undefined, signal: NEVER_ABORTED })
    expect(limits.counts).toMatchObject({ pendingOutgoing: 0, establishedOutgoing: 1 })
    // Another address may still lead to the peer.
    gates.undoEstablished('c1', undefined)
    expect(limits.counts).toMatchObject({ pendingOutgoing: 1, establishedOutgoing: 0 })
    world.connect(alice, bob)
    expect(limits.counts).toMatchObject({ pendingOutgoing: 0, establishedOutgoing: 1 })
  })

  it('neither counts nor denies peers that bypass, from the start or later, and counts them again when that ends', () => {
    const { world, alice, bob, carol, gates, limits } = nodeWith({ maxEstablished: 1, maxPendingOutgoing: 0, bypass: [BOB] })
    world.connect(bob, alice)
    world.connect(bob, alice, { id: 'c2' })
    expect(limits.counts.established).toBe(0)
    expect(gates.checkPending(attempt('c9', 'outbound', BOB))).toBe(undefined)
    expect(gates.checkPending(attempt('c9', 'outbound', CAROL))).toEqual(denial('pending-outbound', 0, 0))
    expect(gates.checkPending(attempt('c9', 'outbound'))).toEqual(denial('pending-outbound', 0, 0))
    world.connect(carol, alice, { id: 'c3' })
    expect(() => world.connect(carol, alice, { id: 'c4' })).toThrow(denial('total', 1, 1))
    expect([limits.bypass(CAROL), limits.bypass(CAROL)]).toEqual([true, false])
    expect(limits.counts.established).toBe(0)
    expect(limits.bypassing).toEqual([BOB, CAROL])
    expect([limits.endBypass(BOB), limits.endBypass(BOB)]).toEqual([true, false])
    expect([limits.counts.established, limits.countOf(BOB), limits.countOf(CAROL)]).toEqual([2, 2, 0])
    expect(() => world.connect(bob, alice, { id: 'c5' })).toThrow(denial('total', 1, 2))
  })

  it('counts every inbound attempt as pending, whoever its address claims to be', () => {
    const { gates } = nodeWith({ maxPendingIncoming: 1, bypass: [BOB] })
    gates.commitPending(attempt('c1', 'inbound', BOB))
    expect(gates.checkPending(attempt('c2', 'inbound', BOB))).toEqual(denial('pending-inbound', 1, 1))
  })

  it('changes limits at run time, all or none; a lowered one closes nothing', () => {
    const { world, alice, bob, limits } = nodeWith({ maxEstablished: 5 })
    world.connect(bob, alice)
    world.connect(bob, alice, { id: 'c2' })
    limits.setLimits({ maxEstablished: 1, maxEstablishedPerPeer: undefined })
    expect(limits.limits).toMatchObject({ maxEstablished: 1, maxEstablishedPerPeer: Infinity })
    expect(limits.counts.established).toBe(2)
    expect(() => world.connect(bob, alice, { id: 'c3' })).toThrow(denial('total', 1, 2))
    expect(() => { limits.setLimits({ maxEstablished: 9, maxPendingIncoming: -1 }) }).toThrow(RangeError)
    expect(() => { limits.setLimits({ maxConnections: 9 } as object) }).toThrow(/maxConnections/)
    expect(() => { limits.setLimits(undefined as never) }).toThrow(TypeError)
    expect(limits.limits.maxEstablished).toBe(1)
    limits.setLimits({ maxEstablished: Infinity })
    world.connect(bob, alice, { id: 'c4' })
  })

  it('refuses options and peers that are none', () => {
    expect(() => connectionLimits({ maxEstablished: 1.5 })).toThrow(RangeError)
    expect(() => connectionLimits({ maxEstablished: '1' as never })).toThrow(TypeError)
    expect(() => connectionLimits({ max: 1 } as object)).toThrow(TypeError)
    expect(() => connectionLimits({ bypass: BOB as never })).toThrow(TypeError)
    expect(() => connectionLimits({ bypass: ['12D3Koo'] as never })).toThrow(TypeError)
    const { limits } = nodeWith({})
    expect(() => limits.bypass('12D3Koo' as never)).toThrow(TypeError)
    expect(() => limits.endBypass(undefined as never)).toThrow(TypeError)
    expect(() => new VirtualWorld().node(ALICE, { limits: connectionLimits as never })).toThrow(/connectionLimits was given uncalled/)
  })

  it('says in its message which option it was', () => {
    const { world, alice, bob } = nodeWith({ maxEstablishedPerPeer: 1 })
    world.connect(bob, alice)
    expect(() => world.connect(bob, alice, { id: 'c2' })).toThrow('Connection denied by "limits" (established, inbound): Cannot connect: connections to one peer must be at most 1 (maxEstablishedPerPeer), and there is 1')
  })

  it('works inside compositions and toggles; switched on, it aborts what is above the limit (S7.14)', async () => {
    const world = new VirtualWorld()
    const guard = new GatedBehaviour('guard')
    const alice = world.node(ALICE, { group: composeBehaviours({ limits: toggle(connectionLimits({ maxEstablished: 2 }), { enabled: false }), guard }) })
    const bob = world.node(BOB, {})
    for (const id of ['c1', 'c2', 'c3', 'c4']) {
      world.connect(bob, alice, { id })
    }
    const { limits } = alice.behaviours.group
    expect(limits.inner.counts.established).toBe(0)
    limits.enable()
    await world.settle()
    expect(limits.inner.counts.established).toBe(2)
    expect(alice.logOf('connection-closed').map(({ connection, cause }) => [connection, cause])).toEqual([
      ['c3', denial('total', 2, 2, '')], ['c4', denial('total', 2, 2, '')]
    ])
    expect(() => world.connect(bob, alice, { id: 'c5' })).toThrow(denial('total', 2, 2, 'group.limits'))
    expect(guard.held.filter((held) => held.endsWith('c5'))).toEqual([])
    limits.disable()
    world.connect(bob, alice, { id: 'c6' })
    expect(limits.inner.counts.established).toBe(2)
  })
})
