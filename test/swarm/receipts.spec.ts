/** What becomes of messages to handlers (S7.11). */

import { beforeEach, describe, expect, it } from 'vitest'
import { composeBehaviours } from '../../src/behaviour/compose.ts'
import { RecordingHandler } from '../../src/testing/recording-handler.ts'
import { RecordingBehaviour } from '../support/recording-behaviour.ts'
import { ALICE, BOB, CAROL, SOMEWHERE, VirtualWorld } from '../support/virtual-world.ts'
import type { FromSwarm } from '../../src/behaviour/from-swarm.ts'

let world: VirtualWorld
let deep: RecordingBehaviour
let other: RecordingBehaviour

beforeEach(() => {
  world = new VirtualWorld()
  deep = new RecordingBehaviour()
  other = new RecordingBehaviour()
})

function pair () {
  const alice = world.node(ALICE, { group: composeBehaviours({ deep, other }), outer: { commitEstablished: () => undefined } })
  const bob = world.node(BOB, {})
  return { alice, bob }
}

const receipts = (behaviour: RecordingBehaviour): FromSwarm[] => behaviour.swarmEvents.filter(({ type }) => type === 'handler-notified')
const send = (connection: string, event: unknown, token?: unknown, peer = BOB) => { deep.push({ type: 'notify-handler', peer, connection, event, token }) }

describe('a receipt (S7.11)', () => {
  it('comes for a delivered message that bears a token, after its handler took it, to the sender only', async () => {
    const { alice, bob } = pair()
    world.connect(alice, bob)
    const seen: unknown[] = []
    deep.onTold = () => { seen.push([...deep.handlers.get('c1')?.behaviourEvents ?? []]) }
    seen.length = 0
    send('c1', 'with token', { any: 'thing' })
    send('c1', 'without')
    await world.settle()
    expect(receipts(deep)).toEqual([{ type: 'handler-notified', token: { any: 'thing' }, delivered: true }])
    expect(Object.isFrozen(receipts(deep)[0])).toBe(true)
    expect(seen).toContainEqual(['with token'])
    expect(receipts(other)).toEqual([])
  })

  it('comes for every message that was not delivered, with its reason and the message', async () => {
    const { alice, bob } = pair()
    world.connect(alice, bob, { init: { maxQueuedBehaviourEvents: 1 } })
    await world.settle()
    send('nowhere', 'a', 1)
    send('any', 'b', undefined, CAROL)
    send('c1', 'c', 3)
    send('c1', 'd', 4)
    await world.settle()
    expect(receipts(deep)).toEqual([
      { type: 'handler-notified', token: 1, delivered: false, reason: 'no-connection', event: 'a' },
      { type: 'handler-notified', token: undefined, delivered: false, reason: 'no-connection', event: 'b' },
      { type: 'handler-notified', token: 4, delivered: false, reason: 'queue-full', event: 'd' },
      { type: 'handler-notified', token: 3, delivered: true }
    ])
  })

  it('is not sent for messages that a close took: those come once, with connection-closed (S6.9)', async () => {
    const { alice, bob } = pair()
    const [connection] = world.connect(alice, bob)
    await world.settle()
    send('c1', 'lost', 1)
    alice.turn(() => { connection.machine.abort(new Error('cut')) })
    await world.settle()
    const closed = deep.swarmEvents.find(({ type }) => type === 'connection-closed')
    expect([...receipts(deep).map((event) => 'event' in event ? event.event : undefined), ...closed?.type === 'connection-closed' ? closed.undelivered : []]).toEqual(['lost'])
  })

  it('is not sent when the handler throws: its connection ends for that', async () => {
    const { alice, bob } = pair()
    const handler = new RecordingHandler()
    deep.makeHandler = () => handler
    handler.onBehaviourEvent = () => { throw new Error('broken') }
    world.connect(alice, bob)
    send('c1', 'x', 1)
    await world.settle()
    expect(receipts(deep)).toEqual([])
    expect(alice.logOf('connection-closed')).toMatchObject([{ reason: 'handler-error' }])
  })

  it('says no-connection for one on which the sender has no handler', async () => {
    const { alice, bob } = pair()
    deep.makeHandler = () => undefined
    world.connect(alice, bob)
    send('c1', 'x')
    send('any', 'y')
    await world.settle()
    expect(receipts(deep)).toMatchObject([{ reason: 'no-connection', event: 'x' }, { reason: 'no-connection', event: 'y' }])
  })
})

describe('what behaviours say about addresses', () => {
  it('is told to all behaviours, and to the driver', async () => {
    const { alice } = pair()
    const address = SOMEWHERE
    deep.push({ type: 'external-address-confirmed', address }, { type: 'peer-external-address', peer: BOB, address })
    await world.settle()
    expect(other.swarmEvents.map(({ type }) => type)).toEqual(['external-address-confirmed', 'peer-external-address'])
    expect(alice.log.map(({ type }) => type)).toEqual(['external-address-confirmed', 'peer-external-address'])
  })
})
