import { byteStream } from '@libp2p/utils'
import { afterEach, describe, expect, it } from 'vitest'
import { protocolBehaviour } from 'libp2p-behaviours'
import { requestResponse } from 'libp2p-behaviours/request-response'
import { bytesOf, readText, textOf } from '../support/chat.ts'
import { until, within } from '../support/deadline.ts'
import { ANY_STACK, STACKS, connect, stockNode, stopNodes, swarmNode } from '../support/nodes.ts'
import type { Connection, Libp2p, Stream } from '@libp2p/interface'
import type { Stack } from '../support/nodes.ts'

const ECHO = '/echo-to-end/1'
/** Announced by a listener that does not have it. */
const GHOST = '/ghost/1'

afterEach(stopNodes)

/** A dialer whose behaviours open streams of {@link ECHO}. */
const dialerOn = async (stack: Stack) => swarmNode(stack, {
  behaviours: {
    echo: protocolBehaviour({ protocols: ECHO, commands: ({ open }) => ({ open }) }),
    ask: requestResponse({ protocols: ECHO }),
    askGhost: requestResponse({ protocols: GHOST })
  }
})

/** Sends everything back, then ends. Reads as the host's utilities do: its own iterator may miss the end (HOST.md 8.1). */
async function echoToEnd (stream: Stream): Promise<void> {
  const bytes = byteStream(stream)
  for (let chunk = await bytes.read(); chunk !== null; chunk = await bytes.read()) {
    stream.send(chunk)
  }
  await stream.close()
}

const LISTENERS: ReadonlyArray<[name: string, make: (stack: Stack) => Promise<Libp2p>]> = [
  ['our', async (stack) => swarmNode(stack, { behaviours: {} })],
  ['the stock', stockNode]
]

/** Two nodes; the dialer knows from identify what the listener speaks. */
async function pair (stack: Stack, make: (stack: Stack) => Promise<Libp2p>) {
  const [alice, bob] = await Promise.all([dialerOn(stack), make(stack)])
  await bob.handle(ECHO, echoToEnd)
  await bob.peerStore.merge(bob.peerId, { protocols: [GHOST] })
  const connection = await connect(alice, bob)
  await within('alice knows what bob speaks', alice.services.swarm.protocols.whenSupports(bob.peerId, GHOST))
  return { alice, bob, connection }
}

const CELLS = STACKS.flatMap((stack) => LISTENERS.map(([name, make]) => ({ stack, name, make })))

describe.each(CELLS)('lazy streams to $name listener over $stack', ({ stack, make }) => {
  it.each(['at once', 'after the answer'])('carry bytes both ways to the end, read %s', async (when) => {
    const { alice, bob } = await pair(stack, make)
    const stream = await alice.services.swarm.behaviours.echo.open(bob.peerId, { lazy: true })
    stream.send(bytesOf('first '))
    const early = when === 'at once' ? readText(stream) : undefined
    stream.send(bytesOf('second'))
    await stream.close()
    if (early === undefined) {
      await until('the answer is there', () => stream.remoteWriteStatus === 'closed')
    }
    expect(await within('the end', early ?? readText(stream))).toBe('first second')
    expect(stream.status).toBe('closed')
    await until('nothing is left', () => alice.services.swarm.connections[0]?.streams.length === 0)
  })

  it('are had by stock services through newStream', async () => {
    const { connection } = await pair(stack, make)
    const stream = await connection.newStream(ECHO, { lazy: true })
    const bytes = byteStream(stream)
    await bytes.write(bytesOf('hello'))
    expect(textOf(await within('the echo', bytes.read({ bytes: 5 })))).toBe('hello')
    await stream.close()
    expect(await within('the end', bytes.read())).toBe(null)
  })
})

describe.each(CELLS)('lazy requests to $name listener over $stack', ({ stack, make }) => {
  it('are answered', async () => {
    const { alice, bob } = await pair(stack, make)
    expect(textOf(await alice.services.swarm.behaviours.ask.request(bob.peerId, bytesOf('question'), { lazy: true }))).toBe('question')
  })
})

describe.each(STACKS)('a name that the peer has announced and does not have, over %s', (stack) => {
  it('fails its stream wherever it is used, now and later, and the connection is fine (S2.26)', async () => {
    const { alice, bob, connection } = await pair(stack, stockNode)
    const { echo } = alice.services.swarm.behaviours
    const refused = { name: 'NegotiationError', tried: [GHOST], phase: 'confirmation' }
    const streams = [
      await echo.open(bob.peerId, { protocols: [GHOST], lazy: true }),
      await connection.newStream(GHOST, { lazy: true })
    ]
    for (const stream of streams) {
      await expect(within('the refusal', readText(stream))).rejects.toMatchObject(refused)
      await expect(readText(stream)).rejects.toMatchObject(refused)
      expect(() => stream.send(bytesOf('again'))).toThrow(expect.objectContaining(refused))
      await stream.close()
    }
    await expect(echo.open(bob.peerId, { protocols: [GHOST] })).rejects.toMatchObject({ kind: 'negotiation-failed' })
    expect((await echo.open(bob.peerId)).protocol).toBe(ECHO)
  })

  it('fails its request', async () => {
    const { alice, bob } = await pair(stack, stockNode)
    const { askGhost } = alice.services.swarm.behaviours
    await expect(askGhost.request(bob.peerId, bytesOf('question'), { lazy: true })).rejects.toMatchObject({ name: 'NegotiationError' })
  })
})

describe('a lazy stream', () => {
  it('runs as V1 for a name that the peer has not announced (S2.24)', async () => {
    const { alice, bob, connection } = await pair(ANY_STACK, stockNode)
    await expect(alice.services.swarm.behaviours.echo.open(bob.peerId, { protocols: ['/no/1'], lazy: true })).rejects.toMatchObject({ kind: 'negotiation-failed' })
    await expect(connection.newStream('/no/1', { lazy: true })).rejects.toMatchObject({ name: 'UnsupportedProtocolError' })
  })

  it('is reset when the peer does not answer in time, also with a signal of its caller (S2.28)', async () => {
    const [alice, bob] = await Promise.all([
      swarmNode(ANY_STACK, { behaviours: {}, outboundTimeoutMs: 100 }),
      swarmNode(ANY_STACK, { behaviours: {}, maxNegotiatingInboundStreams: 1 })
    ])
    await bob.handle(ECHO, echoToEnd)
    const connection = await connect(alice, bob)
    await within('alice knows what bob speaks', alice.services.swarm.protocols.whenSupports(bob.peerId, ECHO))
    await occupy(connection)
    const stream = await connection.newStream(ECHO, { lazy: true, signal: new AbortController().signal })
    await expect(within('the deadline', readText(stream))).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})

/** Takes the only slot of the listener: a stream that never says what it speaks. */
async function occupy (connection: Connection): Promise<void> {
  const { muxer } = connection as unknown as { muxer: { createStream (): Promise<Stream> } }
  await muxer.createStream()
}
