import { beforeEach, describe, expect, it, vi } from 'vitest'
import { composeBehaviours } from '../../src/behaviour/compose.ts'
import { PENDING } from '../../src/core/poll.ts'
import { Swarm } from '../../src/swarm/swarm.ts'
import { RecordingHandler } from '../../src/testing/recording-handler.ts'
import { RecordingBehaviour } from '../support/recording-behaviour.ts'
import { ALICE, BOB, CAROL, NEVER_ABORTED, SOMEWHERE, VirtualWorld } from '../support/virtual-world.ts'
import type { PeerId } from '@libp2p/interface'
import type { NegotiatedStream } from '../../src/behaviour/negotiated-stream.ts'
import type { ConnectionOutput, ConnectionReport } from '../../src/connection/connection-output.ts'
import type { ConnectionStatus } from '../../src/connection/shutdown.ts'
import type { Poll } from '../../src/core/poll.ts'
import type { PooledConnection } from '../../src/swarm/pooled-connection.ts'

/** A connection that gives what the test says. */
class PooledStub implements PooledConnection {
  readonly id: string
  status: ConnectionStatus = { phase: 'open', activity: 'busy' }
  readonly outputs: Array<ConnectionOutput<NegotiatedStream, unknown>> = []
  readonly reports: ConnectionReport[] = []
  readonly messages: unknown[] = []
  readonly ends: unknown[] = []
  polls = 0
  onPoll = (): void => {}

  constructor (id: string) {
    this.id = id
  }

  onBehaviourEvent (event: unknown): boolean {
    return this.messages.push(event) > 0
  }

  isStalled = false

  stall (): void { this.isStalled = true }
  resume (): void { this.isStalled = false }
  close (): void { this.ends.push('close') }
  abort (error: Error): void { this.ends.push(error) }

  poll (): Poll<ConnectionOutput<NegotiatedStream, unknown>> {
    this.polls++
    this.onPoll()
    return this.outputs.shift() ?? PENDING
  }

  pollReport (): Poll<ConnectionReport> {
    return this.reports.shift() ?? PENDING
  }
}

let root: RecordingBehaviour
let swarm: Swarm<unknown, PooledStub>
let wake: ReturnType<typeof vi.fn<() => void>>

beforeEach(() => {
  root = new RecordingBehaviour()
  wake = vi.fn<() => void>()
  swarm = new Swarm<unknown, PooledStub>(root, wake)
})

function establish (id: string, peer: PeerId = BOB): { stub: PooledStub, wake (): void } {
  let wakeStub = (): void => {}
  const stub = swarm.establish({ id, peer, direction: 'inbound', address: SOMEWHERE, limits: undefined, signal: NEVER_ABORTED }, (_, wakeConnection) => {
    wakeStub = wakeConnection
    return new PooledStub(id)
  })
  return { stub, wake: wakeStub }
}

function drain (now = 0) {
  const events = []
  for (let event = swarm.poll(now); event !== PENDING; event = swarm.poll(now)) {
    events.push(event)
  }
  return events
}

const CLOSED = { type: 'closed', reason: 'remote-close', cause: undefined, undelivered: [] } as const

describe('a connection of the swarm', () => {
  it('is announced to the behaviours and then outside, with the same frozen event', () => {
    establish('c1')
    const [event] = drain()

    expect(event).toEqual({ type: 'connection-established', connection: 'c1', peer: BOB, direction: 'inbound', address: SOMEWHERE, failedAddresses: [], otherEstablished: 0 })
    expect(root.swarmEvents).toEqual([event])
    expect(root.swarmEvents[0]).toBe(event)
    expect(Object.isFrozen(event)).toBe(true)
  })

  it('counts the others of its peer', () => {
    establish('c1')
    establish('c2')
    establish('c3', CAROL)
    const { stub } = establish('c4')
    stub.outputs.push(CLOSED)

    expect(drain()).toMatchObject([{ otherEstablished: 0 }, { otherEstablished: 1 }, { otherEstablished: 0 }, { otherEstablished: 2 }, { remaining: 2 }])
  })

  it('has the handler that the behaviours made, or one that does nothing', () => {
    const handlers: unknown[] = []
    const connect = (id: string) => swarm.establish({ id, peer: BOB, direction: 'inbound', address: SOMEWHERE, limits: undefined, signal: NEVER_ABORTED }, (handler) => {
      handlers.push(handler)
      return new PooledStub(id)
    })
    connect('c1')
    root.makeHandler = () => undefined
    connect('c2')

    expect(handlers[0]).toBe(root.handlers.get('c1'))
    expect((handlers[1] as RecordingHandler).listenProtocols()).toEqual([])
  })

  it('is found by id until its end', () => {
    const { stub } = establish('c1')
    const { stub: other } = establish('c2')
    expect([...swarm.connections()]).toEqual([stub, other])
    expect(swarm.connection('c1')).toBe(stub)
    stub.outputs.push(CLOSED)
    drain()

    expect([...swarm.connections()]).toEqual([other])
    expect(swarm.connection('c1')).toBeUndefined()
  })

  it('cannot have the id of another one', () => {
    establish('c1')

    expect(() => establish('c1')).toThrow(expect.objectContaining({ name: 'InvalidStateError' }))
  })
})

describe('the order of events (S7.8, S8.2)', () => {
  it('is established, then what the behaviour says, then closed, for every connection', () => {
    const { stub } = establish('c1')
    root.onTold = () => {
      const event = root.swarmEvents.at(-1)
      root.emit(root.handlerEvents.length > 0 && event?.type === 'connection-established' ? 'handler event' : event?.type)
    }
    stub.outputs.push({ type: 'handler-event', event: 1 }, CLOSED)
    root.emit('at once')

    expect(drain().map(event => event.type === 'behaviour-event' ? event.event : event.type))
      .toEqual(['connection-established', 'at once', 'handler event', 'connection-closed', 'connection-closed'])
  })

  it('puts connection-closed behind what the behaviour said in reaction to it', () => {
    const { stub, wake: wakeStub } = establish('c1')
    drain()
    root.onTold = () => { root.emit('last words', 'very last words') }
    stub.outputs.push(CLOSED)
    wakeStub()

    expect(drain().map(({ type }) => type)).toEqual(['behaviour-event', 'behaviour-event', 'connection-closed'])
  })

  it('gives what a connection reported before its end', () => {
    const { stub } = establish('c1')
    stub.reports.push({ type: 'connection-idle', until: 5 })
    stub.outputs.push(CLOSED)

    expect(drain().slice(1)).toEqual([
      { type: 'connection-idle', until: 5, connection: 'c1', peer: BOB },
      { type: 'connection-closed', connection: 'c1', peer: BOB, reason: 'remote-close', cause: undefined, remaining: 0, undelivered: [] }
    ])
  })

  it('lets the initial local notice of a handler come before connection-established (S3.13)', () => {
    const order: string[] = []
    const world = new VirtualWorld()
    root.makeHandler = () => {
      const handler = new RecordingHandler(['/a'])
      handler.onEvent = ({ type }) => { order.push(type) }
      return handler
    }
    root.onTold = () => { order.push('connection-established') }
    world.connect(world.node(ALICE, { root }), world.node(BOB, {}))

    expect(order).toEqual(['local-protocols-change', 'connection-established'])
  })
})

describe('what connections give', () => {
  it('goes to the behaviours if it is a handler event', () => {
    const { stub } = establish('c1')
    stub.outputs.push({ type: 'handler-event', event: 1 }, { type: 'handler-event', event: 2 })
    drain()

    expect(root.handlerEvents).toEqual([1, 2].map(event => ({ peer: BOB.toString(), connection: 'c1', event })))
  })

  it('goes out with its connection otherwise', () => {
    const { stub } = establish('c1')
    const error = new Error('broken')
    stub.outputs.push({ type: 'host-stream-failed', token: 1, error: error as never })
    stub.reports.push(
      { type: 'handler-error', handler: 'a.b', method: 'poll', cause: error },
      { type: 'protocols-change', side: 'local', added: ['/a'], removed: [] }
    )

    expect(drain().slice(1)).toEqual([
      { type: 'host-stream-failed', token: 1, error, connection: 'c1', peer: BOB },
      { type: 'handler-error', behaviour: 'a.b', method: 'poll', cause: error, connection: 'c1', peer: BOB },
      { type: 'protocols-change', side: 'local', added: ['/a'], removed: [], connection: 'c1', peer: BOB }
    ])
  })

  it('is asked for from connections that woke only', () => {
    const first = establish('c1')
    const second = establish('c2')
    drain()
    second.wake()
    second.wake()
    drain()

    expect([first.stub.polls, second.stub.polls]).toEqual([1, 2])
  })

  it('is taken in turns', () => {
    const stubs = [establish('c1').stub, establish('c2').stub]
    for (const stub of stubs) {
      stub.outputs.push({ type: 'handler-event', event: stub.id }, { type: 'handler-event', event: stub.id })
    }
    drain()

    expect(root.handlerEvents.map(({ event }) => event)).toEqual(['c1', 'c2', 'c1', 'c2'])
  })
})

describe('commands of behaviours', () => {
  it('notify the handler of a connection', () => {
    const { stub } = establish('c1')
    root.push({ type: 'notify-handler', peer: BOB, connection: 'c1', event: 1 }, { type: 'notify-handler', peer: BOB, connection: 'c9', event: 2 })
    drain()

    expect(stub.messages).toEqual([1])
  })

  it('mean by `any` the oldest connection that is open and not excepted', () => {
    const [closing, excepted, open, younger] = ['c1', 'c2', 'c3', 'c4'].map(id => establish(id).stub)
    closing!.status = { phase: 'closing', reason: 'local-close', cause: undefined }
    root.push(
      { type: 'notify-handler', peer: BOB, connection: 'any', event: 1, except: new Set(['c2']) },
      { type: 'notify-handler', peer: CAROL, connection: 'any', event: 2 }
    )
    drain()

    expect([closing, excepted, open, younger].map(stub => stub?.messages)).toEqual([[], [], [1], []])
  })

  it('come back from a connection that closes, the last resort of `any` (S7.11)', () => {
    const { stub } = establish('c1')
    stub.status = { phase: 'closing', reason: 'local-close', cause: undefined }
    root.push({ type: 'notify-handler', peer: BOB, connection: 'any', event: 'a' }, { type: 'notify-handler', peer: BOB, connection: 'c1', event: 'b', token: 1 })
    drain()

    expect(stub.messages).toEqual([])
    expect(root.swarmEvents.slice(1)).toMatchObject([{ reason: 'closing', event: 'a' }, { reason: 'closing', event: 'b', token: 1 }])
  })

  it('close one connection of a peer, or all, gracefully or with an error', () => {
    const [first, second] = [establish('c1').stub, establish('c2').stub]
    const other = establish('c3', CAROL).stub
    const error = new Error('enough')
    root.push(
      { type: 'close-connection', peer: BOB, connection: 'c2' },
      { type: 'close-connection', peer: BOB, connection: 'c3' },
      { type: 'close-connection', peer: BOB, connection: 'all', abort: error }
    )
    drain()

    expect([first.ends, second.ends, other.ends]).toEqual([[error], ['close', error], []])
  })

  it('report the faults of parts', () => {
    const cause = new Error('broken')
    root.push({ type: 'behaviour-fault', behaviour: 'a', method: 'poll', cause })

    expect(drain()).toEqual([{ type: 'handler-error', behaviour: 'a', method: 'poll', cause, peer: undefined, connection: undefined }])
  })
})

describe('a root that throws (S4.15)', () => {
  it.each([
    ['onSwarmEvent', () => { root.onTold = () => { throw new Error('broken') } }],
    ['poll', () => { root.onPoll = () => { throw new Error('broken') } }]
  ])('in %s is reported, and the connection lives', (method, breakIt) => {
    breakIt()
    const { stub } = establish('c1')
    const events = drain()

    expect(events.filter(({ type }) => type === 'handler-error')).toMatchObject([{ behaviour: '', method, cause: { message: 'broken' } }])
    expect(events.filter(({ type }) => type === 'connection-established')).toHaveLength(1)
    expect(stub.polls).toBe(1)
  })
})

describe('close()', () => {
  it('closes every connection, each with its own connection-closed, last', async () => {
    const world = new VirtualWorld(10)
    const alice = world.node(ALICE, { root })
    const bob = world.node(BOB, {})
    world.connect(alice, bob)
    world.connect(alice, bob, { id: 'c2' })
    alice.swarm.close()
    await world.advance(100)

    expect(alice.log.slice(-2)).toMatchObject([
      { type: 'connection-closed', connection: 'c1', reason: 'local-close' }, { type: 'connection-closed', connection: 'c2', reason: 'local-close' }
    ])
    expect(bob.logOf('connection-closed')).toHaveLength(2)
  })
})

describe('asking for a poll', () => {
  it('happens once until the next poll, for what comes up outside', () => {
    const { wake: wakeStub } = establish('c1')
    drain()
    expect(wake).not.toHaveBeenCalled()
    wakeStub()
    root.emit(1)
    wakeStub()
    expect(wake).toHaveBeenCalledTimes(1)
    drain()
    root.emit(2)
    expect(wake).toHaveBeenCalledTimes(2)
  })

  it('does not happen inside a poll', () => {
    const { stub, wake: wakeStub } = establish('c1')
    const { wake: wakeOther } = establish('c2')
    drain()
    stub.onPoll = wakeOther
    root.onPoll = () => { wakeOther() }
    wakeStub()
    wake.mockClear()
    drain()

    expect(wake).not.toHaveBeenCalled()
  })

  it('happens when a behaviour sets its deadline outside a poll', () => {
    drain()
    root.cx?.wakeAt(50)

    expect(wake).toHaveBeenCalledTimes(1)
    expect(swarm.pollTimeout()).toBe(50)
  })

  it('is not needed for the deadline of a behaviour', () => {
    root.onPoll = ({ now }) => { root.cx?.wakeAt(now === 0 ? 50 : Infinity) }
    drain()
    expect(swarm.pollTimeout()).toBe(50)
    drain(49)
    expect(root.polls).toBe(1)
    drain(50)
    expect(root.polls).toBe(2)
    expect(swarm.pollTimeout()).toBe(Infinity)
  })
})

describe('another turn (S4.8, S5.3)', () => {
  it('is what a behaviour gets that wakes itself', () => {
    root.onPoll = () => { root.cx?.wake() }
    drain()
    expect([root.polls, swarm.wantsTurn]).toEqual([1, true])
    drain()
    expect([root.polls, swarm.wantsTurn]).toEqual([2, true])
    root.onPoll = () => {}
    drain()
    expect([root.polls, swarm.wantsTurn]).toEqual([3, false])
  })

  it('is not needed by a behaviour that woke itself and then gave a value', () => {
    root.onPoll = () => {
      if (root.polls === 1) {
        root.emit('value')
        root.cx?.wake()
      }
    }

    expect(drain()).toHaveLength(1)
    expect([root.polls, swarm.wantsTurn]).toEqual([2, false])
  })

  it('is what a connection gets that wakes during its own poll', () => {
    const { stub, wake: wakeStub } = establish('c1')
    stub.onPoll = wakeStub
    drain()
    expect([stub.polls, swarm.wantsTurn]).toEqual([1, true])
    stub.onPoll = () => {}
    drain()
    expect([stub.polls, swarm.wantsTurn]).toEqual([2, false])
  })

  it('is nothing for a connection that has ended', () => {
    const { stub, wake: wakeStub } = establish('c1')
    stub.outputs.push(CLOSED)
    drain()
    wakeStub()
    drain()

    expect(stub.polls).toBe(1)
  })

  it('is not given to a connection that woke itself in its last poll', () => {
    const { stub, wake: wakeStub } = establish('c1')
    stub.onPoll = wakeStub
    stub.outputs.push(CLOSED)
    drain()
    drain()

    expect(stub.polls).toBe(1)
  })
})

describe('fairness (S10.10)', () => {
  it('serves connections, and buries them, although a behaviour always has something', () => {
    root.onPoll = () => { root.emit('busy') }
    const { stub } = establish('c1')
    stub.outputs.push({ type: 'handler-event', event: 1 }, CLOSED)
    const types = Array.from({ length: 400 }, () => {
      const event = swarm.poll(0)
      return event === PENDING ? event : event.type
    })

    expect(root.handlerEvents).toHaveLength(1)
    expect(types).toContain('connection-closed')
  })

  it('does not rest while the behaviours still have something after their share', () => {
    for (let at = 0; at < 200; at++) {
      root.emit(at)
    }

    expect(drain()).toHaveLength(200)
  })
})

describe('calls out of turn (S1.3)', () => {
  it.each([
    ['poll', () => { swarm.poll(0) }],
    ['onSwarmEvent', () => { swarm.onSwarmEvent({ type: 'new-listen-address', address: SOMEWHERE }) }],
    ['establish', () => { establish('c9') }]
  ])('of %s from inside a poll throw', (_, call) => {
    root.onPoll = call

    expect(drain()).toMatchObject([{ type: 'handler-error', method: 'poll', cause: { name: 'InvalidStateError' } }])
  })
})

describe('onSwarmEvent()', () => {
  it('tells the behaviours, which are polled then', () => {
    drain()
    root.onTold = () => { root.emit('heard') }
    swarm.onSwarmEvent({ type: 'new-listen-address', address: SOMEWHERE })

    expect(root.swarmEvents).toEqual([{ type: 'new-listen-address', address: SOMEWHERE }])
    expect(drain()).toEqual([{ type: 'behaviour-event', event: 'heard' }])
  })
})

describe('a swarm of composed behaviours', () => {
  it('names the part whose handler threw, by its path (S4.15)', async () => {
    const world = new VirtualWorld()
    root.makeHandler = () => {
      const handler = new RecordingHandler()
      handler.onEvent = ({ type }) => {
        if (type === 'remote-protocols-change') {
          throw new Error('broken')
        }
      }
      return handler
    }
    const alice = world.node(ALICE, { group: composeBehaviours({ root }) })
    const [connection] = world.connect(alice, world.node(BOB, {}))
    connection.identify('/x')
    await world.settle()

    expect(alice.logOf('handler-error')).toMatchObject([{ behaviour: 'group.root', method: 'onConnectionEvent', peer: BOB, connection: 'c1' }])
    expect(alice.logOf('connection-closed')).toMatchObject([{ reason: 'handler-error' }])
  })

  it('gives undelivered messages back to the part that sent them (S6.9)', async () => {
    const world = new VirtualWorld()
    const alice = world.node(ALICE, { root, other: new RecordingBehaviour() })
    const [connection] = world.connect(alice, world.node(BOB, {}))
    await world.settle()
    connection.close()
    root.push({ type: 'notify-handler', peer: BOB, connection: 'c1', event: 'too late' })
    await world.settle()

    expect(root.swarmEvents.at(-1)).toMatchObject({ type: 'connection-closed', undelivered: ['too late'] })
  })
})

describe('Swarm: what a behaviour gives is its own object', () => {
  const read = new Error('read')
  const get = (): never => { throw read }
  const UNREADABLE = ([
    { type: 'event', get event () { return get() } },
    { type: 'notify-handler', peer: BOB, connection: 'any', get event () { return get() } },
    { type: 'external-address-confirmed', get address () { return get() } }
  ] as const).map((wish) => [wish.type, wish] as const)

  it.each(UNREADABLE)('%s that throws when it is read is a throw of poll (S4.15)', (_type, wish) => {
    root.push(wish)
    expect(drain()).toEqual([{ type: 'handler-error', behaviour: '', method: 'poll', cause: read, peer: undefined, connection: undefined }])
  })

  it.each(UNREADABLE.slice(0, 2))('%s that throws when it is read is blamed on its part, and the others go on (S4.15)', async (_type, wish) => {
    const world = new VirtualWorld()
    const [bad, good] = [new RecordingBehaviour(), new RecordingBehaviour()]
    const alice = world.node(ALICE, { bad, good })
    bad.push(wish)
    good.emit('here')
    await world.settle()
    expect(alice.logOf('handler-error')).toMatchObject([{ behaviour: 'bad', method: 'poll', cause: read }])
    expect(alice.logOf('behaviour-event')).toHaveLength(1)
  })

  it('may be used again: what others are told of is a copy', () => {
    const wish: { type: 'external-address-confirmed', address: typeof SOMEWHERE } = { type: 'external-address-confirmed', address: SOMEWHERE }
    root.push(wish)
    const [given] = drain()
    expect(Object.isFrozen(wish)).toBe(false)
    expect(Object.isFrozen(given)).toBe(true)
    expect(given).toEqual(wish)
  })
})
