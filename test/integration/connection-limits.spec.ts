import { afterEach, describe, expect, it } from 'vitest'
import { composeBehaviours, toggle } from 'libp2p-behaviours'
import { allowList, blockList } from 'libp2p-behaviours/allow-block-list'
import { connectionLimits } from 'libp2p-behaviours/connection-limits'
import { memoryLimits } from 'libp2p-behaviours/memory-limits'
import { seededRandom } from 'libp2p-behaviours/testing'
import { eventOf, until, within } from '../support/deadline.ts'
import { ANY_STACK, STACKS, connect, connectionTo, stockNode, stopNodes, swarmNode } from '../support/nodes.ts'
import type { Libp2p } from '@libp2p/interface'
import type { ConnectionLimitsInit } from 'libp2p-behaviours/connection-limits'
import type { Stack } from '../support/nodes.ts'

afterEach(stopNodes)

const ZERO = { pendingIncoming: 0, pendingOutgoing: 0, establishedIncoming: 0, establishedOutgoing: 0, established: 0 }

const limited = async (stack: Stack, init: ConnectionLimitsInit) => await swarmNode(stack, { behaviours: { limits: connectionLimits(init) } })

/** A second connection; the host would give the first one. */
const again = async (from: Libp2p, to: Libp2p) => await from.dial(to.getMultiaddrs(), { force: true })

describe.each(STACKS)('connectionLimits() over %s', (stack) => {
  it('lets in as many as may be, says why not, and counts right in the end', async () => {
    const [alice, bob] = await Promise.all([limited(stack, { maxEstablishedIncoming: 1, maxPendingOutgoing: 5 }), stockNode(stack)])
    const { swarm } = alice.services
    await connect(bob, alice)
    await within('the connection', connectionTo(alice, bob.peerId))
    expect(swarm.behaviours.limits.counts).toEqual({ ...ZERO, establishedIncoming: 1, established: 1 })
    const denied = eventOf<CustomEvent>(swarm, 'connection:denied')
    await again(bob, alice).catch(() => undefined)
    expect((await denied).detail).toMatchObject({
      behaviour: 'limits', stage: 'established', direction: 'inbound', cause: { name: 'LimitExceededError', kind: 'established-inbound', limit: 1, current: 1 }
    })
    await until('nothing is left of the attempt', () => swarm.behaviours.limits.counts.pendingIncoming === 0)
    swarm.behaviours.limits.bypass(bob.peerId)
    await again(bob, alice)
    await until('both are there', () => swarm.connections.length === 2)
    expect(swarm.behaviours.limits.counts).toEqual(ZERO)
    swarm.behaviours.limits.endBypass(bob.peerId)
    expect(swarm.behaviours.limits.counts).toEqual({ ...ZERO, establishedIncoming: 2, established: 2 })
    await swarm.disconnect(bob.peerId)
    await until('they have gone', () => swarm.behaviours.limits.counts.established === 0)
    expect(swarm.behaviours.limits.counts).toEqual(ZERO)
  })

  it('denies dials with a typed cause, and counts those that fail no longer', async () => {
    const [alice, bob] = await Promise.all([limited(stack, { maxEstablishedOutgoing: 0 }), stockNode(stack)])
    const { swarm } = alice.services
    await expect(swarm.dial(bob.getMultiaddrs())).rejects.toMatchObject({
      name: 'DialFailureError', kind: 'denied', cause: { name: 'ConnectionDenied', behaviour: 'limits', cause: { name: 'LimitExceededError', kind: 'established-outbound' } }
    })
    await until('nothing is left', () => Object.values(swarm.behaviours.limits.counts).every((count) => count === 0))
    swarm.behaviours.limits.setLimits({ maxPendingOutgoing: 0, maxEstablishedOutgoing: 1 })
    await expect(swarm.dial(bob.getMultiaddrs())).rejects.toMatchObject({ kind: 'denied', cause: { stage: 'pending', cause: { kind: 'pending-outbound' } } })
    await expect(connect(alice, bob)).rejects.toMatchObject({ name: 'DialDeniedError' })
    swarm.behaviours.limits.setLimits({ maxPendingOutgoing: 1 })
    await swarm.dial(bob.getMultiaddrs())
    expect(swarm.behaviours.limits.counts).toEqual({ ...ZERO, establishedOutgoing: 1, established: 1 })
  })
})

describe('connectionLimits() with attempts that fail in every way', () => {
  it.each(['memory, plaintext, yamux', 'tcp, noise, yamux'] as const)('is never passed, and counts right in the end, over %s', { timeout: 60_000 }, async (stack) => {
    const random = seededRandom(7)
    const below = (limit: number) => Math.floor(random() * limit)
    const pause = async (maxMs: number) => await new Promise((resolve) => { setTimeout(resolve, below(maxMs)) })
    const slowly = async () => { await pause(5); return undefined }
    const alice = await swarmNode(stack, {
      behaviours: {
        limits: toggle(connectionLimits({ maxPendingIncoming: 4, maxPendingOutgoing: 4, maxEstablishedPerPeer: 2, maxEstablished: 4 })),
        slow: { checkPending: slowly, checkEstablished: slowly, commitEstablished: () => undefined }
      }
    })
    const others = [await stockNode(stack), await stockNode(stack), await stockNode(stack)]
    const { swarm } = alice.services
    const { limits } = swarm.behaviours
    const attempts: Array<Promise<'done' | 'failed'>> = []
    const attempt = (outcome: Promise<unknown>) => { attempts.push(outcome.then(() => 'done', () => 'failed')) }
    for (let at = 0; at < 120; at++) {
      const other = others[below(3)]!
      const signal = AbortSignal.timeout(1 + below(random() < 0.5 ? 60 : 5000))
      const connection = swarm.connections[below(4)]
      const kind = below(10)
      if (kind < 3) {
        attempt(other.dial(alice.getMultiaddrs(), { force: true, signal }))
      } else if (kind < 7) {
        attempt(swarm.dial(other.getMultiaddrs(), { condition: 'always', signal }))
      } else if (kind < 8) {
        attempt(alice.dial(other.getMultiaddrs(), { force: true, signal }))
      } else if (kind < 9) {
        connection?.host.abort(new Error('cut'))
      } else if (connection !== undefined) {
        attempt(connection.close())
      }
      if (at % 40 === 20) {
        limits.disable()
      } else if (at % 40 === 25) {
        limits.enable()
      }
      await pause(15)
      expect(limits.inner.counts.established).toBeLessThanOrEqual(4)
    }
    expect(new Set(await Promise.all(attempts))).toEqual(new Set(['done', 'failed']))
    await until('nothing is pending', () => limits.inner.counts.pendingIncoming + limits.inner.counts.pendingOutgoing === 0)
    await until('each connection is counted', () => limits.inner.counts.established === swarm.connections.length)
    await Promise.all(others.map(async ({ peerId }) => { await swarm.disconnect(peerId) }))
    await until('none is left', () => limits.inner.counts.established === 0)
    expect(limits.inner.counts).toEqual(ZERO)
  })
})

describe.each(STACKS)('allowList() and blockList() over %s', (stack) => {
  it('close live connections, keep peers out, and let them in again', async () => {
    const [alice, bob] = await Promise.all([swarmNode(stack, { behaviours: { blocked: blockList() } }), stockNode(stack)])
    const { swarm } = alice.services
    await connect(bob, alice)
    await within('the connection', connectionTo(alice, bob.peerId))
    const closed = eventOf<CustomEvent>(swarm, 'connection:close')
    swarm.behaviours.blocked.block(bob.peerId)
    expect((await closed).detail).toMatchObject({ reason: 'aborted', cause: { name: 'PeerBlockedError' } })
    await until('bob has noticed', () => bob.getConnections().length === 0)
    const denied = eventOf<CustomEvent>(swarm, 'connection:denied')
    await connect(bob, alice).catch(() => undefined)
    expect((await denied).detail).toMatchObject({ behaviour: 'blocked', stage: 'established', direction: 'inbound', cause: { peer: bob.peerId } })
    await expect(swarm.dial(bob.getMultiaddrs())).rejects.toMatchObject({ kind: 'denied', cause: { behaviour: 'blocked', stage: 'pending', cause: { name: 'PeerBlockedError' } } })
    swarm.behaviours.blocked.unblock(bob.peerId)
    await swarm.dial(bob.getMultiaddrs())
    expect(swarm.connections).toHaveLength(1)
  })

  it('end a dial that was under way when its peer was refused', async () => {
    const [alice, bob] = await Promise.all([swarmNode(stack, { behaviours: { friends: allowList() } }), stockNode(stack)])
    const { swarm } = alice.services
    const { friends } = swarm.behaviours
    friends.allow(bob.peerId)
    const dial = swarm.dial(bob.getMultiaddrs())
    friends.disallow(bob.peerId)
    await expect(dial).rejects.toMatchObject({ name: 'DialFailureError', kind: 'denied', cause: { cause: { name: 'PeerNotAllowedError' } } })
    await until('nothing is left', () => alice.getConnections().length === 0)
  })
})

describe.each(STACKS)('memoryLimits() over %s', (stack) => {
  it('keeps everybody out while too much is used, and nobody else', async () => {
    let used = 10
    const [alice, bob] = await Promise.all([
      swarmNode(stack, { behaviours: { memory: memoryLimits({ maxBytes: 100, usage: () => used, sampleIntervalMs: 0 }) } }), stockNode(stack)
    ])
    const { swarm } = alice.services
    await connect(bob, alice)
    await within('the connection', connectionTo(alice, bob.peerId))
    used = 100
    const denied = eventOf<CustomEvent>(swarm, 'connection:denied')
    await again(bob, alice).catch(() => undefined)
    expect((await denied).detail).toMatchObject({ behaviour: 'memory', stage: 'pending', cause: { name: 'MemoryLimitError', usedBytes: 100, maxBytes: 100 } })
    await expect(swarm.dial(bob.getMultiaddrs(), { condition: 'always' })).rejects.toMatchObject({ kind: 'denied', cause: { cause: { name: 'MemoryLimitError' } } })
    expect(swarm.connections).toHaveLength(1)
    swarm.behaviours.memory.setMaxBytes(101)
    await again(bob, alice)
    await until('both are there', () => swarm.connections.length === 2)
  })

  it('reads the memory of this process', async () => {
    const usage = () => process.memoryUsage.rss()
    const [alice, bob] = await Promise.all([swarmNode(stack, { behaviours: { memory: memoryLimits({ maxBytes: 1, usage }) } }), stockNode(stack)])
    await expect(alice.services.swarm.dial(bob.getMultiaddrs())).rejects.toMatchObject({ kind: 'denied' })
    expect(alice.services.swarm.behaviours.memory.usedBytes).toBeGreaterThan(1_000_000)
  })
})

describe('limits and lists together', () => {
  it('keep 50 connections in order', { timeout: 60_000 }, async () => {
    let used = 1
    const bob = await swarmNode(ANY_STACK, {
      behaviours: {
        limits: connectionLimits({ maxEstablished: 50 }),
        access: composeBehaviours({ blocked: toggle(blockList()), memory: memoryLimits({ maxBytes: 2, usage: () => used, sampleIntervalMs: 0 }) })
      }
    })
    const { swarm } = bob.services
    const { limits, access } = swarm.behaviours
    const causes: string[] = []
    swarm.addEventListener('connection:denied', ({ detail }) => { causes.push(`${detail.behaviour} ${detail.cause.name}`) })
    const alice = await stockNode(ANY_STACK)
    for (let at = 0; at < 50; at++) {
      await again(alice, bob)
    }
    await until('all are there', () => limits.counts.established === 50)
    await again(alice, bob).catch(() => undefined)
    await until('one was too many', () => causes.length === 1)
    used = 2
    await again(alice, bob).catch(() => undefined)
    await until('there is no memory', () => causes.length === 2)
    used = 1
    access.blocked.inner.block(alice.peerId)
    await until('all have gone', () => limits.counts.established === 0 && bob.getConnections().length === 0)
    await again(alice, bob).catch(() => undefined)
    await until('none comes in', () => causes.length === 3)
    expect(causes).toEqual(['limits LimitExceededError', 'access.memory MemoryLimitError', 'access.blocked PeerBlockedError'])
    await until('nothing is left', () => limits.counts.pendingIncoming === 0)
    expect(limits.counts).toEqual(ZERO)
    access.blocked.disable()
    await again(alice, bob)
    await until('one is there', () => limits.counts.established === 1)
  })
})
