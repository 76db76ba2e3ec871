import { KEEP_ALIVE } from '@libp2p/interface'
import { afterEach, describe, expect, it } from 'vitest'
import { protocolBehaviour } from 'libp2p-behaviours'
import { CHAT } from '../support/chat.ts'
import { eventOf, until, within } from '../support/deadline.ts'
import { ANY_STACK, connect, connectionTo, stockNode, stopNodes, swarmNode } from '../support/nodes.ts'
import type { Connection } from '@libp2p/interface'
import type { ConnectionClosed } from 'libp2p-behaviours'

/** Shorter than any test, longer than identify takes. */
const IDLE_MS = 150

afterEach(stopNodes)

const keep = () => protocolBehaviour({ protocols: CHAT, inbound: () => {}, commands: ({ open }) => ({ open }) })

/** A node that closes idle connections, and one that does not care. */
async function pairOf () {
  const [alice, bob] = await Promise.all([
    swarmNode(ANY_STACK, { behaviours: { chat: keep() }, idleTimeoutMs: IDLE_MS }),
    swarmNode(ANY_STACK, { behaviours: { chat: keep() } })
  ])
  const host = await connect(alice, bob)
  await within('bob has the connection', connectionTo(bob, alice.peerId))
  const closed = eventOf<CustomEvent<ConnectionClosed>>(alice.services.swarm, 'connection:close')
  // A failed wait is the test's, where it is awaited.
  closed.catch(() => {})
  return { alice, bob, host, closed }
}

async function idleTime (): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS * 2))
}

describe('an idle connection', () => {
  it('is closed after idleTimeoutMs, although a stream of the host\'s own ping is open (S6.3, S6.4)', async () => {
    const { bob, host, closed } = await pairOf()
    await host.newStream('/ipfs/ping/1.0.0')
    expect((await closed).detail).toMatchObject({ reason: 'keep-alive-timeout', cause: undefined })
    await until('bob has lost it too', () => bob.services.swarm.connections.length === 0)
  })

  it('lives on by default: plugging in does not change how long connections live (S6.5)', async () => {
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: {} }), stockNode(ANY_STACK)])
    const idle = eventOf<CustomEvent<{ until: number }>>(alice.services.swarm, 'connection:idle')
    const host = await connect(alice, bob)
    expect((await idle).detail.until).toBe(Infinity)
    await idleTime()
    expect(host.status).toBe('open')
  })

  it.each([
    { name: 'the host negotiated', open: async (host: Connection) => host.newStream('/echo/1.0.0') },
    { name: 'the host negotiates by itself, as it proposes several names', open: async (host: Connection) => host.newStream(['/no/1', '/echo/1.0.0']) }
  ])('is held open by a stream that $name, until that has ended', async ({ open }) => {
    const { alice, host, closed } = await pairOf()
    const stream = await open(host)
    await idleTime()
    expect(host.status).toBe('open')
    expect(alice.services.swarm.connections[0]?.streams).toEqual([stream])
    stream.abort(new Error('done'))
    expect((await closed).detail.reason).toBe('keep-alive-timeout')
  })

  it('is held open by a stream of a behaviour until both directions are closed; half-closing changes nothing (C01)', async () => {
    const { alice, bob, host, closed } = await pairOf()
    const stream = await alice.services.swarm.behaviours.chat.open(bob.peerId)
    stream.addEventListener('message', () => {})
    const atBob = () => bob.services.swarm.connections[0]?.streams ?? []
    await until('bob has the stream', () => atBob().length === 1)
    await atBob()[0]?.close()
    await idleTime()
    expect(host.status).toBe('open')
    await stream.close()
    expect((await closed).detail.reason).toBe('keep-alive-timeout')
  })

  it('is held open while the host wants the peer kept (S6.2)', async () => {
    const { alice, bob, host, closed } = await pairOf()
    await alice.peerStore.merge(bob.peerId, { tags: { [KEEP_ALIVE]: {} } })
    await idleTime()
    expect(host.status).toBe('open')
    await alice.peerStore.merge(bob.peerId, { tags: { [KEEP_ALIVE]: undefined } })
    expect((await closed).detail.reason).toBe('keep-alive-timeout')
  })

  it('is held open from the start when the peer store knows the peer as one to keep', async () => {
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: {}, idleTimeoutMs: IDLE_MS }), stockNode(ANY_STACK)])
    await alice.peerStore.merge(bob.peerId, { tags: { [`${KEEP_ALIVE}-friend`]: {} } })
    const host = await connect(alice, bob)
    await idleTime()
    expect(host.status).toBe('open')
  })
})

describe('a stream that this side closed', () => {
  it('is reset after streamCloseTimeoutMs when the peer does not end it, and only if nobody reads it', async () => {
    const [alice, bob] = await Promise.all([
      swarmNode(ANY_STACK, { behaviours: { chat: keep() }, streamCloseTimeoutMs: 30 }),
      swarmNode(ANY_STACK, { behaviours: { chat: keep() } })
    ])
    const host = await connect(alice, bob)
    const { open } = alice.services.swarm.behaviours.chat
    const [left, read, ofHost] = [await open(bob.peerId), await open(bob.peerId), await host.newStream('/echo/1.0.0')]
    read.addEventListener('message', () => {})
    await Promise.all([left.close(), read.close()])
    await until('the stream that nobody reads is reset', () => left.status === 'aborted')
    expect(read.status).toBe('open')
    expect(ofHost.status).toBe('open')
  })
})
