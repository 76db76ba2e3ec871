import { setMaxListeners } from '@libp2p/interface'
import { yamux } from '@libp2p/yamux'
import { afterEach, describe, expect, it } from 'vitest'
import { protocolBehaviour } from 'libp2p-behaviours'
import { CHAT, bytesOf, chat } from '../support/chat.ts'
import { eventOf, until, within } from '../support/deadline.ts'
import { ANY_STACK, BRINGS_MUXER, IS_NATIVE, STACKS, connect, connectionTo, stockNode, stopNodes, swarmNode } from '../support/nodes.ts'
import type { Connection, Stream, StreamMuxerFactory } from '@libp2p/interface'

afterEach(stopNodes)

/** Opens a stream below negotiation: what comes from it is up to the test. */
async function rawStream (connection: Connection): Promise<Stream> {
  const { muxer } = connection as unknown as { muxer: { createStream (): Promise<Stream> } }
  return muxer.createStream()
}

describe.each(STACKS)('streams that arrive before the connection is there, over %s', (stack) => {
  it('are served once it is, and more of them than the ten that the muxer of the host keeps (HOST.md 5.1)', async () => {
    const numbers = Array.from({ length: IS_NATIVE ? 100 : 5 }, (_, index) => String(index))
    let upgrade = (): void => {}
    const mayUpgrade = new Promise<void>((resolve) => { upgrade = resolve })
    const [alice, bob] = await Promise.all([
      swarmNode(stack, { behaviours: { chat: chat() } }),
      swarmNode(stack, { behaviours: { chat: chat() } }, { connectionGater: { denyInboundUpgradedConnection: async () => { await mayUpgrade; return false } } })
    ])
    const texts: string[] = []
    bob.services.swarm.addEventListener('behaviour:event', ({ detail }) => { texts.push(detail.event.text) })
    await connect(alice, bob)
    const said = Promise.all(numbers.map(async (text) => alice.services.swarm.behaviours.chat.say(bob.peerId, text)))
    await until('the streams are on their way', () => alice.getConnections()[0]?.streams.length === numbers.length + 1)
    expect(bob.services.swarm.connections).toEqual([])
    upgrade()
    await within('all are agreed', said)
    await until('all have come', () => texts.length === numbers.length)
    expect(texts.sort((one, other) => Number(one) - Number(other))).toEqual(numbers)
  })
})

// Elsewhere it is the host who negotiates, by rules and limits of its own.
describe.runIf(IS_NATIVE)('a peer that breaks the protocol', () => {
  it.each([
    { name: 'proposes before it has said what it speaks', bytes: bytesOf('\x03/a\n') },
    { name: 'sends a frame over the limit', bytes: new Uint8Array([0xff, 0x7f]) }
  ])('and $name loses that stream only', async ({ bytes }) => {
    const [alice, bob] = await Promise.all([stockNode(ANY_STACK), swarmNode(ANY_STACK, { behaviours: { chat: chat() } })])
    const connection = await connect(alice, bob)
    const stream = await rawStream(connection)
    stream.send(bytes)
    await until('the stream is reset', () => stream.status === 'reset')
    expect((await connection.newStream(CHAT)).protocol).toBe(CHAT)
  })

  it('and says nothing loses the stream at its deadline, which covers all of the negotiation (S2.33)', async () => {
    const [alice, bob] = await Promise.all([stockNode(ANY_STACK), swarmNode(ANY_STACK, { behaviours: { chat: chat() }, inboundTimeoutMs: 50 })])
    const connection = await connect(alice, bob)
    const stream = await rawStream(connection)
    stream.send(bytesOf('\x13'))
    await until('the stream is reset', () => stream.status === 'reset')
  })

  it('and never answers fails the request at its deadline, a behaviour\'s and the host\'s', async () => {
    /** Takes streams, and tells nobody. */
    const deaf = (factory: StreamMuxerFactory): StreamMuxerFactory => ({
      protocol: factory.protocol,
      createStreamMuxer: (wire) => Object.assign(factory.createStreamMuxer(wire), { addEventListener: () => {} })
    })
    const alice = await swarmNode(ANY_STACK, { behaviours: { chat: chat() }, outboundTimeoutMs: 50 })
    const bob = await stockNode(ANY_STACK, { streamMuxers: [() => deaf(yamux()())] })
    const connection = await connect(alice, bob)
    await expect(alice.services.swarm.behaviours.chat.say(bob.peerId, 'hello')).rejects.toMatchObject({ kind: 'timeout', phase: 'header' })
    await expect(connection.newStream('/echo/1.0.0')).rejects.toMatchObject({ name: 'TimeoutError' })
    await until('only identify still waits', () => connection.streams.length <= 1)
  })

  it('and opens too many streams at a time has the newest reset, with a report', async () => {
    const [alice, bob] = await Promise.all([
      stockNode(ANY_STACK),
      swarmNode(ANY_STACK, { behaviours: { chat: chat() }, maxNegotiatingInboundStreams: 2, maxQueuedInboundStreams: 1 })
    ])
    const connection = await connect(alice, bob)
    await within('bob is identified', eventOf(alice, 'peer:identify'))
    const reached = eventOf<CustomEvent<object>>(bob.services.swarm, 'limit:reached')
    const streams = [await rawStream(connection), await rawStream(connection), await rawStream(connection), await rawStream(connection)]
    expect((await reached).detail).toMatchObject({ option: 'maxQueuedInboundStreams', limit: 1 })
    await until('one is reset', () => streams.some(({ status }) => status === 'reset'))
    expect(streams.map(({ status }) => status).sort()).toEqual(['open', 'open', 'open', 'reset'])
  })
})

describe('a signal that many requests of the host share (C21)', () => {
  // On QUIC and WebRTC the host leaves some, with the service and without.
  it.skipIf(BRINGS_MUXER)('has no listener left, whether they succeeded, failed or were aborted, and the options are not changed', async () => {
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: {} }), stockNode(ANY_STACK)])
    const connection = await connect(alice, bob)
    await bob.handle('/yes/1', () => {}, { maxInboundStreams: 100 })
    const abort = new AbortController()
    setMaxListeners(Infinity, abort.signal)
    let listeners = 0
    const { signal } = abort
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => { listeners++; add(...args) }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => { listeners--; remove(...args) }
    const options = Object.freeze({ signal })

    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 20 }, async () => connection.newStream('/yes/1', options)),
      ...Array.from({ length: 10 }, async () => connection.newStream('/no/1', options))
    ])
    expect(outcomes.map(({ status }) => status)).toEqual([...Array<string>(20).fill('fulfilled'), ...Array<string>(10).fill('rejected')])
    expect(listeners).toBe(0)

    const late = Array.from({ length: 10 }, async () => connection.newStream('/yes/1', options))
    abort.abort()
    for (const outcome of await Promise.allSettled(late)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'AbortError' } })
    }
    expect(listeners).toBe(0)
    await until('no stream is left on its way', () => connection.streams.every(({ protocol }) => protocol !== ''))
  })
})

describe('many streams at a time', () => {
  it('are all served, in both directions', async () => {
    const count = 200
    const make = async () => swarmNode(ANY_STACK, {
      behaviours: {
        burst: protocolBehaviour({
          protocols: CHAT,
          async inbound (stream) { for await (const chunk of stream) { stream.send(chunk) } },
          commands: ({ open }) => ({ open })
        })
      }
    })
    const [alice, bob] = await Promise.all([make(), make()])
    await connect(alice, bob)
    await within('bob has the connection', connectionTo(bob, alice.peerId))
    const echo = async (from: typeof alice, to: typeof bob, text: string): Promise<number> => {
      const stream = await from.services.swarm.behaviours.burst.open(to.peerId)
      stream.send(bytesOf(text))
      const ended = (async () => {
        let bytes = 0
        for await (const chunk of stream) {
          bytes += chunk.byteLength
        }
        return bytes
      })()
      await stream.close()
      return ended
    }
    const echoed = await within('all echoes', Promise.all(Array.from({ length: count }, async (_, index) => (
      index % 2 === 0 ? echo(alice, bob, 'x'.repeat(index)) : echo(bob, alice, 'x'.repeat(index))
    ))))
    expect(echoed).toEqual(Array.from({ length: count }, (_, index) => index))
    await until('no stream is left', () => [alice, bob].every((node) => node.services.swarm.connections[0]?.streams.length === 0))
  })
})
