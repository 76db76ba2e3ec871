import { byteStream } from '@libp2p/utils'
import { yamux } from '@libp2p/yamux'
import { afterEach, describe, expect, it } from 'vitest'
import { PENDING, protocolBehaviour } from 'libp2p-behaviours'
import { ping } from 'libp2p-behaviours/ping'
import { CHAT, bytesOf, chat, readText, textOf } from '../support/chat.ts'
import { eventOf, until, within } from '../support/deadline.ts'
import { ANY_STACK, BRINGS_MUXER, MODE, SEES_RESETS, STACKS, connect, connectionTo, stockNode, stopNodes, swarmNode } from '../support/nodes.ts'
import type { StreamMuxer, StreamMuxerFactory } from '@libp2p/interface'
import type { ConnectionClosed, ConnectionHandler, NetworkBehaviour, PollContext, SwarmInit } from 'libp2p-behaviours'
import type { SwarmNode } from '../support/nodes.ts'

afterEach(stopNodes)

type Chat = Record<'chat', ReturnType<typeof chat>>

/** What a node tells of the end of its connections, in order. */
function lastEventsOf (node: SwarmNode<Chat>) {
  const events: Array<{ type: string, reason?: string }> = []
  const { swarm } = node.services
  for (const type of ['protocols:change', 'behaviour:event', 'connection:idle', 'connection:close'] as const) {
    swarm.addEventListener(type, ({ detail }: CustomEvent<object>) => {
      events.push('reason' in detail ? { type, reason: String(detail.reason) } : { type })
    })
  }
  return events
}

async function pairOf (stack: typeof STACKS[number] = ANY_STACK, options: Omit<SwarmInit<Chat>, 'behaviours'> = {}) {
  const make = async () => swarmNode(stack, { behaviours: { chat: chat() }, ...options })
  const [alice, bob] = await Promise.all([make(), make()])
  const host = await connect(alice, bob)
  await within('bob has the connection', connectionTo(bob, alice.peerId))
  await within('both are identified', Promise.all([
    alice.services.swarm.protocols.whenSupports(bob.peerId, CHAT),
    bob.services.swarm.protocols.whenSupports(alice.peerId, CHAT)
  ]))
  const [connection] = alice.services.swarm.connections
  return { alice, bob, host, connection: connection! }
}

/** A handler that says goodbye when asked to close: one event, after `delayMs`, or never. */
function farewell (delayMs: number): NetworkBehaviour<'goodbye', never, 'goodbye'> & { readonly said: string[] } {
  const said: string[] = []
  const events: Array<'goodbye'> = []
  class Farewell implements ConnectionHandler<never, 'goodbye'> {
    #cx: PollContext | undefined
    #isDue = false
    #isSaid = false
    listenProtocols () { return [] }
    onConnectionEvent () {}
    pollClose (cx: PollContext) {
      if (this.#cx === undefined) {
        this.#cx = cx
        if (delayMs !== Infinity) {
          setTimeout(() => { this.#isDue = true; cx.wake() }, delayMs)
        }
      }
      if (!this.#isDue) {
        return PENDING
      }
      const event = this.#isSaid ? undefined : 'goodbye' as const
      this.#isSaid = true
      return event
    }
  }
  return {
    said,
    commitEstablished: () => new Farewell(),
    onHandlerEvent: (_peer, _connection, event) => { said.push(event); events.push(event) },
    onSwarmEvent: ({ type }) => { said.push(type) },
    poll: () => {
      const event = events.shift()
      return event === undefined ? PENDING : { type: 'event', event }
    }
  }
}

describe('a connection that begins to close', () => {
  it.each([{ protocols: '/echo/1.0.0' }, { protocols: ['/no/1', '/echo/1.0.0'] }])('refuses streams for $protocols at once, as the host does', async ({ protocols }) => {
    const { host, connection } = await pairOf()
    const closed = host.close()
    await within('the refusal', expect(host.newStream(protocols)).rejects.toMatchObject({ name: 'ConnectionClosedError' }))
    await closed
    const other = await pairOf()
    const otherClosed = other.connection.close()
    await within('the refusal', expect(other.host.newStream(protocols)).rejects.toMatchObject({ name: 'ConnectionClosedError' }))
    await otherClosed
    expect([...connection.streams]).toEqual([])
  })
})

describe.each(STACKS)('a connection over %s', (stack) => {
  it('that one side closes ends in good order on both, once and last (S6.6, S6.8)', async () => {
    const { alice, bob, host, connection } = await pairOf(stack)
    const [alices, bobs] = [lastEventsOf(alice), lastEventsOf(bob)]
    const bobClosed = eventOf(bob.services.swarm, 'connection:close')
    await within('the close', Promise.all([connection.close(), connection.close()]))
    await bobClosed
    expect(alices.filter(({ type }) => type === 'connection:close')).toEqual([{ type: 'connection:close', reason: 'local-close' }])
    expect(bobs.filter(({ type }) => type === 'connection:close')).toEqual([{ type: 'connection:close', reason: 'remote-close' }])
    expect([alices.at(-1)?.type, bobs.at(-1)?.type]).toEqual(['connection:close', 'connection:close'])
    expect(host.status).toMatch(/^(closed|aborted)$/)
    expect([alice.services.swarm.connections, bob.services.swarm.connections]).toEqual([[], []])
  })

  it('that the host closes ends the same way', async () => {
    const { alice, host } = await pairOf(stack)
    const closed = eventOf<CustomEvent<ConnectionClosed>>(alice.services.swarm, 'connection:close')
    await within('the close', host.close())
    expect((await closed).detail).toMatchObject({ reason: 'local-close', cause: undefined, remaining: 0, undelivered: [] })
    expect(host.status).toMatch(/^(closed|aborted)$/)
  })

  it('that the host aborts ends at once, with the error', async () => {
    const { alice, bob, host } = await pairOf(stack)
    const error = new Error('enough')
    const [aliceClosed, bobClosed] = [alice, bob].map((node) => eventOf<CustomEvent<ConnectionClosed>>(node.services.swarm, 'connection:close'))
    host.abort(error)
    expect((await aliceClosed)?.detail).toMatchObject({ reason: 'aborted', cause: error })
    expect((await bobClosed)?.detail.reason).toMatch(/^(remote-close|io-error)$/)
  })
})

// Not over TCP: there the host's transport may lose what was written last, also between stock nodes.
describe.each(STACKS.filter((stack) => stack.startsWith('memory')))('a connection over %s', (stack) => {
  it('is flushed before it closes: the peer gets all that was written, then the end', async () => {
    const received: string[] = []
    const reader = () => protocolBehaviour({
      protocols: CHAT,
      async inbound (stream) { received.push(await readText(stream)) },
      commands: ({ open }) => ({ open })
    })
    const [alice, bob] = await Promise.all([swarmNode(stack, { behaviours: { chat: reader() } }), swarmNode(stack, { behaviours: { chat: reader() } })])
    await connect(alice, bob)
    const stream = await alice.services.swarm.behaviours.chat.open(bob.peerId)
    const text = 'x'.repeat(100_000)
    stream.send(bytesOf(text))
    await alice.services.swarm.connections[0]?.close()
    await until('bob has it all', () => received.length === 1)
    expect(received[0] === text).toBe(true)
  })
})

describe.each(STACKS)('an idle connection over %s', (stack) => {
  it('whose streams are still open ends in good order on both sides (S6.6 d)', async () => {
    const behaviours = () => ({ ping: ping() })
    const [alice, bob] = await Promise.all([swarmNode(stack, { behaviours: behaviours(), idleTimeoutMs: 200 }), swarmNode(stack, { behaviours: behaviours() })])
    const [aliceClosed, bobClosed] = [alice, bob].map((node) => eventOf<CustomEvent<ConnectionClosed>>(node.services.swarm, 'connection:close'))
    await connect(alice, bob)
    expect((await aliceClosed)?.detail.reason).toBe('keep-alive-timeout')
    expect((await bobClosed)?.detail.reason).toBe('remote-close')
  })
})

describe('the last word of handlers', () => {
  it.each([
    { name: 'the swarm closes', close: async (alice: SwarmNode<{ bye: ReturnType<typeof farewell> }>) => alice.services.swarm.connections[0]?.close() },
    { name: 'the host closes', close: async (alice: SwarmNode<{ bye: ReturnType<typeof farewell> }>) => alice.getConnections()[0]?.close() },
    { name: 'the node stops, which gives each connection half a second', close: async (alice: SwarmNode<{ bye: ReturnType<typeof farewell> }>) => { await alice.stop() }, delayMs: 700 }
  ])('comes before the connection closes, when $name', async ({ close, delayMs = 20 }) => {
    const bye = farewell(delayMs)
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { bye } }), stockNode(ANY_STACK)])
    const host = await connect(alice, bob)
    const events: string[] = []
    alice.services.swarm.addEventListener('behaviour:event', ({ detail }) => { events.push(`${detail.event} ${host.status}`) })
    alice.services.swarm.addEventListener('connection:close', ({ detail }) => { events.push(detail.reason) })
    await within('the close', close(alice))
    await until('the connection is closed', () => events.includes('local-close'))
    expect(events).toEqual(['goodbye open', 'local-close'])
    expect(bye.said.filter((word) => !/listen|swarm-stopped/.test(word)).slice(-2)).toEqual(['goodbye', 'connection-closed'])
  })

  it('is cut at closeTimeoutMs', async () => {
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { bye: farewell(Infinity) }, closeTimeoutMs: 50 }), stockNode(ANY_STACK)])
    const host = await connect(alice, bob)
    const closed = eventOf<CustomEvent<ConnectionClosed>>(alice.services.swarm, 'connection:close')
    await within('the close', alice.services.swarm.connections[0]!.close())
    expect((await closed).detail.reason).toBe('local-close')
    await until('the transport is closed', () => host.status !== 'open' && host.status !== 'closing')
  })

  it.each([
    { name: 'signal', options: () => ({ signal: AbortSignal.timeout(20) }) },
    { name: 'timeoutMs', options: () => ({ timeoutMs: 20 }) }
  ])('is cut by the $name of the caller, and close() still resolves', async ({ options }) => {
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { bye: farewell(Infinity) }, closeTimeoutMs: 200 }), stockNode(ANY_STACK)])
    const host = await connect(alice, bob)
    await within('the close', alice.services.swarm.connections[0]!.close(options()))
    expect(host.status).not.toBe('open')
    expect(alice.services.swarm.connections).toEqual([])
  })

  // The muxer of QUIC closes whatever the signal says.
  it.skipIf(MODE === 'quic')('is cut by the signal of a close that the host begins, which then rejects and leaves nothing open', async () => {
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { bye: farewell(Infinity) }, closeTimeoutMs: 3000 }), stockNode(ANY_STACK)])
    const host = await connect(alice, bob)
    const closed = eventOf(alice.services.swarm, 'connection:close')
    await expect(host.close({ signal: AbortSignal.timeout(20) })).rejects.toMatchObject({ name: 'TimeoutError' })
    expect(host.status).toBe('aborted')
    await closed
  })

  it('refuses an option that makes no sense', async () => {
    const { connection } = await pairOf()
    await expect(connection.close({ timeoutMs: -1 })).rejects.toMatchObject({ name: 'RangeError' })
  })
})

describe('what was asked for when the connection closes', () => {
  /** Hands out no stream before it is told to. */
  const reluctant = (factory: StreamMuxerFactory): StreamMuxerFactory => ({
    protocol: factory.protocol,
    createStreamMuxer: (wire): StreamMuxer => {
      const muxer = factory.createStreamMuxer(wire)
      muxer.createStream = async () => new Promise(() => {})
      return muxer
    }
  })

  it.skipIf(BRINGS_MUXER)('ends: requests of behaviours and of the host\'s services alike (S5.5)', async () => {
    const alice = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } }, { streamMuxers: [() => reluctant(yamux()())] })
    const bob = await stockNode(ANY_STACK)
    const host = await connect(alice, bob)
    const ofBehaviour = expect(alice.services.swarm.behaviours.chat.say(bob.peerId, 'never')).rejects.toMatchObject({ kind: 'connection-closed' })
    // In hosted mode such a stream is between the host and its muxer.
    const ofHost = MODE === 'hosted' || expect(host.newStream('/echo/1.0.0')).rejects.toMatchObject({ name: 'ConnectionClosedError' })
    await new Promise((resolve) => setImmediate(resolve))
    await alice.services.swarm.connections[0]?.close()
    await within('both outcomes', Promise.all([ofBehaviour, ofHost]))
  })

  it('is refused once it has closed; a behaviour dials again (S7.17)', async () => {
    const { bob, alice, host, connection } = await pairOf()
    await connection.close()
    await alice.services.swarm.behaviours.chat.say(bob.peerId, 'again')
    expect(alice.services.swarm.connections[0]?.id).not.toBe(connection.id)
    await expect(host.newStream('/echo/1.0.0')).rejects.toMatchObject({ name: 'ConnectionClosedError' })
  })
})

describe('streams of a connection that is lost', () => {
  it.runIf(SEES_RESETS)('read as reset, never as an end (S2.31)', async () => {
    const reading: Array<Promise<string>> = []
    const reader = () => protocolBehaviour({
      protocols: CHAT,
      inbound: async (stream) => { reading.push(readText(stream)); await reading.at(-1)?.catch(() => {}) },
      commands: ({ open }) => ({ open })
    })
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { chat: reader() } }), swarmNode(ANY_STACK, { behaviours: { chat: reader() } })])
    const host = await connect(alice, bob)
    for (let count = 0; count < 3; count++) {
      const stream = await alice.services.swarm.behaviours.chat.open(bob.peerId)
      stream.send(bytesOf('half'))
    }
    await until('bob reads all three', () => reading.length === 3)
    host.abort(new Error('the cable was cut'))
    for (const end of await within('the end of all three', Promise.allSettled(reading))) {
      expect(end).toMatchObject({ status: 'rejected', reason: { name: expect.stringMatching(/^Stream(Reset|Aborted)Error$/) as string } })
    }
  })

  it('of the host end as they do without the plug-in', async () => {
    const { bob, host } = await pairOf()
    const stream = await host.newStream('/echo/1.0.0')
    const bytes = byteStream(stream)
    await bytes.write(bytesOf('echo'))
    expect(textOf(await bytes.read({ bytes: 4 }))).toBe('echo')
    const [back] = bob.getConnections()
    back?.abort(new Error('the cable was cut'))
    await until('the stream has ended', () => stream.status !== 'open')
  })
})
