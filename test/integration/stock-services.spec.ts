import { byteStream } from '@libp2p/utils'
import { afterEach, describe, expect, it } from 'vitest'
import { ping } from 'libp2p-behaviours/ping'
import { eventOf, until, within } from '../support/deadline.ts'
import { ANY_STACK, STACKS, connect, connectionTo, stockNode, stopNodes, swarmNode } from '../support/nodes.ts'
import type { Connection, Stream } from '@libp2p/interface'
import type { Stack, StockNode } from '../support/nodes.ts'

// A node with the plug-in and one without behave the same for every stock service: the first row is the proof that the
// expectations are the host's own, the others are ours.

const wrapped = async (stack: Stack): Promise<StockNode> => swarmNode(stack, { behaviours: {} })

const PAIRS = [
  { name: 'stock with stock', dialer: stockNode, listener: stockNode },
  { name: 'wrapped with stock', dialer: wrapped, listener: stockNode },
  { name: 'stock with wrapped', dialer: stockNode, listener: wrapped },
  { name: 'wrapped with wrapped', dialer: wrapped, listener: wrapped }
]

const CELLS = STACKS.flatMap((stack) => PAIRS.map((pair) => ({ ...pair, stack })))

const bytesOf = (text: string) => new TextEncoder().encode(text)
const textOf = (bytes: { subarray (): Uint8Array }) => new TextDecoder().decode(bytes.subarray())

/** The client of the echo service closes before it reads, so that a stock listener may miss the end (HOST.md 8.1); this one does not. */
async function echoed (connection: Connection, text: string): Promise<string> {
  const stream = await connection.newStream('/echo/1.0.0')
  const bytes = byteStream(stream)
  await bytes.write(bytesOf(text))
  const answer = textOf(await bytes.read({ bytes: text.length }))
  await stream.close()
  return answer
}

/** Sends each chunk back, and ends when the peer does: what the host's own iterator does not always manage. */
async function echoInto (stream: Stream): Promise<void> {
  for await (const chunk of stream) {
    stream.send(chunk)
  }
  await stream.close()
}

afterEach(stopNodes)

describe.each(CELLS)('stock services, $name over $stack', ({ stack, dialer, listener }) => {
  async function pair () {
    const [alice, bob] = await Promise.all([dialer(stack), listener(stack)])
    const connection = await connect(alice, bob)
    return { alice, bob, connection, back: await within('the connection of the listener', connectionTo(bob, alice.peerId)) }
  }

  it('identifies both ways', async () => {
    const [alice, bob] = await Promise.all([dialer(stack), listener(stack)])
    const seen = [alice, bob].map((node) => eventOf<CustomEvent<{ protocols: string[] }>>(node, 'peer:identify'))
    await connect(alice, bob)
    for (const { detail } of await Promise.all(seen)) {
      expect(detail.protocols).toEqual(expect.arrayContaining(['/ipfs/id/1.0.0', '/ipfs/id/push/1.0.0', '/ipfs/ping/1.0.0', '/echo/1.0.0']))
    }
  })

  it('pings both ways', async () => {
    const { alice, bob } = await pair()
    expect(await alice.services.ping.ping(bob.peerId)).toBeGreaterThanOrEqual(0)
    expect(await bob.services.ping.ping(alice.peerId)).toBeGreaterThanOrEqual(0)
  })

  it('echoes both ways', async () => {
    const { connection, back } = await pair()
    expect(await echoed(connection, 'over')).toBe('over')
    expect(await echoed(back, 'and out')).toBe('and out')
  })

  it('pushes a protocol that a service adds, and that it removes', async () => {
    const { alice, bob } = await pair()
    await until('each knows that the other takes pushes', async () => {
      const records = await Promise.allSettled([alice.peerStore.get(bob.peerId), bob.peerStore.get(alice.peerId)])
      return records.every((record) => record.status === 'fulfilled' && record.value.protocols.includes('/ipfs/id/push/1.0.0'))
    })
    const added = eventOf<CustomEvent<{ protocols: string[] }>>(alice, 'peer:identify', ({ detail }) => detail.protocols.includes('/new/1'))
    await bob.handle('/new/1', () => {})
    await added
    const removed = eventOf<CustomEvent<{ protocols: string[] }>>(alice, 'peer:identify', ({ detail }) => !detail.protocols.includes('/new/1'))
    await bob.unhandle('/new/1')
    await removed
  })

  it('serves a handler that was registered after the connection opened', async () => {
    const { bob, connection } = await pair()
    await bob.handle('/late/1', echoInto)
    const stream = await connection.newStream('/late/1')
    const bytes = byteStream(stream)
    await bytes.write(bytesOf('late'))
    expect(textOf((await bytes.read({ bytes: 4 })))).toBe('late')
  })

  it('opens the first of several names that the peer has', async () => {
    const { alice, bob, connection, back } = await pair()
    await bob.handle('/second/1', echoInto)
    await alice.handle('/third/1', echoInto)
    expect((await connection.newStream(['/first/1', '/second/1'])).protocol).toBe('/second/1')
    expect((await back.newStream(['/first/1', '/third/1'])).protocol).toBe('/third/1')
  })

  it('fails with UnsupportedProtocolError for names that the peer lacks', async () => {
    const { connection } = await pair()
    await expect(connection.newStream('/no/1')).rejects.toMatchObject({ name: 'UnsupportedProtocolError' })
    await expect(connection.newStream(['/no/1', '/no/2'])).rejects.toMatchObject({ name: 'UnsupportedProtocolError' })
    expect(connection.status).toBe('open')
  })

  it('keeps to the limits of a protocol', async () => {
    const { bob, connection } = await pair()
    await bob.handle('/few/1', () => {}, { maxInboundStreams: 1 })
    const first = await connection.newStream('/few/1')
    const second = await connection.newStream('/few/1')
    await until('the second stream is reset', () => second.status === 'reset')
    expect(first.status).toBe('open')

    await bob.handle('/many/1', () => {})
    await connection.newStream('/many/1', { maxOutboundStreams: 1 })
    await expect(connection.newStream('/many/1', { maxOutboundStreams: 1 })).rejects.toMatchObject({ name: 'TooManyOutboundProtocolStreamsError' })
  })

  it('rejects at once with an aborted signal, with the reason of the caller', async () => {
    const { bob, connection } = await pair()
    await bob.handle('/slow/1', () => {})
    const reason = new Error('changed my mind')
    await expect(connection.newStream('/slow/1', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(connection.streams.filter(({ protocol }) => protocol === '/slow/1')).toEqual([])
  })

  it('delivers what came with the end of the stream, and ends', async () => {
    const { bob, connection } = await pair()
    const received = within('the end of the stream', new Promise<string>((resolve) => {
      void bob.handle('/text/1', async (stream) => {
        const bytes = byteStream(stream)
        let text = ''
        for (let chunk = await bytes.read(); chunk !== null; chunk = await bytes.read()) {
          text += textOf(chunk)
        }
        resolve(text)
      })
    }))
    const stream = await connection.newStream('/text/1')
    stream.send(bytesOf('all of it'))
    await stream.close()
    expect(await received).toBe('all of it')
  })
})

describe('a behaviour that speaks the protocol of a stock service', () => {
  it('leaves the service its streams: neither a ping nor the connection monitor fails by the ping behaviour', async () => {
    const make = async () => swarmNode(ANY_STACK, { behaviours: { ping: ping({ intervalMs: 20 }) } }, { connectionMonitor: { pingInterval: 50 } })
    const [alice, bob] = await Promise.all([make(), make()])
    const connection = await connect(alice, bob)
    await until('the monitor has looked', () => connection.rtt !== undefined)
    for (let at = 0; at < 5; at++) {
      await until('no ping of the monitor is under way', () => connection.streams.every(({ protocol }) => protocol !== '/ipfs/ping/1.0.0'))
      expect(await alice.services.ping.ping(bob.peerId)).toBeGreaterThanOrEqual(0)
      expect(await alice.services.swarm.behaviours.ping.ping(bob.peerId)).toBeGreaterThanOrEqual(0)
    }
    expect(connection.status).toBe('open')
  })
})

describe.each(STACKS)('what the plug-in mends, over %s', (stack) => {
  // HOST.md 8.1: the host's own iterator never ends when the end of the stream came before the iteration began.
  it.each([
    { name: 'at once', wait: async () => {} },
    { name: 'after the end has come', wait: async (stream: Stream) => { await until('the end has come', () => stream.remoteWriteStatus === 'closed') } }
  ])('a stock handler that iterates $name gets all bytes and the end (S2.31)', async ({ wait }) => {
    const [alice, bob] = await Promise.all([stockNode(stack), wrapped(stack)])
    const connection = await connect(alice, bob)
    const received = within('the end of the iteration', new Promise<string>((resolve) => {
      void bob.handle('/text/1', async (stream) => {
        await wait(stream)
        let text = ''
        for await (const chunk of stream) {
          text += textOf(chunk)
        }
        resolve(text)
      })
    }))
    const stream = await connection.newStream('/text/1')
    stream.send(bytesOf('all of it'))
    await stream.close()
    expect(await received).toBe('all of it')
  })

  it('leaves the host\'s own iterator in place with correctHostIterators: false', async () => {
    const [alice, bob] = await Promise.all([stockNode(stack), swarmNode(stack, { behaviours: {}, correctHostIterators: false })])
    const connection = await connect(alice, bob)
    const given = within('the stream', new Promise<Stream>((resolve) => { void bob.handle('/text/1', resolve) }))
    await connection.newStream('/text/1')
    expect(Object.hasOwn(await given, Symbol.asyncIterator)).toBe(false)
  })
})
