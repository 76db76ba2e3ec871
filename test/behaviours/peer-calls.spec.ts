/** Calls to peers that are not connected yet (S7.17), in virtual time. */

import { describe, expect, it } from 'vitest'
import { toggle } from '../../src/behaviour/toggle.ts'
import { protocolBehaviour } from '../../src/behaviours/protocol-behaviour.ts'
import { requestResponse } from '../../src/behaviours/request-response.ts'
import { RecordingBehaviour } from '../support/recording-behaviour.ts'
import { ALICE, BOB, VirtualWorld } from '../support/virtual-world.ts'
import type { Dial } from '../../src/behaviour/to-swarm.ts'

const opener = (runOnLimitedConnection = true) => protocolBehaviour({ protocols: '/p', inbound: () => {}, runOnLimitedConnection, commands: ({ open }) => ({ open }) })

function pair () {
  const world = new VirtualWorld()
  const alice = world.node(ALICE, { opener: opener(false), files: requestResponse({ protocols: '/f', serve: (request) => request }) })
  const bob = world.node(BOB, { opener: opener(), files: requestResponse({ protocols: '/f', serve: (request) => request }) })
  const dials: Dial[] = []
  alice.onDial = (dial) => { dials.push(dial) }
  return { world, alice, bob, dials }
}

describe('a call to a peer without a connection', () => {
  it('dials once for all who wait, and is made when the peer is there', async () => {
    const { world, alice, bob, dials } = pair()
    const calls = [alice.behaviours.opener.open(BOB), alice.behaviours.opener.open(BOB), alice.behaviours.files.request(BOB, Uint8Array.of(1))] as const
    await world.settle()
    expect(dials).toEqual([{ type: 'dial', target: BOB, condition: 'disconnected' }, { type: 'dial', target: BOB, condition: 'disconnected' }])
    world.connect(alice, bob)
    await world.settle()
    const [one, other, answer] = await Promise.all(calls)
    expect([one.protocol, other.protocol, answer]).toEqual(['/p', '/p', Uint8Array.of(1)])
  })

  it('fails with the dial, but not because of a condition of somebody else', async () => {
    const { world, alice } = pair()
    const failed = expect(alice.behaviours.opener.open(BOB)).rejects.toMatchObject({ name: 'NotConnectedError', cause: { name: 'DialFailureError', kind: 'transport' } })
    await world.settle()
    alice.failDial(BOB, 'condition-false')
    alice.failDial(ALICE, 'transport')
    alice.failDial(BOB, 'transport')
    await failed
    const again = expect(alice.behaviours.opener.open(BOB)).rejects.toMatchObject({ name: 'NotConnectedError' })
    await world.settle()
    alice.failDial(BOB, 'no-addresses')
    await again
  })

  it('fails when the connection is one that the behaviour does not run on', async () => {
    const { world, alice, bob } = pair()
    const failed = expect(alice.behaviours.opener.open(BOB)).rejects.toMatchObject({ name: 'NotConnectedError' })
    await world.settle()
    world.connect(alice, bob, { limits: {} })
    await failed
    await expect(alice.behaviours.opener.open(BOB)).rejects.toMatchObject({ name: 'NotConnectedError' })
  })

  it('ends by its signal and its time while it waits, and then no stream is opened', async () => {
    const { world, alice, bob } = pair()
    const controller = new AbortController()
    const aborted = expect(alice.behaviours.opener.open(BOB, { signal: controller.signal })).rejects.toMatchObject({
      name: 'AbortError', phase: 'queue', peer: BOB, message: `Cannot open stream: the signal aborted (phase queue, peer ${BOB.toString()})`
    })
    const late = expect(alice.behaviours.opener.open(BOB, { timeoutMs: 50 })).rejects.toMatchObject({ name: 'TimeoutError' })
    const request = expect(alice.behaviours.files.request(BOB, new Uint8Array(1), { timeoutMs: 50 })).rejects.toMatchObject({ name: 'TimeoutError' })
    await world.settle()
    controller.abort()
    await world.advance(50)
    await Promise.all([aborted, late, request])
    const [connection] = world.connect(alice, bob)
    await world.settle()
    expect(connection.streams).toEqual([])
  })
})

describe('a call in a stall (S8.3)', () => {
  it('ends by its time and its signal, though nobody takes events', async () => {
    const { world, alice, bob } = pair()
    world.connect(alice, bob)
    await world.settle()
    alice.swarm.stall()
    const controller = new AbortController()
    const late = expect(alice.behaviours.files.request(BOB, new Uint8Array(1), { timeoutMs: 50 })).rejects.toMatchObject({ name: 'TimeoutError' })
    const aborted = expect(alice.behaviours.files.request(BOB, new Uint8Array(1), { signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError' })
    await world.advance(50)
    controller.abort()
    await Promise.all([late, aborted])
  })
})

describe('a connection that comes to nothing', () => {
  it('is no longer one of the behaviour', async () => {
    const world = new VirtualWorld()
    const strict = { isStrict: true, checkEstablished: () => undefined, commitEstablished: () => { if (strict.isStrict) { throw new Error('no') } return undefined } }
    const alice = world.node(ALICE, { opener: opener(), files: requestResponse({ protocols: '/f' }), strict })
    expect(() => alice.establish('c1', BOB, 'inbound', undefined, {})).toThrow('no')
    const failed = expect(alice.behaviours.opener.open(BOB)).rejects.toMatchObject({ name: 'NotConnectedError', cause: { kind: 'no-addresses' } })
    await world.settle()
    await failed
  })
})

describe('a call whose message never reached its handler (S7.11)', () => {
  it('fails with kind limit when too many wait for the handler', async () => {
    const { world, alice, bob } = pair()
    const [connection] = world.connect(alice, bob, { init: { maxQueuedBehaviourEvents: 2 } })
    await world.settle()
    const calls = Array.from({ length: 4 }, async () => await alice.behaviours.opener.open(BOB))
    const outcomes = Promise.allSettled(calls)
    await world.settle()
    const failed = (await outcomes).filter(({ status }) => status === 'rejected')
    expect(failed).toHaveLength(2)
    expect(failed).toMatchObject(failed.map(() => ({ reason: { name: 'StreamUpgradeError', kind: 'limit' } })))
    expect(connection.streams).toHaveLength(2)
  })

  it('fails with kind aborted when the behaviour is switched off meanwhile', async () => {
    const world = new VirtualWorld()
    const other = new RecordingBehaviour()
    const alice = world.node(ALICE, { opener: toggle(opener()), other })
    const [connection] = world.connect(alice, world.node(BOB, { opener: opener() }))
    await world.settle()
    const failed = expect(alice.behaviours.opener.inner.open(BOB)).rejects.toMatchObject({ name: 'StreamUpgradeError', kind: 'aborted' })
    // Polled when the message has been handed to the connection, and before the handler sees it.
    other.onPoll = () => { alice.behaviours.opener.disable() }
    other.emit('now')
    await world.settle()
    await failed
    expect(connection.streams).toEqual([])
  })
})
