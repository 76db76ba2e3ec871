import { generateKeyPair } from '@libp2p/crypto/keys'
import { serviceDependencies } from '@libp2p/interface'
import { peerIdFromPrivateKey } from '@libp2p/peer-id'
import { PeerRecord, RecordEnvelope } from '@libp2p/peer-record'
import { identifyPush } from '@libp2p/identify'
import { multiaddr } from '@multiformats/multiaddr'
import { encode } from 'it-length-prefixed'
import { afterEach, describe, expect, it } from 'vitest'
import { ProtocolList } from 'libp2p-behaviours'
import { identify } from 'libp2p-behaviours/identify'
import { ping } from 'libp2p-behaviours/ping'
import { encodeIdentify } from '../../src/behaviours/identify-message.ts'
import { chat } from '../support/chat.ts'
import { eventOf, until, within } from '../support/deadline.ts'
import { ANY_STACK, STACKS, emptyNode, connect, connectionTo, stockNode, stopNodes, swarmNode, swarmNodeWith } from '../support/nodes.ts'
import type { ConnectionEvent, ConnectionHandler, EstablishedConnection, NetworkBehaviour } from 'libp2p-behaviours'
import type { IdentifyEvent } from 'libp2p-behaviours/identify'
import type { IdentifyMessage } from '../../src/behaviours/identify-message.ts'
import type { Stack } from '../support/nodes.ts'
import type { IdentifyResult, Libp2p } from '@libp2p/interface'
import type { AddressManager } from '@libp2p/interface-internal'

afterEach(stopNodes)

const ID = '/ipfs/id/1.0.0'
const PUSH = '/ipfs/id/push/1.0.0'

/** A node of ours without any stock service. */
const ours = async (stack: Stack, protocols: string[] | ProtocolList = ['/a'], init = {}) =>
  swarmNodeWith(stack, {}, { behaviours: { identify: identify(init), chat: chat(protocols) } })

interface HasSwarm {
  readonly services: { readonly swarm: EventTarget }
}

/** Events of identify so far, and from now on. */
function heardBy (node: HasSwarm): IdentifyEvent[] {
  const events: IdentifyEvent[] = []
  node.services.swarm.addEventListener('behaviour:event', (event) => {
    const { detail } = event as CustomEvent<{ behaviour: string, event: IdentifyEvent }>
    if (detail.behaviour === 'identify') {
      events.push(detail.event)
    }
  })
  return events
}

/** What `peer:identify` told so far, and from now on. */
function identifiedBy (node: Libp2p): IdentifyResult[] {
  const results: IdentifyResult[] = []
  node.addEventListener('peer:identify', ({ detail }) => { results.push(detail) })
  return results
}

/** A peer that says what it likes: as an answer, and in pushes. */
async function odd (answer: Partial<IdentifyMessage>) {
  const node = await emptyNode(ANY_STACK)
  await node.handle(ID, async (stream) => {
    stream.send(encode.single(encodeIdentify(answer)))
    await stream.close()
  })
  const push = async (message: Partial<IdentifyMessage>): Promise<void> => {
    const [connection] = node.getConnections()
    const stream = await connection!.newStream(PUSH)
    stream.send(encode.single(encodeIdentify(message)))
    await stream.close()
  }
  return { node, push }
}

describe.each(STACKS)('identify over %s', (stack) => {
  it('tells two nodes without the stock service of each other, their peer stores and their other services too', async () => {
    const [alice, bob] = [await ours(stack, ['/a']), await ours(stack, ['/b', '/c'], { agentVersion: 'bob/1.0' })]
    const heard = [heardBy(alice), heardBy(bob)]
    const results = identifiedBy(alice)
    const connection = await connect(alice, bob)
    await within('support', alice.services.swarm.protocols.whenSupports(bob.peerId, '/c'))
    await until('both have heard', () => heard.every((events) => events.length === 1) && results.length === 1)

    expect(heard).toMatchObject([
      [{ type: 'identified', info: { protocols: [ID, PUSH, '/b', '/c'], agentVersion: 'bob/1.0', protocolVersion: 'ipfs/0.1.0' } }],
      [{ type: 'identified', info: { protocols: [ID, PUSH, '/a'] } }]
    ])
    expect([...alice.services.swarm.protocols.of(bob.peerId)]).toEqual([ID, PUSH, '/b', '/c'])
    expect(results[0]).toMatchObject({ agentVersion: 'bob/1.0', protocols: [ID, PUSH, '/b', '/c'] })
    expect(results[0]?.connection).toBe(connection)
    const stored = await alice.peerStore.get(bob.peerId)
    expect([...stored.protocols].sort()).toEqual([ID, PUSH, '/b', '/c'].sort())
    expect(stored.addresses.every(({ isCertified }) => isCertified)).toBe(true)
    expect(stored.addresses.map(({ multiaddr: address }) => address.toString())).toEqual(bob.getMultiaddrs().map((address) => address.toString().replace(/\/p2p\/.*/, '')))
    expect(new TextDecoder().decode(stored.metadata.get('AgentVersion'))).toBe('bob/1.0')
    expect(stored.peerRecordEnvelope).toBeDefined()
  })

  it('speaks with the stock service in both roles', async () => {
    const [alice, bob] = [await ours(stack), await stockNode(stack)]
    const heard = heardBy(alice)
    const results = identifiedBy(bob)
    await connect(bob, alice)
    await until('both have heard', () => heard.some(({ type }) => type === 'identified') && results.length > 0)

    expect(heard.find(({ type }) => type === 'identified')).toMatchObject({ info: { agentVersion: expect.stringContaining('js-libp2p') as string } })
    expect(results[0]).toMatchObject({ protocols: [ID, PUSH, '/a'], signedPeerRecord: { seq: expect.any(BigInt) as bigint } })
    expect(alice.services.swarm.protocols.supports(bob.peerId, '/ipfs/ping/1.0.0')).toBe(true)
    expect((await bob.peerStore.get(alice.peerId)).protocols).toEqual([ID, PUSH, '/a'].sort())
  })

  it('pushes a change at once to a stock peer, more of them together, and the last state always', async () => {
    const list = new ProtocolList(['/a'])
    const [alice, bob] = [await ours(stack, list, { pushBurst: 1, pushIntervalMs: 300 }), await stockNode(stack)]
    const results = identifiedBy(bob)
    await connect(bob, alice)
    await until('identified', () => results.length === 1)
    await within('the peer takes pushes', alice.services.swarm.protocols.whenSupports(bob.peerId, PUSH))
    list.add('/b')
    await until('the first push', () => results.length === 2)
    expect(results[1]?.protocols).toEqual([ID, PUSH, '/a', '/b'])
    for (let at = 0; at < 20; at++) {
      list.add(`/more/${at}`)
      await new Promise((resolve) => { setTimeout(resolve, 5) })
    }
    list.replace(['/last'])
    await until('the last state', () => results.at(-1)?.protocols.includes('/last') === true)

    expect(results.at(-1)?.protocols).toEqual([ID, PUSH, '/last'])
    expect(results.length).toBeLessThanOrEqual(4)
  })

  it('hears the pushes of a stock peer, removals included', async () => {
    const [alice, bob] = [await ours(stack), await stockNode(stack)]
    const heard = heardBy(alice)
    await connect(alice, bob)
    await until('identified', () => heard.length > 0)
    await bob.handle('/new', () => {})
    await within('the protocol comes', alice.services.swarm.protocols.whenSupports(bob.peerId, '/new'))
    await bob.unhandle('/new')
    await until('the protocol goes', () => alice.services.swarm.protocols.supports(bob.peerId, '/new') === false)
    expect(heard.filter(({ type }) => type === 'pushed').length).toBeGreaterThanOrEqual(2)
    expect(heard.filter(({ type }) => type === 'error')).toEqual([])
  })

  it('says more than one message holds, and takes it in', async () => {
    const names = Array.from({ length: 900 }, (_, at) => `/a-protocol-with-a-name/${at}`)
    const [alice, bob, carol] = [await ours(stack, names), await stockNode(stack), await ours(stack)]
    const results = identifiedBy(bob)
    await connect(bob, alice)
    await connect(carol, alice)
    await until('the stock service has it all', () => results.length === 1)
    expect(results[0]?.protocols).toEqual([ID, PUSH, ...names])
    await within('our own as well', carol.services.swarm.protocols.whenSupports(alice.peerId, names[899]!))
    expect(carol.services.swarm.protocols.of(alice.peerId).size).toBe(902)
  })
})

describe('identify', () => {
  it('says what the very connection accepts, not what the node does on others', async () => {
    class Choosy implements NetworkBehaviour {
      commitEstablished ({ direction }: EstablishedConnection): ConnectionHandler {
        return { listenProtocols: () => [`/only/${direction}`], onConnectionEvent: (_event: ConnectionEvent) => {} }
      }
    }
    const alice = await swarmNodeWith(ANY_STACK, {}, { behaviours: { identify: identify(), choosy: new Choosy() } })
    const [bob, carol] = [await stockNode(ANY_STACK), await stockNode(ANY_STACK)]
    const results = [identifiedBy(bob), identifiedBy(carol)]
    await connect(alice, bob)
    await connect(carol, alice)
    await until('both are told', () => results.every((list) => list.length > 0))

    expect(results.map((list) => list[0]?.protocols.filter((name) => name.startsWith('/only')))).toEqual([['/only/outbound'], ['/only/inbound']])
  })

  it('asks again on command', async () => {
    const [alice, bob] = [await ours(ANY_STACK), await ours(ANY_STACK, ['/b'])]
    await connect(alice, bob)
    expect((await alice.services.swarm.behaviours.identify.identify(bob.peerId)).protocols).toEqual([ID, PUSH, '/b'])
    const info = await alice.services.swarm.behaviours.identify.identify(bob.peerId, { timeoutMs: 5000 })
    expect(info.publicKey?.toString()).toBe(bob.peerId.publicKey?.toString())
    await expect(alice.services.swarm.behaviours.identify.identify(alice.peerId)).rejects.toMatchObject({ name: 'NotConnectedError' })
  })

  it('tells that a peer took its last protocol back', async () => {
    const { node, push } = await odd({ protocols: ['/x', PUSH] })
    const alice = await ours(ANY_STACK)
    await connect(node, alice)
    await within('the protocol', alice.services.swarm.protocols.whenSupports(node.peerId, '/x'))
    const changes: unknown[] = []
    alice.services.swarm.protocols.subscribe({ side: 'remote', peer: node.peerId }, ({ added, removed }) => { changes.push({ added, removed }) })
    await push({ agentVersion: 'left alone' })
    await until('it has none', () => alice.services.swarm.protocols.of(node.peerId).size === 0)

    expect(changes).toEqual([{ added: [], removed: ['/x', PUSH] }])
    await until('the peer store knows', async () => (await alice.peerStore.get(node.peerId)).protocols.length === 0)
  })

  it('pushes when the addresses of the node change, and not for its own announcements', async () => {
    const list = new ProtocolList(['/a'])
    const [alice, bob] = [await ours('tcp, noise, yamux', list), await stockNode('tcp, noise, yamux')]
    const results = identifiedBy(bob)
    await connect(bob, alice)
    await until('identified', () => results.length === 1)
    await within('the peer takes pushes', alice.services.swarm.protocols.whenSupports(bob.peerId, PUSH))
    list.add('/b')
    await until('the push', () => results.length === 2)
    await new Promise((resolve) => { setTimeout(resolve, 100) })
    expect(results).toHaveLength(2)
    const { addressManager } = (alice as unknown as { components: { addressManager: AddressManager } }).components
    addressManager.addObservedAddr(multiaddr('/ip4/8.8.8.8/udp/4001/quic-v1'))
    addressManager.confirmObservedAddr(multiaddr('/ip4/8.8.8.8/udp/4001/quic-v1'))
    await until('another push', () => results.length === 3)
    expect(results[2]?.signedPeerRecord?.addresses.map(String)).toContain('/ip4/8.8.8.8/udp/4001/quic-v1')
  })

  it.each<[string, () => Promise<Partial<IdentifyMessage>>, string]>([
    ['the key of another', async () => ({ publicKey: (await generateKeyPair('Ed25519')).publicKey.toCID().multihash.digest }), 'Cannot identify the peer: its key is that of another peer'],
    ['a key that is none', async () => ({ publicKey: Uint8Array.of(1, 2, 3) }), 'Cannot identify the peer: its key is none'],
    ['a record that nobody signed', async () => ({ signedPeerRecord: Uint8Array.of(1, 2, 3) }), 'Cannot identify the peer: its record is not signed'],
    ['the record of another', async () => {
      const key = await generateKeyPair('Ed25519')
      const envelope = await RecordEnvelope.seal(new PeerRecord({ peerId: peerIdFromPrivateKey(key), multiaddrs: [multiaddr('/ip4/1.2.3.4/tcp/1')] }), key)
      return { signedPeerRecord: envelope.marshal().subarray() }
    }, 'Cannot identify the peer: its record is that of another peer']
  ])('believes nothing of a message with %s', async (_, make, message) => {
    const { node } = await odd({ protocols: ['/x'], ...await make() })
    const alice = await ours(ANY_STACK)
    const heard = heardBy(alice)
    const results = identifiedBy(alice)
    await connect(alice, node)
    await until('it has heard', () => heard.length > 0)

    expect(heard).toMatchObject([{ type: 'error', action: 'ask', error: { name: 'RemoteProtocolError', outcome: 'invalid', message } }])
    expect(alice.services.swarm.protocols.supports(node.peerId, '/x')).toBe(undefined)
    expect(results).toEqual([])
    expect(alice.getConnections()).toHaveLength(1)
  })

  it('is what other services of the node need that depend on identify', async () => {
    const needy = () => ({ [serviceDependencies]: ['@libp2p/identify', '@libp2p/identify-push'] })
    const alice = await swarmNodeWith(ANY_STACK, { needy }, { behaviours: { identify: identify() } })
    expect(alice.status).toBe('started')
  })

  it('is needed where there is no stock service', async () => {
    await expect(swarmNodeWith(ANY_STACK, {}, { behaviours: { ping: ping() } })).rejects.toMatchObject({ name: 'UnmetServiceDependenciesError' })
  })

  it('does not start beside a stock service that does the same', async () => {
    await expect(swarmNode(ANY_STACK, { behaviours: { identify: identify() } })).rejects.toMatchObject({
      name: 'InvalidStateError',
      message: 'Cannot start: a behaviour and a service of the node both serve "/ipfs/id/1.0.0", remove either the behaviour, or the services identify() and identifyPush()'
    })
    await expect(swarmNodeWith(ANY_STACK, { push: identifyPush() }, { behaviours: { identify: identify() } })).rejects.toMatchObject({
      name: 'InvalidStateError', message: expect.stringContaining('"/ipfs/id/push/1.0.0"') as string
    })
  })

  it('makes a behaviour for each node that asks', async () => {
    const behaviours = { identify: identify() }
    const [alice, bob] = [await swarmNodeWith(ANY_STACK, {}, { behaviours }), await swarmNodeWith(ANY_STACK, {}, { behaviours })]
    const known = eventOf(alice, 'peer:identify')
    await connect(alice, bob)
    await known
    await within('the connection of bob', connectionTo(bob, alice.peerId))
  })

  it('lets an idle connection close', async () => {
    const [alice, bob] = [
      await swarmNodeWith(ANY_STACK, {}, { behaviours: { identify: identify() }, idleTimeoutMs: 200 }),
      await ours(ANY_STACK)
    ]
    const closed = eventOf<CustomEvent<{ reason: string }>>(alice.services.swarm, 'connection:close')
    await connect(alice, bob)
    expect((await closed).detail.reason).toBe('keep-alive-timeout')
  })
})
