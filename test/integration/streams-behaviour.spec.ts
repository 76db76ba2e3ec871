import { afterEach, describe, expect, it } from 'vitest'
import { composeBehaviours, toggle } from 'libp2p-behaviours'
import { streams } from 'libp2p-behaviours/streams'
import { bytesOf, readText } from '../support/chat.ts'
import { eventOf, until, within } from '../support/deadline.ts'
import { ANY_STACK, STACKS, connect, stockNode, stopNodes, swarmNode } from '../support/nodes.ts'
import type { Connection } from '@libp2p/interface'
import type { AcceptedStreams } from 'libp2p-behaviours/streams'
import type { NodeOptions, Stack } from '../support/nodes.ts'

afterEach(stopNodes)

const CHAT = '/chat/1.0.0'

const withStreams = async (stack: Stack, options: NodeOptions = {}) => await swarmNode(stack, { behaviours: { streams: streams() } }, options)

describe.each(STACKS)('streams() over %s', (stack) => {
  it('opens, with a dial if need be, and accepts: text there and back', async () => {
    const [alice, bob] = await Promise.all([withStreams(stack), withStreams(stack)])
    await alice.peerStore.patch(bob.peerId, { multiaddrs: bob.getMultiaddrs() })
    const serving = (async () => {
      for await (const { stream, peer, protocol } of bob.services.swarm.behaviours.streams.accept(CHAT)) {
        const text = await readText(stream)
        stream.send(bytesOf(`${protocol} ${peer.equals(alice.peerId)} ${text}`))
        await stream.close()
        break
      }
    })()
    // Hosted connections take it from then on, native ones at once.
    await until('the name is there', () => bob.getProtocols().includes(CHAT))
    const stream = await alice.services.swarm.behaviours.streams.open(bob.peerId, ['/no/1', CHAT])
    stream.send(bytesOf('hello'))
    await stream.close()
    expect(await readText(stream)).toBe(`${CHAT} true hello`)
    await within('the end of the loop', serving)
    await until('the name has gone', () => !bob.getProtocols().includes(CHAT))
    await expect(alice.services.swarm.behaviours.streams.open(bob.peerId, CHAT)).rejects.toMatchObject({ name: 'StreamUpgradeError', kind: 'negotiation-failed' })
  })

  it('announces what is accepted on live connections, and takes it back', async () => {
    const [alice, bob] = await Promise.all([withStreams(stack), withStreams(stack)])
    await connect(alice, bob)
    const { protocols } = alice.services.swarm
    await until('bob has been identified', () => protocols.supports(bob.peerId, CHAT) === false)
    const accepted = bob.services.swarm.behaviours.streams.accept(CHAT)
    await within('the announcement', protocols.whenSupports(bob.peerId, CHAT))
    expect(bob.getProtocols()).toContain(CHAT)
    await accepted.return?.()
    await until('it was taken back', () => protocols.supports(bob.peerId, CHAT) === false && !bob.getProtocols().includes(CHAT))
  })

  it('speaks with stock nodes in both roles', async () => {
    const [alice, bob] = await Promise.all([withStreams(stack), stockNode(stack)])
    const { streams } = alice.services.swarm.behaviours
    streams.serve(CHAT, async (stream) => {
      stream.send(bytesOf(`to you: ${await readText(stream)}`))
    })
    await until('the name is there', () => alice.getProtocols().includes(CHAT))
    const connection = await connect(bob, alice)
    const inbound = await connection.newStream(CHAT)
    inbound.send(bytesOf('from stock'))
    await inbound.close()
    expect(await readText(inbound)).toBe('to you: from stock')
    await bob.handle('/stock/1', async (stream) => {
      stream.send(bytesOf('from the stock handler'))
      await stream.close()
    })
    const outbound = await streams.open(bob.peerId, '/stock/1')
    expect(await readText(outbound)).toBe('from the stock handler')
    await outbound.close()
  })
})

describe('streams()', () => {
  it('holds back a peer whose stream waits to be taken, and loses nothing', async () => {
    const [alice, bob] = await Promise.all([withStreams('tcp, noise, yamux'), withStreams('tcp, noise, yamux')])
    const accepted = bob.services.swarm.behaviours.streams.accept(CHAT)
    await until('the name is there', () => bob.getProtocols().includes(CHAT))
    await connect(alice, bob)
    const stream = await alice.services.swarm.behaviours.streams.open(bob.peerId, CHAT)
    const chunk = new Uint8Array(65_536).fill(7)
    const isDrained = async () => await Promise.race([stream.onDrain().then(() => true), new Promise((resolve) => { setTimeout(resolve, 300, false) })])
    let sent = 1
    while (stream.send(chunk) || await isDrained() === true) {
      expect(++sent).toBeLessThan(256)
    }
    const { value } = await accepted.next()
    let received = 0
    const reading = (async () => { for await (const bytes of value!.stream) { received += bytes.byteLength } })()
    await within('the rest', (async () => { await stream.onDrain().catch(() => undefined); await stream.close() })())
    await within('the end', reading)
    expect(received).toBe(sent * chunk.byteLength)
  })

  it('resets and reports what is too much, and the other streams go on', async () => {
    const [alice, bob] = await Promise.all([withStreams(ANY_STACK), withStreams(ANY_STACK)])
    const accepted = bob.services.swarm.behaviours.streams.accept(CHAT, { maxWaiting: 3, maxWaitingPerPeer: 3 })
    const rejected = eventOf<CustomEvent>(bob.services.swarm, 'behaviour:event')
    await until('the name is there', () => bob.getProtocols().includes(CHAT))
    await connect(alice, bob)
    const opened = await Promise.all(Array.from({ length: 8 }, async () => await alice.services.swarm.behaviours.streams.open(bob.peerId, CHAT)))
    expect((await rejected).detail).toMatchObject({ behaviour: 'streams', event: { type: 'stream-rejected', protocol: CHAT } })
    await until('five are reset', () => opened.filter(({ status }) => status === 'reset').length === 5)
    expect(accepted).toMatchObject({ waiting: 3, rejected: 5 })
  })

  it('ends its iterations when the node stops, and serves again when it is started again', async () => {
    const alice = await swarmNode(ANY_STACK, { behaviours: { group: composeBehaviours({ streams: toggle(streams()) }) } })
    const bob = await withStreams(ANY_STACK)
    const own = alice.services.swarm.behaviours.group.streams.inner
    const iterations = ['/a', '/b', '/c'].map((name) => own.accept(name))
    own.serve(CHAT, async (stream) => { stream.send(bytesOf(`got ${await readText(stream)}`)) })
    await until('the names are there', () => alice.getProtocols().includes('/a'))
    await connect(bob, alice)
    const waiting = await bob.services.swarm.behaviours.streams.open(alice.peerId, '/a')
    const loops = iterations.map(async (accepted: AcceptedStreams) => {
      let count = 0
      for await (const { stream } of accepted) { count++; await readText(stream).catch(() => undefined) }
      return count
    })
    await alice.stop()
    expect(await within('the loops', Promise.all(loops))).toEqual([1, 0, 0])
    await until('the stream is reset', () => waiting.status !== 'open')
    expect(() => own.accept('/late')).toThrow(expect.objectContaining({ name: 'InvalidStateError', message: expect.stringContaining('the node has stopped') as string }))
    await alice.start()
    expect(own.accept('/late').isOpen).toBe(true)
    await until('the name is there', () => alice.getProtocols().includes(CHAT))
    await bob.dial(alice.getMultiaddrs())
    const stream = await bob.services.swarm.behaviours.streams.open(alice.peerId, CHAT)
    stream.send(bytesOf('again'))
    await stream.close()
    expect(await readText(stream)).toBe('got again')
    await expect(bob.services.swarm.behaviours.streams.open(alice.peerId, '/a')).rejects.toMatchObject({ kind: 'negotiation-failed' })
  })

  it('serves 50 connections at a time', { timeout: 60_000 }, async () => {
    const bob = await withStreams(ANY_STACK, { connectionManager: { inboundConnectionThreshold: 100 } })
    bob.services.swarm.behaviours.streams.serve(CHAT, async (stream) => { stream.send(bytesOf(`got ${await readText(stream)}`)) })
    const accepted = bob.services.swarm.behaviours.streams.accept('/count/1')
    const alice = await withStreams(ANY_STACK)
    const connections: Connection[] = []
    while (connections.length < 50) {
      connections.push(await alice.dial(bob.getMultiaddrs(), { force: true }))
    }
    expect(new Set(connections).size).toBe(50)
    await until('bob has them all', () => bob.services.swarm.connections.length === 50)
    const texts = await Promise.all(connections.map(async (connection, at) => {
      const stream = await connection.newStream(CHAT)
      stream.send(bytesOf(String(at)))
      await stream.close()
      return await readText(stream)
    }))
    expect(texts).toEqual(connections.map((_, at) => `got ${at}`))
    const ids = new Set<string>()
    // Over WebRTC the reset of a stream may overtake the confirmation of its name.
    await Promise.allSettled(connections.map(async (connection) => { await connection.newStream('/count/1') }))
    // One peer may have 32 streams wait.
    await until('all have come', () => accepted.waiting === 32 && accepted.rejected === 18)
    for await (const { connection } of accepted) {
      ids.add(connection)
      if (accepted.waiting === 0) {
        break
      }
    }
    expect(ids.size).toBe(32)
  })
})
