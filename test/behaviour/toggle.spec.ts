import { beforeEach, describe, expect, it } from 'vitest'
import { composeBehaviours } from '../../src/behaviour/compose.ts'
import { ConnectionDenied } from '../../src/behaviour/connection-denied.ts'
import { toggle } from '../../src/behaviour/toggle.ts'
import { ToggledHandler } from '../../src/behaviour/toggled-handler.ts'
import { PENDING } from '../../src/core/poll.ts'
import { composeHandlers } from '../../src/handler/compose.ts'
import { ProtocolList } from '../../src/protocols/protocol-list.ts'
import { RecordingHandler } from '../../src/testing/recording-handler.ts'
import { ScriptedConnection } from '../../src/testing/scripted-connection.ts'
import { GatedBehaviour, deny } from '../support/gated-behaviour.ts'
import { RecordingBehaviour } from '../support/recording-behaviour.ts'
import { ALICE, BOB, NEVER_ABORTED, SOMEWHERE, VirtualWorld } from '../support/virtual-world.ts'
import type { AnyHandler } from '../../src/behaviour/connection-handler.ts'
import type { EstablishedConnection, PendingConnection } from '../../src/behaviour/network-behaviour.ts'
import type { PollContext } from '../../src/core/poll.ts'

const CONNECTION: EstablishedConnection = { id: 'c1', peer: BOB, direction: 'inbound', address: SOMEWHERE, limits: undefined, signal: NEVER_ABORTED }

/** Whoever polls. */
class Cx implements PollContext {
  now = 0
  wake (): void {}
  wakeAt (): void {}
}

let inner: RecordingBehaviour
let other: RecordingBehaviour
let world: VirtualWorld

beforeEach(() => {
  inner = new RecordingBehaviour(['/a', '/a2'])
  inner.makeHandler = () => new RecordingHandler(['/a', '/a2'])
  other = new RecordingBehaviour(['/b'])
  other.makeHandler = () => new RecordingHandler(['/b'])
  world = new VirtualWorld()
})

function nodeWith (enabled = true) {
  const node = world.node(ALICE, { it: toggle(inner, { enabled }), other })
  const peer = new RecordingBehaviour()
  const peerHandler = new RecordingHandler(['/p'])
  peer.makeHandler = () => peerHandler
  const bob = world.node(BOB, { peer })
  return { node, bob, peerHandler, it: node.behaviours.it }
}

const types = (handler: RecordingHandler | undefined) => handler?.events.map((event) => 'change' in event ? `${event.type} ${event.change} ${event.protocols.join(' ')}` : event.type)

describe('toggle() (S7.14)', () => {
  it('is on unless said otherwise, and has the wrapped behaviour as inner', () => {
    const { it: switched, node } = nodeWith()
    expect(switched.enabled).toBe(true)
    expect(switched.inner).toBe(inner)
    switched.disable()
    expect(node.behaviours.it.enabled).toBe(false)
    switched.enable()
    expect(switched.enabled).toBe(true)
    expect(Object.isFrozen(switched)).toBe(true)
  })

  it('takes its names away on live connections, announces that, and brings them back', async () => {
    const { node, bob, it: switched } = nodeWith()
    const [connection] = world.connect(node, bob)
    await world.settle()
    expect(connection.machine.localProtocols.toArray()).toEqual(['/a', '/a2', '/b'])
    switched.disable()
    await world.settle()
    expect(connection.machine.localProtocols.toArray()).toEqual(['/b'])
    switched.enable()
    await world.settle()
    expect([...connection.machine.localProtocols.toArray()].sort()).toEqual(['/a', '/a2', '/b'])
    expect(types(other.handlers.get('c1'))).toEqual([
      'local-protocols-change added /a /a2 /b', 'local-protocols-change removed /a /a2', 'local-protocols-change added /a /a2'
    ])
  })

  it('tells the handler what it missed when it is on again, and only the difference (S3.15)', async () => {
    const { node, bob, it: switched } = nodeWith()
    const [connection] = world.connect(node, bob)
    connection.identify('/x', '/y')
    switched.disable()
    await world.settle()
    connection.identify('/y', '/z')
    connection.identify('/x', '/z')
    await world.advance(100)
    expect(types(inner.handlers.get('c1'))).toEqual(['local-protocols-change added /a /a2 /b', 'remote-protocols-change added /x /y'])
    switched.enable()
    await world.settle()
    const heard = types(inner.handlers.get('c1'))?.slice(2)
    expect(heard?.filter((change) => change.startsWith('local'))).toEqual(['local-protocols-change removed /a /a2', 'local-protocols-change added /a /a2'])
    expect(heard?.filter((change) => change.startsWith('remote'))).toEqual(['remote-protocols-change added /z', 'remote-protocols-change removed /y'])
  })

  it('lists nothing, holds nothing open and is not polled while it is off (S4.14)', async () => {
    const { node, bob, peerHandler, it: switched } = nodeWith(false)
    peerHandler.isKeepAlive = true
    const [connection] = world.connect(node, bob, { init: { idleTimeoutMs: 100 } })
    inner.emit('from the behaviour')
    await world.settle()
    expect(node.events).toEqual([])
    expect(inner.handlers.size).toBe(0)
    expect(connection.machine.localProtocols.toArray()).toEqual(['/b'])
    switched.enable()
    await world.settle()
    const handler = inner.handlers.get('c1')!
    handler.isKeepAlive = true
    handler.wake()
    await world.advance(200)
    expect(connection.status.phase).toBe('open')
    expect(node.events.map(({ event }) => event)).toEqual(['from the behaviour'])
    switched.disable()
    await world.advance(200)
    expect(node.logOf('connection-closed')).toMatchObject([{ reason: 'keep-alive-timeout' }])
  })

  it('fails the requests of its handlers with aborted, and leaves negotiated streams alone', async () => {
    const { node, bob, it: switched } = nodeWith()
    const [connection] = world.connect(node, bob)
    const handler = inner.handlers.get('c1')!
    handler.request(['/p'], { info: 'first' })
    await world.settle()
    expect(handler.eventsOf('fully-negotiated-outbound')).toMatchObject([{ info: 'first' }])
    world.connect(node, bob, { id: 'c2' })
    const slow = inner.handlers.get('c2')!
    slow.request(['/p'], { info: 'without token' })
    slow.request(['/p'], { info: 'with token', token: 1 })
    switched.disable()
    await world.settle()
    expect(slow.eventsOf('dial-upgrade-error')).toEqual([])
    switched.enable()
    await world.settle()
    slow.request(['/nobody'], { info: 'other' })
    await world.settle()
    expect(slow.eventsOf('dial-upgrade-error')).toMatchObject([{ info: 'other', error: { kind: 'negotiation-failed' } }])
    expect(connection.streams[0]?.status).toBe('open')
  })

  it('aborts requests that are under way, those of its own token and those of none, and no others', async () => {
    world = new VirtualWorld(10)
    const { node, bob, it: switched } = nodeWith()
    const [connection] = world.connect(node, bob)
    const handler = inner.handlers.get('c1')!
    handler.request(['/p'], { info: 'without token' })
    handler.request(['/p'], { info: 'with token', token: 1 })
    handler.request(['/p'], { info: 'cancelled', token: 2 })
    handler.push({ type: 'cancel-outbound-request', token: 2 })
    other.handlers.get('c1')!.request(['/p'], { info: 'of the other' })
    await world.settle()
    switched.disable()
    await world.advance(100)
    expect(handler.eventsOf('dial-upgrade-error').map(({ info, error }) => `${String(info)} ${error.kind}`)).toEqual([
      'cancelled aborted', 'without token aborted', 'with token aborted'
    ])
    expect(other.handlers.get('c1')!.eventsOf('fully-negotiated-outbound')).toMatchObject([{ info: 'of the other' }])
    expect(connection.status.phase).toBe('open')
  })

  it('aborts streams that come late, and tells the outcome of those that it owes', () => {
    const own = new RecordingHandler(['/a'])
    const handler = new ToggledHandler(CONNECTION, own)
    const streams = [0, 1].map(() => ({ aborted: [] as Error[], abort (error: Error) { this.aborted.push(error) } }))
    own.request(['/p'], { info: 'mine' })
    const request = handler.poll(new Cx())
    handler.disable()
    void handler.onConnectionEvent({ type: 'fully-negotiated-inbound', stream: streams[0], protocol: '/a', info: undefined, output: undefined })
    void handler.onConnectionEvent({ type: 'listen-upgrade-error', info: undefined, protocol: '/a', error: {} as never })
    void handler.onConnectionEvent({ type: 'fully-negotiated-outbound', stream: streams[1], protocol: '/p', info: (request as { info: unknown }).info, output: undefined, lazy: false })
    void handler.onConnectionEvent({ type: 'address-change', address: SOMEWHERE })
    expect(streams.map(({ aborted }) => aborted.map(({ name }) => name))).toEqual([['AbortError'], ['AbortError']])
    expect(own.events).toMatchObject([{ type: 'dial-upgrade-error', info: 'mine', error: { kind: 'aborted', connectionId: 'c1' } }])
    expect([handler.inboundTimeoutMs, handler.poll(new Cx())]).toEqual([0, PENDING])
    handler.enable()
    handler.poll(new Cx())
    expect(own.events.at(-1)).toEqual({ type: 'address-change', address: SOMEWHERE })
  })

  it('neither polls nor tells a handler any more that removes itself while it catches up (S4.13)', () => {
    const handler = Object.assign(new RecordingHandler(['/a']), { pollClose: () => undefined })
    const toggled = new ToggledHandler(CONNECTION, handler)
    const other = new RecordingHandler(['/b'])
    const parts = composeHandlers<{ it?: AnyHandler, other: RecordingHandler }>({ it: toggled as unknown as AnyHandler, other })
    const test = new ScriptedConnection(parts)
    toggled.disable()
    test.drive()
    for (const protocols of [['/b', '/c'], ['/c']]) {
      other.protocols = protocols
      other.wake()
      test.drive()
    }
    const [polls, events] = [handler.polls, handler.events.length]
    handler.onEvent = () => { parts.remove('it') }
    toggled.enable()
    test.drive()
    expect([handler.polls - polls, handler.events.length - events]).toEqual([0, 1])
    expect(parts.remove('it')).toBe(false)
  })

  it('lets a handler with last words have them, and drains none that is off', () => {
    const talkative = Object.assign(new RecordingHandler(), { pollClose: () => 'bye' })
    const own = new RecordingHandler()
    own.push({ type: 'notify-behaviour', event: 'unheard' })
    const [last, none] = [talkative, own].map((handler) => {
      const toggled = new ToggledHandler(CONNECTION, handler)
      toggled.disable()
      return toggled.pollClose(new Cx())
    })
    expect([last, none]).toEqual(['bye', undefined])
  })

  it('gives messages to a handler that is off back, and takes no others to it (S7.11)', async () => {
    const { node, bob, it: switched } = nodeWith()
    world.connect(node, bob)
    await world.settle()
    inner.push({ type: 'notify-handler', peer: BOB, connection: 'c1', event: 'one', token: 1 })
    await world.settle()
    // Handed to the connection, and switched off before the handler sees it.
    inner.onPoll = () => { switched.disable() }
    inner.push({ type: 'notify-handler', peer: BOB, connection: 'c1', event: 'two', token: 2 })
    await world.settle()
    inner.onPoll = () => {}
    expect(inner.handlers.get('c1')!.behaviourEvents).toEqual(['one'])
    expect(inner.swarmEvents.filter(({ type }) => type === 'handler-notified')).toEqual([
      { type: 'handler-notified', token: 1, delivered: true },
      { type: 'handler-notified', token: 2, delivered: false, reason: 'disabled', event: 'two' }
    ])
  })

  it('mean by `any` no connection on which it takes no part', async () => {
    const { node, bob, it: switched } = nodeWith()
    inner.makeHandler = ({ id }) => id === 'c1' ? undefined : new RecordingHandler()
    world.connect(node, bob)
    world.connect(node, bob, { id: 'c2' })
    inner.push({ type: 'notify-handler', peer: BOB, connection: 'any', event: 'x' })
    await world.settle()
    expect(inner.handlers.get('c2')!.behaviourEvents).toEqual(['x'])
    switched.disable()
    world.connect(node, bob, { id: 'c3' })
    switched.enable()
    inner.push({ type: 'notify-handler', peer: BOB, connection: 'c1', event: 'y', token: 1 })
    await world.settle()
    expect(inner.swarmEvents.at(-1)).toMatchObject({ delivered: false, reason: 'no-connection', event: 'y' })
  })
})

describe('the gates of a toggle', () => {
  const ATTEMPT: PendingConnection = { id: 'c1', direction: 'inbound', addresses: [SOMEWHERE], peer: undefined, signal: NEVER_ABORTED }

  it('allow while it is off, and what was committed is taken back whatever the switch says meanwhile', () => {
    const gate = new GatedBehaviour('gate')
    const node = world.node(ALICE, { gate: toggle(gate) })
    const { gates } = node.swarm
    gates.commitPending(ATTEMPT)
    node.behaviours.gate.disable()
    gate.gates = { checkPending: deny(), commitPending: deny(), checkEstablished: deny(), commitEstablished: deny() }
    expect([gates.checkPending(ATTEMPT), gates.checkEstablished(CONNECTION), gates.commitEstablished(CONNECTION)]).toEqual([undefined, undefined, undefined])
    expect(gates.addressesForDial(ATTEMPT)).toEqual([])
    gates.undo('c1', 'why')
    expect(gate.held).toEqual([])
    expect(gate.calls).toEqual(['gate commitPending', 'gate rollback pending why'])
  })

  it.each(['on', 'off'])('take the pending stage back when the connection comes while it is off, and end it that way, then switched %s (S7.5)', async (then) => {
    const gate = new GatedBehaviour('gate')
    const node = world.node(ALICE, { gate: toggle(gate) })
    node.turn(() => { node.swarm.gates.commitPending(ATTEMPT) })
    node.behaviours.gate.disable()
    const [, connection] = world.connect(world.node(BOB, {}), node)
    expect(gate.held).toEqual([])
    expect(gate.calls).toEqual(['gate commitPending', 'gate rollback pending AbortError'])
    if (then === 'on') {
      node.behaviours.gate.enable()
      await world.settle()
      expect(gate.held).toEqual(['established c1'])
    }
    connection.close()
    await world.advance(10_000)
    expect(gate.swarmEvents.map(({ type }) => type)).toEqual(then === 'on' ? ['connection-established', 'connection-closed'] : [])
    expect(gate.calls.filter((call) => call.includes('rollback'))).toHaveLength(1)
  })

  it('are passed by connections made meanwhile when it is switched on; one that is denied is aborted', async () => {
    const gate = new GatedBehaviour('gate')
    const node = world.node(ALICE, { group: composeBehaviours({ gate: toggle(gate, { enabled: false }) }) })
    const bob = world.node(BOB, {})
    world.connect(node, bob)
    world.connect(node, bob, { id: 'c2' })
    let asked = 0
    gate.gates.checkEstablished = async () => ++asked === 1 ? deny()() : undefined
    node.behaviours.group.gate.enable()
    await world.settle()
    expect(gate.held).toEqual(['established c2'])
    expect(node.logOf('connection-closed')).toMatchObject([{ connection: 'c1', reason: 'aborted', cause: { name: 'ConnectionDenied', stage: 'established' } }])
    // Of c1, which it never had, it hears nothing.
    expect(gate.swarmEvents.map((event) => 'connection' in event ? `${event.type} ${event.connection}` : event.type)).toEqual(['connection-established c2'])
  })

  it('are asked again when it was switched off before their answer came', async () => {
    const gate = new GatedBehaviour('gate')
    const node = world.node(ALICE, { gate: toggle(gate, { enabled: false }) })
    world.connect(node, world.node(BOB, {}))
    let answer = (_denied: undefined): void => {}
    gate.gates.checkEstablished = () => new Promise((resolve) => { answer = resolve })
    node.behaviours.gate.enable()
    await world.settle()
    node.behaviours.gate.disable()
    answer(undefined)
    await world.settle()
    expect(gate.held).toEqual([])
    gate.gates = {}
    node.behaviours.gate.enable()
    await world.settle()
    expect(gate.held).toEqual(['established c1'])
  })

  it.each(['checkEstablished', 'commitEstablished'] as const)('deny when %s throws, and that is reported', async (method) => {
    const gate = new GatedBehaviour('gate')
    const node = world.node(ALICE, { gate: toggle(gate, { enabled: false }) })
    world.connect(node, world.node(BOB, {}))
    gate.gates[method] = () => { throw new Error('broken') }
    node.behaviours.gate.enable()
    await world.settle()
    expect(node.logOf('handler-error')).toMatchObject([{ behaviour: 'gate', method, cause: { message: 'broken' } }])
    expect(node.logOf('connection-closed')).toMatchObject([{ reason: 'aborted' }])
  })

  it('that deny a commit at once abort as well', async () => {
    const gate = new GatedBehaviour('gate')
    const node = world.node(ALICE, { gate: toggle(gate, { enabled: false }) })
    world.connect(node, world.node(BOB, {}))
    gate.gates.commitEstablished = deny()
    node.behaviours.gate.enable()
    await world.settle()
    expect(node.logOf('connection-closed')).toMatchObject([{ cause: expect.any(ConnectionDenied) as unknown }])
  })
})

describe('the names of a toggle', () => {
  it('are none while it is off, and follow a list', async () => {
    const list = new ProtocolList(['/l'])
    inner = new RecordingBehaviour(list)
    const node = world.node(ALICE, { it: toggle(() => inner) })
    const root = () => node.root.protocols
    expect(root()).toEqual(['/l'])
    node.behaviours.it.disable()
    expect(root()).toEqual([])
    node.behaviours.it.enable()
    await world.settle()
    const { polls } = inner
    list.add('/m')
    await world.settle()
    expect(root()).toEqual(['/l', '/m'])
    expect(inner.polls).toBeGreaterThan(polls)
  })

  it('cannot be asked for before a node took it', () => {
    expect(() => toggle(inner).protocols).toThrow(expect.objectContaining({ name: 'InvalidStateError' }))
  })
})
