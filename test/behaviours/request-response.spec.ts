import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { protocolBehaviour } from '../../src/behaviours/protocol-behaviour.ts'
import { requestResponse } from '../../src/behaviours/request-response.ts'
import { ProtocolList } from '../../src/protocols/protocol-list.ts'
import { ALICE, BOB, CAROL, VirtualWorld } from '../support/virtual-world.ts'
import type { NegotiatedStream } from '../../src/behaviour/negotiated-stream.ts'
import type { Codec, ReceivedRequest, RequestResponseInit } from '../../src/behaviours/request-response.ts'
import type { FakeStream } from '../support/fake-stream.ts'

const FILES = '/files/1.0.0'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

/** Alice asks, Bob answers as `bob` says. */
function twoNodes (bob: Partial<RequestResponseInit> = {}, alice: Partial<RequestResponseInit> = {}) {
  const world = new VirtualWorld(10)
  const asking = world.node(ALICE, { files: requestResponse({ protocols: FILES, ...alice }) })
  const answering = world.node(BOB, { files: requestResponse({ protocols: FILES, ...bob }) })
  const [connection, far] = world.connect(asking, answering)
  const { files } = asking.behaviours
  return { world, alice: asking, bob: answering, connection, far, files }
}

/** Alice asks a peer that does on its streams what `serve` says. */
function withPeer (serve: (stream: NegotiatedStream) => Promise<void>, init: Partial<RequestResponseInit> = {}) {
  const world = new VirtualWorld(10)
  const alice = world.node(ALICE, { files: requestResponse({ protocols: FILES, ...init }) })
  const bob = world.node(BOB, { peer: protocolBehaviour({ protocols: FILES, inbound: serve }) })
  const [connection, far] = world.connect(alice, bob)
  return { world, alice, bob, connection, far, files: alice.behaviours.files }
}

/** Never answers. */
async function beSilent (stream: NegotiatedStream): Promise<void> {
  await drain(stream)
  await new Promise(() => {})
}

async function drain (stream: NegotiatedStream): Promise<void> {
  for await (const _ of stream) {
    // to the end
  }
}

/** How a promise ended; asked for before it ends, so that nothing stays unhandled. */
function outcomeOf<Value> (promise: Promise<Value>): { value?: Value, error?: Error } {
  const outcome: { value?: Value, error?: Error } = {}
  promise.then((value) => { outcome.value = value }, (error: unknown) => { outcome.error = error as Error })
  return outcome
}

/** Streams report their failures on a channel of their own, which is of no interest here. */
const unhandled = vi.fn()

beforeEach(() => {
  unhandled.mockClear()
  process.on('unhandledRejection', unhandled)
})

afterEach(() => {
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
})

describe('a call that makes no sense', () => {
  const ask = { signal: undefined, timeoutMs: undefined }
  it.each<[unknown, string]>([
    [{ ...ask, signal: { aborted: false } }, 'Cannot request: signal must be an AbortSignal, received object'],
    [{ ...ask, signal: 'soon' }, 'Cannot request: signal must be an AbortSignal, received string'],
    [{ ...ask, timeoutMs: '5' }, 'Cannot request: timeoutMs must be a number, received string'],
    [{ timeout: 5 }, 'Cannot request: there is no option "timeout", did you mean timeoutMs? Known are signal, timeoutMs, lazy']
  ])('with options %o is refused, and holds nothing', async (options, message) => {
    const { world, files, connection } = twoNodes({ serve: (request) => request })
    await expect(files.request(BOB, bytesOf('a'), options as never)).rejects.toThrow(new TypeError(message))
    await world.advance(100)
    expect(connection.streams).toEqual([])
  })

  it.each<[unknown, string]>([[undefined, 'undefined'], [null, 'null'], [BOB.toString(), 'string']])('to the peer %o is refused', async (peer, kind) => {
    const { files } = twoNodes()
    await expect(files.request(peer as never, bytesOf('a'))).rejects.toThrow(new TypeError(`Cannot request: the peer must be a PeerId, received ${kind}`))
  })
})

describe('options that make no sense', () => {
  const make = requestResponse as (init: unknown) => unknown
  it.each<[unknown, string]>([
    [undefined, 'options must be an object, received undefined'],
    [{ protocols: [] }, 'protocols must hold at least one name, received none'],
    [{}, 'protocols must be a name, an array of names or a ProtocolList, received undefined'],
    [{ protocols: FILES, serves: 1 }, 'there is no option "serves", did you mean serve? Known are protocols, serve, codec, maxRequestBytes'],
    [{ protocols: FILES, serve: 1 }, 'serve must be a function, received number']
  ])('%o is refused', (init, message) => {
    expect(() => make(init)).toThrow(expect.objectContaining({
      name: 'TypeError', message: expect.stringContaining(`Cannot make a request-response behaviour: ${message}`) as string
    }))
  })
})

describe('a request that is served', () => {
  it('gets the response, and leaves nothing open', async () => {
    const { world, files, connection } = twoNodes({ serve: request => bytesOf(`got ${textOf(request)}`) })
    const response = outcomeOf(files.request(BOB, bytesOf('a')))
    await world.advance(100)

    expect(textOf(response.value!)).toBe('got a')
    expect(connection.streams).toMatchObject([{ status: 'closed', protocol: FILES }])
  })

  it('is answered by a promise, and by no byte as well', async () => {
    const { world, files } = twoNodes({ serve: async () => new Uint8Array(0) })
    const response = outcomeOf(files.request(BOB, new Uint8Array(0)))
    await world.advance(100)

    expect(response.value).toEqual(new Uint8Array(0))
  })

  it('tells `serve` whose it is', async () => {
    const serve = vi.fn<NonNullable<RequestResponseInit['serve']>>(() => new Uint8Array(0))
    const { world, files } = twoNodes({ serve })
    void files.request(BOB, bytesOf('x'))
    await world.advance(100)

    const [request, context] = serve.mock.calls[0]!
    expect(textOf(request)).toBe('x')
    expect(context).toMatchObject({ peer: ALICE, connection: 'c1', protocol: FILES })
    expect(context.signal.aborted).toBe(true)
  })

  it('carries megabytes both ways, at the pace of the link', async () => {
    const big = Uint8Array.from({ length: 1_000_000 }, (_, at) => at * 7)
    const { world, files, connection } = twoNodes({ serve: request => request })
    const response = outcomeOf(files.request(BOB, big))
    await world.settle()
    const [stream] = connection.streams as unknown as FakeStream[]
    stream!.isClogged = true
    await world.advance(20)
    expect(stream!.writeBufferLength).toBe(65_536)
    stream!.unclog()
    stream!.isClogged = false
    await world.advance(1000)

    expect(Buffer.compare(response.value!, big)).toBe(0)
  })

  it('is over when the response is, even if the peer did not read the whole request', async () => {
    const { world, files, connection } = withPeer(async (stream) => {
      stream.send(bytesOf('no need to go on'))
    })
    const response = outcomeOf(files.request(BOB, new Uint8Array(100_000)))
    await world.settle()
    const [stream] = connection.streams as unknown as FakeStream[]
    stream!.isClogged = true
    await world.advance(100)

    expect(textOf(response.value!)).toBe('no need to go on')
    expect(stream!.status).toBe('aborted')
  })

  it('goes on several at a time, each with its own response', async () => {
    const { world, files } = twoNodes({ serve: request => request })
    const texts = Array.from({ length: 250 }, (_, at) => `request ${at}`)
    const responses = texts.map(text => outcomeOf(files.request(BOB, bytesOf(text))))
    await world.advance(1000)

    expect(responses.map(({ value }) => textOf(value!))).toEqual(texts)
  })

  it('proposes the names of a list as they are now', async () => {
    const protocols = new ProtocolList(['/files/2.0.0'])
    const { world, files, connection } = twoNodes({ serve: request => request, protocols: '/files/3.0.0' }, { protocols })
    protocols.replace(['/files/4.0.0', '/files/3.0.0'])
    const response = outcomeOf(files.request(BOB, bytesOf('x')))
    await world.advance(100)

    expect(response.value).toEqual(bytesOf('x'))
    expect(connection.streams).toMatchObject([{ protocol: '/files/3.0.0' }])
  })
})

describe('the one outcome of a request', () => {
  it('is an error of ours when the peer resets its stream, with where and when, and the error of the host (S2.36)', async () => {
    const { world, files, connection } = withPeer(async (stream) => { stream.abort(new Error('no')) })
    await world.advance(100)
    const response = outcomeOf(files.request(BOB, bytesOf('x')))
    await world.advance(100)

    expect(response.error).toMatchObject({
      name: 'StreamResetError',
      outcome: 'reset',
      phase: 'upgrade',
      tried: [FILES],
      direction: 'outbound',
      peer: BOB,
      connectionId: connection.id,
      // One round trip: the agreement and the reset come together.
      elapsedMs: 20,
      cause: { name: 'StreamResetError' }
    })
    expect(response.error?.message).toBe(`Cannot request: the peer reset the stream (phase upgrade, peer ${BOB.toString()}, tried ${FILES}): `
      + 'it refused, failed to serve it, or the path broke')
  })

  it('is an error when the peer does not speak the protocol, and the connection goes on', async () => {
    const { world, files, connection } = twoNodes({ protocols: '/other' })
    const response = outcomeOf(files.request(BOB, bytesOf('x')))
    await world.advance(100)

    expect(response.error).toMatchObject({ name: 'StreamUpgradeError', kind: 'negotiation-failed', tried: [FILES] })
    expect(connection.status.phase).toBe('open')
  })

  it('is TimeoutError when no response comes in time, which says how far it came (S2.36), and the stream is reset', async () => {
    const { world, files, connection } = withPeer(beSilent, { timeoutMs: 500 })
    const response = outcomeOf(files.request(BOB, bytesOf('x')))
    await world.advance(499)
    expect(response).toEqual({})
    await world.advance(1)

    expect(response.error).toMatchObject({ name: 'TimeoutError', message: `Cannot request: 500 ms have passed (phase upgrade, peer ${BOB.toString()}, tried ${FILES})` })
    expect(response.error).toMatchObject({ phase: 'upgrade', tried: [FILES], peer: BOB, direction: 'outbound', connectionId: connection.id, elapsedMs: 500 })
    expect(connection.streams).toMatchObject([{ status: 'aborted' }])
  })

  it('is TimeoutError while it waits for a stream, too', async () => {
    const { world, files, connection } = twoNodes()
    const response = outcomeOf(files.request(BOB, bytesOf('x'), { timeoutMs: 5 }))
    await world.advance(5)
    expect(response.error?.name).toBe('TimeoutError')
    await world.advance(100)
    expect(connection.streams).toMatchObject([{ status: 'aborted' }])
  })

  it('is AbortError when its signal aborts, and no listener is left (C21)', async () => {
    const { world, files, connection } = withPeer(beSilent)
    const { signal, abort } = abortable()
    const responses = [
      outcomeOf(files.request(BOB, bytesOf('x'), Object.freeze({ signal }))),
      outcomeOf(files.request(BOB, bytesOf('y'), { signal }))
    ]
    await world.advance(15)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    abort('enough')
    await world.advance(100)

    expect(responses.map(({ error }) => error)).toMatchObject([{ name: 'AbortError', cause: 'enough' }, { name: 'AbortError' }])
    expect(connection.streams.map(({ status }) => status)).toEqual(['aborted', 'aborted'])
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('is AbortError, with no stream opened, when its signal had aborted before', async () => {
    const { world, files, connection } = twoNodes()
    const response = outcomeOf(files.request(BOB, bytesOf('x'), { signal: AbortSignal.abort() }))
    await world.advance(100)

    expect(response.error?.name).toBe('AbortError')
    expect(connection.streams).toEqual([])
  })

  it('leaves no listener on the signal after 50 requests that ended in different ways (C21)', async () => {
    let served = 0
    const { world, files } = twoNodes({
      serve: async (request) => {
        served++
        if (served % 3 === 0) {
          throw new Error('no')
        }
        return served % 3 === 1 ? request : await new Promise<Uint8Array>(() => {})
      }
    })
    const { signal, abort } = abortable()
    const responses = Array.from({ length: 50 }, () => outcomeOf(files.request(BOB, bytesOf('x'), { signal, timeoutMs: 200 })))
    await world.advance(500)
    abort()

    expect(responses.every(({ value, error }) => (value === undefined) !== (error === undefined))).toBe(true)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('is ConnectionClosedError, or the error of the stream, when the connection goes away', async () => {
    const { world, files, connection } = withPeer(beSilent, { maxOutboundRequests: 1 })
    const responses = [outcomeOf(files.request(BOB, bytesOf('x'))), outcomeOf(files.request(BOB, bytesOf('waiting')))]
    await world.advance(50)
    connection.cut()
    await world.advance(100)

    expect(responses[0]?.error).toBeDefined()
    expect(responses[1]?.error?.name).toBe('ConnectionClosedError')
  })

  it('is an error, never a short response, when the connection is lost in the middle of the response', async () => {
    const { world, files, connection } = withPeer(async (stream) => {
      stream.send(bytesOf('half'))
      await beSilent(stream)
    })
    const response = outcomeOf(files.request(BOB, bytesOf('x')))
    await world.advance(50)
    connection.far?.close()
    await world.advance(100)

    expect(response.value).toBeUndefined()
    expect(response.error).toBeDefined()
  })

  it('is connection-closed when the connection closes while the stream is being opened', async () => {
    const { world, files, connection } = twoNodes()
    const response = outcomeOf(files.request(BOB, bytesOf('x')))
    await world.settle()
    connection.close()
    await world.advance(100)

    expect(response.error).toMatchObject({ name: 'StreamUpgradeError', kind: 'connection-closed' })
  })

  it('is RemoteProtocolError at the first byte too many, whatever the peer sends on', async () => {
    let sent = 0
    const { world, files, connection } = withPeer(async (stream) => {
      for (; stream.writeStatus === 'writable'; sent++) {
        stream.send(new Uint8Array(100))
        await world.settle()
      }
    }, { maxResponseBytes: 250 })
    const response = outcomeOf(files.request(BOB, bytesOf('x')))
    await world.advance(200)

    expect(response.error).toMatchObject({ name: 'RemoteProtocolError', outcome: 'too-long' })
    expect(connection.streams).toMatchObject([{ status: 'aborted' }])
  })

  it('is NotConnectedError without a connection, and on a relayed one (S7.18)', async () => {
    const world = new VirtualWorld()
    const alice = world.node(ALICE, { files: requestResponse({ protocols: FILES }), relayed: requestResponse({ protocols: '/r', runOnLimitedConnection: true }) })
    const bob = world.node(BOB, { files: requestResponse({ protocols: '/r', serve: request => request, runOnLimitedConnection: true }) })
    world.connect(alice, bob, { limits: {} })
    const relayed = outcomeOf(alice.behaviours.relayed.request(BOB, bytesOf('x')))
    await world.settle()

    await expect(alice.behaviours.files.request(CAROL, bytesOf('x'))).rejects.toMatchObject({ name: 'NotConnectedError' })
    await expect(alice.behaviours.files.request(BOB, bytesOf('x'))).rejects.toMatchObject({ name: 'NotConnectedError' })
    expect(relayed.value).toEqual(bytesOf('x'))
  })

  it('is an error of the caller for a request that is no bytes, too long, or has a bad timeout', async () => {
    const { files } = twoNodes({}, { maxRequestBytes: 10 })

    await expect(files.request(BOB, 'text' as unknown as Uint8Array)).rejects.toThrow(new TypeError('Cannot request: a request must be a Uint8Array, received string'))
    await expect(files.request(BOB, new Uint8Array(11))).rejects.toThrow(new RangeError('Cannot request: a request must have at most 10 bytes, received 11'))
    await expect(files.request(BOB, new Uint8Array(1), { timeoutMs: NaN })).rejects.toThrow(RangeError)
  })

  it('is kind limit for the 1025th open request', async () => {
    const { world, files } = withPeer(beSilent)
    const responses = Array.from({ length: 1025 }, () => outcomeOf(files.request(BOB, bytesOf('x'))))
    await world.advance(20_000)

    expect(responses.at(-1)?.error).toMatchObject({ name: 'StreamUpgradeError', kind: 'limit' })
    expect(responses.filter(({ error }) => error === undefined)).toHaveLength(0)
  })
})

describe('requests that wait', () => {
  it('go out as earlier ones end, and not before', async () => {
    const { world, files, connection } = twoNodes({ serve: request => request }, { maxOutboundRequests: 2 })
    const responses = ['a', 'b', 'c', 'd', 'e'].map(text => outcomeOf(files.request(BOB, bytesOf(text))))
    await world.advance(15)
    expect(connection.streams).toHaveLength(2)
    await world.advance(1000)

    expect(responses.map(({ value }) => textOf(value!))).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('are forgotten when they are cancelled', async () => {
    const { world, files, connection } = withPeer(beSilent, { maxOutboundRequests: 1 })
    void outcomeOf(files.request(BOB, bytesOf('first')))
    const { signal, abort } = abortable()
    const second = outcomeOf(files.request(BOB, bytesOf('second'), { signal }))
    await world.advance(15)
    abort()
    await world.advance(20_000)

    expect(second.error?.name).toBe('AbortError')
    expect(connection.streams).toHaveLength(1)
  })

  it('are not sent when they were cancelled before the handler heard of them', async () => {
    const { world, files, connection } = twoNodes()
    const { signal, abort } = abortable()
    void outcomeOf(files.request(BOB, bytesOf('x'), { signal }))
    abort()
    await world.advance(100)

    expect(connection.streams).toEqual([])
  })
})

describe('a request that comes as an event', () => {
  async function received (bob: Partial<RequestResponseInit> = {}) {
    const nodes = twoNodes(bob)
    const response = outcomeOf(nodes.files.request(BOB, bytesOf('question')))
    await nodes.world.advance(50)
    const event = nodes.bob.events[0]?.event as ReceivedRequest
    return { ...nodes, response, event, failures: () => nodes.bob.events.slice(1).map(entry => entry.event) }
  }

  it('is answered with respond(), which resolves', async () => {
    const { world, bob, event, response } = await received()
    expect(bob.events).toMatchObject([{ behaviour: 'files', peer: ALICE, connection: 'c1', event: { type: 'request', protocol: FILES } }])
    expect(textOf(event.request)).toBe('question')
    expect(event.signal.aborted).toBe(false)
    const responded = event.respond(bytesOf('answer'))
    await world.advance(50)

    await expect(responded).resolves.toBeUndefined()
    expect(textOf(response.value!)).toBe('answer')
    expect(event.signal.aborted).toBe(true)
    expect(bob.events).toHaveLength(1)
  })

  it('is refused with refuse(), once', async () => {
    const { world, event, response, failures } = await received()
    event.refuse()
    event.refuse()
    await world.advance(50)

    expect(response.error?.name).toBe('StreamResetError')
    expect(failures()).toEqual([])
    await expect(event.respond(bytesOf('late'))).rejects.toMatchObject({ name: 'InvalidStateError' })
  })

  it('can be answered once only', async () => {
    const { event } = await received()
    void event.respond(bytesOf('one'))

    await expect(event.respond(bytesOf('two'))).rejects.toMatchObject({ name: 'InvalidStateError' })
  })

  it('may be answered again when the first answer was too long', async () => {
    const { world, event, response } = await received({ maxResponseBytes: 3 })
    await expect(event.respond(bytesOf('long'))).rejects.toThrow(new RangeError('Cannot respond: a response must have at most 3 bytes, received 4'))
    void event.respond(bytesOf('ok'))
    await world.advance(50)

    expect(textOf(response.value!)).toBe('ok')
  })

  it('may be answered again when the first answer was no bytes', async () => {
    const { world, event, response } = await received({})
    await expect(event.respond('text' as unknown as Uint8Array)).rejects.toThrow(new TypeError('Cannot respond: a response must be a Uint8Array, received string'))
    void event.respond(bytesOf('ok'))
    await world.advance(50)

    expect(textOf(response.value!)).toBe('ok')
  })

  it('ends after timeoutMs, with an event, and the peer is not kept waiting', async () => {
    const { world, event, response, failures } = await received({ timeoutMs: 500 })
    await world.advance(500)

    expect(failures()).toMatchObject([{ type: 'inbound-failure', error: { name: 'TimeoutError' } }])
    expect(event.signal).toMatchObject({ aborted: true, reason: { name: 'TimeoutError' } })
    expect(response.error?.name).toBe('StreamResetError')
  })

  it('ends when the peer resets its stream', async () => {
    const { world, event, connection, failures } = await received()
    connection.streams[0]?.abort(new Error('changed my mind'))
    await world.advance(50)

    expect(event.signal.aborted).toBe(true)
    expect(failures()).toMatchObject([{ type: 'inbound-failure', error: { name: 'StreamResetError' } }])
  })

  it('ends when its connection is lost without an error', async () => {
    const { world, event, far, failures } = await received()
    const [stream] = far.streams as unknown as FakeStream[]
    stream!.onTransportClosed()
    await world.advance(50)

    expect(event.signal.aborted).toBe(true)
    expect(failures()).toMatchObject([{ type: 'inbound-failure', error: { name: 'StreamResetError' } }])
  })

  it('reports an answer that could not be written, also to those who ignore the promise', async () => {
    const { world, event, far, failures } = await received()
    const [stream] = far.streams as unknown as FakeStream[]
    stream!.isClogged = true
    void event.respond(new Uint8Array(100_000))
    await world.advance(10)
    stream!.onRemoteReset()
    await world.advance(50)

    expect(failures()).toMatchObject([{ type: 'inbound-failure', error: { name: 'StreamResetError' } }])
  })
})

describe('what a peer can do', () => {
  it('cannot make this side hold more than maxRequestBytes', async () => {
    const { world, bob, connection } = twoNodes({ maxRequestBytes: 100 })
    const stream = await connection.openRaw(FILES)
    stream.send(new Uint8Array(60))
    stream.send(new Uint8Array(60))
    await world.advance(100)

    expect(bob.events).toMatchObject([{ event: { type: 'inbound-failure', error: { name: 'RemoteProtocolError', outcome: 'too-long' } } }])
    expect(stream.status).toBe('reset')
  })

  it('cannot have more than maxInboundRequests under way and none that waits; an ended one makes room', async () => {
    const { world, bob, connection } = twoNodes({ maxInboundRequests: 2, maxQueuedInboundRequests: 0 })
    const streams = [await connection.openRaw(FILES), await connection.openRaw(FILES), await connection.openRaw(FILES)]
    await world.advance(100)
    expect(streams.map(({ status }) => status)).toEqual(['open', 'open', 'reset'])
    expect(bob.events).toMatchObject([{ event: { type: 'inbound-failure', error: { name: 'RangeError' } } }])

    streams[0]?.abort(new Error('gone'))
    await world.advance(100)
    const fourth = await connection.openRaw(FILES)
    await world.advance(100)
    expect(fourth.status).toBe('open')
  })

  it('cannot fill the events of a node that takes none: what is too much is told as a number (S8.3, S9.1, S10.12)', async () => {
    const world = new VirtualWorld(1)
    const alice = world.node(ALICE, {})
    const bob = world.node(BOB, { files: requestResponse({ protocols: FILES, maxInboundRequests: 1, maxQueuedInboundRequests: 0 }) })
    const [connection, far] = world.connect(alice, bob)
    await connection.openRaw(FILES)
    await world.advance(100)
    far.stall()
    for (let at = 0; at < 1100; at++) {
      await connection.openRaw(FILES)
    }
    await world.advance(100)
    expect(bob.events).toEqual([])
    far.resume()
    await world.advance(100)
    expect(bob.events).toHaveLength(1025)
    expect(bob.events.at(-1)).toMatchObject({
      event: { type: 'inbound-failure', error: { name: 'RangeError', message: '76 requests of the peer more came to nothing while 1024 events waited to be taken' } }
    })
  })

  it('has its other requests wait, unread, in order of arrival, and no more than maxQueuedInboundRequests', async () => {
    const { world, bob, connection, far } = twoNodes({ maxInboundRequests: 1, maxQueuedInboundRequests: 2 })
    const streams: NegotiatedStream[] = []
    for (const text of ['a', 'b', 'c', 'd']) {
      const stream = await connection.openRaw(FILES)
      streams.push(stream)
      if (stream.status === 'open') {
        stream.send(bytesOf(text))
        await stream.close()
      }
    }
    await world.advance(100)
    expect(bob.events).toMatchObject([{ event: { type: 'request', request: bytesOf('a') } }, { event: { type: 'inbound-failure', error: { name: 'RangeError' } } }])
    expect(far.streams.slice(1, 3)).toMatchObject([{ readStatus: 'paused' }, { readStatus: 'paused' }])
    expect(streams[3]?.status).toBe('reset')

    const answers = streams.map(() => '')
    streams.forEach((stream, at) => { stream.addEventListener('message', ({ data }) => { answers[at] = `${answers[at] ?? ''}${textOf(data.subarray())}` }) })
    for (const entry of [0, 2, 3]) {
      void (bob.events[entry]?.event as ReceivedRequest).respond(bytesOf(`answer ${entry}`))
      await world.advance(100)
    }
    expect(bob.events.slice(2)).toMatchObject([{ event: { request: bytesOf('b') } }, { event: { request: bytesOf('c') } }])
    expect(answers).toEqual(['answer 0', 'answer 2', 'answer 3', ''])
    expect(streams.slice(0, 3).map(({ status }) => status)).toEqual(['closed', 'closed', 'closed'])
  })

  it('gains no place by waiting requests that it gave up, or whose time has passed', async () => {
    const { world, bob, connection } = twoNodes({ maxInboundRequests: 1, maxQueuedInboundRequests: 1, timeoutMs: 1000 })
    await connection.openRaw(FILES)
    const gaveUp = await connection.openRaw(FILES)
    gaveUp.abort(new Error('never mind'))
    await world.advance(100)
    const late = await connection.openRaw(FILES)
    await world.advance(1000)

    expect(late.status).toBe('reset')
    expect(bob.events).toMatchObject(['StreamResetError', 'TimeoutError', 'TimeoutError'].map((name) => ({ event: { type: 'inbound-failure', error: { name } } })))
    const next = await connection.openRaw(FILES)
    next.send(bytesOf('next'))
    await next.close()
    await world.advance(100)
    expect(bob.events[3]).toMatchObject({ event: { type: 'request', request: bytesOf('next') } })
  })

  it('cannot keep a request open by never ending it', async () => {
    const { world, bob, connection } = twoNodes({ timeoutMs: 1000 })
    const stream = await connection.openRaw(FILES)
    stream.send(bytesOf('begun'))
    await world.advance(1100)

    expect(stream.status).toBe('reset')
    expect(bob.events).toMatchObject([{ event: { type: 'inbound-failure', error: { name: 'TimeoutError' } } }])
  })
})

describe('what `serve` throws', () => {
  it.each([
    ['at once', () => { throw new Error('broken') }],
    ['later', async () => await Promise.reject(new Error('broken'))]
  ])('resets that stream and is reported, thrown %s (S4.15, C25)', async (_, serve) => {
    const { world, bob, files, far } = twoNodes({ serve })
    const response = outcomeOf(files.request(BOB, bytesOf('x')))
    await world.advance(100)

    expect(response.error?.name).toBe('StreamResetError')
    expect(bob.logOf('handler-error')).toMatchObject([{ behaviour: 'files', method: 'onConnectionEvent', cause: { message: 'broken' } }])
    expect(bob.events).toEqual([])
    expect(far.status.phase).toBe('open')
  })

  it('counts a response that is too long as its mistake', async () => {
    const { world, bob, files } = twoNodes({ serve: () => new Uint8Array(11), maxResponseBytes: 10 })
    const response = outcomeOf(files.request(BOB, bytesOf('x')))
    await world.advance(100)

    expect(response.error?.name).toBe('StreamResetError')
    expect(bob.logOf('handler-error')).toMatchObject([{ cause: { name: 'RangeError' } }])
  })

  it('keeps its place until it settles, so that a peer cannot pile up work', async () => {
    let running = 0
    const finish: Array<() => void> = []
    const { world, bob, files } = twoNodes({
      timeoutMs: 100,
      maxInboundRequests: 2,
      serve: async (request) => {
        running++
        await new Promise<void>((resolve) => { finish.push(resolve) })
        return request
      }
    })
    for (let round = 0; round < 3; round++) {
      void outcomeOf(files.request(BOB, bytesOf('x')))
      void outcomeOf(files.request(BOB, bytesOf('x')))
      await world.advance(200)
    }
    expect(running).toBe(2)
    expect(bob.events).toHaveLength(6)

    finish.forEach((resolve) => { resolve() })
    await world.settle()
    void outcomeOf(files.request(BOB, bytesOf('x')))
    await world.advance(50)
    expect(running).toBe(3)
  })

  it('is no news after the request had ended', async () => {
    const { world, bob, files } = twoNodes({
      timeoutMs: 200,
      serve: async (_, { signal }) => await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => { reject(new Error('stopped')) })
      })
    })
    void outcomeOf(files.request(BOB, bytesOf('x')))
    await world.advance(1000)

    expect(bob.events).toMatchObject([{ event: { type: 'inbound-failure', error: { name: 'TimeoutError' } } }])
    expect(bob.logOf('handler-error')).toEqual([])
  })
})

describe('a codec', () => {
  interface Sum { readonly terms: readonly number[] }
  /** A comma-separated list there, a number back. */
  const sums: Codec<Sum, number> = {
    encodeRequest: ({ terms }) => bytesOf(terms.join()),
    decodeRequest (bytes) {
      const terms = textOf(bytes).split(',').map(Number)
      if (terms.some(Number.isNaN)) {
        throw new SyntaxError(`no numbers: ${textOf(bytes)}`)
      }
      return { terms }
    },
    encodeResponse (sum) {
      if (!Number.isSafeInteger(sum)) {
        throw new RangeError('too large')
      }
      return bytesOf(String(sum))
    },
    decodeResponse (bytes) {
      const sum = Number(textOf(bytes))
      if (Number.isNaN(sum)) {
        throw new SyntaxError(`no number: ${textOf(bytes)}`)
      }
      return sum
    }
  }
  const add = ({ terms }: Sum): number => terms.reduce((sum, term) => sum + term, 0)

  function summing (bob: Partial<RequestResponseInit<Sum, number>> = {}, codec = sums) {
    const world = new VirtualWorld(10)
    const alice = world.node(ALICE, { sums: requestResponse({ protocols: FILES, codec, maxRequestBytes: 12 }) })
    const other = world.node(BOB, { sums: requestResponse({ protocols: FILES, codec: sums, ...bob }) })
    const [connection, far] = world.connect(alice, other)
    return { world, bob: other, connection, far, request: async (...terms: number[]) => await alice.behaviours.sums.request(BOB, { terms }) }
  }

  it('gives requests and responses their types on both sides', async () => {
    const { world, request } = summing({ serve: add })
    const response = outcomeOf(request(1, 2, 3))
    await world.advance(100)

    expect(response.value).toBe(6)
  })

  it('serves events, too: respond() takes a value, and another one when the codec did not want the first', async () => {
    const { world, bob, request } = summing()
    const response = outcomeOf(request(4, 5))
    await world.advance(50)
    const [received] = bob.events
    if (received?.event.type !== 'request') {
      throw new Error('no request came')
    }
    expect(received.event.request.terms).toEqual([4, 5])
    await expect(received.event.respond(0.5)).rejects.toThrow('too large')
    void received.event.respond(9)
    await world.advance(50)

    expect(response.value).toBe(9)
  })

  it('that does not know the response makes the request fail, with its error as the cause', async () => {
    const world = new VirtualWorld(10)
    const alice = world.node(ALICE, { sums: requestResponse({ protocols: FILES, codec: sums }) })
    const bob = world.node(BOB, { sums: requestResponse({ protocols: FILES, serve: () => bytesOf('many') }) })
    const [connection] = world.connect(alice, bob)
    const response = outcomeOf(alice.behaviours.sums.request(BOB, { terms: [1] }))
    await world.advance(100)

    expect(response.error).toMatchObject({
      name: 'RemoteProtocolError', outcome: 'invalid', message: 'Cannot decode the response of the peer', cause: { name: 'SyntaxError' }
    })
    expect(connection.status.phase).toBe('open')
  })

  it('that does not know the request resets its stream, with an event; the application is not asked', async () => {
    const serve = vi.fn(add)
    const { world, bob, connection } = summing({ serve })
    const stream = await connection.openRaw(FILES)
    stream.send(bytesOf('one,two'))
    await stream.close()
    await world.advance(100)

    expect(stream.status).toBe('reset')
    expect(serve).not.toHaveBeenCalled()
    expect(bob.events).toMatchObject([{
      event: { type: 'inbound-failure', error: { name: 'RemoteProtocolError', outcome: 'invalid', message: 'Cannot decode the request of the peer', cause: { name: 'SyntaxError' } } }
    }])
    expect(bob.logOf('handler-error')).toEqual([])
  })

  it('that throws over a request fails that call, before anything is sent', async () => {
    const { world, request, connection } = summing({}, { ...sums, encodeRequest: () => { throw new Error('not today') } })
    await expect(request(1)).rejects.toThrow('not today')
    await world.advance(50)

    expect(connection.streams).toEqual([])
  })

  it('has what it encodes checked: bytes, and not too many', async () => {
    const { request } = summing()
    await expect(request(1_000_000, 1_000_000)).rejects.toThrow(new RangeError('Cannot request: a request must have at most 12 bytes, received 15'))
    const wrong = summing({}, { ...sums, encodeRequest: (() => 'text') as never })
    await expect(wrong.request(1)).rejects.toThrow(new TypeError('Cannot request: a request must be a Uint8Array, received string'))
  })

  it('that throws over what `serve` gave is reported, and resets that stream (S4.15)', async () => {
    const { world, bob, request } = summing({ serve: () => Infinity })
    const response = outcomeOf(request(1))
    await world.advance(100)

    expect(response.error?.name).toBe('StreamResetError')
    expect(bob.logOf('handler-error')).toMatchObject([{ behaviour: 'sums', cause: { message: 'too large' } }])
  })

  it('keeps its this', async () => {
    class Counting implements Codec<string, string> {
      count = 0
      encodeRequest (text: string) { return this.#encode(text) }
      decodeRequest (bytes: Uint8Array) { return this.#decode(bytes) }
      encodeResponse (text: string) { return this.#encode(text) }
      decodeResponse (bytes: Uint8Array) { return this.#decode(bytes) }
      #encode (text: string) { this.count++; return bytesOf(text) }
      #decode (bytes: Uint8Array) { this.count++; return textOf(bytes) }
    }
    const world = new VirtualWorld(10)
    const codec = new Counting()
    const alice = world.node(ALICE, { texts: requestResponse({ protocols: FILES, codec }) })
    const bob = world.node(BOB, { texts: requestResponse({ protocols: FILES, codec, serve: text => text.toUpperCase() }) })
    world.connect(alice, bob)
    const response = outcomeOf(alice.behaviours.texts.request(BOB, 'loud'))
    await world.advance(100)

    expect([response.value, codec.count]).toEqual(['LOUD', 4])
  })

  it.each<[unknown, string]>([
    ['json', `codec must be an object with encodeRequest, decodeRequest, encodeResponse, decodeResponse, received string`],
    [null, `codec must be an object with encodeRequest, decodeRequest, encodeResponse, decodeResponse, received null`],
    [{ ...sums, decodeResponse: undefined }, 'codec must have decodeResponse()'],
    [{ ...sums, encodeRequest: 1 }, 'codec.encodeRequest must be a function, received number']
  ])('is refused when it is %o', (codec, message) => {
    expect(() => requestResponse({ protocols: FILES, codec: codec as never })).toThrow(new TypeError(`Cannot make a request-response behaviour: ${message}`))
  })
})

describe('request handlers', () => {
  it('take no notice of changes of protocols', async () => {
    const { world, bob, far, files } = twoNodes({ serve: request => request })
    far.identify('/x')
    const response = outcomeOf(files.request(BOB, bytesOf('x')))
    await world.advance(100)

    expect(response.value).toEqual(bytesOf('x'))
    expect(bob.logOf('handler-error')).toEqual([])
  })
})

describe('requestResponse()', () => {
  it('refuses options that are unknown or out of range, and names that are none', () => {
    expect(() => requestResponse({ protocols: 'files' })).toThrow(TypeError)
    expect(() => requestResponse({ protocols: FILES, maxRequestBytes: -1 })).toThrow(RangeError)
    expect(() => requestResponse({ protocols: FILES, maxOutboundRequests: 0 })).toThrow(RangeError)
    expect(() => requestResponse({ protocols: FILES, maxInboundRequests: 0 })).toThrow(RangeError)
    expect(() => requestResponse({ protocols: FILES, timeout: 1 } as RequestResponseInit)).toThrow(TypeError)
  })

  it('declares its names', () => {
    expect(requestResponse({ protocols: [FILES, '/b'] }).protocols).toEqual([FILES, '/b'])
  })
})

function abortable () {
  const controller = new AbortController()
  return { signal: controller.signal, abort: (reason?: unknown) => { controller.abort(reason) } }
}
