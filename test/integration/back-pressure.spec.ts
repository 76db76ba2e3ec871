/** S8.3 on whole nodes: a slow consumer of events slows the peer, through the flow control of the muxer. */

import { afterEach, describe, expect, it } from 'vitest'
import { protocolBehaviour } from 'libp2p-behaviours'
import { chat } from '../support/chat.ts'
import { eventOf, until, within } from '../support/deadline.ts'
import { connect, stopNodes, swarmNode } from '../support/nodes.ts'
import type { PeerId } from '@libp2p/interface'

afterEach(stopNodes)

const CHUNK_BYTES = 16_384
/** Twice the window that yamux allows a fast peer at most. */
const CHUNKS = 2048

/** Counts what comes, an event per chunk; `upload` sends as fast as it is let. */
function uploads () {
  const progress = { sent: 0 }
  const behaviour = protocolBehaviour({
    protocols: ['/upload/1'],
    async * inbound (stream) {
      for await (const chunk of stream) {
        yield { type: 'chunk', bytes: chunk.byteLength }
      }
      yield { type: 'end', bytes: 0 }
    },
    commands: ({ open }) => ({
      async upload (peer: PeerId) {
        const stream = await open(peer)
        for (; progress.sent < CHUNKS; progress.sent++) {
          if (!stream.send(new Uint8Array(CHUNK_BYTES))) {
            // The promise of the host's `onDrain()` is made once, and is no use the second time.
            await new Promise((resolve) => { stream.addEventListener('drain', resolve, { once: true }) })
          }
        }
        await stream.close()
      }
    })
  })
  return { behaviour, progress }
}

async function pair (init: { eventBufferSize: number, maxStallMs?: number }) {
  const [a, b] = [uploads(), uploads()]
  const [alice, bob] = await Promise.all([
    swarmNode('tcp, noise, yamux', { behaviours: { uploads: a.behaviour, chat: chat() } }),
    swarmNode('tcp, noise, yamux', { behaviours: { uploads: b.behaviour, chat: chat() }, ...init })
  ])
  await connect(alice, bob)
  return { alice, bob, progress: a.progress }
}

/** Waits until `look` gives the same for a while. */
async function settled (look: () => number): Promise<number> {
  for (let before = look(), same = 0; ;) {
    await new Promise((resolve) => { setTimeout(resolve, 20) })
    same = look() === before ? same + 1 : 0
    before = look()
    if (same === 10) {
      return before
    }
  }
}

describe('a consumer of events that is slow (S8.3)', () => {
  it('slows the peer down, loses nothing, and hears all when it goes on', async () => {
    const { alice, bob, progress } = await pair({ eventBufferSize: 4, maxStallMs: Infinity })
    const events = bob.services.swarm.events({ behaviour: 'uploads' })
    const uploading = alice.services.swarm.behaviours.uploads.upload(bob.peerId)
    await until('something was sent', () => progress.sent > 0)
    expect(await settled(() => progress.sent)).toBeLessThan(CHUNKS)

    let bytes = 0
    for await (const { event } of events) {
      bytes += event.bytes
      if (event.type === 'end') {
        break
      }
    }
    await within('the upload', uploading)
    expect(bytes).toBe(CHUNKS * CHUNK_BYTES)
    expect(bob.services.swarm.discardedEvents).toBe(0)
  })

  it('does not keep the node from its other services, from new connections, and from closing', async () => {
    const { alice, bob } = await pair({ eventBufferSize: 1, maxStallMs: Infinity })
    bob.services.swarm.events()
    await alice.services.swarm.behaviours.chat.say(bob.peerId, 'one')
    await alice.services.swarm.behaviours.chat.say(bob.peerId, 'two')
    expect(await within('the ping of the host', alice.services.ping.ping(bob.peerId))).toBeGreaterThanOrEqual(0)
    const carol = await swarmNode('tcp, noise, yamux', { behaviours: { chat: chat() } })
    const opened = eventOf<CustomEvent<object>>(bob.services.swarm, 'connection:open')
    await connect(carol, bob)
    expect((await within('the new connection', opened)).detail).toMatchObject({ peer: carol.peerId })
    await within('the close', bob.services.swarm.disconnect(alice.peerId))
    expect(bob.services.swarm.connections.map(({ peer }) => peer.toString())).toEqual([carol.peerId.toString()])
  })

  it('that waits in its loop for what needs events gets an error after maxStallMs, and the node goes on', async () => {
    const { alice, bob } = await pair({ eventBufferSize: 1, maxStallMs: 50 })
    const { swarm } = bob.services
    const texts: string[] = []
    swarm.addEventListener('behaviour:event', ({ detail }) => { texts.push(detail.behaviour === 'chat' ? detail.event.text : '') })
    const outcome = (async () => {
      for await (const { event } of swarm.events({ behaviour: 'chat' })) {
        await until(`the answer to ${event.text}`, () => texts.includes('answer'))
      }
    })()
    const failed = expect(outcome).rejects.toMatchObject({ name: 'OverflowError', message: expect.stringContaining('maxStallMs') as string })
    for (const text of ['one', 'two', 'three', 'answer']) {
      await alice.services.swarm.behaviours.chat.say(bob.peerId, text)
    }
    await within('the error', failed)
  })

  it('counts what nobody takes', async () => {
    const { alice, bob } = await pair({ eventBufferSize: 1 })
    await alice.services.swarm.behaviours.chat.say(bob.peerId, 'nobody listens')
    await until('it is counted', () => bob.services.swarm.discardedEvents === 1)
    bob.services.swarm.addEventListener('behaviour:event', () => {})
    const heard = eventOf(bob.services.swarm, 'behaviour:event')
    await alice.services.swarm.behaviours.chat.say(bob.peerId, 'somebody does')
    await within('the event', heard)
    expect(bob.services.swarm.discardedEvents).toBe(1)
  })
})
