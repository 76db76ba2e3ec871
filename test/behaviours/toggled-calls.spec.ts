/** What a behaviour wants while its switch is off (S7.14), in virtual time. */

import { multiaddr } from '@multiformats/multiaddr'
import { beforeEach, describe, expect, it } from 'vitest'
import { toggle } from '../../src/behaviour/toggle.ts'
import { protocolBehaviour } from '../../src/behaviours/protocol-behaviour.ts'
import { RecordingBehaviour } from '../support/recording-behaviour.ts'
import { ALICE, BOB, VirtualWorld } from '../support/virtual-world.ts'
import type { Dial } from '../../src/behaviour/to-swarm.ts'

const opener = () => protocolBehaviour({ protocols: '/p', inbound: () => {}, commands: ({ open }) => ({ open }) })

describe('a call of a behaviour that is off (S7.14)', () => {
  const ways = [
    { name: 'switched off before the connection', isEarly: true },
    { name: 'switched off on it', isEarly: false }
  ]
  it.each(ways)('fails at once and says so: $name', async ({ isEarly }) => {
    const world = new VirtualWorld()
    const alice = world.node(ALICE, { it: toggle(opener(), { enabled: !isEarly }) })
    const [, far] = world.connect(alice, world.node(BOB, { opener: opener() }))
    await world.settle()
    alice.behaviours.it.disable()
    // On the connection it is not part of it has to dial, which it may not either.
    const failed = expect(alice.behaviours.it.inner.open(BOB)).rejects.toSatisfy((error: Error) => /disabled/.test(`${error.message} ${error.cause instanceof Error ? error.cause.message : ''}`))
    await world.settle()
    await failed
    expect(far.streams).toEqual([])
    alice.behaviours.it.enable()
    await world.settle()
    const stream = alice.behaviours.it.inner.open(BOB)
    await world.settle()
    expect((await stream).protocol).toBe('/p')
  })

  it('does not dial, and fails with a dial that was aborted', async () => {
    const world = new VirtualWorld()
    const alice = world.node(ALICE, { it: toggle(opener(), { enabled: false }) })
    const dials: Dial[] = []
    alice.onDial = (dial) => { dials.push(dial) }
    const failed = expect(alice.behaviours.it.inner.open(BOB)).rejects.toMatchObject({
      name: 'NotConnectedError', cause: { name: 'DialFailureError', kind: 'aborted', cause: { name: 'AbortError', message: 'The behaviour is disabled' } }
    })
    await world.settle()
    await failed
    expect(dials).toEqual([])
  })

  it('that waits when it is switched off still ends by its time and its signal', async () => {
    const world = new VirtualWorld()
    const alice = world.node(ALICE, { it: toggle(opener()) })
    alice.onDial = () => {}
    const controller = new AbortController()
    const late = expect(alice.behaviours.it.inner.open(BOB, { timeoutMs: 50 })).rejects.toMatchObject({ name: 'TimeoutError' })
    const aborted = expect(alice.behaviours.it.inner.open(BOB, { signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError' })
    await world.settle()
    alice.behaviours.it.disable()
    await world.advance(50)
    controller.abort()
    await Promise.all([late, aborted])
  })
})

describe('what else a behaviour wants while it is off (S7.9, S7.14)', () => {
  let inner: RecordingBehaviour
  let world: VirtualWorld
  beforeEach(() => {
    inner = new RecordingBehaviour()
    world = new VirtualWorld()
  })

  it('is refused where it has an outcome: messages, dials and listeners', async () => {
    const address = multiaddr('/memory/here')
    const node = world.node(ALICE, { it: toggle(inner, { enabled: false }) })
    inner.push(
      { type: 'notify-handler', peer: BOB, connection: 'any', event: 'hello', token: 7 },
      { type: 'dial', target: [address] }, { type: 'dial', target: address },
      { type: 'listen-on', address }, { type: 'remove-listener', address }
    )
    await world.settle()
    const error = { name: 'AbortError', message: 'The behaviour is disabled' }
    expect(inner.swarmEvents).toMatchObject([
      { type: 'handler-notified', token: 7, delivered: false, reason: 'disabled', event: 'hello' },
      { type: 'dial-failure', peer: undefined, kind: 'aborted', errors: [{ address, error }], cause: error },
      { type: 'dial-failure', peer: undefined, kind: 'aborted', errors: [{ address, error }], cause: error },
      { type: 'listener-error', address, error }, { type: 'listener-error', address, error }
    ])
    expect(node.log).toEqual([])
  })

  it('waits, in order and in bounds, where it has none', async () => {
    const node = world.node(ALICE, { it: toggle(inner, { enabled: false }) })
    const events = Array.from({ length: 1020 }, (_, at) => at)
    inner.emit(...events)
    await world.settle()
    inner.emit(...events)
    await world.settle()
    expect(node.events).toEqual([])
    const before = inner.polls
    inner.cx?.wake()
    await world.settle()
    expect(inner.polls).toBe(before)
    node.behaviours.it.enable()
    await world.settle()
    expect(node.events.map(({ event }) => event)).toEqual([...events, ...events])
  })

  it('does not matter when it throws: the fault is reported', async () => {
    inner.onPoll = () => { throw new Error('no') }
    const node = world.node(ALICE, { it: toggle(inner, { enabled: false }) })
    inner.cx?.wake()
    await world.settle()
    expect(node.log[0]).toMatchObject({ type: 'handler-error', behaviour: 'it', method: 'poll' })
  })
})
