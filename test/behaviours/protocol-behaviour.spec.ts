import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { protocolBehaviour } from '../../src/behaviours/protocol-behaviour.ts'
import { protocolHandler } from '../../src/behaviours/protocol-handler.ts'
import { PENDING } from '../../src/core/poll.ts'
import { ProtocolList } from '../../src/protocols/protocol-list.ts'
import { ALICE, BOB, CAROL, VirtualWorld } from '../support/virtual-world.ts'
import type { PeerId } from '@libp2p/interface'
import type { NetworkBehaviour } from '../../src/behaviour/network-behaviour.ts'
import type { NegotiatedStream } from '../../src/behaviour/negotiated-stream.ts'
import type { ToSwarm } from '../../src/behaviour/to-swarm.ts'
import type { ProtocolBehaviourInit } from '../../src/behaviours/protocol-behaviour.ts'
import type { OpenStream, ProtocolHandlerInit } from '../../src/behaviours/protocol-handler.ts'
import type { StreamContext } from '../../src/behaviours/stream-callback.ts'

const CHAT = '/chat/1.0.0'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

async function * textsOf (stream: NegotiatedStream): AsyncGenerator<string> {
  for await (const chunk of stream) {
    yield new TextDecoder().decode(chunk.subarray())
  }
}

/** Alice runs `init`; Bob only opens streams to her. */
function served<Event> (init: Omit<ProtocolBehaviourInit<Event, object>, 'protocols'>) {
  const world = new VirtualWorld(10)
  const alice = world.node(ALICE, { chat: protocolBehaviour({ protocols: CHAT, ...init }) })
  const bob = world.node(BOB, { opener: protocolBehaviour({ protocols: CHAT, commands: ({ open }) => ({ open }) }) })
  const [connection, far] = world.connect(alice, bob)
  const open = async (): Promise<NegotiatedStream> => {
    const stream = bob.behaviours.opener.open(ALICE)
    await world.advance(50)
    return await stream
  }
  return { world, alice, bob, connection, far, open, events: () => alice.events.map(({ event }) => event) }
}

describe('an inbound generator (S4.17)', () => {
  it('emits what it yields, with peer and connection', async () => {
    const { world, alice, open } = served({
      async * inbound (stream) {
        for await (const text of textsOf(stream)) {
          yield { type: 'message', text }
        }
      }
    })
    const stream = await open()
    stream.send(bytesOf('hello'))
    await world.advance(50)
    stream.send(bytesOf('again'))
    await world.advance(50)

    expect(alice.events).toEqual(['hello', 'again'].map(text => ({
      behaviour: 'chat', peer: BOB, connection: 'c1', event: { type: 'message', text }
    })))
  })

  it('is asked for the next event when the last one was taken', async () => {
    const asked: number[] = []
    const { world, alice, open, events } = served({
      async * inbound () {
        for (let at = 0; at < 3; at++) {
          asked.push(alice.events.length)
          yield at
        }
      }
    })
    await open()
    await world.advance(50)

    expect(events()).toEqual([0, 1, 2])
    expect(asked).toEqual([0, 1, 2])
  })

  it('has its stream closed when it ends', async () => {
    const { world, open, connection } = served({
      async * inbound (stream) {
        for await (const text of textsOf(stream)) {
          yield text
        }
      }
    })
    const stream = await open()
    await stream.close()
    await world.advance(50)

    expect(stream.status).toBe('closed')
    expect(connection.streams[0]?.status).toBe('closed')
  })

  it('keeps what arrived before the end of the stream, however late it looks', async () => {
    let look = (): void => {}
    const { world, open, events } = served({
      async * inbound (stream) {
        await stream.close()
        yield 'closed'
        await new Promise<void>((resolve) => { look = resolve })
        yield * textsOf(stream)
      }
    })
    const stream = await open()
    stream.send(bytesOf('one'))
    await stream.close()
    await world.advance(100)
    look()
    await world.advance(100)

    expect(events()).toEqual(['closed', 'one'])
  })

  it('gets return() when its stream is reset, also between two events', async () => {
    const ended: string[] = []
    const { world, open, events } = served({
      async * inbound (stream) {
        try {
          yield 'first'
          await new Promise((resolve) => { stream.addEventListener('close', resolve) })
          yield 'last words'
          yield 'too late'
        } finally {
          ended.push('returned')
        }
      }
    })
    const stream = await open()
    stream.abort(new Error('gone'))
    await world.advance(50)

    expect(events()).toEqual(['first', 'last words'])
    expect(ended).toEqual(['returned'])
  })

  it('gets return() when its connection closes, and what it yielded before is not lost', async () => {
    const ended: string[] = []
    const { world, open, connection, events, alice } = served({
      async * inbound (_, { signal }) {
        try {
          yield 1
          yield 2
          await new Promise((resolve) => { signal.addEventListener('abort', resolve) })
          yield 'to nobody'
          yield 'never asked for'
        } finally {
          ended.push('returned')
        }
      }
    })
    await open()
    connection.close()
    await world.advance(50)

    expect(ended).toEqual(['returned'])
    expect(events()).toEqual([1, 2])
    expect(alice.log.at(-1)?.type).toBe('connection-closed')
  })

  it('may fail on its way out, after the end', async () => {
    const { world, alice, open } = served({
      async * inbound (_, { signal }) {
        try {
          yield 1
          await new Promise((resolve) => { signal.addEventListener('abort', resolve) })
          yield 2
        } finally {
          await Promise.reject(new Error('broken on the way out'))
        }
      }
    })
    const stream = await open()
    await world.advance(50)
    stream.abort(new Error('gone'))
    await world.advance(50)

    expect(alice.logOf('handler-error')).toEqual([])
  })

  it('may be any async iterable, without return()', async () => {
    const { world, open, events } = served({
      inbound (stream) {
        let asked = 0
        return {
          [Symbol.asyncIterator]: () => ({
            async next () {
              asked++
              if (asked > 1) {
                await new Promise((resolve) => { stream.addEventListener('close', resolve) })
              }
              return { value: asked, done: false as const }
            }
          })
        }
      }
    })
    const stream = await open()
    await world.advance(50)
    stream.abort(new Error('gone'))
    await world.advance(50)

    expect(events()).toEqual([1, 2])
  })
})

describe('an inbound async function', () => {
  it('has its stream closed when it returns', async () => {
    const { world, open } = served({
      async inbound (stream) { stream.send(bytesOf('bye')) }
    })
    const stream = await open()
    const texts = textsOf(stream)
    await expect(texts.next()).resolves.toMatchObject({ value: 'bye' })
    await expect(texts.next()).resolves.toMatchObject({ done: true })
    await stream.close()
    await world.advance(50)

    expect(stream.status).toBe('closed')
  })

  it('is told whose stream it is, and gets one signal', async () => {
    const contexts: StreamContext[] = []
    const { world, open } = served({
      async inbound (stream, context) {
        contexts.push(context)
        await new Promise((resolve) => { stream.addEventListener('close', resolve) })
      }
    })
    await open()
    await world.advance(50)
    const [context] = contexts

    expect(context).toMatchObject({ peer: BOB, connection: 'c1', protocol: CHAT })
    expect(context?.signal).toBe(context?.signal)
  })

  it.each([
    ['throws at once', () => { throw new Error('broken') }],
    ['rejects later', async () => await Promise.reject(new Error('broken'))],
    ['throws in a generator', async function * () { yield await Promise.reject(new Error('broken')) }]
  ])('that %s has its stream reset and is reported (S4.15, C25)', async (_, inbound) => {
    const { world, alice, open, connection } = served({ inbound })
    const stream = await open()
    await world.advance(50)

    expect(stream.status).toBe('reset')
    expect(alice.logOf('handler-error')).toMatchObject([{ behaviour: 'chat', method: 'onConnectionEvent', cause: { message: 'broken' } }])
    expect(connection.status.phase).toBe('open')
  })

  it('that fails because its stream was reset is no news', async () => {
    const { world, alice, open } = served({
      async inbound (stream) {
        for await (const _ of textsOf(stream)) {
          // until it breaks
        }
      }
    })
    const stream = await open()
    stream.abort(new Error('gone'))
    await world.advance(50)

    expect(alice.logOf('handler-error')).toEqual([])
  })
})

describe('a callback that has ended', () => {
  it('lets go of its stream, though the peer never ends it and a reader was forgotten on it (S6.3)', async () => {
    const { world, open, connection } = served({
      async inbound (stream) {
        // Helpers such as `byteStream` listen until they are unwrapped.
        stream.addEventListener('message', () => {})
      }
    })
    const stream = await open()
    await world.advance(4_900)
    expect(stream.status).toBe('open')
    await world.advance(200)
    expect(stream.status).toBe('reset')
    expect([...connection.machine.streams]).toEqual([])
  })
})

describe('the signal of a callback', () => {
  async function contextOf () {
    const contexts: StreamContext[] = []
    const nodes = served({ inbound (_, context) { contexts.push(context) } })
    const stream = await nodes.open()
    return { ...nodes, stream, context: contexts[0]! }
  }

  it('aborts with the error when the stream is reset', async () => {
    const { world, stream, context } = await contextOf()
    expect(context.signal.aborted).toBe(false)
    stream.abort(new Error('gone'))
    await world.advance(50)

    expect(context.signal).toMatchObject({ aborted: true, reason: { name: 'StreamResetError' } })
  })

  it('is aborted when somebody asks for it after the end', async () => {
    const { world, stream, context } = await contextOf()
    stream.abort(new Error('gone'))
    await world.advance(50)

    expect(context.signal).toMatchObject({ aborted: true, reason: { name: 'StreamResetError' } })
  })

  it('aborts when the connection closes', async () => {
    const { world, connection, context } = await contextOf()
    connection.close()
    await world.advance(50)

    expect(context.signal).toMatchObject({ aborted: true, reason: { name: 'ConnectionClosedError' } })
  })

  it('aborts when both sides have ended and everything was read, and no listener is left on the stream', async () => {
    const { world, connection, stream, context } = await contextOf()
    const near = connection.streams[0]!
    stream.send(bytesOf('unread'))
    await stream.close()
    await near.close()
    await world.advance(50)
    expect(near.status).toBe('closed')
    expect(context.signal.aborted).toBe(false)
    for await (const _ of near) {
      // reads it
    }
    await world.advance(50)

    expect(context.signal).toMatchObject({ aborted: true, reason: { name: 'AbortError' } })
    expect(near.listenerCount('end')).toBe(0)
  })
})

describe('a callback that returns nothing', () => {
  it('keeps the stream', async () => {
    const kept: NegotiatedStream[] = []
    const { world, open, connection } = served({ inbound (stream) { kept.push(stream) } })
    await open()
    await world.advance(50)

    expect(kept).toEqual(connection.streams)
    expect(kept[0]?.writeStatus).toBe('writable')
  })
})

describe('open()', () => {
  it('resolves with a stream on which the first name of the peer was agreed', async () => {
    const world = new VirtualWorld(10)
    const alice = world.node(ALICE, { chat: protocolBehaviour({ protocols: ['/chat/2.0.0', CHAT], commands: ({ open }) => ({ open }) }) })
    const bob = world.node(BOB, { chat: protocolBehaviour({ protocols: [CHAT, '/other'], inbound () {} }) })
    world.connect(alice, bob)
    const streams = Promise.all([alice.behaviours.chat.open(BOB), alice.behaviours.chat.open(BOB, { protocols: ['/other'] })])
    await world.advance(100)

    await expect(streams).resolves.toMatchObject([{ protocol: CHAT }, { protocol: '/other' }])
  })

  it('rejects with StreamUpgradeError when the peer does not speak the protocol', async () => {
    const { world, bob } = served({})
    const rejected = expect(bob.behaviours.opener.open(ALICE)).rejects.toMatchObject({ name: 'StreamUpgradeError', kind: 'negotiation-failed', tried: [CHAT] })
    await world.advance(50)
    await rejected
  })

  it('rejects with kind timeout after its timeoutMs', async () => {
    const { world, bob } = served({ inbound () {} })
    const rejected = expect(bob.behaviours.opener.open(ALICE, { timeoutMs: 5 })).rejects.toMatchObject({ name: 'StreamUpgradeError', kind: 'timeout', elapsedMs: 5 })
    await world.advance(50)
    await rejected
  })

  it('rejects with kind invalid-request for a name that is none, and opens nothing', async () => {
    const { world, bob, connection } = served({ inbound () {} })
    const rejected = expect(bob.behaviours.opener.open(ALICE, { protocols: ['chat'] })).rejects.toMatchObject({ kind: 'invalid-request' })
    await world.advance(50)
    await rejected
    expect(connection.streams).toEqual([])
  })

  it('rejects with AbortError when its signal aborts, cancels the request, and leaves no listener (C21)', async () => {
    const { world, bob, far } = served({ inbound () {} })
    const controller = new AbortController()
    const rejected = expect(bob.behaviours.opener.open(ALICE, { signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError', cause: 'why' })
    await world.settle()
    controller.abort('why')
    await rejected
    await world.advance(50)

    expect(far.streams).toMatchObject([{ status: 'aborted' }])
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  it('opens nothing for a signal that aborts before the handler has heard of it', async () => {
    const { world, bob, far } = served({ inbound () {} })
    const controller = new AbortController()
    const rejected = expect(bob.behaviours.opener.open(ALICE, { signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError' })
    controller.abort()
    await rejected
    await world.advance(50)

    expect(far.streams).toEqual([])
  })

  it('rejects with kind connection-closed when the connection closes meanwhile', async () => {
    const { world, bob, far } = served({ inbound () {} })
    const rejected = expect(bob.behaviours.opener.open(ALICE)).rejects.toMatchObject({ kind: 'connection-closed' })
    await world.settle()
    far.close()
    await world.advance(50)
    await rejected
  })

  it('rejects with ConnectionClosedError when the connection closes before the handler has heard of it', async () => {
    const { world, bob, far } = served({ inbound () {} })
    await world.settle()
    far.close()
    const rejected = expect(bob.behaviours.opener.open(ALICE)).rejects.toMatchObject({ name: 'ConnectionClosedError' })
    await world.advance(50)
    await rejected
  })

  it('rejects with NotConnectedError without a connection, and when there are only relayed ones (S7.18)', async () => {
    const world = new VirtualWorld()
    const relayed = protocolBehaviour({ protocols: CHAT, runOnLimitedConnection: true, commands: ({ open }) => ({ open }) })
    const alice = world.node(ALICE, { chat: protocolBehaviour({ protocols: CHAT, commands: ({ open }) => ({ open }) }), relayed })
    const bob = world.node(BOB, { relayed: protocolBehaviour({ protocols: CHAT, runOnLimitedConnection: true, inbound () {} }) })
    world.connect(alice, bob, { limits: { bytes: 1n } })
    const stream = alice.behaviours.relayed.open(BOB)
    await world.settle()

    await expect(alice.behaviours.chat.open(CAROL)).rejects.toMatchObject({ name: 'NotConnectedError' })
    await expect(alice.behaviours.chat.open(BOB)).rejects.toMatchObject({ name: 'NotConnectedError' })
    await expect(stream).resolves.toMatchObject({ protocol: CHAT })
  })
})

describe('protocolBehaviour()', () => {
  it('makes methods and getters of its commands members of the behaviour', () => {
    let count = 0
    const behaviour = protocolBehaviour({ protocols: CHAT, commands: () => ({ add () { count++ }, get count () { return count } }) })
    behaviour.add()
    behaviour.add()

    expect(behaviour.count).toBe(2)
  })

  it('refuses a command that has the name of a member', () => {
    expect(() => protocolBehaviour({ protocols: CHAT, commands: () => ({ poll () {} }) })).toThrow(TypeError)
  })

  it('refuses a name that is none', () => {
    expect(() => protocolBehaviour({ protocols: [CHAT, 'x'] })).toThrow(TypeError)
  })

  it('offers its names only if it serves them, and follows a ProtocolList', async () => {
    const protocols = new ProtocolList([CHAT])
    const world = new VirtualWorld()
    const alice = world.node(ALICE, {
      client: protocolBehaviour({ protocols: '/client/1.0.0' }),
      server: protocolBehaviour({ protocols, inbound () {}, inboundTimeoutMs: 60_000 })
    })
    const [connection] = world.connect(alice, world.node(BOB, {}))
    expect(connection.machine.localProtocols.toArray()).toEqual([CHAT])
    protocols.add('/chat/2.0.0')
    await world.settle()

    expect(connection.machine.localProtocols.toArray()).toEqual([CHAT, '/chat/2.0.0'])
  })

  it('holds connections open with keepAlive only', async () => {
    const world = new VirtualWorld()
    const alice = world.node(ALICE, { chat: protocolBehaviour({ protocols: CHAT, keepAlive: true }) })
    const bob = world.node(BOB, { chat: protocolBehaviour({ protocols: CHAT }) })
    const [connection, far] = world.connect(alice, bob)
    await world.advance(1)

    expect(connection.status).toMatchObject({ activity: 'busy' })
    expect(far.status).toMatchObject({ activity: 'idle' })
  })
})

describe('protocolHandler()', () => {
  /** Alice's behaviour is written by hand around the handler, and has it open a stream per command. */
  function withHandler (init: Omit<ProtocolHandlerInit<unknown>, 'protocols'>, bobServes: boolean = true) {
    const world = new VirtualWorld(10)
    const behaviour: NetworkBehaviour<unknown, OpenStream, unknown> & { events: unknown[], open (peer: PeerId, ...protocols: string[]): void } = {
      events: [],
      open () {},
      commitEstablished: () => protocolHandler({ protocols: [CHAT], ...init }),
      onHandlerEvent (_peer, _connection, event) { this.events.push(event) },
      poll (cx) {
        this.open = (peer, ...protocols) => {
          const event: OpenStream = protocols.length === 0 ? { type: 'open-stream' } : { type: 'open-stream', protocols }
          queue.push({ type: 'notify-handler', peer, connection: 'any', event })
          cx.wake()
        }
        return queue.shift() ?? PENDING
      }
    }
    const queue: Array<ToSwarm<unknown, OpenStream>> = []
    const alice = world.node(ALICE, { behaviour })
    const inbound = async (stream: NegotiatedStream): Promise<void> => { stream.send(bytesOf('from bob')) }
    const bob = world.node(BOB, { chat: protocolBehaviour({ protocols: [CHAT, '/other'], inbound: bobServes ? inbound : undefined }) })
    const [connection] = world.connect(alice, bob)
    return { world, alice, behaviour, connection }
  }

  it('serves a stream that the behaviour asked for with `outbound`', async () => {
    const { world, behaviour, connection } = withHandler({ outbound: textsOf })
    behaviour.open(BOB)
    behaviour.open(BOB, '/other')
    await world.advance(100)

    expect(behaviour.events).toEqual(['from bob', 'from bob'])
    expect(connection.streams).toMatchObject([{ protocol: CHAT, status: 'closed' }, { protocol: '/other', status: 'closed' }])
  })

  it('tells `outboundFailed` when there is no stream', async () => {
    const errors: Error[] = []
    const { world, behaviour } = withHandler({ outboundFailed (error) { errors.push(error) } }, false)
    behaviour.open(BOB)
    await world.advance(100)

    expect(errors).toMatchObject([{ name: 'StreamUpgradeError', kind: 'negotiation-failed' }])
  })

  it('resets a stream that nobody serves', async () => {
    const { world, behaviour, connection } = withHandler({})
    behaviour.open(BOB)
    await world.advance(100)

    expect(connection.streams).toMatchObject([{ status: 'aborted' }])
  })
})

describe('options that make no sense', () => {
  it.each<[unknown, string]>([
    [undefined, 'options must be an object, received undefined'],
    [{}, 'protocols must be a name, an array of names or a ProtocolList, received undefined'],
    [{ protocols: {} }, 'protocols must be a name, an array of names or a ProtocolList, received object'],
    [{ protocols: CHAT, inbund: () => {} }, 'there is no option "inbund", did you mean inbound? Known are protocols, inbound, '],
    [{ protocols: CHAT, inbound: 'x' }, 'inbound must be a function, received string'],
    [{ protocols: CHAT, keepAlive: 1 }, 'keepAlive must be true or false, received number']
  ])('%o is refused by both short forms', (init, message) => {
    for (const make of [protocolBehaviour, protocolHandler] as Array<(init: unknown) => unknown>) {
      expect(() => make(init)).toThrow(expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) as string }))
    }
  })

  it.each<[unknown, string]>([
    [{ protocols: CHAT }, 'protocols must be an array of names, received string'],
    [{ signal: 1 }, 'signal must be an AbortSignal, received number'],
    [{ lazy: 'yes' }, 'Cannot open stream: lazy must be true or false, received string'],
    [{ lazy: 1 }, 'lazy must be true or false, received number'],
    [{ lazy: null }, 'lazy must be true or false, received null'],
    [{ protocol: [CHAT] }, 'did you mean protocols? Known are signal, timeoutMs, protocols, lazy']
  ])('%o is refused by open()', async (options, message) => {
    const world = new VirtualWorld(10)
    const alice = world.node(ALICE, { opener: protocolBehaviour({ protocols: CHAT, commands: ({ open }) => ({ open }) }) })
    world.connect(alice, world.node(BOB, {}))
    await expect(alice.behaviours.opener.open(BOB, options as never)).rejects.toThrow(message)
  })
})
