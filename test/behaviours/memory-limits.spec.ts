import { describe, expect, it } from 'vitest'
import { composeBehaviours } from '../../src/behaviour/compose.ts'
import { toggle } from '../../src/behaviour/toggle.ts'
import { memoryLimits } from '../../src/behaviours/memory-limits.ts'
import { ALICE, BOB, NEVER_ABORTED, SOMEWHERE, VirtualWorld } from '../support/virtual-world.ts'
import type { PendingConnection } from '../../src/behaviour/network-behaviour.ts'
import type { MemoryLimitsInit } from '../../src/behaviours/memory-limits.ts'

/** Memory that a test uses. */
class Memory {
  bytes: unknown
  reads = 0
  readonly usage = (): number => {
    this.reads++
    if (this.bytes instanceof Error) {
      throw this.bytes
    }
    return this.bytes as number
  }

  constructor (bytes: unknown) {
    this.bytes = bytes
  }
}

function nodeWith (bytes: unknown, init: Partial<MemoryLimitsInit> = {}) {
  const world = new VirtualWorld()
  const memory = new Memory(bytes)
  const alice = world.node(ALICE, { memory: memoryLimits({ maxBytes: 1000, usage: memory.usage, ...init }) })
  let made = 0
  const bob = world.node(BOB, {})
  const connect = () => world.connect(bob, alice, { id: `c${made++}` })
  return { world, memory, alice, gates: alice.swarm.gates, limits: alice.behaviours.memory, connect }
}

const ATTEMPT: PendingConnection = { id: 'a1', direction: 'outbound', addresses: [SOMEWHERE], peer: BOB, signal: NEVER_ABORTED }

const denial = (usedBytes: number, maxBytes: number, behaviour = 'memory') =>
  expect.objectContaining({ name: 'ConnectionDenied', behaviour, cause: expect.objectContaining({ name: 'MemoryLimitError', usedBytes, maxBytes }) as unknown }) as unknown

describe('memoryLimits()', () => {
  it('denies connections at both gates while maxBytes or more are used, and lets them in otherwise', async () => {
    const { world, memory, gates, limits, connect } = nodeWith(999)
    expect(limits.usedBytes).toBe(undefined)
    expect(gates.checkPending(ATTEMPT)).toBe(undefined)
    const [connection] = connect()
    expect(limits.usedBytes).toBe(999)
    memory.bytes = 1000
    await world.advance(100)
    expect(gates.checkPending(ATTEMPT)).toEqual(denial(1000, 1000))
    expect(gates.commitPending(ATTEMPT)).toEqual(denial(1000, 1000))
    expect(gates.checkEstablished({ id: 'a1', peer: BOB, direction: 'inbound', address: SOMEWHERE, limits: undefined, signal: NEVER_ABORTED })).toEqual(denial(1000, 1000))
    memory.bytes = 10
    await world.advance(100)
    connect()
    expect(connection.status.phase).toBe('open')
  })

  it('reads once in sampleIntervalMs, however many connect, and not at all when nobody does', async () => {
    const { world, memory, alice, gates } = nodeWith(1, { sampleIntervalMs: 50 })
    await world.advance(1000)
    expect([memory.reads, alice.swarm.pollTimeout()]).toEqual([0, Infinity])
    for (let at = 0; at < 100; at++) {
      gates.checkPending(ATTEMPT)
      if (at % 10 === 0) {
        await world.settle()
      }
    }
    expect(memory.reads).toBe(1)
    await world.advance(49)
    gates.checkPending(ATTEMPT)
    expect(memory.reads).toBe(1)
    await world.advance(1)
    gates.checkPending(ATTEMPT)
    expect(memory.reads).toBe(2)
    await world.advance(1000)
    expect([memory.reads, alice.swarm.pollTimeout()]).toEqual([2, Infinity])
  })

  it('reads every time with sampleIntervalMs 0', async () => {
    const { world, memory, gates } = nodeWith(1, { sampleIntervalMs: 0 })
    for (let at = 0; at < 5; at++) {
      gates.checkPending(ATTEMPT)
      await world.settle()
    }
    expect(memory.reads).toBe(5)
  })

  it('has a limit that may be changed', async () => {
    const { gates, limits } = nodeWith(500)
    limits.setMaxBytes(500)
    expect(limits.maxBytes).toBe(500)
    expect(gates.checkPending(ATTEMPT)).toEqual(denial(500, 500))
    limits.setMaxBytes(Infinity)
    expect(gates.checkPending(ATTEMPT)).toBe(undefined)
    expect(() => { limits.setMaxBytes(0) }).toThrow(RangeError)
    expect(() => { limits.setMaxBytes(NaN) }).toThrow(RangeError)
    expect(() => { limits.setMaxBytes('1' as never) }).toThrow(TypeError)
    expect(limits.maxBytes).toBe(Infinity)
  })

  it.each([
    { what: 'throws', bytes: new Error('no such thing'), message: 'no such thing' },
    { what: 'gives NaN', bytes: NaN, message: 'NaN' },
    { what: 'gives no number', bytes: undefined, message: 'undefined' }
  ])('denies, and reports it, when usage $what; it reads no more often for that', async ({ bytes, message }) => {
    const { world, memory, alice, gates, limits } = nodeWith(bytes)
    for (let at = 0; at < 3; at++) {
      expect(gates.checkPending(ATTEMPT)).toMatchObject({ name: 'ConnectionDenied', cause: { message: expect.stringContaining(message) as string } })
    }
    await world.settle()
    expect([memory.reads, limits.usedBytes]).toEqual([1, undefined])
    expect(alice.logOf('handler-error')[0]).toMatchObject({ behaviour: 'memory', method: 'checkPending' })
    memory.bytes = 1
    await world.advance(100)
    expect(gates.checkPending(ATTEMPT)).toBe(undefined)
  })

  it('works inside compositions and toggles', async () => {
    const world = new VirtualWorld()
    const memory = new Memory(2000)
    const alice = world.node(ALICE, { group: composeBehaviours({ memory: toggle(memoryLimits({ maxBytes: 1000, usage: memory.usage }), { enabled: false }) }) })
    const bob = world.node(BOB, {})
    world.connect(bob, alice)
    expect(memory.reads).toBe(0)
    alice.behaviours.group.memory.enable()
    await world.settle()
    expect(alice.logOf('connection-closed')).toMatchObject([{ reason: 'aborted', cause: { name: 'ConnectionDenied', cause: { name: 'MemoryLimitError' } } }])
    expect(() => world.connect(bob, alice, { id: 'c2' })).toThrow(denial(2000, 1000, 'group.memory'))
    alice.behaviours.group.memory.disable()
    world.connect(bob, alice, { id: 'c3' })
  })

  it('refuses options that are missing or none', () => {
    const usage = () => 1
    expect(() => memoryLimits({ usage } as never)).toThrow(/maxBytes/)
    expect(() => memoryLimits({ maxBytes: 1 } as never)).toThrow(/process\.memoryUsage\.rss/)
    expect(() => memoryLimits({ maxBytes: 0, usage })).toThrow(RangeError)
    expect(() => memoryLimits({ maxBytes: 1, usage, sampleIntervalMs: -1 })).toThrow(RangeError)
    expect(() => memoryLimits({ maxBytes: 1, usage, maxFraction: 1 } as never)).toThrow(TypeError)
    expect(() => memoryLimits(undefined as never)).toThrow(TypeError)
    expect(() => new VirtualWorld().node(ALICE, { memory: memoryLimits as never })).toThrow(/memoryLimits was given uncalled/)
  })
})
