/**
 * What only WebRTC has: no muxer that could be wrapped, no flow control per stream, and an end of a stream that takes a round trip.
 * What behaviours can do on it is shown by the specs of test/integration, see webrtc/vitest.config.js.
 */

import { afterEach, describe, expect, it } from 'vitest'
import { ping } from 'libp2p-behaviours/ping'
import { requestResponse } from 'libp2p-behaviours/request-response'
import { streams } from 'libp2p-behaviours/streams'
import { CHAT, bytesOf, readText } from '../support/chat.ts'
import { eventOf, until, within } from '../support/deadline.ts'
import { bareNode, connect, connectionTo, stopNodes, swarmNode } from '../support/nodes.ts'
import type { Stream } from '@libp2p/interface'
import type { PeerProtocolsChange } from 'libp2p-behaviours'

const ECHO = '/answer/1.0.0'
const RAW = '/raw/1.0.0'
const MIB = 1_048_576

afterEach(stopNodes)

/** Pings, answers with what it was asked, and has streams. */
const behaviours = () => ({
  ping: ping({ intervalMs: 200 }),
  echo: requestResponse({ protocols: ECHO, serve: (request: Uint8Array) => request }),
  streams: streams()
})

/** Two nodes, and the connection of the first. */
async function pairOf (make: typeof swarmNode = swarmNode) {
  const [alice, bob] = await Promise.all([make('webrtc', { behaviours: behaviours() }), make('webrtc', { behaviours: behaviours() })])
  const accepted = bob.services.swarm.behaviours.streams.accept(RAW)[Symbol.asyncIterator]()
  const host = await connect(alice, bob)
  await within('bob has the connection', connectionTo(bob, alice.peerId))
  await within('bob takes streams', alice.services.swarm.protocols.whenSupports(bob.peerId, RAW))
  return { alice: alice.services.swarm, bob: bob.services.swarm, host, accepted, peers: { alice: alice.peerId, bob: bob.peerId } }
}

/** A stream that alice opened, as both have it. */
async function streamOf ({ alice, accepted, peers }: Awaited<ReturnType<typeof pairOf>>) {
  const near = await alice.behaviours.streams.open(peers.bob, RAW)
  const { value } = await within('the stream', accepted.next())
  return { near, far: value!.stream }
}

/** The data channel below a stream ends, and no word was said before. */
function cut (stream: Stream): void {
  const { channel } = stream as unknown as { readonly channel: { close (): void } }
  channel.close()
}

describe.each([{ name: 'plugged in', make: swarmNode }, { name: 'as a service alone', make: bareNode }])('a swarm over WebRTC, $name', ({ make }) => {
  it('is hosted, and all of it works at once: pings, requests, streams and changes of protocols', async () => {
    const pair = await pairOf(make)
    const { alice, bob, host, peers } = pair
    expect(host.multiplexer).toBe('/webrtc')
    expect([alice, bob].map(({ connections }) => connections[0]?.mode)).toEqual(['hosted', 'hosted'])
    const pong = (async () => {
      for await (const { event } of alice.events({ behaviour: 'ping' })) {
        if (event.type === 'pong') {
          return event.rttMs
        }
      }
      return NaN
    })()
    const changes: PeerProtocolsChange[] = []
    const heard = alice.protocols.subscribe({ side: 'remote', protocol: CHAT }, (change) => { changes.push(change) })
    const requests = Array.from({ length: 20 }, async (_, at) => alice.behaviours.echo.request(peers.bob, new Uint8Array(at * 1000).fill(at)))

    bob.behaviours.streams.serve(CHAT, async (stream) => {
      await stream.write(bytesOf(`got ${await readText(stream)}`))
      await stream.close()
    })
    await within('bob speaks it', alice.protocols.whenSupports(peers.bob, CHAT))
    const stream = await alice.behaviours.streams.open(peers.bob, CHAT)
    await stream.write(bytesOf('half'))
    // This side is closed, and the other one not: its answer still comes.
    await stream.close()
    expect(await readText(stream)).toBe('got half')

    expect((await Promise.all(requests)).map((answer) => answer.byteLength)).toEqual(requests.map((_, at) => at * 1000))
    expect(await within('a pong', pong)).toBeGreaterThan(0)
    expect(changes.map(({ added, removed }) => [added, removed])).toEqual([[[CHAT], []]])
    heard.unsubscribe()
    await until('no stream is left but those of ping', () => host.streams.every(({ protocol }) => protocol.includes('/ping/')))
  })

  it('ends on both sides when it is closed on one, after what was under way', async () => {
    const { alice, bob, peers } = await pairOf(make)
    const closed = eventOf<CustomEvent<object>>(bob, 'connection:close')
    const answer = alice.behaviours.echo.request(peers.bob, new Uint8Array(100))
    await answer
    await alice.disconnect(peers.bob)
    expect((await closed).detail).toMatchObject({ type: 'connection-closed', remaining: 0 })
    expect([...alice.connections, ...bob.connections]).toEqual([])
  })
})

describe('a stream over WebRTC', () => {
  it('carries far more than one message and one window, in both directions at once', async () => {
    const { alice, bob, peers } = await pairOf()
    const large = new Uint8Array(900_000).map((_, at) => at % 251)
    const answers = await Promise.all([
      ...Array.from({ length: 4 }, async () => alice.behaviours.echo.request(peers.bob, large)),
      ...Array.from({ length: 4 }, async () => bob.behaviours.echo.request(peers.alice, large))
    ])
    for (const answer of answers) {
      expect(Buffer.compare(answer, large)).toBe(0)
    }
  })

  it('that ends without a word reads as lost, never as an end (S2.31)', async () => {
    const { near, far } = await streamOf(await pairOf())
    far.send(bytesOf('half'))
    await until('it has come', () => near.readBufferLength > 0)
    cut(far)
    await until('it is over', () => near.status !== 'open')
    const read: string[] = []
    const reading = (async () => {
      for await (const chunk of near) {
        read.push(Buffer.from(chunk.subarray()).toString())
      }
    })()
    await expect(reading).rejects.toMatchObject({ name: 'StreamResetError' })
    expect(read).toEqual(['half'])
  })

  it('that was reset reads as reset, and one whose peer had ended its side before it was lost reads as ended', async () => {
    const pair = await pairOf()
    const one = await streamOf(pair)
    one.far.abort(new Error('no more'))
    await expect(readText(one.near)).rejects.toMatchObject({ name: 'StreamResetError' })
    const other = await streamOf(pair)
    other.far.send(bytesOf('all'))
    await other.far.close()
    await until('the end has come', () => other.near.remoteWriteStatus === 'closed')
    cut(other.far)
    await until('it is over', () => other.near.status !== 'open')
    expect(await readText(other.near)).toBe('all')
  })

  it('whose reader falls behind by more than its buffer is reset, as nothing can hold the peer back; what came before that is read', async () => {
    const { near, far } = await streamOf(await pairOf())
    const chunk = new Uint8Array(65_536)
    const sending = (async () => { for (let at = 0; at < 24 * MIB; at += chunk.byteLength) { await near.write(chunk) } })()
    sending.catch(() => {})
    let read = 0
    const reading = (async () => {
      for await (const piece of far) {
        if (read === 0) {
          await until('the stream is over', () => far.status === 'aborted')
        }
        read += piece.byteLength
      }
    })()
    await expect(reading).rejects.toMatchObject({ name: 'StreamBufferError' })
    await expect(sending).rejects.toThrow()
    expect(read).toBeGreaterThan(16 * MIB)
    expect(read).toBeLessThan(24 * MIB)
  })
})
