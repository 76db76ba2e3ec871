import { getEventListeners } from 'node:events'
import { StreamCloseEvent } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { PingHandler } from '../../src/behaviours/ping-handler.ts'
import { ping } from '../../src/behaviours/ping.ts'
import { protocolBehaviour } from '../../src/behaviours/protocol-behaviour.ts'
import { seededRandom } from '../../src/core/seeded-random.ts'
import { ALICE, BOB, CAROL, VirtualWorld } from '../support/virtual-world.ts'
import type { AnyBehaviour } from '../../src/behaviour/network-behaviour.ts'
import type { NegotiatedStream } from '../../src/behaviour/negotiated-stream.ts'
import type { FakeStream } from '../support/fake-stream.ts'
import type { PingInit } from '../../src/behaviours/ping.ts'

const PING = '/ipfs/ping/1.0.0'

/** Alice pings Bob, who answers by himself. */
function twoNodes (init: PingInit = {}, latencyMs = 10) {
  const world = new VirtualWorld(latencyMs)
  const alice = world.node(ALICE, { ping: ping(init) })
  const bob = world.node(BOB, { ping: ping({ intervalMs: Infinity }) })
  const [connection, far] = world.connect(alice, bob, { init: { idleTimeoutMs: Infinity } })
  return { world, alice, bob, connection, far }
}

/** Alice pings a peer that does on its ping streams what `serve` says. */
function withPeer (serve: (stream: NegotiatedStream) => Promise<void>, init: PingInit = {}) {
  const world = new VirtualWorld(10)
  const alice = world.node(ALICE, { ping: ping(init) })
  const bob = world.node(BOB, { peer: protocolBehaviour({ protocols: PING, inbound: serve }) })
  const [connection, far] = world.connect(alice, bob)
  return { world, alice, bob, connection, far, outcomes: () => alice.events.map(({ event }) => event) }
}

async function echoAll (stream: NegotiatedStream): Promise<void> {
  for await (const chunk of stream) {
    stream.send(chunk)
  }
}

async function echoOnce (stream: NegotiatedStream): Promise<void> {
  for await (const chunk of stream) {
    stream.send(chunk)
    return
  }
}

async function beSilent (stream: NegotiatedStream): Promise<void> {
  for await (const _ of stream) {
    // never answers
  }
}

describe('ping, outbound', () => {
  it('pings at once, then an interval after each answer, on one stream', async () => {
    const { world, alice, connection } = twoNodes({ intervalMs: 1000 })
    await world.advance(2500)

    expect(alice.events).toEqual([20, 20, 20].map(rttMs => ({
      behaviour: 'ping', peer: BOB, connection: 'c1', event: { type: 'pong', rttMs }
    })))
    expect(connection.streams).toHaveLength(1)
  })

  it('sends 32 bytes that differ each time', async () => {
    const payloads: string[] = []
    const { world } = withPeer(async (stream) => {
      for await (const chunk of stream) {
        payloads.push(Buffer.from(chunk.subarray()).toString('hex'))
        stream.send(chunk)
      }
    }, { intervalMs: 100 })
    await world.advance(500)

    expect(payloads.length).toBeGreaterThan(2)
    expect(new Set(payloads).size).toBe(payloads.length)
    expect(payloads.every(payload => payload.length === 64)).toBe(true)
  })

  it('takes an answer in pieces', async () => {
    const { world, outcomes } = withPeer(async (stream) => {
      for await (const chunk of stream) {
        const bytes = chunk.subarray()
        stream.send(bytes.slice(0, 5))
        stream.send(bytes.slice(5))
      }
    })
    await world.advance(1000)

    expect(outcomes()).toEqual([{ type: 'pong', rttMs: 20 }])
  })

  it('reports a peer that never answered, with the number of failures, and tries again after the interval', async () => {
    const { world, outcomes } = withPeer(beSilent, { intervalMs: 1000, timeoutMs: 500 })
    await world.advance(2500)

    expect(outcomes()).toMatchObject([
      { type: 'failure', failures: 1, error: { name: 'TimeoutError' } },
      { type: 'failure', failures: 2, error: { name: 'TimeoutError' } }
    ])
  })

  it('resets a stream that got no answer, and does not wait for the peer to end it', async () => {
    const { world, connection } = withPeer(beSilent, { timeoutMs: 500, intervalMs: 10_000 })
    await world.advance(1000)

    expect(connection.streams).toMatchObject([{ status: 'aborted' }])
  })

  it('takes the first failure after a success as free: nothing is reported, and it reopens at once', async () => {
    let streams = 0
    const { world, outcomes, connection } = withPeer(async (stream) => {
      streams++
      if (streams === 1) {
        await echoOnce(stream)
        await beSilent(stream)
      }
      await echoAll(stream)
    }, { intervalMs: 1000, timeoutMs: 500 })
    await world.advance(1600)

    expect(outcomes()).toMatchObject([{ type: 'pong' }, { type: 'pong' }])
    expect(connection.streams).toMatchObject([{ status: 'aborted' }, { status: 'open' }])
  })

  it('reports the second failure in a row after a success', async () => {
    let streams = 0
    const { world, outcomes } = withPeer(async (stream) => {
      streams++
      if (streams === 1) {
        await echoOnce(stream)
      }
      await beSilent(stream)
    }, { intervalMs: 1000, timeoutMs: 500 })
    await world.advance(2200)

    expect(outcomes()).toMatchObject([{ type: 'pong' }, { type: 'failure', failures: 2 }])
  })

  it('opens another stream when the peer ended the last one between two pings, which is no failure', async () => {
    const { world, outcomes, connection } = withPeer(echoOnce, { intervalMs: 1000 })
    await world.advance(2500)

    expect(outcomes()).toMatchObject([{ type: 'pong' }, { type: 'pong' }, { type: 'pong' }])
    expect(connection.streams).toMatchObject([{ status: 'closed' }, { status: 'closed' }, { status: 'closed' }])
  })

  it('opens another stream when the last one was reset between two pings, which is no failure', async () => {
    const { world, outcomes } = withPeer(async (stream) => {
      for await (const chunk of stream) {
        stream.send(chunk)
        queueMicrotask(() => { stream.abort(new Error('enough')) })
      }
    }, { intervalMs: 1000 })
    await world.advance(1500)

    expect(outcomes()).toMatchObject([{ type: 'pong' }, { type: 'pong' }])
  })

  it('opens another stream when writing to the last one fails', async () => {
    const { world, outcomes, connection } = withPeer(echoAll, { intervalMs: 1000 })
    await world.advance(500)
    void connection.streams[0]?.close()
    await world.advance(1000)

    expect(outcomes()).toMatchObject([{ type: 'pong' }, { type: 'pong' }])
    expect(connection.streams).toMatchObject([{ status: 'closed' }, { status: 'open' }])
  })

  it('counts an end of the stream instead of an answer as a failure', async () => {
    const { world, outcomes } = withPeer(async () => {}, { intervalMs: 1000 })
    await world.advance(100)

    expect(outcomes()).toMatchObject([{ type: 'failure', error: { name: 'UnexpectedEOFError' } }])
  })

  it('counts a stream that is lost without a word as a failure', async () => {
    const { world, outcomes, connection } = withPeer(beSilent, { intervalMs: 1000 })
    await world.advance(50)
    const [stream] = connection.streams as unknown as FakeStream[]
    stream!.status = 'closed'
    stream!.dispatchEvent(new StreamCloseEvent())
    await world.advance(50)

    expect(outcomes()).toMatchObject([{ type: 'failure', error: { name: 'StreamResetError' } }])
  })

  it('reports other bytes than it sent as the mistake of the peer', async () => {
    const { world, outcomes, connection } = withPeer(async (stream) => {
      for await (const chunk of stream) {
        stream.send(new Uint8Array(chunk.byteLength))
      }
    })
    await world.advance(1000)

    expect(outcomes()).toMatchObject([{ type: 'failure', error: { name: 'RemoteProtocolError', outcome: 'invalid' } }])
    expect(connection.streams).toMatchObject([{ status: 'aborted' }])
  })

  it('does not read what nobody asked for: the stream is replaced', async () => {
    const { world, outcomes, connection } = withPeer(async (stream) => {
      for await (const chunk of stream) {
        stream.send(chunk)
        stream.send(new Uint8Array(1_000_000))
      }
    }, { intervalMs: 1000 })
    await world.advance(1500)

    expect(outcomes()).toMatchObject([{ type: 'pong' }, { type: 'pong' }])
    expect(connection.streams[0]).toMatchObject({ status: 'aborted' })
  })

  it('reports a peer without ping once, and tries rarely', async () => {
    const world = new VirtualWorld(10)
    const alice = world.node(ALICE, { ping: ping({ intervalMs: 1000 }) })
    const bob = world.node(BOB, {})
    const [connection] = world.connect(alice, bob, { init: { idleTimeoutMs: Infinity } })
    await world.advance(25_000)

    expect(alice.events).toMatchObject([{ event: { type: 'failure', failures: 1, error: { name: 'StreamUpgradeError', kind: 'negotiation-failed' } } }])
    expect(connection.streams).toHaveLength(3)
  })

  it('tries at once when the peer says that it speaks ping now', async () => {
    const world = new VirtualWorld(10)
    const alice = world.node(ALICE, { ping: ping({ intervalMs: 100_000 }) })
    const names: string[] = []
    const bob = world.node(BOB, { late: { commitEstablished: () => ({ listenProtocols: () => names, onConnectionEvent: () => {} }) } })
    const [connection] = world.connect(alice, bob, { init: { idleTimeoutMs: Infinity } })
    await world.advance(1000)
    connection.identify('/other')
    connection.identify(PING)
    await world.advance(1000)

    expect(connection.streams).toHaveLength(2)
    expect(alice.events).toHaveLength(1)
  })

  it('counts a stream that could not be opened in time as a failure', async () => {
    const { world, outcomes } = twoNodesWithoutAnswer()
    await world.advance(1000)

    expect(outcomes()).toMatchObject([{ type: 'failure', error: { name: 'StreamUpgradeError', kind: 'timeout' } }])
  })

  it('says nothing when the connection closes while a stream is being opened', async () => {
    const { world, alice, connection } = twoNodesWithoutAnswer()
    await world.settle()
    connection.close()
    await world.advance(100)

    expect(alice.log.map(({ type }) => type)).toEqual(['connection-established', 'connection-closed'])
  })

  function twoNodesWithoutAnswer () {
    const world = new VirtualWorld(100_000)
    const alice = world.node(ALICE, { ping: ping({ timeoutMs: 500, intervalMs: 10_000 }) })
    const bob = world.node(BOB, {})
    const [connection] = world.connect(alice, bob)
    return { world, alice, connection, outcomes: () => alice.events.map(({ event }) => event) }
  }

  it('pings every connection to a peer, relayed ones too (S7.18)', async () => {
    const { world, alice, bob } = twoNodes()
    world.connect(alice, bob, { id: 'c2', limits: { seconds: 120 } })
    await world.advance(100)

    expect(alice.events.map(({ connection }) => connection)).toEqual(['c1', 'c2'])
  })
})

describe('a ping that never reached its handler', () => {
  it('fails with the reason (S7.11)', async () => {
    const world = new VirtualWorld(10)
    const alice = world.node(ALICE, { ping: ping() })
    const bob = world.node(BOB, { ping: ping() })
    world.connect(alice, bob, { init: { maxQueuedBehaviourEvents: 2 } })
    const outcomes = Promise.allSettled(Array.from({ length: 5 }, async () => alice.behaviours.ping.ping(BOB)))
    await world.advance(100)
    const failed = (await outcomes).filter(({ status }) => status === 'rejected')
    expect(failed.length).toBeGreaterThan(0)
    expect(failed).toMatchObject(failed.map(() => ({ reason: { name: 'StreamUpgradeError', kind: 'limit' } })))
  })
})

describe('ping with jitter', () => {
  /** When the peer got each payload. */
  function arrivals (behaviour: (world: VirtualWorld) => AnyBehaviour) {
    const world = new VirtualWorld(0)
    const at: number[] = []
    const alice = world.node(ALICE, { ping: behaviour(world) })
    const bob = world.node(BOB, {
      peer: protocolBehaviour({
        protocols: PING,
        async inbound (stream) {
          for await (const chunk of stream) {
            at.push(world.clock.now)
            stream.send(chunk)
          }
        }
      })
    })
    world.connect(alice, bob, { init: { idleTimeoutMs: Infinity } })
    return { world, gaps: () => at.slice(1).map((instant, index) => instant - at[index]!) }
  }

  it('adds its share of jitterMs to every interval, by the random numbers that it is given', async () => {
    const config = { intervalMs: 1000, jitterMs: 400, timeoutMs: 500, maxFailures: Infinity }
    const expected = seededRandom(7)
    const { world, gaps } = arrivals(() => {
      const random = seededRandom(7)
      return { commitEstablished: () => new PingHandler(config, random) }
    })
    await world.advance(6000)

    expect(gaps()).toHaveLength(5)
    for (const gap of gaps()) {
      expect(gap).toBeCloseTo(1000 + 400 * expected(), 6)
    }
  })

  it('stays between the interval and the interval with all of jitterMs', async () => {
    const { world, gaps } = arrivals(() => ping({ intervalMs: 100, jitterMs: 50 }))
    await world.advance(10_000)

    expect(gaps().length).toBeGreaterThan(60)
    expect(Math.min(...gaps())).toBeGreaterThanOrEqual(100)
    expect(Math.max(...gaps())).toBeLessThanOrEqual(150)
    expect(new Set(gaps()).size).toBeGreaterThan(1)
  })
})

describe('ping with maxFailures', () => {
  it('aborts the connection when so many pings in a row failed, after the event', async () => {
    const { world, alice, far } = withPeer(beSilent, { intervalMs: 1000, timeoutMs: 500, maxFailures: 3 })
    await world.advance(10_000)

    expect(alice.events.map(({ event }) => event)).toMatchObject([{ failures: 1 }, { failures: 2 }, { failures: 3 }])
    expect(alice.logOf('connection-closed')).toMatchObject([{ reason: 'aborted', cause: { name: 'TimeoutError' } }])
    expect(alice.log.at(-1)?.type).toBe('connection-closed')
    expect(far.status.phase).toBe('closed')
  })

  it('never does so for the free failure after a success, which counts all the same', async () => {
    let streams = 0
    const { world, alice, connection } = withPeer(async (stream) => {
      streams++
      if (streams === 1) {
        await echoOnce(stream)
      }
      await beSilent(stream)
    }, { intervalMs: 1000, timeoutMs: 500, maxFailures: 1 })
    await world.advance(1600)
    expect(connection.status.phase).toBe('open')
    await world.advance(1000)

    expect(alice.events.map(({ event }) => event)).toMatchObject([{ type: 'pong' }, { type: 'failure', failures: 2 }])
    expect(alice.logOf('connection-closed')).toMatchObject([{ reason: 'aborted' }])
  })

  it('begins to count anew with every answer', async () => {
    let streams = 0
    const { world, alice, connection } = withPeer(async (stream) => {
      streams++
      await (streams % 2 === 1 ? beSilent(stream) : echoOnce(stream))
    }, { intervalMs: 1000, timeoutMs: 500, maxFailures: 2 })
    await world.advance(9000)

    expect(alice.events.length).toBeGreaterThan(4)
    expect(connection.status.phase).toBe('open')
  })

  it('leaves a peer alone that does not speak ping', async () => {
    const world = new VirtualWorld(10)
    const alice = world.node(ALICE, { ping: ping({ intervalMs: 1000, maxFailures: 1 }) })
    const [connection] = world.connect(alice, world.node(BOB, {}), { init: { idleTimeoutMs: Infinity } })
    await world.advance(25_000)

    expect(connection.status.phase).toBe('open')
  })

  it('never closes anything by default', async () => {
    const { world, alice, connection } = withPeer(beSilent, { intervalMs: 100, timeoutMs: 100 })
    await world.advance(5000)

    expect(alice.events.length).toBeGreaterThan(20)
    expect(connection.status.phase).toBe('open')
  })
})

describe('ping, inbound', () => {
  const payload = Uint8Array.from({ length: 32 }, (_, at) => at)

  async function received (stream: NegotiatedStream) {
    const chunks: Uint8Array[] = []
    stream.addEventListener('message', ({ data }) => { chunks.push(data.subarray()) })
    return chunks
  }

  it('echoes for ever, and never times a stream out', async () => {
    const { world, far } = twoNodes({ intervalMs: Infinity })
    const stream = await far.openRaw(PING)
    const chunks = await received(stream)
    for (let round = 0; round < 5; round++) {
      stream.send(payload)
      await world.advance(3_600_000)
    }

    expect(chunks).toEqual([payload, payload, payload, payload, payload])
    expect(stream.status).toBe('open')
  })

  it('echoes whole payloads only, however they are cut', async () => {
    const { world, far } = twoNodes({ intervalMs: Infinity })
    const stream = await far.openRaw(PING)
    const chunks = await received(stream)
    stream.send(payload.slice(0, 7))
    await world.advance(100)
    expect(chunks).toEqual([])
    stream.send(payload.slice(7))
    await world.advance(100)
    stream.send(Uint8Array.from([...payload, ...payload, 1, 2]))
    await world.advance(100)

    expect(chunks).toEqual([payload, Uint8Array.from([...payload, ...payload])])
  })

  it('does not read a peer that does not read its echoes (S5.12)', async () => {
    const PAYLOADS_HELD = 65_536 / 32
    const { world, connection, far } = twoNodes({ intervalMs: Infinity })
    const stream = await far.openRaw(PING)
    const chunks = await received(stream)
    const inbound = connection.streams.at(-1) as NegotiatedStream & { isClogged: boolean, unclog (): void }
    inbound.isClogged = true
    const many = new Uint8Array(PAYLOADS_HELD * payload.length)
    stream.send(many)
    await world.advance(100)
    stream.send(payload)
    await world.advance(100)
    expect(inbound.writeBufferLength).toBe(many.length)
    inbound.unclog()
    await world.advance(100)

    expect(chunks.reduce((sum, { length }) => sum + length, 0)).toBe(many.length + payload.length)
  })

  it('ends its side when the peer ends the other', async () => {
    const { world, far } = twoNodes({ intervalMs: Infinity })
    const stream = await far.openRaw(PING)
    await stream.close()
    await world.advance(100)

    expect(stream.status).toBe('closed')
  })

  it('serves two streams of a connection and resets the third, until one has ended', async () => {
    const { world, far } = twoNodes({ intervalMs: Infinity })
    const first = await far.openRaw(PING)
    const second = await far.openRaw(PING)
    const third = await far.openRaw(PING)
    await world.advance(100)
    expect([first.status, second.status, third.status]).toEqual(['open', 'open', 'reset'])

    first.abort(new Error('gone'))
    await world.advance(100)
    const fourth = await far.openRaw(PING)
    await world.advance(100)
    expect(fourth.status).toBe('open')
  })

  it('reports nothing when the peer resets its stream', async () => {
    const { world, alice, far } = twoNodes({ intervalMs: Infinity })
    const stream = await far.openRaw(PING)
    stream.abort(new Error('gone'))
    await world.advance(100)

    expect(alice.logOf('handler-error')).toEqual([])
  })
})

describe('ping and keep-alive', () => {
  it('does not hold a connection open in either direction', async () => {
    const world = new VirtualWorld(10)
    const alice = world.node(ALICE, { ping: ping({ intervalMs: 1000 }) })
    const bob = world.node(BOB, { ping: ping({ intervalMs: 1000 }) })
    world.connect(alice, bob)
    await world.advance(12_000)

    expect(alice.logOf('connection-closed')).toMatchObject([{ reason: 'keep-alive-timeout' }])
    expect(bob.logOf('connection-closed')).toHaveLength(1)
  })
})

describe('swarm.behaviours.ping.ping()', () => {
  it('pings at once and resolves with the round-trip time', async () => {
    const { world, alice } = twoNodes({ intervalMs: 100_000 })
    await world.advance(100)
    const rtt = alice.behaviours.ping.ping(BOB)
    await world.advance(100)

    await expect(rtt).resolves.toBe(20)
    expect(alice.events).toHaveLength(2)
  })

  it('serves several callers with the ping that is under way', async () => {
    const { world, alice } = twoNodes({ intervalMs: Infinity })
    const rtts = Promise.all([alice.behaviours.ping.ping(BOB), alice.behaviours.ping.ping(BOB)])
    await world.advance(100)

    await expect(rtts).resolves.toEqual([20, 20])
    expect(alice.events).toHaveLength(1)
  })

  it('keeps waiting through a free failure', async () => {
    const { world, alice, connection } = twoNodes({ intervalMs: 100_000 })
    await world.advance(100)
    const rtt = alice.behaviours.ping.ping(BOB)
    await world.settle()
    connection.streams[0]?.abort(new Error('lost'))
    await world.advance(200)

    await expect(rtt).resolves.toBe(20)
  })

  it('rejects with the error of a failed ping', async () => {
    const { world, alice } = withPeer(beSilent, { intervalMs: Infinity, timeoutMs: 500 })
    const rtt = alice.behaviours.ping.ping(BOB)
    const rejected = expect(rtt).rejects.toMatchObject({ name: 'TimeoutError', message: 'No answer to a ping in 500 ms' })
    await world.advance(600)
    await rejected
  })

  it('asks a peer that did not speak ping again, and tells the caller alone', async () => {
    const world = new VirtualWorld(10)
    const alice = world.node(ALICE, { ping: ping({ intervalMs: 100_000 }) })
    world.connect(alice, world.node(BOB, {}), { init: { idleTimeoutMs: Infinity } })
    await world.advance(100)
    const rejected = expect(alice.behaviours.ping.ping(BOB)).rejects.toMatchObject({ kind: 'negotiation-failed' })
    await world.advance(100)

    await rejected
    expect(alice.events).toHaveLength(1)
  })

  it('rejects with TimeoutError after its own time', async () => {
    const { world, alice } = withPeer(beSilent, { intervalMs: Infinity })
    const rejected = expect(alice.behaviours.ping.ping(BOB, { timeoutMs: 50 })).rejects.toMatchObject({ name: 'TimeoutError', message: `Cannot ping: 50 ms have passed (phase open, peer ${BOB.toString()})`, peer: BOB, elapsedMs: 50 })
    await world.advance(50)
    await rejected
    expect(alice.events).toEqual([])
  })

  it('rejects with AbortError when the signal aborts, and leaves no listener (C21)', async () => {
    const { world, alice } = withPeer(beSilent, { intervalMs: Infinity })
    const controller = new AbortController()
    const rejected = expect(alice.behaviours.ping.ping(BOB, { signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError', cause: 'why' })
    await world.settle()
    controller.abort('why')
    await rejected
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  it('rejects when the connection closes', async () => {
    const { world, alice, connection } = withPeer(beSilent)
    const rejected = expect(alice.behaviours.ping.ping(BOB)).rejects.toMatchObject({ name: 'ConnectionClosedError' })
    await world.advance(100)
    connection.close()
    await world.advance(100)
    await rejected
  })

  it('rejects without a connection', async () => {
    const { alice } = twoNodes()

    await expect(alice.behaviours.ping.ping(CAROL)).rejects.toMatchObject({ name: 'NotConnectedError' })
  })

  it('rejects with NotConnectedError after the last connection has closed', async () => {
    const { world, alice, connection } = twoNodes()
    connection.close()
    await world.advance(100)

    await expect(alice.behaviours.ping.ping(BOB)).rejects.toMatchObject({ name: 'NotConnectedError' })
  })
})

describe('ping()', () => {
  it('refuses options that are unknown or out of range', () => {
    expect(() => ping({ intervalMs: -1 })).toThrow(RangeError)
    expect(() => ping({ timeoutMs: NaN })).toThrow(RangeError)
    expect(() => ping({ maxFailures: 0 })).toThrow(RangeError)
    expect(() => ping({ jitterMs: Infinity })).toThrow(RangeError)
    expect(() => ping(Object.freeze({ interval: 1 }) as PingInit)).toThrow(TypeError)
  })
})
