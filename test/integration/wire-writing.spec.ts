import { yamux } from '@libp2p/yamux'
import { afterEach, describe, expect, it } from 'vitest'
import { chat } from '../support/chat.ts'
import { until, within } from '../support/deadline.ts'
import { IS_NATIVE, STACKS, connect, stopNodes, swarmNode } from '../support/nodes.ts'
import type { StreamMuxerFactory } from '@libp2p/interface'

afterEach(stopNodes)

const STREAMS = 100

/** A muxer over a wire whose writes are counted, below whatever the plug-in makes of it. */
function countingMuxer () {
  const counts = { writes: 0 }
  const streamMuxer = (): StreamMuxerFactory => {
    const factory = yamux()()
    const create = factory.createStreamMuxer.bind(factory)
    factory.createStreamMuxer = (wire) => {
      const send = wire.send.bind(wire)
      wire.send = (data) => {
        counts.writes++
        return send(data)
      }
      return create(wire)
    }
    return factory
  }
  return { counts, streamMuxer }
}

/** Bytes that tell where they belong. */
const pattern = (length: number) => Uint8Array.from({ length }, (_, at) => at * 31 + (at >> 8))

describe.runIf(IS_NATIVE)('the writes of a busy connection (S1.5)', () => {
  it.each(STACKS.filter((stack) => stack.endsWith('yamux')))('are fewer than its streams, over %s', async (stack) => {
    const { counts, streamMuxer } = countingMuxer()
    const [alice, bob] = await Promise.all([
      swarmNode(stack, { behaviours: { chat: chat() } }, { streamMuxers: [streamMuxer] }),
      swarmNode(stack, { behaviours: { chat: chat() }, inboundStreamsPerSecond: Infinity })
    ])
    const texts: string[] = []
    bob.services.swarm.addEventListener('behaviour:event', ({ detail }) => { texts.push(detail.event.text) })
    await connect(alice, bob)
    await until('both ends are connected', () => bob.services.swarm.connections.length === 1)
    const sayAll = async (round: string) => {
      await within('all are agreed', Promise.all(Array.from({ length: STREAMS }, async (_, n) => alice.services.swarm.behaviours.chat.say(bob.peerId, `${round} ${n}`))))
      await until('all have come', () => texts.length === STREAMS)
    }
    await sayAll('first')
    texts.length = counts.writes = 0
    await sayAll('second')
    expect(texts.toSorted()).toEqual(Array.from({ length: STREAMS }, (_, n) => `second ${n}`).sort())
    expect(counts.writes).toBeGreaterThan(0)
    expect(counts.writes).toBeLessThan(STREAMS)
  })

  it.each(STACKS)('carry big and small chunks in their order, over %s', async (stack) => {
    const [alice, bob] = await Promise.all([swarmNode(stack, { behaviours: {} }), swarmNode(stack, { behaviours: {} })])
    const connection = await connect(alice, bob)
    const { echo } = alice.services
    const lengths = [1, 2047, 2048, 2049, 70_000, 3_000_000]
    for (let streams = 0; streams < 40; streams++) {
      await echo.echo(bob.peerId, pattern(10))
    }
    const echoed = await within('all is echoed', Promise.all(lengths.map(async (length) => echo.echo(bob.peerId, pattern(length)))))
    for (const [at, bytes] of echoed.entries()) {
      expect(Buffer.from(bytes.subarray()).equals(pattern(lengths[at] ?? 0))).toBe(true)
    }
    expect(connection.status).toBe('open')
  })

  it.each(STACKS)('all arrive when the connection is closed at once, over %s', async (stack) => {
    const [alice, bob] = await Promise.all([swarmNode(stack, { behaviours: {} }), swarmNode(stack, { behaviours: {} })])
    const received: number[] = []
    await bob.handle('/last/1.0.0', (stream) => {
      stream.addEventListener('message', ({ data }) => { received.push(...data.subarray()) })
    })
    const connection = await connect(alice, bob)
    for (let streams = 0; streams < 40; streams++) {
      await alice.services.echo.echo(bob.peerId, pattern(10))
    }
    const stream = await connection.newStream('/last/1.0.0')
    for (let byte = 0; byte < 20; byte++) {
      stream.send(Uint8Array.of(byte))
    }
    stream.close().catch(() => {})
    const closed = connection.close()
    await until('all have come', () => received.length === 20)
    expect(received).toEqual(Array.from({ length: 20 }, (_, byte) => byte))
    await closed.catch(() => {})
  })
})
