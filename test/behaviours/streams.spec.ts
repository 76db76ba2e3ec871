import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { composeBehaviours } from '../../src/behaviour/compose.ts'
import { toggle } from '../../src/behaviour/toggle.ts'
import { streams } from '../../src/behaviours/streams.ts'
import { ALICE, BOB, CAROL, VirtualWorld } from '../support/virtual-world.ts'
import type { AcceptedStream, AcceptedStreams } from '../../src/behaviours/accepted-streams.ts'
import type { NegotiatedStream } from '../../src/behaviour/negotiated-stream.ts'
import type { StreamsInit } from '../../src/behaviours/streams.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

async function textOf (stream: NegotiatedStream): Promise<string> {
  let text = ''
  for await (const chunk of stream) {
    text += new TextDecoder().decode(chunk.subarray())
  }
  return text
}

/** Alice and Bob, connected. */
function pair (init: StreamsInit = {}) {
  const world = new VirtualWorld(10)
  const alice = world.node(ALICE, { streams: streams(init) })
  const bob = world.node(BOB, { streams: streams(init) })
  const [connection, far] = world.connect(alice, bob)
  const open = async (protocol: string): Promise<NegotiatedStream> => {
    const stream = bob.behaviours.streams.open(ALICE, protocol)
    await world.advance(50)
    return await stream
  }
  return { world, alice, bob, connection, far, open, mine: alice.behaviours.streams, theirs: bob.behaviours.streams }
}

/** Takes one that is known to wait. */
async function take (accepted: AcceptedStreams): Promise<AcceptedStream> {
  const { value } = await accepted.next()
  return value!
}

describe('accept()', () => {
  it('offers the name on connections that are there, wakes them, and declares it for the node (S3.16, S3.22)', async () => {
    const { world, alice, connection, mine } = pair()
    await world.settle()
    expect(connection.machine.localProtocols.toArray()).toEqual([])
    mine.accept('/late/1')
    await world.settle()
    expect(connection.machine.localProtocols.toArray()).toEqual(['/late/1'])
    expect(alice.root.protocols).toEqual(['/late/1'])
  })

  it('gives the streams that peers open, in order, with peer, connection, protocol and signal', async () => {
    const { world, mine, theirs } = pair()
    const accepted = mine.accept('/chat/1')
    expect(accepted).toMatchObject({ protocol: '/chat/1', isOpen: true, waiting: 0, rejected: 0 })
    const opened = [theirs.open(ALICE, '/chat/1'), theirs.open(ALICE, ['/no', '/chat/1'])]
    await world.advance(100)
    const streams = await Promise.all(opened)
    expect(accepted.waiting).toBe(2)
    for (const [at, stream] of streams.entries()) {
      stream.send(bytesOf(`hello ${at}`))
      await stream.close()
    }
    await world.advance(50)
    const { peer, connection, protocol, signal, stream } = await take(accepted)
    expect([peer, connection, protocol, signal.aborted]).toEqual([BOB, 'c1', '/chat/1', false])
    expect(await textOf(stream)).toBe('hello 0')
    expect(await textOf((await take(accepted)).stream)).toBe('hello 1')
  })

  it('serves whoever waits already, in order', async () => {
    const { world, open, mine } = pair()
    const accepted = mine.accept('/chat/1')
    const waits = [accepted.next(), accepted.next()]
    const one = await open('/chat/1')
    one.send(bytesOf('1'))
    await one.close()
    const two = await open('/chat/1')
    two.send(bytesOf('2'))
    await two.close()
    expect(accepted.waiting).toBe(0)
    await world.advance(50)
    const texts = await Promise.all(waits.map(async (wait) => await textOf((await wait).value!.stream)))
    expect(texts).toEqual(['1', '2'])
  })

  it('holds the connection open by streams that wait, and lets go of it with them (S6.3)', async () => {
    const world = new VirtualWorld(10)
    const alice = world.node(ALICE, { streams: streams() })
    const bob = world.node(BOB, { streams: streams() })
    const [, connection] = world.connect(bob, alice, { init: { idleTimeoutMs: 100 } })
    const accepted = alice.behaviours.streams.accept('/chat/1')
    const opened = bob.behaviours.streams.open(ALICE, '/chat/1')
    await world.advance(10_000)
    expect([accepted.waiting, (await opened).status, connection.status.phase]).toEqual([1, 'open', 'open'])
    await accepted.return?.()
    await world.advance(10_000)
    expect(alice.logOf('connection-closed')).toMatchObject([{ reason: 'keep-alive-timeout' }])
  })

  it.each(['break', 'return()', 'await using', 'signal'])('ends with %s: the name goes, what waits is reset, and no listener is left (C21)', async (how) => {
    const { world, open, mine, theirs, connection } = pair()
    const controller = new AbortController()
    const accepted = mine.accept('/chat/1', { signal: controller.signal })
    const first = await open('/chat/1')
    const second = await open('/chat/1')
    if (how === 'break') {
      for await (const { stream } of accepted) {
        expect(stream.status).toBe('open')
        break
      }
    } else {
      await take(accepted)
      if (how === 'return()') {
        expect(await accepted.return?.()).toEqual({ done: true, value: undefined })
      } else if (how === 'await using') {
        await accepted[Symbol.asyncDispose]()
      } else {
        controller.abort()
      }
    }
    await world.advance(50)
    expect([first.status, second.status]).toEqual(['open', 'reset'])
    expect(accepted).toMatchObject({ isOpen: false, waiting: 0 })
    expect(await accepted.next()).toEqual({ done: true, value: undefined })
    expect(connection.machine.localProtocols.toArray()).toEqual([])
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    const refused = expect(theirs.open(ALICE, '/chat/1')).rejects.toMatchObject({ name: 'StreamUpgradeError', kind: 'negotiation-failed' })
    await world.advance(50)
    await refused
  })

  it('ends those who wait for a stream', async () => {
    const { mine } = pair()
    const accepted = mine.accept('/chat/1')
    const waits = [accepted.next(), accepted.next()]
    await accepted.return?.()
    expect(await Promise.all(waits)).toEqual([{ done: true, value: undefined }, { done: true, value: undefined }])
  })

  it('resets a stream that was under way with the list of then, when the name has gone (S2.11)', async () => {
    const { world, mine, theirs } = pair()
    const accepted = mine.accept('/chat/1')
    const opened = theirs.open(ALICE, ['/no', '/chat/1'])
    await world.advance(15)
    await accepted.return?.()
    await world.advance(50)
    const stream = await opened
    expect([stream.protocol, stream.status]).toEqual(['/chat/1', 'reset'])
  })

  it('takes a name only once, and gives it free (DuplicateProtocolError)', async () => {
    const { world, open, mine } = pair()
    const accepted = mine.accept('/chat/1')
    expect(() => mine.accept('/chat/1')).toThrow(expect.objectContaining({ name: 'DuplicateProtocolError', message: expect.stringContaining('/chat/1') as string }))
    expect(() => mine.serve('/chat/1', () => {})).toThrow(expect.objectContaining({ name: 'DuplicateProtocolError' }))
    await accepted.return?.()
    const again = mine.accept('/chat/1')
    await accepted.return?.()
    await accepted[Symbol.asyncDispose]()
    await world.settle()
    await open('/chat/1')
    expect(again.waiting).toBe(1)
  })

  it('ends at once for a signal that has aborted, and offers nothing', async () => {
    const { world, mine, connection } = pair()
    const accepted = mine.accept('/chat/1', { signal: AbortSignal.abort() })
    await world.settle()
    expect(accepted.isOpen).toBe(false)
    expect(await accepted.next()).toEqual({ done: true, value: undefined })
    expect(connection.machine.localProtocols.toArray()).toEqual([])
    expect(mine.accept('/chat/1').isOpen).toBe(true)
  })

  it('refuses names and options that are none, and then has changed nothing', () => {
    const { mine, connection } = pair()
    expect(() => mine.accept('chat')).toThrow(TypeError)
    expect(() => mine.accept(`/${'x'.repeat(20_000)}`)).toThrow(RangeError)
    expect(() => mine.accept('/chat/1', { maxWaiting: 0 })).toThrow(RangeError)
    expect(() => mine.accept('/chat/1', { max: 1 } as object)).toThrow(/max/)
    expect(() => mine.accept('/chat/1', { signal: {} as AbortSignal })).toThrow(TypeError)
    expect(() => mine.serve('/chat/1', undefined as never)).toThrow(TypeError)
    expect(() => mine.serve('/chat/1', () => {}, { x: 1 } as object)).toThrow(TypeError)
    expect(connection.machine.localProtocols.toArray()).toEqual([])
  })
})

describe('streams that nobody takes', () => {
  it('wait up to maxWaiting; the newest is reset and reported, once until one is taken (S9.1)', async () => {
    const { alice, open, mine } = pair()
    const accepted = mine.accept('/chat/1', { maxWaiting: 2, maxWaitingPerPeer: 2 })
    const opened = [await open('/chat/1'), await open('/chat/1'), await open('/chat/1'), await open('/chat/1')]
    expect(opened.map(({ status }) => status)).toEqual(['open', 'open', 'reset', 'reset'])
    expect(accepted).toMatchObject({ waiting: 2, rejected: 2 })
    const event = { behaviour: 'streams', peer: BOB, connection: 'c1', event: { type: 'stream-rejected', protocol: '/chat/1' } }
    expect(alice.events).toEqual([event])
    await take(accepted)
    await open('/chat/1')
    await open('/chat/1')
    expect(accepted).toMatchObject({ waiting: 2, rejected: 3 })
    expect(alice.events).toEqual([event, event])
  })

  it('of one peer do not take the place of those of another (maxWaitingPerPeer)', async () => {
    const { world, alice, open, mine } = pair()
    const carol = world.node(CAROL, { streams: streams() })
    world.connect(carol, alice, { id: 'c2' })
    const accepted = mine.accept('/chat/1', { maxWaiting: 4, maxWaitingPerPeer: 2 })
    for (const expected of ['open', 'open', 'reset']) {
      expect((await open('/chat/1')).status).toBe(expected)
    }
    const theirs = carol.behaviours.streams.open(ALICE, '/chat/1')
    await world.advance(50)
    expect((await theirs).status).toBe('open')
    expect(accepted).toMatchObject({ waiting: 3, rejected: 1 })
    expect([(await take(accepted)).peer, (await take(accepted)).peer, (await take(accepted)).peer]).toEqual([BOB, BOB, CAROL])
  })

  it('are forgotten when their peer resets them: they neither take room nor are given', async () => {
    const { world, open, mine } = pair()
    const accepted = mine.accept('/chat/1', { maxWaiting: 2, maxWaitingPerPeer: 2 })
    for (let at = 0; at < 5; at++) {
      const stream = await open('/chat/1')
      stream.abort(new Error('gone'))
      await world.advance(50)
    }
    const alive = await open('/chat/1')
    expect(accepted.rejected).toBe(0)
    alive.send(bytesOf('alive'))
    await alive.close()
    await world.advance(50)
    expect(await textOf((await take(accepted)).stream)).toBe('alive')
  })

  it('of a connection that was lost have what had come, and then fail (S2.31)', async () => {
    const { world, open, mine, connection } = pair()
    const accepted = mine.accept('/chat/1')
    const stream = await open('/chat/1')
    stream.send(bytesOf('last words'))
    await world.advance(50)
    connection.lose(undefined)
    await world.advance(50)
    const { stream: lost } = await take(accepted)
    let text = ''
    await expect((async () => {
      for await (const chunk of lost) {
        text += new TextDecoder().decode(chunk.subarray())
      }
    })()).rejects.toMatchObject({ name: 'StreamResetError' })
    expect(text).toBe('last words')
  })

  it('are paused until they are taken', async () => {
    const { open, mine, connection } = pair()
    const accepted = mine.accept('/chat/1')
    await open('/chat/1')
    expect(connection.streams[0]?.readStatus).toBe('paused')
    const { stream } = await take(accepted)
    expect(stream.readStatus).toBe('readable')
  })

  it('are gone when their connection is cut', async () => {
    const { world, open, mine, connection } = pair()
    const accepted = mine.accept('/chat/1')
    await open('/chat/1')
    connection.cut()
    await world.advance(50)
    const next = accepted.next()
    await accepted.return?.()
    expect(await next).toEqual({ done: true, value: undefined })
  })
})

describe('serve()', () => {
  it('has its callback serve each stream, many at a time, and closes each at its end', async () => {
    const { world, open, mine } = pair()
    const peers: string[] = []
    mine.serve('/echo/1', async (stream, { peer }) => {
      peers.push(peer.toString())
      for await (const chunk of stream) {
        stream.send(chunk)
      }
    })
    const [one, two] = [await open('/echo/1'), await open('/echo/1')]
    for (const [stream, text] of [[one, 'one'], [two, 'two']] as const) {
      stream.send(bytesOf(text))
      await stream.close()
    }
    const texts = Promise.all([textOf(one), textOf(two)])
    await world.advance(100)
    expect(await texts).toEqual(['one', 'two'])
    expect(peers).toEqual([BOB.toString(), BOB.toString()])
  })

  it('contains what its callback throws, now or later: that stream is reset and it is reported (S4.15)', async () => {
    const { world, alice, open, mine, connection } = pair()
    mine.serve('/throws', () => { throw new Error('at once') })
    mine.serve('/rejects', async () => { await Promise.reject(new Error('later')) })
    await world.settle()
    const opened = [await open('/throws'), await open('/rejects')]
    await world.advance(50)
    expect(opened.map(({ status }) => status)).toEqual(['reset', 'reset'])
    expect(alice.logOf('handler-error')).toMatchObject([{ behaviour: 'streams', cause: { message: 'at once' } }, { behaviour: 'streams', cause: { message: 'later' } }])
    expect(connection.status.phase).toBe('open')
  })

  it.each(['end()', 'using', 'signal'])('ends with %s; streams that are served already go on', async (how) => {
    const { world, open, mine, connection } = pair()
    const controller = new AbortController()
    const kept: NegotiatedStream[] = []
    const serving = mine.serve('/keep/1', (stream) => { kept.push(stream) }, { signal: controller.signal })
    const stream = await open('/keep/1')
    if (how === 'end()') {
      serving.end()
      serving.end()
    } else if (how === 'using') {
      serving[Symbol.dispose]()
    } else {
      controller.abort()
    }
    await world.advance(50)
    expect(serving).toMatchObject({ protocol: '/keep/1', isOpen: false })
    expect([stream.status, kept[0]?.status]).toEqual(['open', 'open'])
    expect(connection.machine.localProtocols.toArray()).toEqual([])
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    expect(mine.serve('/keep/1', () => {}, { signal: AbortSignal.abort() }).isOpen).toBe(false)
    expect(mine.serve('/keep/1', () => {}).isOpen).toBe(true)
  })
})

describe('open()', () => {
  it('dials if need be, and speaks with a peer that accepts (S7.17)', async () => {
    const world = new VirtualWorld(10)
    const alice = world.node(ALICE, { streams: streams() })
    const bob = world.node(BOB, { streams: streams() })
    alice.onDial = () => { setImmediate(() => { world.connect(alice, bob) }) }
    bob.behaviours.streams.accept('/chat/1')
    const opened = alice.behaviours.streams.open(BOB, '/chat/1')
    await world.advance(100)
    await expect(opened).resolves.toMatchObject({ protocol: '/chat/1' })
    await expect(alice.behaviours.streams.open(CAROL, '/chat/1', { timeoutMs: 10, signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('rejects as S2.36 says: negotiation-failed with the names tried, timeout, aborted', async () => {
    const { world, mine } = pair()
    const failed = expect(mine.open(BOB, ['/a', '/b'])).rejects.toMatchObject({ name: 'StreamUpgradeError', kind: 'negotiation-failed', tried: ['/a', '/b'] })
    const late = expect(mine.open(BOB, '/a', { timeoutMs: 5 })).rejects.toMatchObject({ name: 'StreamUpgradeError', kind: 'timeout' })
    const controller = new AbortController()
    const aborted = expect(mine.open(BOB, '/a', { signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError' })
    controller.abort()
    await world.advance(100)
    await Promise.all([failed, late, aborted])
  })

  it('refuses what is no name, no peer and no option before anybody is dialed', async () => {
    const { world, alice, mine } = pair()
    let dials = 0
    alice.onDial = () => { dials++ }
    await expect(mine.open(CAROL, 'chat')).rejects.toBeInstanceOf(TypeError)
    await expect(mine.open(CAROL, [])).rejects.toBeInstanceOf(TypeError)
    await expect(mine.open(CAROL, undefined as never)).rejects.toBeInstanceOf(TypeError)
    await expect(mine.open('12D3Koo' as never, '/a')).rejects.toBeInstanceOf(TypeError)
    await expect(mine.open(CAROL, '/a', { protocols: ['/b'] } as object)).rejects.toThrow(/protocols/)
    await world.settle()
    expect(dials).toBe(0)
  })

  it('saves a round trip with lazy towards a peer that announced the name (S2.24)', async () => {
    const { world, mine, theirs, connection } = pair()
    theirs.serve('/echo/1', async (stream) => { for await (const chunk of stream) { stream.send(chunk) } })
    connection.identify('/echo/1')
    await world.settle()
    const opened = mine.open(BOB, '/echo/1', { lazy: true })
    await world.settle()
    const stream = await opened
    stream.send(bytesOf('early'))
    await stream.close()
    const text = textOf(stream)
    await world.advance(100)
    expect(await text).toBe('early')
  })
})

describe('streams()', () => {
  it('runs on relayed connections only if asked to (S7.18)', async () => {
    const world = new VirtualWorld()
    const alice = world.node(ALICE, { no: streams(), yes: streams({ runOnLimitedConnection: true }) })
    const bob = world.node(BOB, { streams: streams({ runOnLimitedConnection: true }) })
    const [connection] = world.connect(alice, bob, { limits: { bytes: 1n } })
    alice.behaviours.no.accept('/no')
    alice.behaviours.yes.accept('/yes')
    const accepted = bob.behaviours.streams.accept('/there')
    await world.settle()
    expect(connection.machine.localProtocols.toArray()).toEqual(['/yes'])
    await expect(alice.behaviours.no.open(BOB, '/there')).rejects.toMatchObject({ name: 'NotConnectedError' })
    const opened = alice.behaviours.yes.open(BOB, '/there')
    await world.settle()
    await opened
    expect(accepted.waiting).toBe(1)
    expect(() => streams({ runOnLimited: true } as object)).toThrow(/runOnLimitedConnection/)
  })

  it('ends its iterations when the swarm stops, after the connections; what is served stays', async () => {
    const { world, alice, mine, connection, open } = pair()
    const accepted = mine.accept('/a')
    const serving = mine.serve('/b', () => {})
    const loop = (async () => {
      const seen: string[] = []
      for await (const { protocol } of accepted) {
        seen.push(protocol)
      }
      return seen
    })()
    await open('/a')
    connection.close()
    await world.advance(100)
    expect(accepted.isOpen).toBe(true)
    alice.turn(() => { alice.swarm.onSwarmEvent({ type: 'swarm-stopped' }) })
    expect(await loop).toEqual(['/a'])
    expect([accepted.isOpen, serving.isOpen]).toEqual([false, true])
    expect(alice.root.protocols).toEqual(['/b'])
  })

  it('accepts nothing on a node that has stopped, until it is started again', () => {
    const { alice, mine } = pair()
    alice.turn(() => { alice.swarm.onSwarmEvent({ type: 'swarm-stopped' }) })
    expect(() => mine.accept('/a')).toThrow(expect.objectContaining({ name: 'InvalidStateError', message: 'Cannot accept streams of "/a": the node has stopped' }))
    alice.turn(() => { alice.swarm.onSwarmEvent({ type: 'swarm-restarted' }) })
    expect(mine.accept('/a').isOpen).toBe(true)
  })

  it('may be switched off and on, and be nested (S7.14)', async () => {
    const world = new VirtualWorld(10)
    const alice = world.node(ALICE, { group: composeBehaviours({ streams: toggle(streams()) }) })
    const bob = world.node(BOB, { streams: streams() })
    const [connection] = world.connect(bob, alice)
    const far = connection.far!
    const { streams: switched } = alice.behaviours.group
    const accepted = switched.inner.accept('/chat/1')
    await world.settle()
    expect(far.machine.localProtocols.toArray()).toEqual(['/chat/1'])
    switched.disable()
    await world.settle()
    expect(far.machine.localProtocols.toArray()).toEqual([])
    switched.inner.accept('/meanwhile')
    switched.enable()
    await world.settle()
    expect(far.machine.localProtocols.toArray()).toEqual(['/chat/1', '/meanwhile'])
    const opened = bob.behaviours.streams.open(ALICE, '/chat/1')
    await world.advance(100)
    await opened
    expect(accepted.waiting).toBe(1)
  })

  it('lets its commands be given from inside its callbacks', async () => {
    const { world, open, mine, connection } = pair()
    const inner: AcceptedStreams[] = []
    const serving = mine.serve('/outer', (stream) => {
      inner.push(mine.accept('/inner'))
      serving.end()
      stream.abort(new Error('done'))
    })
    await open('/outer')
    await world.advance(50)
    expect(connection.machine.localProtocols.toArray()).toEqual(['/inner'])
    await open('/inner')
    expect(inner[0]?.waiting).toBe(1)
    // Ended by a listener of the very stream that is being reset.
    const second = await open('/inner')
    const [one] = connection.streams.filter(({ protocol, status }) => protocol === '/inner' && status === 'open')
    one?.addEventListener('close', () => { void inner[0]?.return?.() })
    await inner[0]?.return?.()
    await world.advance(50)
    expect(second.status).toBe('reset')
    expect(connection.machine.localProtocols.toArray()).toEqual([])
  })

  it('accepts and gives up a name many times without leaving anything', async () => {
    const { world, mine, connection } = pair()
    const controller = new AbortController()
    for (let at = 0; at < 1000; at++) {
      const accepted = mine.accept(`/n/${at % 7}`, { signal: controller.signal })
      if (at % 3 === 0) {
        await world.settle()
      }
      await accepted.return?.()
    }
    await world.settle()
    expect(connection.machine.localProtocols.toArray()).toEqual([])
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })
})
