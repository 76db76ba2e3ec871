/**
 * A light client written in Rust by others dials our node, pings it, and is pinged. The cells are those that such a peer can run: it has no
 * listener, so streams in the other direction are opened on the connections that it made.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { protocolBehaviour } from 'libp2p-behaviours'
import { ping } from 'libp2p-behaviours/ping'
import { HEADER, VERSIONS, countPings, dialWith, frame, openConnections, rawStream, sleep, stopAll, swarmNode, until } from './peer.js'

/** The client pings after 2 s, then every 20 s: 24 s tell a handler that goes on from one that ends its streams after 10 s. */
const [CONNECTED_MS, MIN_PINGS] = process.env.INTEROP_SHORT === undefined ? [75_000, 4] : [24_000, 2]
const PING = '/ipfs/ping/1.0.0'
const PAYLOAD = Uint8Array.from({ length: 32 }, (_, at) => at)

afterAll(stopAll, 60_000)

/** Ping, and streams for the tests. */
const behaviours = (options = {}) => ({
  ping: ping({ intervalMs: 5000, ...options }),
  raw: protocolBehaviour({ protocols: '/raw/1.0.0', commands: ({ open }) => ({ open }) })
})

async function connected (packageName, init = {}) {
  const own = await swarmNode({ behaviours: behaviours(), ...init })
  const client = await dialWith(packageName, own.node)
  const connection = await until('the connection', () => openConnections(own)[0])
  return { ...own, client, connection }
}

/** Reads at least `count` bytes, or to the end. */
async function read (stream, count) {
  const chunks = []
  for await (const chunk of stream) {
    chunks.push(chunk.subarray())
    if (Buffer.concat(chunks).length >= count) {
      break
    }
  }
  return new Uint8Array(Buffer.concat(chunks))
}

describe.concurrent.each(VERSIONS)('smoldot %s, connected for long', (_, packageName) => {
  it(`is there after ${CONNECTED_MS / 1000} s, was answered ${MIN_PINGS} pings or more, and answered ours`, async () => {
    const own = await connected(packageName)
    await until('its ping stream', () => own.connection.host.streams.some(({ protocol, direction }) => protocol === PING && direction === 'inbound'))
    const pings = countPings(own.connection)
    await sleep(CONNECTED_MS)

    expect(own.connection.host.status).toBe('open')
    expect(own.of('connection-closed')).toEqual([])
    expect(own.of('handler-error')).toEqual([])
    expect(pings.answered).toBeGreaterThanOrEqual(MIN_PINGS)
    expect(pings.answered).toBe(pings.received)
    const events = own.of(undefined).map(({ event }) => event)
    expect(events.filter(({ type }) => type === 'failure')).toEqual([])
    expect(events.filter(({ type }) => type === 'pong').length).toBeGreaterThanOrEqual(Math.floor(CONNECTED_MS / 5000))
    // All on one stream each way.
    expect(own.connection.host.streams.filter(({ protocol }) => protocol === PING)).toHaveLength(2)
  }, CONNECTED_MS + 60_000)
})

describe.concurrent('several of smoldot', () => {
  it('are all served by one node at a time, and none leaves', async () => {
    const own = await swarmNode({ behaviours: behaviours() })
    await Promise.all(Array.from({ length: 10 }, async (_, at) => await dialWith(VERSIONS[at % 2][1], own.node)))
    const hasPing = ({ host }) => host.streams.some(({ protocol, direction }) => protocol === PING && direction === 'inbound')
    // While they start, all in one process with us, one or the other may find its first connection too slow, and dial again.
    const connections = await until('ten connections', () => {
      const found = openConnections(own).filter(hasPing)
      return found.length === 10 ? found : undefined
    })
    const pings = connections.map((connection) => countPings(connection))
    await sleep(CONNECTED_MS)

    expect(connections.map(({ host }) => host.status)).toEqual(Array.from({ length: 10 }, () => 'open'))
    expect(pings.every(({ received, answered }) => received === answered)).toBe(true)
  }, CONNECTED_MS + 60_000)
})

describe.concurrent('smoldot as a dialer', () => {
  it('is identified, asks for one protocol a stream, and goes on when we refuse it', async () => {
    const own = await connected('smoldot')
    const { connection } = own
    await until('its protocols', () => connection.remote.has(PING))
    const announces = [...connection.remote].find((name) => /^\/[0-9a-f]{64}\/block-announces\/1$/.test(name))
    expect(announces).toBeDefined()
    expect(own.identified[0]).toMatchObject({ agentVersion: 'smoldot-light-wasm 3.4.1' })
    // It proposes block-announces, which nobody serves here, again after 5.5 s.
    await sleep(7000)
    expect(connection.host.status).toBe('open')
  }, 60_000)

  it('is served by a behaviour, reads its handshake, and ends its request before we answer', async () => {
    const own = await swarmNode({ behaviours: behaviours() })
    const first = await dialWith('smoldot', own.node)
    const { protocols } = await until('identify', () => own.identified[0])
    const [, genesis] = protocols.map((name) => /^\/([0-9a-f]{64})\//.exec(name) ?? []).find((match) => match.length > 0)
    await first.stop()

    const streams = []
    const handshake = (length, answer) => async (stream) => {
      streams.push(stream.protocol)
      const theirs = await read(stream, length + 1)
      stream.send(answer(theirs))
      await read(stream, Infinity)
    }
    const other = await swarmNode({
      behaviours: {
        ...behaviours(),
        announces: protocolBehaviour({
          protocols: `/${genesis}/block-announces/1`,
          // Its own words back, but for role and best block: we are a full node that is ahead of it.
          inbound: handshake(69, (theirs) => Uint8Array.from(theirs, (byte, at) => at === 1 ? 1 : at === 2 ? 100 : byte))
        }),
        gossip: protocolBehaviour({
          protocols: [`/${genesis}/transactions/1`, `/${genesis}/grandpa/1`],
          inbound: handshake(1, () => Uint8Array.of(1, 1))
        }),
        warp: protocolBehaviour({
          protocols: `/${genesis}/sync/warp`,
          async * inbound (stream) {
            const request = await read(stream, Infinity)
            yield { type: 'warp', bytes: request.length, ended: stream.readableEnded }
            stream.send(Uint8Array.of(0))
          }
        })
      }
    })
    await dialWith('smoldot', other.node)
    const { event } = await until('a request', () => other.of(undefined).find(({ behaviour }) => behaviour === 'warp'))
    expect(event).toMatchObject({ ended: true })
    expect(event.bytes).toBeGreaterThan(0)
    expect(new Set(streams)).toEqual(new Set(['block-announces', 'transactions', 'grandpa'].map((name) => `/${genesis}/${name}/1`)))
    expect(other.of('handler-error')).toEqual([])
    expect(openConnections(other)).toHaveLength(1)
  }, 60_000)

  it('is closed by us when it has been idle for 10 s, its pings notwithstanding, and comes back by itself', async () => {
    const own = await connected('smoldot', { idleTimeoutMs: 10_000 })
    const { reason } = await until('the close', () => own.of('connection-closed')[0], 30_000)
    expect(reason).toBe('keep-alive-timeout')
    await until('another connection', () => own.of('connection-established').length > 1, 30_000)
  }, 90_000)

  it('is gone in the middle of its traffic: one connection-closed, and nothing of the connection is left', async () => {
    const own = await connected('smoldot')
    await until('a pong', () => own.of(undefined).length > 0)
    await own.client.stop()
    await until('the close', () => own.of('connection-closed').length > 0)
    await sleep(1000)
    expect(own.of('connection-closed')).toHaveLength(1)
    expect(own.swarm.connections).toEqual([])
  }, 60_000)
})

describe.concurrent('smoldot as a listener of our streams', () => {
  let own

  beforeAll(async () => {
    own = await connected('smoldot')
    await until('its protocols', () => own.connection.remote.has(PING))
  }, 60_000)

  const open = async (protocols, options = {}) => await own.swarm.behaviours.raw.open(own.connection.peer, { protocols, ...options })
  const raw = async (...args) => await rawStream(own.muxers[0], ...args)

  it.each([
    ['V1', [PING], {}],
    ['V1Lazy, with the payload in the same write', [PING], { lazy: true }],
    ['V1, after it refused two names', ['/no/1', '/no/2', PING], {}]
  ])('agrees by %s', async (_, protocols, options) => {
    const stream = await open(protocols, options)
    expect(stream.protocol).toBe(PING)
    stream.send(PAYLOAD)
    expect(await read(stream, 32)).toEqual(PAYLOAD)
    stream.abort(new Error('enough'))
  })

  it('agrees by V1Lazy when we end our side before it could confirm', async () => {
    const stream = await open([PING], { lazy: true })
    stream.send(PAYLOAD)
    await stream.close()
    expect(await read(stream, 32)).toEqual(PAYLOAD)
    // It never ends its side of a ping stream.
    expect(stream.status).toBe('open')
    stream.abort(new Error('enough'))
  })

  it('does not know a name: the request fails, the connection goes on', async () => {
    await expect(open(['/no/1'])).rejects.toMatchObject({ kind: 'negotiation-failed', tried: ['/no/1'] })
    expect(await own.swarm.behaviours.ping.ping(own.connection.peer)).toBeGreaterThan(0)
  })

  it('takes frames byte by byte', async () => {
    const bytes = Buffer.concat([HEADER, frame(PING), PAYLOAD])
    const { stream, text } = await raw(Array.from(bytes, (byte) => Uint8Array.of(byte)))
    await until('the echo', () => text() === bytes.toString('latin1'))
    stream.abort(new Error('enough'))
  })

  it.each([
    ['`ls`', 'ls'],
    ['a name of 511 bytes', `/${'n'.repeat(510)}`]
  ])('answers %s with `na`', async (_, body) => {
    const { stream, text } = await raw([HEADER, frame(body)])
    await until('na', () => text() === `${HEADER.toString('latin1')}\u0003na\n`)
    stream.abort(new Error('enough'))
  })

  it.each([
    ['a name of 513 bytes', [HEADER, frame(`/${'n'.repeat(512)}`)]],
    ['no header', [frame(PING)]],
    ['another header', [frame('/multistream/2.0.0')]],
    ['a prefix that is longer than it needs to be', [HEADER, Uint8Array.of(0x83, 0x00, 0x6e, 0x61, 0x0a)]]
  ])('resets a stream for %s, and the connection goes on', async (_, chunks) => {
    const { stream } = await raw(chunks)
    await until('the reset', () => stream.status === 'reset')
    expect(own.connection.host.status).toBe('open')
  })
})
