/**
 * What only hosted mode has (S1.5, HOST.md 6). That behaviours do the same in both modes is shown by running their specs once
 * more, see `.config/vitest.hosted.config.ts`.
 */

import { afterEach, describe, expect, it } from 'vitest'
import { ConnectionDenied, protocolBehaviour, protocolHandler } from 'libp2p-behaviours'
import { ProtocolList } from 'libp2p-behaviours/protocols'
import { CHAT, bytesOf, chat, readText, textOf } from '../support/chat.ts'
import { eventOf, until, within } from '../support/deadline.ts'
import { ANY_STACK, bareNode, connect, connectionTo, stockNode, stopNodes, swarmNode } from '../support/nodes.ts'
import type { Stream } from '@libp2p/interface'
import type { ConnectionClosed, EstablishedConnection, NegotiatedStream, NetworkBehaviour } from 'libp2p-behaviours'

const TCP = 'tcp, noise, yamux'

afterEach(stopNodes)

/** Takes streams and hands some out. */
const keep = (streams: NegotiatedStream[] = []) => protocolBehaviour({
  protocols: CHAT, inbound: (stream) => { streams.push(stream) }, commands: ({ open }) => ({ open })
})

describe.each([TCP, ANY_STACK] as const)('a connection whose muxer is not wrapped, over %s', (stack) => {
  it('is one of the swarm\'s, in hosted mode, on both sides or on one', async () => {
    const [bare, other, plugged] = await Promise.all([
      bareNode(stack, { behaviours: { chat: chat() } }), bareNode(stack, { behaviours: { chat: chat() } }), swarmNode(stack, { behaviours: { chat: chat() } })
    ])
    for (const node of [other, plugged]) {
      const opened = eventOf<CustomEvent>(bare.services.swarm, 'connection:open')
      await connect(bare, node)
      await within('the other has it', connectionTo(node, bare.peerId))
      expect((await opened).detail).toMatchObject({ mode: 'hosted', peer: node.peerId })
      const events = [bare, node].map(({ services }) => services.swarm.events())
      await bare.services.swarm.behaviours.chat.say(node.peerId, 'there')
      await node.services.swarm.behaviours.chat.say(bare.peerId, 'and back')
      const [back, there] = await within('both', Promise.all(events.map(async (iterator) => iterator.next())))
      expect([there?.value?.event.text, back?.value?.event.text]).toEqual(['there', 'and back'])
    }
    expect(bare.services.swarm.connections.map(({ mode }) => mode)).toEqual(['hosted', 'hosted'])
    expect(plugged.services.swarm.connections.map(({ mode }) => mode)).toEqual(['native'])
  })
})

describe('a name that the host agrees on', () => {
  /** Offers its name to one peer only. */
  const choosy = (chosen: () => string): NetworkBehaviour => ({
    protocols: [CHAT],
    commitEstablished: ({ peer }: EstablishedConnection) => peer.toString() === chosen()
      ? protocolHandler({ protocols: CHAT, inbound: async (stream) => { await readText(stream) } })
      : undefined
  })

  it('is reset on a connection that does not offer it, and reported there (S1.5, S8.9)', async () => {
    let chosen = ''
    const bare = await bareNode(ANY_STACK, { behaviours: { choosy: choosy(() => chosen) } })
    const [friend, stranger] = await Promise.all([stockNode(ANY_STACK), stockNode(ANY_STACK)])
    chosen = friend.peerId.toString()
    const failed = eventOf<CustomEvent>(bare.services.swarm, 'stream:inbound-failure')
    const [toFriend, toStranger] = [await connect(friend, bare), await connect(stranger, bare)]
    const served = await toFriend.newStream(CHAT)
    const refused = await toStranger.newStream(CHAT)
    await until('the stream is reset', () => refused.status === 'reset')
    expect((await failed).detail).toMatchObject({ peer: stranger.peerId, phase: 'proposal', outcome: 'failed', proposed: CHAT, violation: false })
    expect(served.status).toBe('open')
    expect(toStranger.status).toBe('open')
  })

  it('is the host\'s where another service has registered it, with the service\'s limits', async () => {
    const taken: Stream[] = []
    const streams: NegotiatedStream[] = []
    const [bare, bob] = await Promise.all([bareNode(ANY_STACK, { behaviours: { keep: keep(streams) } }), stockNode(ANY_STACK)])
    await bare.handle(CHAT, (stream) => { taken.push(stream) }, { force: true, maxOutboundStreams: 1 })
    await bob.handle(CHAT, () => {})
    const connection = await connect(bob, bare)
    await connection.newStream(CHAT)
    await until('the service has the stream', () => taken.length === 1)
    expect(streams).toEqual([])
    const { open } = bare.services.swarm.behaviours.keep
    await open(bob.peerId)
    await expect(open(bob.peerId)).rejects.toMatchObject({ kind: 'limit', cause: { name: 'TooManyOutboundProtocolStreamsError' } })
    await bare.services.swarm.connections[0]?.close()
    await until('the entry of the service stays', () => bare.getProtocols().includes(CHAT))
  })

  it('comes and goes with the list of the behaviour, in registrar and peer store', async () => {
    const offered = new ProtocolList([CHAT])
    const bare = await bareNode(ANY_STACK, { behaviours: { chat: chat(offered) } })
    const stored = async () => (await bare.peerStore.get(bare.peerId)).protocols
    expect(bare.getProtocols()).toContain(CHAT)
    offered.replace(['/other/1'])
    await until('the registrar follows', () => bare.getProtocols().includes('/other/1'))
    expect(bare.getProtocols()).not.toContain(CHAT)
    await until('so does the peer store', async () => (await stored()).includes('/other/1'))
    expect(bare.services.swarm.connections).toEqual([])
    await bare.stop()
    expect(bare.getProtocols()).not.toContain('/other/1')
  })

  it('goes to its handler once, whatever middleware somebody has put before it (HOST.md 9.5)', async () => {
    const streams: NegotiatedStream[] = []
    const [bare, bob] = await Promise.all([bareNode(ANY_STACK, { behaviours: { keep: keep(streams) } }), bareNode(ANY_STACK, { behaviours: { keep: keep() } })])
    let passed = 0
    bare.use(CHAT, (stream, connection, next) => { passed++; next(stream, connection) })
    await connect(bob, bare)
    await within('the connection', connectionTo(bare, bob.peerId))
    for (let count = 1; count <= 4; count++) {
      await bob.services.swarm.behaviours.keep.open(bare.peerId)
      await until(`stream ${count} has come`, () => streams.length === count)
    }
    await bare.services.swarm.behaviours.keep.open(bob.peerId)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(streams).toHaveLength(4)
    expect(passed).toBe(5)
  })
})

describe('streams of behaviours in hosted mode', () => {
  it('are not bound by the limits of the host: 32 in, 64 out (HOST.md 6)', async () => {
    const streams: NegotiatedStream[] = []
    const [bare, bob] = await Promise.all([bareNode(ANY_STACK, { behaviours: { keep: keep(streams) } }), bareNode(ANY_STACK, { behaviours: { keep: keep() } })])
    await connect(bob, bare)
    const opened = await Promise.all(Array.from({ length: 80 }, async () => bob.services.swarm.behaviours.keep.open(bare.peerId)))
    await until('all have come', () => streams.length === 80)
    expect(opened.every(({ status }) => status === 'open')).toBe(true)
  })

  it('are opened as usual with lazy, and end by our own deadline', async () => {
    const [bare, bob] = await Promise.all([bareNode(ANY_STACK, { behaviours: { keep: keep() } }), stockNode(ANY_STACK)])
    await bob.handle(CHAT, async (stream) => { stream.send(bytesOf(await readText(stream))); await stream.close() })
    const connection = await connect(bare, bob)
    const { swarm } = bare.services
    await within('bob is known', swarm.protocols.whenSupports(bob.peerId, CHAT))
    const stream = await swarm.behaviours.keep.open(bob.peerId, { lazy: true })
    expect(stream.protocol).toBe(CHAT)
    stream.send(bytesOf('echo'))
    await stream.close()
    expect(textOf(bytesOf(await readText(stream)))).toBe('echo')
    const { muxer } = connection as unknown as { muxer: { createStream (): Promise<Stream> } }
    muxer.createStream = async () => new Promise(() => {})
    await expect(swarm.behaviours.keep.open(bob.peerId, { timeoutMs: 30 })).rejects.toMatchObject({ kind: 'timeout', phase: 'open', tried: [CHAT] })
  })

  it('end with everything that was sent, however late they are read (S2.31)', async () => {
    const read: string[] = []
    const late = protocolBehaviour({
      protocols: CHAT,
      async inbound (stream) {
        await until('the end has come', () => stream.remoteWriteStatus === 'closed')
        read.push(await readText(stream))
      }
    })
    const [bare, bob] = await Promise.all([bareNode(TCP, { behaviours: { late } }), bareNode(TCP, { behaviours: { chat: chat() } })])
    await connect(bob, bare)
    await bob.services.swarm.behaviours.chat.say(bare.peerId, 'all of it')
    await until('it was read', () => read.length === 1)
    expect(read).toEqual(['all of it'])
  })
})

describe('an idle connection in hosted mode', () => {
  const IDLE_MS = 150
  const idleTime = async (): Promise<void> => { await new Promise((resolve) => setTimeout(resolve, IDLE_MS * 2)) }

  it('is held open by a stream that the peer opened to another service, seen in time (S6.3)', async () => {
    const [bare, bob] = await Promise.all([bareNode(ANY_STACK, { behaviours: {}, idleTimeoutMs: IDLE_MS }), stockNode(ANY_STACK)])
    const connection = await connect(bob, bare)
    const stream = await connection.newStream('/echo/1.0.0')
    const closed = eventOf<CustomEvent<ConnectionClosed>>(bare.services.swarm, 'connection:close')
    closed.catch(() => {})
    await idleTime()
    expect(connection.status).toBe('open')
    expect(bare.services.swarm.connections[0]?.streams).toHaveLength(1)
    stream.abort(new Error('done'))
    expect((await closed).detail.reason).toBe('keep-alive-timeout')
  })

  it('is not held open by a ping of the host', async () => {
    const [bare, bob] = await Promise.all([bareNode(ANY_STACK, { behaviours: {}, idleTimeoutMs: IDLE_MS }), stockNode(ANY_STACK)])
    const closed = eventOf<CustomEvent<ConnectionClosed>>(bare.services.swarm, 'connection:close')
    const connection = await connect(bob, bare)
    await connection.newStream('/ipfs/ping/1.0.0')
    expect((await closed).detail.reason).toBe('keep-alive-timeout')
  })
})

describe('gates with the bare service (S7.7)', () => {
  it('are those of the established stage, at connection:open: a denial closes', async () => {
    const asked: string[] = []
    const guard: NetworkBehaviour<never, never, never, RangeError> = {
      checkPending: () => { asked.push('pending'); return undefined },
      checkEstablished: () => { asked.push('established'); return new ConnectionDenied(new RangeError('not you')) },
      commitEstablished: () => undefined
    }
    const [bare, bob] = await Promise.all([bareNode(ANY_STACK, { behaviours: { guard, keep: keep() } }), stockNode(ANY_STACK)])
    const denied = eventOf<CustomEvent>(bare.services.swarm, 'connection:denied')
    await connect(bob, bare).catch(() => undefined)
    expect((await denied).detail).toMatchObject({ behaviour: 'guard', stage: 'established', cause: { message: 'not you' } })
    await until('the connection is closed', () => bare.getConnections().length === 0)
    expect(asked).toEqual(['established'])
    expect(bare.services.swarm.connections).toEqual([])
  })
})
