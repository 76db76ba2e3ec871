import { afterEach, describe, expect, it } from 'vitest'
import { protocolHandler } from 'libp2p-behaviours'
import { ProtocolList } from 'libp2p-behaviours/protocols'
import { CHAT, chat, readText } from '../support/chat.ts'
import { until, within } from '../support/deadline.ts'
import { ANY_STACK, IS_NATIVE, MODE, STACKS, connect, connectionTo, stockNode, stopNodes, swarmNode } from '../support/nodes.ts'
import type { NetworkBehaviour, PeerProtocolsChange } from 'libp2p-behaviours'

const EXTRA = '/extra/1'

afterEach(stopNodes)

describe.each(STACKS)('protocols that come and go at run time, over %s', (stack) => {
  async function pair () {
    const offered = new ProtocolList([CHAT])
    const alice = await swarmNode(stack, { behaviours: { chat: chat(offered) } })
    const bob = await swarmNode(stack, { behaviours: { chat: chat() } })
    await connect(bob, alice)
    await within('bob knows alice', bob.services.swarm.protocols.whenSupports(alice.peerId, CHAT))
    return { alice, bob, offered }
  }

  it('are seen by the other side, added and removed (S3.20)', async () => {
    const { alice, bob, offered } = await pair()
    const changes: PeerProtocolsChange[] = []
    bob.services.swarm.protocols.subscribe({ side: 'remote', protocol: EXTRA, peer: alice.peerId }, (change) => { changes.push(change) })
    const support = bob.services.swarm.protocols.whenSupports(alice.peerId, EXTRA)

    offered.add(EXTRA)
    const [connection] = bob.services.swarm.connections
    expect(await within('the support', support)).toEqual({ peer: alice.peerId, connection: connection?.id })
    expect(bob.services.swarm.protocols.supports(alice.peerId, EXTRA)).toBe(true)

    offered.delete(EXTRA)
    await until('the removal was seen', () => changes.length === 2)
    expect(changes.map(({ added, removed }) => ({ added, removed }))).toEqual([
      { added: [EXTRA], removed: [] },
      { added: [], removed: [EXTRA] }
    ])
    expect(changes.every((change) => Object.isFrozen(change) && Object.isFrozen(change.added) && Object.isFrozen(change.removed))).toBe(true)
    expect(bob.services.swarm.protocols.supports(alice.peerId, EXTRA)).toBe(false)
  })

  it('can be opened as soon as they are offered, and no longer once they are not', async () => {
    const { alice, bob, offered } = await pair()
    const { say } = bob.services.swarm.behaviours.chat
    // In hosted mode the registrar is told at the end of the turn.
    const atAlice = async (holds: () => boolean): Promise<void> => IS_NATIVE ? undefined : until('the registrar is told', holds)
    await expect(say(alice.peerId, 'too early', [EXTRA])).rejects.toMatchObject({ kind: 'negotiation-failed' })
    offered.add(EXTRA)
    await atAlice(() => alice.getProtocols().includes(EXTRA))
    expect(await say(alice.peerId, 'in time', [EXTRA])).toBe(EXTRA)
    offered.delete(EXTRA)
    await atAlice(() => !alice.getProtocols().includes(EXTRA))
    await expect(say(alice.peerId, 'too late', [EXTRA])).rejects.toMatchObject({ kind: 'negotiation-failed' })
  })

  it('are announced to nodes without the plug-in, in identify and in a push', async () => {
    const offered = new ProtocolList([CHAT])
    const [alice, stock] = await Promise.all([swarmNode(stack, { behaviours: { chat: chat(offered) } }), stockNode(stack)])
    await connect(stock, alice)
    const seen = async (): Promise<string[]> => (await stock.peerStore.all()).flatMap(({ protocols }) => protocols)
    await until('identify told of the protocol', async () => (await seen()).includes(CHAT))
    offered.add(EXTRA)
    await until('a push told of the new one', async () => (await seen()).includes(EXTRA))
    offered.delete(EXTRA)
    await until('a push told that it is gone', async () => !(await seen()).includes(EXTRA))
    expect(await seen()).toContain(CHAT)
  })
})

describe('swarm.protocols', () => {
  it('knows both sides of each connection, per connection and per peer', async () => {
    const alice = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } })
    const bob = await swarmNode(ANY_STACK, { behaviours: { other: chat('/other/1') } })
    await connect(alice, bob)
    const { protocols } = alice.services.swarm
    await within('alice knows bob', protocols.whenSupports(bob.peerId, '/other/1'))
    const [connection] = alice.services.swarm.connections

    expect(connection?.local).toContain(CHAT)
    expect(connection?.local).toContain('/ipfs/id/1.0.0')
    expect(connection?.local).not.toContain('/other/1')
    expect(connection?.remote).toContain('/other/1')
    expect(protocols.of(bob.peerId)).toEqual(connection?.remote)
    expect(protocols.of(alice.peerId)).toEqual(new Set())
    expect(protocols.peers('/other/1').map(String)).toEqual([bob.peerId.toString()])
    expect(protocols.peers(CHAT)).toEqual([])
    expect(protocols.supports(bob.peerId, '/other/1')).toBe(true)
    expect(protocols.supports(bob.peerId, CHAT)).toBe(false)
    expect(protocols.supports(alice.peerId, CHAT)).toBe(undefined)
  })

  it('does not take a peer that dials a protocol for one that speaks it', async () => {
    const alice = await swarmNode(ANY_STACK, { behaviours: {} })
    const bob = await stockNode(ANY_STACK)
    await alice.handle('/dialed/1', () => {})
    const connection = await connect(bob, alice)
    await within('alice knows bob', alice.services.swarm.protocols.whenSupports(bob.peerId, '/echo/1.0.0'))
    await connection.newStream('/dialed/1')
    await until('the host has recorded it', async () => (await alice.peerStore.get(bob.peerId)).protocols.includes('/dialed/1'))
    expect(alice.services.swarm.protocols.supports(bob.peerId, '/dialed/1')).toBe(false)
  })

  it('tells each connection of a peer everything anew (C18, S3.14)', async () => {
    const alice = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } })
    const bob = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } })
    const added: string[] = []
    alice.services.swarm.protocols.subscribe({ protocol: CHAT }, ({ side, connection, added: [name] }) => { added.push(`${side} ${connection} ${name}`) })
    const { protocols } = alice.services.swarm
    await connect(alice, bob)
    const first = await within('support on the first', protocols.whenSupports(bob.peerId, CHAT))
    await alice.services.swarm.connections[0]?.close()
    expect(protocols.supports(bob.peerId, CHAT)).toBe(undefined)

    const again = protocols.whenSupports(bob.peerId, CHAT)
    await connect(alice, bob)
    const second = await within('support on the second', again)
    expect(second.connection).not.toBe(first.connection)
    expect(added).toEqual([
      `local ${first.connection} ${CHAT}`, `remote ${first.connection} ${CHAT}`,
      `local ${second.connection} ${CHAT}`, `remote ${second.connection} ${CHAT}`
    ])
  })

  it('tells of a peer as a whole, and of the present state, to those who want that (S8.5, S8.7)', async () => {
    const alice = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } })
    const bob = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } })
    const { protocols } = alice.services.swarm
    const heard: string[] = []
    const record = (name: string, filter: object) => protocols.subscribe({ side: 'remote', protocol: CHAT, ...filter }, ({ added, removed }) => {
      heard.push(`${name} ${added.length > 0 ? 'added' : ''}${removed.length > 0 ? 'removed' : ''}`)
    })
    record('peer', { scope: 'peer' })
    const connections = [await connect(alice, bob), await bob.dial(alice.getMultiaddrs(), { force: true })]
    await until('both connections know it', () => alice.services.swarm.connections.filter(({ remote }) => remote.has(CHAT)).length === 2)
    expect(heard).toEqual(['peer added'])
    record('replay', { replay: true })
    record('both', { scope: 'peer', replay: true, peer: bob.peerId })
    expect(heard.slice(1)).toEqual(['replay added', 'replay added', 'both added'])
    await connections[0]?.close()
    await until('one is left', () => alice.services.swarm.connections.length === 1)
    expect(heard.slice(4)).toEqual([])
    await connections[1]?.close()
    await until('the peer is gone', () => heard.length === 6)
    expect(heard.slice(4)).toEqual(['peer removed', 'both removed'])
  })

  it('dispatches each change after the subscribers heard of it, and stops when asked (S8.2)', async () => {
    const alice = await swarmNode(ANY_STACK, { behaviours: {} })
    const bob = await stockNode(ANY_STACK)
    const heard: string[] = []
    const subscription = alice.services.swarm.protocols.subscribe({ side: 'local' }, ({ type }) => { heard.push(`subscriber ${type}`) })
    alice.services.swarm.addEventListener('protocols:change', ({ detail }) => {
      if (detail.side === 'local') {
        heard.push(`listener ${detail.type}`)
      }
    })
    await connect(alice, bob)
    await until('both heard of the first set', () => heard.length === 2)
    subscription.unsubscribe()
    await alice.handle(EXTRA, () => {})
    await until('the listener heard of the next', () => heard.length > 2)
    expect(heard).toEqual(['subscriber protocols-change', 'listener protocols-change', 'listener protocols-change'])
    expect(subscription.closed).toBe(true)
  })

  it('rejects whenSupports by signal, by time, and when the node stops (S8.10)', async () => {
    const alice = await swarmNode(ANY_STACK, { behaviours: {} })
    const bob = await stockNode(ANY_STACK)
    const { protocols } = alice.services.swarm
    const abort = new AbortController()
    const aborted = protocols.whenSupports(bob.peerId, CHAT, { signal: abort.signal })
    abort.abort()
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' })
    await expect(protocols.whenSupports(bob.peerId, CHAT, { timeoutMs: 5 })).rejects.toMatchObject({ name: 'TimeoutError' })
    const stopped = expect(protocols.whenSupports(bob.peerId, CHAT)).rejects.toMatchObject({ name: 'InvalidStateError' })
    await alice.stop()
    await stopped
  })
})

describe('what a node announces (S3.22)', () => {
  it('leaves what another service has registered to it, and takes over when the service leaves', async () => {
    const alice = await swarmNode(ANY_STACK, { behaviours: { chat: chat('/echo/1.0.0') } })
    const registrar = () => alice.getProtocols().filter((name) => name === '/echo/1.0.0')
    expect(registrar()).toEqual(['/echo/1.0.0'])
    await alice.unhandle('/echo/1.0.0')
    await until('the behaviour announces it', () => registrar().length === 1)
  })

  it('does not remove an entry that a service took over by force', async () => {
    const offered = new ProtocolList([CHAT])
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { chat: chat(offered) } }), stockNode(ANY_STACK)])
    let served = 0
    await alice.handle(CHAT, (stream) => { served++; stream.abort(new Error('served')) }, { force: true })
    offered.delete(CHAT)
    await new Promise((resolve) => setImmediate(resolve))
    expect(alice.getProtocols()).toContain(CHAT)
    const connection = await connect(bob, alice)
    await connection.newStream(CHAT)
    await until('the service got the stream', () => served === 1)
  })

  it('is taken back when the node stops, and announced again when it starts', async () => {
    const alice = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } })
    await alice.stop()
    expect(alice.getProtocols()).not.toContain(CHAT)
    await alice.start()
    expect(alice.getProtocols()).toContain(CHAT)
  })

  /** Offers a name on its connections that it does not declare. */
  const undeclared = (): NetworkBehaviour => ({
    commitEstablished: () => protocolHandler({ protocols: CHAT, inbound: async (stream) => { await readText(stream) } })
  })

  it('is what behaviours declare only, with advertise: "declared"', async () => {
    const alice = await swarmNode(ANY_STACK, { behaviours: { undeclared: undeclared(), other: chat('/other/1') }, advertise: 'declared' })
    const bob = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } })
    await connect(bob, alice)
    const saying = bob.services.swarm.behaviours.chat.say(alice.peerId, 'served')
    // What is not in the registrar is not agreed on by the host.
    await (IS_NATIVE || MODE === 'mixed' ? saying : expect(saying).rejects.toMatchObject({ kind: 'negotiation-failed' }))
    expect(alice.getProtocols()).not.toContain(CHAT)
    expect(alice.getProtocols()).toContain('/other/1')
  })

  it('includes names that only a connection offers, as long as there is one', async () => {
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { undeclared: undeclared() } }), stockNode(ANY_STACK)])
    expect(alice.getProtocols()).not.toContain(CHAT)
    const connection = await connect(alice, bob)
    await until('the name is announced', () => alice.getProtocols().includes(CHAT))
    await connection.close()
    await until('the name is no longer announced', () => !alice.getProtocols().includes(CHAT))
  })

  it('is no obstacle for a service that registers late, although the peer store names it already', async () => {
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: {} }), stockNode(ANY_STACK)])
    const connection = await connect(bob, alice)
    await within('alice has the connection', connectionTo(alice, bob.peerId))
    // As after a restart with a peer store on disk: the registration then changes nothing that an event would tell of.
    await alice.peerStore.merge(alice.peerId, { protocols: ['/late/1'] })
    await alice.handle('/late/1', () => {})
    expect((await connection.newStream('/late/1')).protocol).toBe('/late/1')
  })
})
