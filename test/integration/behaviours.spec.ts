import { defaultLogger } from '@libp2p/logger'
import { afterEach, describe, expect, it } from 'vitest'
import { Outbox, protocolBehaviour } from 'libp2p-behaviours'
import { ping } from 'libp2p-behaviours/ping'
import { requestResponse } from 'libp2p-behaviours/request-response'
import { CHAT, bytesOf, chat, textOf } from '../support/chat.ts'
import { eventOf, until, within } from '../support/deadline.ts'
import { ANY_STACK, SEES_RESETS, STACKS, connect, connectionTo, stockNode, stopNodes, swarmNode, untilReset } from '../support/nodes.ts'
import type { ComponentLogger, PeerId } from '@libp2p/interface'
import type { ConnectionEvent, ConnectionHandler, NegotiatedStream, NetworkBehaviour, PollContext, ToSwarm } from 'libp2p-behaviours'

afterEach(stopNodes)

/** Two nodes with the same behaviours, and the connection between them. */
async function pairOf<Node extends Awaited<ReturnType<typeof swarmNode>>> (make: () => Promise<Node>) {
  const [alice, bob] = await Promise.all([make(), make()])
  const connection = await connect(alice, bob)
  await within('the connection of the listener', connectionTo(bob, alice.peerId))
  return { alice, bob, connection }
}

describe.each(STACKS)('behaviours over %s', (stack) => {
  it('exchange streams, events and commands in both directions', async () => {
    const { alice, bob } = await pairOf(async () => swarmNode(stack, { behaviours: { chat: chat() } }))
    const heard = [alice, bob].map((node) => node.services.swarm.events({ behaviour: 'chat' }))
    await alice.services.swarm.behaviours.chat.say(bob.peerId, 'hello bob')
    await bob.services.swarm.behaviours.chat.say(alice.peerId, 'hello alice')
    const [byAlice, byBob] = await within('the messages', Promise.all(heard.map(async (events) => events.next())))
    expect(byBob?.value).toMatchObject({ behaviour: 'chat', event: { type: 'message', text: 'hello bob', protocol: CHAT } })
    expect(byBob?.value?.peer.equals(alice.peerId)).toBe(true)
    expect(byAlice?.value).toMatchObject({ behaviour: 'chat', event: { text: 'hello alice' } })
  })

  it('answer requests and pings', async () => {
    const { alice, bob } = await pairOf(async () => swarmNode(stack, {
      behaviours: {
        ping: ping(),
        shout: requestResponse({ protocols: ['/shout/1.0.0'], serve: (request) => bytesOf(textOf(request).toUpperCase()) })
      }
    }))
    const { behaviours } = alice.services.swarm
    expect(textOf(await behaviours.shout.request(bob.peerId, bytesOf('quiet')))).toBe('QUIET')
    expect(await behaviours.ping.ping(bob.peerId)).toBeGreaterThan(0)
  })

  it('speak with the stock service of the same protocol in both roles', async () => {
    const [alice, bob] = await Promise.all([swarmNode(stack, { behaviours: { ping: ping() } }), stockNode(stack)])
    await connect(alice, bob)
    expect(await alice.services.swarm.behaviours.ping.ping(bob.peerId)).toBeGreaterThan(0)
    expect(await bob.services.ping.ping(alice.peerId)).toBeGreaterThanOrEqual(0)
  })

  it('are reached by a stock node through newStream', async () => {
    const [alice, bob] = await Promise.all([swarmNode(stack, { behaviours: { chat: chat() } }), stockNode(stack)])
    const events = alice.services.swarm.events()
    const connection = await connect(bob, alice)
    const stream = await connection.newStream(CHAT)
    stream.send(bytesOf('from stock'))
    await stream.close()
    expect((await within('the message', events.next())).value).toMatchObject({ event: { text: 'from stock' } })
  })
})

describe('a stream of a behaviour', () => {
  it.each<[how: string, listener: () => unknown]>([
    ['throws', () => { throw new RangeError('mine') }],
    ['rejects', async () => { throw new RangeError('mine') }]
  ])('is reset when a listener of its user %s, which is reported, and the rest goes on (S4.15)', async (_, listener) => {
    const streams: NegotiatedStream[] = []
    const loud = () => protocolBehaviour({
      protocols: ['/loud/1.0.0'],
      inbound: (stream) => {
        streams.push(stream)
        stream.addEventListener('message', listener)
      },
      commands: ({ open }) => ({ open })
    })
    const { alice, bob, connection } = await pairOf(async () => swarmNode(ANY_STACK, { behaviours: { loud: loud(), ping: ping() } }))
    const reported = eventOf<CustomEvent<{ connection: string, method: string, cause: unknown }>>(bob.services.swarm, 'handler:error')
    const stream = await alice.services.swarm.behaviours.loud.open(bob.peerId)
    stream.send(bytesOf('hello'))
    expect((await within('the report', reported)).detail).toMatchObject({
      connection: bob.services.swarm.connections[0]?.id, method: 'listener for message of a stream', cause: { message: 'mine' }
    })
    expect(streams.map(({ status }) => status)).toEqual(['aborted'])
    await until('the peer has seen it', () => stream.status === 'reset' || !SEES_RESETS)
    expect(await alice.services.swarm.behaviours.ping.ping(bob.peerId)).toBeGreaterThan(0)
    expect(connection.status).toBe('open')
  })

  it('bears its protocol, is one of the connection\'s, and holds the connection open until it ends (S6.3)', async () => {
    const streams: NegotiatedStream[] = []
    const keep = () => protocolBehaviour({
      protocols: CHAT,
      inbound: (stream) => { streams.push(stream) },
      commands: ({ open }) => ({ open })
    })
    const { alice, bob, connection } = await pairOf(async () => swarmNode(ANY_STACK, { behaviours: { chat: keep() } }))
    const opened = await alice.services.swarm.behaviours.chat.open(bob.peerId)
    await until('bob has the stream', () => streams.length === 1)

    const [own] = alice.services.swarm.connections
    expect(opened.protocol).toBe(CHAT)
    expect(connection.streams).toContain(opened)
    expect(own?.streams).toEqual([opened])
    expect(own?.idleSince).toBe(undefined)

    opened.ignoreForKeepAlive()
    opened.ignoreForKeepAlive()
    expect(own?.streams).toEqual([])
    await until('the connection is idle', () => own?.idleSince !== undefined)
  })

  it('fails alone when the peer has none of the names (C15)', async () => {
    const { alice, bob } = await pairOf(async () => swarmNode(ANY_STACK, { behaviours: { chat: chat() } }))
    const events = bob.services.swarm.events()
    const { say } = alice.services.swarm.behaviours.chat
    await expect(say(bob.peerId, 'lost', ['/no/1', '/no/2'])).rejects.toMatchObject({
      name: 'StreamUpgradeError', kind: 'negotiation-failed', tried: ['/no/1', '/no/2'], peer: bob.peerId
    })
    expect(await say(bob.peerId, 'found', ['/no/1', CHAT])).toBe(CHAT)
    expect((await within('the message', events.next())).value).toMatchObject({ event: { text: 'found' } })
  })
})

describe('code that throws (C25)', () => {
  const failures: Array<{ name: string, inbound (): Promise<void> | void }> = [
    { name: 'throws', inbound: () => { throw new Error('at once') } },
    { name: 'rejects later', inbound: async () => { await new Promise((resolve) => setTimeout(resolve, 5)); throw new Error('later') } },
    { name: 'throws undefined', inbound: () => { throw undefined } } // eslint-disable-line @typescript-eslint/only-throw-error -- the case
  ]

  it.each(failures)('resets its own stream only, when a stream callback $name', async ({ inbound }) => {
    const { alice, bob } = await pairOf(async () => swarmNode(ANY_STACK, {
      behaviours: {
        bad: protocolBehaviour({ protocols: '/bad/1', inbound, commands: ({ open }) => ({ open }) }),
        good: chat()
      }
    }))
    const events = bob.services.swarm.events({ behaviour: 'good' })
    const reported = eventOf<CustomEvent<{ behaviour: string, method: string }>>(bob.services.swarm, 'handler:error')
    const { behaviours } = alice.services.swarm
    await untilReset(behaviours.bad.open(bob.peerId))
    expect((await reported).detail).toMatchObject({ behaviour: 'bad', type: 'handler-error' })

    await behaviours.good.say(bob.peerId, 'still here')
    expect((await within('the message', events.next())).value).toMatchObject({ event: { text: 'still here' } })
    expect(bob.services.swarm.connections).toHaveLength(1)
  })

  it('closes its connection when any other handler method throws, and no other connection (S4.15)', async () => {
    class Fragile implements ConnectionHandler<'break'> {
      listenProtocols () { return [] }
      onConnectionEvent (_event: ConnectionEvent): void {}
      onBehaviourEvent (): void { throw new Error('broken') }
    }
    class Breaker implements NetworkBehaviour<never, 'break'> {
      readonly #commands = new Outbox<ToSwarm<never, 'break'>>()
      commitEstablished () { return new Fragile() }
      poll (cx: PollContext) { return this.#commands.poll(cx) }
      hit (peer: PeerId) { this.#commands.push({ type: 'notify-handler', peer, connection: 'any', event: 'break' }) }
    }
    const alice = await swarmNode(ANY_STACK, { behaviours: { breaker: new Breaker() } })
    const [bob, carol] = await Promise.all([stockNode(ANY_STACK), stockNode(ANY_STACK)])
    await connect(alice, bob)
    await connect(alice, carol)
    const closed = eventOf<CustomEvent<object>>(alice.services.swarm, 'connection:close')
    alice.services.swarm.behaviours.breaker.hit(bob.peerId)
    expect((await closed).detail).toMatchObject({ reason: 'handler-error', cause: { message: 'broken' } })
    expect(alice.services.swarm.connections.map(({ peer }) => peer.toString())).toEqual([carol.peerId.toString()])
  })

  it('is caught in subscribers and listeners, whether they throw or reject', async () => {
    const { alice, bob } = await pairOf(async () => swarmNode(ANY_STACK, { behaviours: { chat: chat() } }))
    const { swarm: bobs } = bob.services
    const errors: string[] = []
    bobs.addEventListener('handler:error', ({ detail }) => { errors.push(detail.method) })
    bobs.addEventListener('behaviour:event', () => { throw new Error('listener') })
    bobs.addEventListener('connection:close', async () => { throw new Error('async listener') }) // eslint-disable-line @typescript-eslint/no-misused-promises -- the case
    bobs.protocols.subscribe({ side: 'remote' }, () => { throw new Error('subscriber') })
    const others: string[] = []
    bobs.addEventListener('behaviour:event', ({ detail }) => { others.push(detail.event.text) })

    await alice.services.swarm.behaviours.chat.say(bob.peerId, 'one')
    await until('the other listener is served', () => others.length === 1)
    await alice.handle('/new/1', () => {})
    await until('the subscriber is reported', () => errors.includes('protocols.subscribe'))
    await bobs.connections[0]?.close()
    await until('the async listener is reported', () => errors.includes('listener for connection:close'))
    expect(errors).toContain('listener for behaviour:event')
  })
})

describe('swarm.events()', () => {
  it('ends with OverflowError when its consumer falls behind, after what it has buffered, if it is told to', async () => {
    const { alice, bob } = await pairOf(async () => swarmNode(ANY_STACK, { behaviours: { chat: chat() }, eventBufferSize: 2 }))
    const slow = bob.services.swarm.events({ overflow: 'end' })
    const heard: string[] = []
    bob.services.swarm.addEventListener('behaviour:event', ({ detail }) => { heard.push(detail.event.text) })
    for (const text of ['1', '2', '3', '4']) {
      await alice.services.swarm.behaviours.chat.say(bob.peerId, text)
      await until(`message ${text} has come`, () => heard.includes(text))
    }
    expect([await slow.next(), await slow.next()].map(({ value }) => value?.event.text)).toEqual(['1', '2'])
    await expect(slow.next()).rejects.toMatchObject({ name: 'OverflowError' })
    expect(await slow.next()).toEqual({ done: true, value: undefined })
  })

  it('narrows the event by the key of its behaviour', async () => {
    const { alice, bob } = await pairOf(async () => swarmNode(ANY_STACK, { behaviours: { chat: chat(), other: chat('/other/1') } }))
    const texts: string[] = []
    const reading = (async () => {
      for await (const { behaviour, event } of bob.services.swarm.events()) {
        texts.push(`${behaviour}: ${event.text}`)
        if (texts.length === 2) {
          break
        }
      }
    })()
    await alice.services.swarm.behaviours.chat.say(bob.peerId, 'a')
    await until('the first message has come', () => texts.length === 1)
    await alice.services.swarm.behaviours.other.say(bob.peerId, 'b')
    await within('both messages', reading)
    expect(texts).toEqual(['chat: a', 'other: b'])
  })

  it('ends when the node stops', async () => {
    const alice = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } })
    const next = alice.services.swarm.events().next()
    await alice.stop()
    expect(await within('the end', next)).toEqual({ done: true, value: undefined })
  })
})

describe('what is foreign and throws (S4.15)', () => {
  it('is reported once per second and source: a logger, a subscriber, a listener, a thenable; all others are served', async () => {
    const broken = (): never => { throw new Error('logger') }
    const stock = defaultLogger()
    const logger: ComponentLogger = {
      forComponent: (name) => name === 'libp2p:behaviours' ? Object.assign(broken, stock.forComponent(name), { error: broken }) : stock.forComponent(name)
    }
    const bob = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } }, { logger })
    const alice = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } })
    await connect(alice, bob)
    const { swarm: bobs } = bob.services
    const sources: string[] = []
    bobs.addEventListener('handler:error', ({ detail }) => { sources.push(detail.method) })
    bobs.addEventListener('behaviour:event', () => { throw new Error('listener') })
    const thenable = { then () { throw new Error('thenable') } }
    bobs.protocols.subscribe({ side: 'local', protocol: '/new/1' }, () => thenable)
    bobs.protocols.subscribe({ side: 'local', protocol: '/new/1' }, () => { throw new Error('subscriber') })
    let served = 0
    bobs.protocols.subscribe({ side: 'local', protocol: '/new/1' }, () => { served++ })
    const texts: string[] = []
    bobs.addEventListener('behaviour:event', ({ detail }) => { texts.push(detail.event.text) })
    for (const text of ['one', 'two', 'three']) {
      await alice.services.swarm.behaviours.chat.say(bob.peerId, text)
    }
    await bob.handle('/new/1', () => {})
    await until('all are served', () => texts.length === 3 && served > 0)
    expect(sources.sort()).toEqual(['listener for behaviour:event', 'logger', 'protocols.subscribe'])
  })
})
