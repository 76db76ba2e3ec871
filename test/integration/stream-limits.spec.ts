import { afterEach, describe, expect, it } from 'vitest'
import { requestResponse } from 'libp2p-behaviours/request-response'
import { CHAT, bytesOf, chat } from '../support/chat.ts'
import { eventOf, until, within } from '../support/deadline.ts'
import { ANY_STACK, STACKS, connect, connectionTo, stockNode, stopNodes, swarmNode } from '../support/nodes.ts'
import type { Connection, Stream } from '@libp2p/interface'

afterEach(stopNodes)

/** Opens a stream below negotiation: what comes from it is up to the test. */
async function rawStream (connection: Connection): Promise<Stream> {
  const { muxer } = connection as unknown as { muxer: { createStream (): Promise<Stream> } }
  return muxer.createStream()
}

/** The opening of multistream-select for one name. */
function proposal (name: string): Uint8Array {
  return bytesOf(`\x13/multistream/1.0.0\n${String.fromCharCode(name.length + 1)}${name}\n`)
}

describe('too many inbound streams', () => {
  it('are reset, those of stock services too, with one report a second (S5.9 a, S9.1, S9.3)', async () => {
    const [alice, bob] = await Promise.all([stockNode(ANY_STACK), swarmNode(ANY_STACK, {
      behaviours: {}, inboundStreamBurst: 8, inboundStreamsPerSecond: 1
    })])
    const reached = eventOf(bob.services.swarm, 'limit:reached')
    const connection = await connect(alice, bob)
    const outcomes = await Promise.allSettled(Array.from({ length: 12 }, async () => connection.newStream('/echo/1.0.0')))
    const failed = outcomes.filter(({ status }) => status === 'rejected')
    expect(failed.length).toBeGreaterThanOrEqual(4)
    expect(failed.length).toBeLessThan(12)
    expect(await reached).toMatchObject({ detail: { type: 'limit-reached', option: 'inboundStreamsPerSecond', limit: 1, count: 1, peer: alice.peerId } })
    expect(bob.services.swarm.connections).toHaveLength(1)
  })

  it('cost a peer that goes on its connection, reason abuse (S6.4)', async () => {
    const [alice, bob] = await Promise.all([stockNode(ANY_STACK), swarmNode(ANY_STACK, {
      behaviours: {}, maxOpenInboundStreams: 0, closeAfterOverLimitMs: 50
    })])
    const closed = eventOf(bob.services.swarm, 'connection:close')
    const connection = await connect(alice, bob)
    await until('the peer is thrown out', async () => {
      await rawStream(connection).catch(() => {})
      return connection.status !== 'open'
    })
    expect(await closed).toMatchObject({ detail: { reason: 'abuse', cause: { name: 'ConnectionClosedError' } } })
  })

  it('of one protocol are reset, and one that closes makes room for another (S5.8)', async () => {
    const [alice, bob] = await Promise.all([stockNode(ANY_STACK), swarmNode(ANY_STACK, { behaviours: { chat: chat() }, maxInboundStreamsPerProtocol: 2 })])
    const connection = await connect(alice, bob)
    const [first, second] = [await connection.newStream(CHAT), await connection.newStream(CHAT)]
    const third = await connection.newStream(CHAT)
    await until('the third is reset', () => third.status === 'reset')
    expect([first.status, second.status]).toEqual(['open', 'open'])
    await first.close()
    await until('the first has ended', () => first.status === 'closed')
    const fourth = await connection.newStream(CHAT)
    fourth.send(bytesOf('hello'))
    await fourth.close()
    await until('the fourth is served', () => fourth.status === 'closed')
  })
})

describe.each(STACKS)('the event stream:inbound-failure, over %s', (stack) => {
  it('tells what a peer wanted in vain, and whether it broke the protocol (S8.9)', async () => {
    const [alice, bob] = await Promise.all([stockNode(stack), swarmNode(stack, { behaviours: {} })])
    const connection = await connect(alice, bob)
    const failures: unknown[] = []
    bob.services.swarm.addEventListener('stream:inbound-failure', ({ detail }) => { failures.push(detail) })
    const stream = await rawStream(connection)
    stream.send(proposal('/nope'))
    await stream.close()
    await until('it is told', () => failures.length === 1)
    const broken = await rawStream(connection)
    broken.send(bytesOf('\x03/a\n'))
    await until('the next one is told', () => failures.length === 2)
    const id = bob.services.swarm.connections[0]?.id
    expect(failures).toMatchObject([
      { type: 'inbound-failure', peer: alice.peerId, connection: id, phase: 'proposal', outcome: 'failed', proposed: '/nope', suppressed: 0, violation: false },
      { phase: 'header', outcome: 'invalid', proposed: undefined, violation: true }
    ])
    expect(failures.every((failure) => Object.isFrozen(failure))).toBe(true)
  })
})

describe('a peer that does not read', () => {
  const BIG = new Uint8Array(4_000_000)

  it('has answers wait at the limits of its stream and its connection, not in memory (S5.12)', async () => {
    const files = requestResponse({ protocols: '/files/1.0.0', serve: () => BIG })
    const [alice, bob] = await Promise.all([stockNode('tcp, noise, yamux'), swarmNode('tcp, noise, yamux', {
      behaviours: { files }, maxUnflushedBytesPerStream: 50_000, maxUnflushedBytes: 120_000
    })])
    const connection = await connect(alice, bob)
    const streams = await Promise.all(Array.from({ length: 5 }, async () => {
      const stream = await connection.newStream('/files/1.0.0')
      stream.pause()
      await stream.close()
      return stream
    }))
    const { streams: served } = await connectionTo(bob, alice.peerId)
    const held = () => served.map(({ writeBufferLength }) => writeBufferLength)
    const total = () => held().reduce((sum, bytes) => sum + bytes, 0)
    await until('the windows are full', () => total() === 120_000)
    expect(Math.max(...held())).toBe(50_000)
    const read = Promise.all(streams.map(async (stream) => {
      let bytes = 0
      stream.addEventListener('message', ({ data }) => { bytes += data.byteLength })
      stream.resume()
      await until('the response is there', () => {
        expect(total()).toBeLessThanOrEqual(120_000)
        return bytes === BIG.byteLength
      })
    }))
    await within('all are answered', read)
  })
})

describe('identify that comes in bursts', () => {
  it('ends in the last state, whatever was left out before (S3.20)', async () => {
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: {}, remoteReportsPerSecond: 1 }), stockNode(ANY_STACK)])
    await connect(alice, bob)
    const { protocols } = alice.services.swarm
    await protocols.whenSupports(bob.peerId, '/echo/1.0.0', { timeoutMs: 5000 })
    const known = new Set<string>()
    protocols.subscribe({ side: 'remote' }, ({ added, removed }) => {
      added.forEach((name) => known.add(name))
      removed.forEach((name) => known.delete(name))
    })
    for (const name of ['/one', '/two', '/three']) {
      await bob.handle(name, () => {})
      await bob.services.identifyPush.push()
    }
    await bob.unhandle('/one')
    await bob.services.identifyPush.push()
    await until('the last state has come', () => [...known].sort().join() === '/three,/two')
  })
})
