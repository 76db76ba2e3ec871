/** Identify in virtual time; over real nodes it is in integration/identify.spec.ts. */

import { encode } from 'it-length-prefixed'
import { beforeAll, describe, expect, it } from 'vitest'
import { identify } from '../../src/behaviours/identify.ts'
import { decodeIdentify, encodeIdentify, joinMessages } from '../../src/behaviours/identify-message.ts'
import { Paced } from '../../src/behaviours/paced.ts'
import { protocolBehaviour } from '../../src/behaviours/protocol-behaviour.ts'
import { ProtocolList } from '../../src/protocols/protocol-list.ts'
import { identifyComponents } from '../support/identify-components.ts'
import { VirtualWorld } from '../support/virtual-world.ts'
import type { NegotiatedStream } from '../../src/behaviour/negotiated-stream.ts'
import type { IdentifyInit } from '../../src/behaviours/identify.ts'
import type { IdentifyMessage } from '../../src/behaviours/identify-message.ts'
import type { IdentifyComponents } from '../support/identify-components.ts'

const ID = '/ipfs/id/1.0.0'
const PUSH = '/ipfs/id/push/1.0.0'

let hosts: readonly [alice: IdentifyComponents, bob: IdentifyComponents]
beforeAll(async () => { hosts = [await identifyComponents(), await identifyComponents()] })

const served = (protocols: string[] | ProtocolList) => protocolBehaviour({ protocols, inbound: () => {} })
const own = (host: IdentifyComponents, init?: IdentifyInit) => () => identify(init)(host.given)

/** Two nodes of ours. */
async function twoNodes (protocols: string[] | ProtocolList = ['/a'], init: IdentifyInit = {}, limits?: object) {
  const [aliceHost, bobHost] = [await identifyComponents(), await identifyComponents()]
  const world = new VirtualWorld(10)
  const alice = world.node(aliceHost.peerId, { identify: own(aliceHost, init), served: served(protocols) })
  const bob = world.node(bobHost.peerId, { identify: own(bobHost), served: served(['/b']) })
  const [connection, far] = world.connect(alice, bob, { init: { idleTimeoutMs: Infinity }, ...limits === undefined ? {} : { limits } })
  return { world, alice, bob, aliceHost, bobHost, connection, far }
}

/** One of ours and a peer that answers, and takes pushes, as it likes. */
async function withPeer (
  answer: (stream: NegotiatedStream) => Promise<void> | void, init: IdentifyInit = {}, push: (stream: NegotiatedStream) => Promise<void> | void = () => {}
) {
  const aliceHost = await identifyComponents()
  const world = new VirtualWorld(10)
  const list = new ProtocolList(['/a'])
  const alice = world.node(aliceHost.peerId, { identify: own(aliceHost, init), served: served(list) })
  const [, { peerId }] = hosts
  const bob = world.node(peerId, {
    answers: protocolBehaviour({ protocols: ID, inbound: async (stream) => { await answer(stream) } }),
    pushes: protocolBehaviour({ protocols: PUSH, inbound: async (stream) => { await push(stream) } })
  })
  const [connection, far] = world.connect(alice, bob, { init: { idleTimeoutMs: Infinity } })
  return { world, alice, bob, aliceHost, connection, far, list, events: () => alice.events.map(({ event }) => event) }
}

const saying = (...messages: Array<Partial<IdentifyMessage>>) => async (stream: NegotiatedStream): Promise<void> => {
  for (const message of messages) {
    stream.send(encode.single(encodeIdentify(message)))
  }
}

/** A whole stream as messages. */
async function messagesOf (stream: NegotiatedStream): Promise<IdentifyMessage[]> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) {
    chunks.push(chunk.subarray())
  }
  const all = Buffer.concat(chunks)
  const messages: IdentifyMessage[] = []
  for (let at = 0; at < all.length;) {
    const length = all[at]! < 128 ? all[at]! : all[at]! - 128 + all[at + 1]! * 128
    at += all[at]! < 128 ? 1 : 2
    messages.push(decodeIdentify(all.subarray(at, at + length)))
    at += length
  }
  return messages
}

describe('identify, two nodes', () => {
  it('asks once the connection is there, reports what it hears, stores it, and holds no connection open', async () => {
    const { world, alice, bob, aliceHost, bobHost, connection } = await twoNodes()
    await world.advance(100)

    expect(alice.events).toMatchObject([{ behaviour: 'identify', event: { type: 'identified', info: { protocols: [ID, PUSH, '/b'], agentVersion: 'test/1.0' } } }])
    expect(bob.events).toMatchObject([{ event: { type: 'identified', info: { protocols: [ID, PUSH, '/a'] } } }])
    expect(connection.machine.remoteProtocols.toArray()).toEqual([ID, PUSH, '/b'])
    expect(connection.machine.hasRemoteReport).toBe(true)
    expect(connection.status).toMatchObject({ phase: 'open', activity: 'idle' })
    expect(aliceHost.stored).toMatchObject([
      { protocols: [ID, PUSH, '/b'], addresses: [{ isCertified: true }] },
      { metadata: { AgentVersion: new TextEncoder().encode('test/1.0'), ProtocolVersion: new TextEncoder().encode('ipfs/0.1.0') } }
    ])
    expect(bobHost.stored).toHaveLength(2)
    // The host knows no connection here, so there is none to tell other services of.
    expect(aliceHost.results).toEqual([])
  })

  it('runs on relayed connections, unless it is told not to (S7.18)', async () => {
    const relayed = await twoNodes(['/a'], {}, {})
    await relayed.world.advance(100)
    expect(relayed.bob.events).toHaveLength(1)
    const { world, alice, bob } = await twoNodes(['/a'], { runOnLimitedConnection: false }, {})
    await world.advance(100)
    expect(alice.events).toEqual([])
    expect(bob.events).toMatchObject([{ event: { type: 'error', action: 'ask', error: { kind: 'negotiation-failed' } } }])
  })

  it('pushes the first changes at once, then at a bounded rate, and always the last state', async () => {
    const list = new ProtocolList(['/a'])
    const { world, bob, connection } = await twoNodes(list, { pushBurst: 2, pushIntervalMs: 1000 })
    await world.advance(100)
    const seen = (): string[] => bob.events.flatMap(({ event }) => event.type === 'pushed' ? [event.info.protocols.slice(2).join()] : [])
    list.add('/1')
    await world.advance(60)
    list.add('/2')
    await world.advance(60)
    expect(seen()).toEqual(['/a,/1', '/a,/1,/2'])
    for (const name of ['/3', '/4', '/5']) {
      list.add(name)
      await world.advance(100)
    }
    expect(seen()).toHaveLength(2)
    await world.advance(700)
    expect(seen().slice(2)).toEqual(['/a,/1,/2,/3,/4,/5'])
    list.replace([])
    await world.advance(2000)
    expect(seen().slice(3)).toEqual([''])
    await world.advance(60_000)
    expect(seen()).toHaveLength(4)
    expect(connection.streams.every(({ status }) => status === 'closed')).toBe(true)
  })

  it('pushes when addresses of the node change, and only then', async () => {
    const { world, bob, aliceHost } = await twoNodes()
    await world.advance(100)
    aliceHost.move(...aliceHost.addresses)
    await world.advance(100)
    expect(bob.events).toHaveLength(1)
    aliceHost.move('/ip4/10.0.0.2/tcp/4001')
    await world.advance(100)

    expect(bob.events.slice(1)).toMatchObject([{ event: { type: 'pushed' } }])
    expect(bob.events[1]?.event).toMatchObject({ info: { signedPeerRecord: { addresses: [{}] } } })
    const event = bob.events[1]?.event
    expect(event?.type === 'pushed' && event.info.listenAddresses.map(String)).toEqual(['/ip4/10.0.0.2/tcp/4001'])
  })

  it('asks again on command: callers share an exchange that is under way', async () => {
    const { world, alice, bob, connection } = await twoNodes()
    const answers = Promise.all([alice.behaviours.identify.identify(bob.peerId), alice.behaviours.identify.identify(bob.peerId)])
    await world.advance(100)
    expect((await answers).map(({ protocols }) => protocols.length)).toEqual([3, 3])
    const opened = connection.streams.length
    const again = alice.behaviours.identify.identify(bob.peerId)
    await world.advance(100)
    expect((await again).protocols).toEqual([ID, PUSH, '/b'])
    expect(connection.streams).toHaveLength(opened + 1)
  })

  it('reports a peer store that fails, and goes on', async () => {
    const { world, alice, aliceHost, connection } = await twoNodes()
    aliceHost.isBroken = true
    await world.advance(100)

    expect(alice.events).toMatchObject([{ event: { type: 'error', action: 'ask', error: { message: 'the disk is full' } } }])
    expect(connection.machine.remoteProtocols.toArray()).toEqual([ID, PUSH, '/b'])
    expect(connection.status.phase).toBe('open')
  })

  it('keeps the newer of two signed records of a peer', async () => {
    const { world, alice, bob, aliceHost } = await twoNodes()
    await world.advance(100)
    const [first] = aliceHost.stored
    const again = alice.behaviours.identify.identify(bob.peerId)
    await world.advance(100)
    await again
    expect(aliceHost.stored[2]?.['peerRecordEnvelope']).toEqual(first?.['peerRecordEnvelope'])
  })

  it('refuses calls without a connection, and ends them with it', async () => {
    const { world, alice, bob, connection } = await twoNodes()
    await world.advance(100)
    await expect(alice.behaviours.identify.identify(alice.peerId)).rejects.toMatchObject({ name: 'NotConnectedError' })
    const pending = expect(alice.behaviours.identify.identify(bob.peerId)).rejects.toMatchObject({ name: 'ConnectionClosedError' })
    connection.cut()
    await world.advance(100)
    await pending
  })
})

describe('identify, what a peer says', () => {
  it('may come in several messages, and ends with a reset for some', async () => {
    const { world, events, connection } = await withPeer(async (stream) => {
      await saying({ agentVersion: 'old', protocols: ['/x', '/y'] }, { agentVersion: 'new', protocols: ['/y', '/z'] })(stream)
      await new Promise((resolve) => { setImmediate(resolve) })
      stream.abort(new Error('I am done'))
    })
    await world.advance(100)

    expect(events()).toMatchObject([{ type: 'identified', info: { agentVersion: 'new', protocols: ['/x', '/y', '/z'] } }])
    expect(connection.machine.remoteProtocols.toArray()).toEqual(['/x', '/y', '/z'])
  })

  it('is read no further than maxMessages', async () => {
    const { world, events } = await withPeer(saying({ protocols: ['/1'] }, { protocols: ['/2'] }, { protocols: ['/3'] }), { maxMessages: 2 })
    await world.advance(100)

    expect(events()).toMatchObject([{ type: 'identified', info: { protocols: ['/1', '/2'] } }])
  })

  it.each<[string, (stream: NegotiatedStream) => Promise<void> | void, object]>([
    ['nothing', () => {}, { name: 'UnexpectedEOFError', message: 'Cannot read identify: the peer said nothing' }],
    ['half a message', (stream) => { stream.send(Uint8Array.of(20, 1, 2)) }, { name: 'UnexpectedEOFError', message: 'Cannot read identify: the stream ended inside a message' }],
    ['half a second message', async (stream) => {
      await saying({ protocols: ['/x'] })(stream)
      stream.send(Uint8Array.of(20, 1, 2))
    }, { name: 'UnexpectedEOFError' }],
    ['a message that is too long', (stream) => { stream.send(Uint8Array.of(0x81, 0x40)) }, {
      name: 'RemoteProtocolError', outcome: 'too-long', message: 'Cannot read identify: a message must have at most 8192 bytes'
    }],
    ['a length without end', (stream) => { stream.send(new Uint8Array(20).fill(0xff)) }, { name: 'RemoteProtocolError' }],
    ['no message', (stream) => { stream.send(Uint8Array.of(2, 0x0a, 200)) }, { name: 'RemoteProtocolError', outcome: 'invalid' }],
    ['a reset', (stream) => { stream.abort(new Error('no')) }, { name: 'StreamResetError' }]
  ])('does not count when it is %s, and the stream is reset', async (_, answer, error) => {
    const { world, events, connection } = await withPeer(answer)
    await world.advance(100)

    expect(events()).toMatchObject([{ type: 'error', action: 'ask', error }])
    expect(connection.machine.hasRemoteReport).toBe(false)
    expect(connection.streams[0]?.status).toMatch(/aborted|reset/)
    expect(connection.status.phase).toBe('open')
  })

  it('must come in time', async () => {
    const { world, events, connection } = await withPeer(async () => await new Promise(() => {}), { timeoutMs: 500 })
    await world.advance(600)

    expect(events()).toMatchObject([{ type: 'error', action: 'ask', error: { name: 'TimeoutError', message: 'Identify has taken 500 ms' } }])
    expect(connection.streams[0]?.status).toBe('aborted')
  })

  it('in a push replaces what it said before; nothing at all means that it speaks nothing any more', async () => {
    const { world, connection, far } = await withPeer(saying({ protocols: ['/x', '/y'] }))
    await world.advance(100)
    const seen = [connection.machine.remoteProtocols.toArray()]
    for (const message of [{ protocols: ['/y', '/z'] }, { agentVersion: 'only this' }]) {
      const stream = await far.openRaw(PUSH)
      await saying(message)(stream)
      await stream.close()
      await world.advance(100)
      seen.push(connection.machine.remoteProtocols.toArray())
    }

    expect(seen).toEqual([['/x', '/y'], ['/y', '/z'], []])
    expect(connection.machine.hasRemoteReport).toBe(true)
  })

  it('leaves out addresses that are none', async () => {
    const listenAddrs = [Uint8Array.of(255, 255), Uint8Array.of(4, 10, 0, 0, 7, 6, 15, 161)]
    const { world, events, aliceHost } = await withPeer(saying({ listenAddrs, observedAddr: Uint8Array.of(9, 9, 9) }))
    await world.advance(100)
    const [event] = events()
    expect(event).toMatchObject({ type: 'identified', info: { observedAddress: undefined } })
    expect(aliceHost.stored[0]).toMatchObject({ addresses: [{ isCertified: false }] })
  })

  it.each([
    ['/ip4/8.8.8.8/udp/4001/quic-v1', true],
    ['/ip4/8.8.8.8/tcp/4001', false],
    ['/ip4/192.168.0.1/udp/4001/quic-v1', false],
    ['/ip6/fe80::1/udp/4001/quic-v1', false]
  ])('of where it sees us, at %s, is worth trying: %s', async (address, isWorthTrying) => {
    const { multiaddr } = await import('@multiformats/multiaddr')
    const { world, aliceHost } = await withPeer(saying({ observedAddr: multiaddr(address).bytes }))
    await world.advance(100)
    expect(aliceHost.observed).toEqual(isWorthTrying ? [address] : [])
  })
})

describe('identify, what a peer can do', () => {
  it('has four streams at a time, and the next one is reset', async () => {
    const { world, far } = await withPeer(saying({ protocols: ['/x'] }))
    const streams = []
    for (let at = 0; at < 5; at++) {
      streams.push(await far.openRaw(PUSH))
    }
    await world.advance(10)
    expect(streams.map(({ status }) => status)).toEqual(['open', 'open', 'open', 'open', 'reset'])
    streams[0]?.abort(new Error('gone'))
    await world.advance(100)
    const next = await far.openRaw(PUSH)
    await world.advance(100)
    expect(next.status).toBe('open')
  })

  it('cannot keep a stream by saying nothing', async () => {
    const { world, far, events } = await withPeer(saying({ protocols: ['/x'] }), { timeoutMs: 500 })
    const stream = await far.openRaw(PUSH)
    await world.advance(700)

    expect(stream.status).toBe('reset')
    expect(events().slice(1)).toMatchObject([{ type: 'error', action: 'hear', error: { name: 'TimeoutError' } }])
  })

  it('is not pushed to before it says that it takes pushes, nor after it says that it does not', async () => {
    let pushes = 0
    const { world, connection, far, list } = await withPeer(saying({ protocols: ['/x'] }), {}, () => { pushes++ })
    await world.advance(100)
    list.add('/b')
    await world.advance(1000)
    expect(pushes).toBe(0)
    const tell = async (...protocols: string[]): Promise<void> => {
      const stream = await far.openRaw(PUSH)
      await saying({ protocols })(stream)
      await stream.close()
      await world.advance(200)
    }
    await tell(PUSH)
    expect(pushes).toBe(1)
    await tell('/x')
    list.add('/c')
    await world.advance(1000)
    expect(pushes).toBe(1)
    expect(connection.status.phase).toBe('open')
  })

  it('that refuses a push is tried again with the next change, and when it says anew that it takes them', async () => {
    const aliceHost = await identifyComponents()
    const world = new VirtualWorld(10)
    const list = new ProtocolList(['/a'])
    const alice = world.node(aliceHost.peerId, { identify: own(aliceHost), served: served(list) })
    const [, { peerId }] = hosts
    const heard: string[][] = []
    const names = new ProtocolList()
    const bob = world.node(peerId, {
      answers: protocolBehaviour({ protocols: ID, inbound: saying({ protocols: [PUSH] }) }),
      pushes: protocolBehaviour({ protocols: names, inbound: async (stream) => { heard.push(joinMessages(await messagesOf(stream)).protocols.slice(2)) } })
    })
    const [connection, far] = world.connect(alice, bob, { init: { idleTimeoutMs: Infinity } })
    await world.advance(100)
    const refusals = () => alice.events.filter(({ event }) => event.type === 'error' && event.action === 'push').length
    list.add('/b')
    await world.advance(30_000)
    expect(refusals()).toBe(1)
    list.add('/c')
    await world.advance(30_000)
    expect(refusals()).toBe(2)
    names.add(PUSH)
    const stream = await far.openRaw(PUSH)
    await saying({ protocols: [PUSH] })(stream)
    await stream.close()
    await world.advance(30_000)

    expect(refusals()).toBe(2)
    expect(heard).toEqual([['/a', '/b', '/c']])
    expect(connection.status.phase).toBe('open')
  })

  it('cannot make us take in pushes in a loop: those that come too fast are one, and the last state counts', async () => {
    const { world, connection, far, aliceHost, events } = await withPeer(saying({ protocols: ['/x'] }))
    await world.advance(100)
    const before = aliceHost.stored.length
    for (let at = 1; at <= 100; at++) {
      const stream = await far.openRaw(PUSH)
      await saying(at === 20 ? { protocols: [`/${at}`], agentVersion: 'said once' } : { protocols: [`/${at}`] })(stream)
      await stream.close()
      await world.advance(5)
    }
    await world.advance(20)
    const pushed = () => events().flatMap((event) => event.type === 'pushed' ? [event.info] : [])
    // Ten at once, and one for each of the two seconds that it took.
    expect(pushed()).toHaveLength(12)
    await world.advance(10_000)
    expect(pushed()).toHaveLength(13)
    expect(pushed().at(-1)).toMatchObject({ protocols: ['/100'] })
    // What only one of those said that were taken in as one is not lost with it.
    expect(pushed().map(({ agentVersion }) => agentVersion).filter((version) => version !== undefined)).toEqual(['said once'])
    expect(pushed().some(({ protocols }) => protocols.includes('/20'))).toBe(false)
    expect(connection.machine.remoteProtocols.toArray()).toEqual(['/100'])
    expect(aliceHost.stored.length - before).toBe(26)
  })

  it('is told again what could not be sent, at the bounded rate', async () => {
    let pushes = 0
    const heard: string[][] = []
    const { world, list, events } = await withPeer(saying({ protocols: [PUSH] }), { pushBurst: 1, pushIntervalMs: 1000, timeoutMs: 300 }, async (stream) => {
      pushes++
      if (pushes === 1) {
        stream.abort(new Error('not now'))
      } else {
        heard.push(joinMessages(await messagesOf(stream)).protocols.slice(2))
      }
    })
    await world.advance(100)
    list.add('/b')
    await world.advance(500)
    const failed = events().filter(({ type }) => type === 'error').length
    await world.advance(2000)

    // A reset may come when all was written: then the peer has had it all.
    expect(heard.length).toBe(failed)
    expect(pushes).toBe(1 + failed)
  })

  it('hears of a change while it is told of another one, with the next push', async () => {
    const heard: string[][] = []
    const { world, list } = await withPeer(saying({ protocols: [PUSH] }), {}, async (stream) => {
      heard.push(joinMessages(await messagesOf(stream)).protocols.slice(2))
      await new Promise<void>((resolve) => { world.post(resolve) })
    })
    await world.advance(100)
    list.add('/b')
    await world.advance(25)
    list.add('/c')
    await world.advance(200)

    expect(heard).toEqual([['/a', '/b'], ['/a', '/b', '/c']])
  })
})

describe('identify, what it cannot say', () => {
  it('is reported once', async () => {
    const names = Array.from({ length: 2000 }, (_, at) => `/a-name-of-fifty-bytes-that-goes-on-for-a-while/${at}`)
    const { world, alice, bob } = await twoNodes(names)
    await world.advance(100)
    const again = bob.behaviours.identify.identify(alice.peerId)
    await world.advance(100)
    await again

    expect(alice.events.map(({ event }) => event).filter(({ type }) => type === 'error')).toMatchObject([{ action: 'answer', error: { name: 'RangeError' } }])
  })
})

describe('identify()', () => {
  it('refuses options that are unknown, of the wrong type or out of range', () => {
    const make = identify as (init: unknown) => unknown
    expect(() => make({ interval: 1 })).toThrow('Cannot make an identify behaviour: there is no option "interval"')
    expect(() => make({ agentVersion: 1 })).toThrow(new TypeError('Cannot make an identify behaviour: agentVersion must be a string, received number'))
    expect(() => identify({ protocolVersion: 'x'.repeat(257) })).toThrow(new RangeError('Cannot make an identify behaviour: protocolVersion must have at most 256 bytes, received 257'))
    expect(() => identify({ pushBurst: 0 })).toThrow(RangeError)
    expect(() => identify({ pushIntervalMs: Infinity })).toThrow(RangeError)
    expect(() => identify({ maxMessageBytes: 0 })).toThrow(RangeError)
  })

  it('declares both names', async () => {
    const [host] = hosts
    expect(identify()(host.given).protocols).toEqual([ID, PUSH])
  })

  it('is not taken uncalled', async () => {
    const [host] = hosts
    expect(() => new VirtualWorld().node(host.peerId, { identify: identify as never })).toThrow('identify was given uncalled, write identify(options)')
  })
})

describe('Paced', () => {
  it('gives so many at once, then one per interval, and what was not used comes back', () => {
    const paced = new Paced(2, 100)
    const taken: number[] = []
    for (let now = 1000; now < 1500; now += 10) {
      if (paced.nextAt <= now) {
        paced.take(now)
        taken.push(now)
      }
    }
    expect(taken).toEqual([1000, 1010, 1100, 1200, 1300, 1400])
    for (let now = 5000; now < 5050; now += 10) {
      if (paced.nextAt <= now) {
        paced.take(now)
        taken.push(now)
      }
    }
    expect(taken.slice(6)).toEqual([5000, 5010])
  })
})
