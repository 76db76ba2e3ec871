import { describe, expect, it } from 'vitest'
import { composeBehaviours } from '../../src/behaviour/compose.ts'
import { mapBehaviour } from '../../src/behaviour/map.ts'
import { GatedBehaviour, deny } from '../support/gated-behaviour.ts'
import { RecordingBehaviour } from '../support/recording-behaviour.ts'
import { RecordingHandler } from '../../src/testing/recording-handler.ts'
import { ALICE, BOB, VirtualWorld } from '../support/virtual-world.ts'

describe('mapBehaviour() (S7.15)', () => {
  it('maps events and messages, and passes receipts, wakes and names', async () => {
    const inner = new RecordingBehaviour(['/a'])
    inner.makeHandler = () => new RecordingHandler(['/a'])
    const world = new VirtualWorld()
    const node = world.node(ALICE, { it: mapBehaviour(() => inner, { out: (event) => ({ was: event }), in: (message) => `<${String(message)}>` }) })
    world.connect(node, world.node(BOB, {}))
    await world.settle()
    inner.emit('event')
    inner.push({ type: 'notify-handler', peer: BOB, connection: 'c1', event: 'message', token: 7 })
    inner.handlers.get('c1')!.push({ type: 'notify-behaviour', event: 'heard' })
    await world.settle()
    expect(node.events).toMatchObject([{ behaviour: 'it', event: { was: 'event' } }])
    expect(inner.handlers.get('c1')!.behaviourEvents).toEqual(['<message>'])
    expect(inner.swarmEvents.at(-1)).toEqual({ type: 'handler-notified', token: 7, delivered: true })
    expect(inner.handlerEvents).toMatchObject([{ event: 'heard' }])
    expect(node.root.protocols).toEqual(['/a'])
    expect(node.behaviours.it).toEqual({ inner })
  })

  it('maps nothing that it is not told to', async () => {
    const inner = new RecordingBehaviour()
    const world = new VirtualWorld()
    const node = world.node(ALICE, { it: mapBehaviour(inner, {}) })
    world.connect(node, world.node(BOB, {}))
    inner.emit('event')
    inner.push({ type: 'notify-handler', peer: BOB, connection: 'any', event: 'message' })
    await world.settle()
    expect(node.events).toMatchObject([{ event: 'event' }])
    expect(inner.handlers.get('c1')!.behaviourEvents).toEqual(['message'])
  })

  it('reports what a map throws as a throw of the behaviour', async () => {
    const inner = new RecordingBehaviour()
    const world = new VirtualWorld()
    const node = world.node(ALICE, { it: mapBehaviour(inner, { out: () => { throw new Error('broken') } }) })
    inner.emit('event')
    await world.settle()
    expect(node.logOf('handler-error')).toMatchObject([{ behaviour: 'it', method: 'poll' }])
  })

  it('passes gates and rollbacks, and adds nothing to their path', () => {
    const calls: string[] = []
    const [one, other] = [new GatedBehaviour('one', calls), new GatedBehaviour('other', calls)]
    other.gates.commitEstablished = deny()
    const node = new VirtualWorld().node(ALICE, { it: mapBehaviour(composeBehaviours({ one, other }), { out: (event) => event }) })
    expect(() => node.establish('c1', BOB, 'inbound', undefined, {})).toThrow(expect.objectContaining({ name: 'ConnectionDenied', behaviour: 'it.other' }))
    expect(calls).toEqual(['one commitEstablished', 'other commitEstablished', 'one rollback established ConnectionDenied'])
  })
})
