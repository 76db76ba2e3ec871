/** S8.3 from the side of the swarm: in a stall handlers are not polled, what behaviours say waits, and everything else goes on. */

import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Connection } from '../../src/connection/connection.ts'
import { PENDING } from '../../src/core/poll.ts'
import { Swarm } from '../../src/swarm/swarm.ts'
import { RecordingHandler } from '../../src/testing/recording-handler.ts'
import { ScriptedMuxer } from '../../src/testing/scripted-muxer.ts'
import { RecordingBehaviour } from '../support/recording-behaviour.ts'
import { BOB, NEVER_ABORTED, SOMEWHERE } from '../support/virtual-world.ts'
import type { NegotiatedStream } from '../../src/behaviour/negotiated-stream.ts'
import type { SwarmEvent } from '../../src/swarm/swarm-event.ts'

type Machine = Connection<NegotiatedStream>

let root: RecordingBehaviour
let swarm: Swarm<unknown, Machine>
let wake: ReturnType<typeof vi.fn<() => void>>

beforeEach(() => {
  root = new RecordingBehaviour()
  wake = vi.fn<() => void>()
  swarm = new Swarm<unknown, Machine>(root, wake)
})

function establish (id: string): { connection: Machine, handler: RecordingHandler, say (event: unknown): void } {
  const handler = new RecordingHandler()
  root.makeHandler = () => handler
  const established = { id, peer: BOB, direction: 'inbound', address: SOMEWHERE, limits: undefined, signal: NEVER_ABORTED } as const
  const connection = swarm.establish(established, (made, wakeConnection) =>
    new Connection<NegotiatedStream>({ id, peer: BOB, direction: 'inbound', handler: made, muxer: new ScriptedMuxer(), wake: wakeConnection }, {}, 0))
  return { connection, handler, say: (event) => { handler.push({ type: 'notify-behaviour', event }) } }
}

function drain (now = 0): Array<SwarmEvent<unknown>> {
  const events = []
  for (let event = swarm.poll(now); event !== PENDING; event = swarm.poll(now)) {
    events.push(event)
  }
  return events
}

const typesOf = (events: ReadonlyArray<{ type: string }>): string[] => events.map(({ type }) => type)

describe('a stalled swarm (S8.3)', () => {
  it('keeps what behaviours say, wants no turn, and goes on where it was', () => {
    root.emit(1, 2, 3)
    expect(swarm.poll(0)).toMatchObject({ event: 1 })
    swarm.stall()
    expect(drain()).toEqual([])
    expect([swarm.wantsTurn, swarm.pollTimeout()]).toEqual([false, Infinity])
    wake.mockClear()
    swarm.resume()
    expect(wake).toHaveBeenCalledTimes(1)
    expect(swarm.poll(0)).toMatchObject({ event: 2 })
    swarm.stall()
    root.emit(4)
    expect(drain()).toEqual([])
    swarm.resume()
    expect(drain()).toMatchObject([{ event: 3 }, { event: 4 }])
  })

  it('lets behaviours act: their instants come, and their commands are carried out', () => {
    const { connection } = establish('c1')
    root.onPoll = (cx) => { cx.wakeAt(10); root.onPoll = () => {} }
    root.emit('before')
    drain()
    swarm.stall()
    const { polls } = root
    expect(swarm.pollTimeout()).toBe(10)
    drain(20)
    expect(root.polls).toBeGreaterThan(polls)
    root.push({ type: 'event', event: 'it closes' }, { type: 'close-connection', peer: BOB, connection: 'all' }, { type: 'dial', target: BOB })
    expect(typesOf(drain(20))).toEqual(['dial'])
    expect(connection.status.phase).toBe('closing')
    swarm.resume()
    expect(typesOf(drain(20))).toEqual(['behaviour-event'])
  })

  it('keeps 256 events, and does not ask behaviours for more', () => {
    swarm.stall()
    root.emit(...Array.from({ length: 300 }, (_, at) => at))
    drain()
    const { polls } = root
    root.cx?.wake()
    root.cx?.wakeAt(10)
    expect([drain(20), swarm.wantsTurn, swarm.pollTimeout(), root.polls]).toEqual([[], false, Infinity, polls])
    swarm.resume()
    expect(drain(20).map((event) => 'event' in event && event.event)).toEqual(Array.from({ length: 300 }, (_, at) => at))
    expect(root.polls).toBeGreaterThan(polls)
  })

  it('does not lose the wake of a part that woke itself before', () => {
    root.onPoll = (cx) => { cx.wake(); root.onPoll = () => {} }
    drain()
    const { polls } = root
    swarm.stall()
    drain()
    swarm.resume()
    drain()
    expect(root.polls).toBeGreaterThan(polls)
  })

  it('takes connections in, tells of them, and holds their handlers back', () => {
    swarm.stall()
    const { say, handler } = establish('c1')
    say('hello')
    expect(typesOf(drain())).toEqual(['connection-established'])
    expect([handler.polls, root.handlerEvents]).toEqual([0, []])
    swarm.resume()
    drain()
    expect(root.handlerEvents).toMatchObject([{ event: 'hello' }])
  })

  it('lets a connection end, and tells of that after the last words of the behaviours about it (S8.2)', () => {
    const { connection, say } = establish('c1')
    drain()
    swarm.stall()
    say('bye')
    connection.close()
    drain()
    connection.handleMuxerClosed()
    expect(drain()).toEqual([])
    expect(connection.status.phase).toBe('closed')
    expect(root.handlerEvents).toMatchObject([{ event: 'bye' }])
    expect(typesOf(root.swarmEvents)).toContain('connection-closed')
    root.emit('about it')
    swarm.resume()
    expect(typesOf(drain())).toEqual(['behaviour-event', 'connection-closed'])
  })

  it('holds no more than 1024 ends back', () => {
    const all = Array.from({ length: 1100 }, (_, at) => establish(`c${at}`).connection)
    drain()
    swarm.stall()
    for (const connection of all) {
      connection.handleMuxerClosed()
    }
    expect(typesOf(drain())).toEqual(Array.from({ length: 76 }, () => 'connection-closed'))
    swarm.resume()
    expect(drain()).toHaveLength(1024)
  })

  it('lets one connection after the other go on, so that a full consumer costs one and not all of them', () => {
    const all = Array.from({ length: 100 }, (_, at) => establish(`c${at}`))
    drain()
    root.onTold = () => { root.emit('event') }
    swarm.stall()
    for (const { say } of all) {
      say('hello')
    }
    drain()
    const polls = () => all.reduce((sum, { handler }) => sum + handler.polls, 0)
    const before = polls()
    swarm.resume()
    expect(swarm.poll(0)).toMatchObject({ type: 'behaviour-event' })
    swarm.stall()
    drain()
    expect(polls() - before).toBeLessThanOrEqual(2)
    swarm.resume()
    drain()
    expect(root.handlerEvents).toHaveLength(100)
  })
})
