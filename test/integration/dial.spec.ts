import { multiaddr } from '@multiformats/multiaddr'
import { peerIdFromString } from '@libp2p/peer-id'
import { afterEach, describe, expect, it } from 'vitest'
import { ConnectionDenied, Outbox, protocolBehaviour } from 'libp2p-behaviours'
import { requestResponse } from 'libp2p-behaviours/request-response'
import { CHAT, bytesOf, chat, textOf } from '../support/chat.ts'
import { eventOf, until, within } from '../support/deadline.ts'
import { ANY_STACK, BRINGS_MUXER, MODE, STACKS, connect, stockNode, stopNodes, swarmNode } from '../support/nodes.ts'
import type { Multiaddr } from '@multiformats/multiaddr'
import type {
  Check, Denied, DialFailure, FromSwarm, NetworkBehaviour, PendingConnection, Poll, PollContext, SwarmComponents, ToSwarm
} from 'libp2p-behaviours'

afterEach(stopNodes)

/** Peers that nobody is. */
const STRANGER = peerIdFromString('12D3KooWMLzmhwNzuFR3zH4tBKZ69Yt3wQ7iv62PNQkaysFjqxka')
const OTHER_STRANGER = peerIdFromString('12D3KooWLqFgFJSRhBp4tXTp95pBrEq7Cy12jYXT1ssh2RxxWUdA')

/** Dials and more on command, adds addresses, and notes all that it is told. */
class Caller implements NetworkBehaviour<never, never, never, RangeError> {
  readonly told: FromSwarm[] = []
  readonly held = new Set<string>()
  addresses: Multiaddr[] = []
  check: (attempt: PendingConnection) => Check<RangeError> = () => undefined
  readonly #out = new Outbox<ToSwarm>()

  want (wish: ToSwarm): void { this.#out.push(wish) }
  failures (): DialFailure[] { return this.told.filter((event): event is DialFailure => event.type === 'dial-failure') }
  addressesForDial (): readonly Multiaddr[] { return this.addresses }
  checkPending (attempt: PendingConnection): Check<RangeError> { return this.check(attempt) }
  commitPending ({ id }: PendingConnection): Denied<RangeError> { this.held.add(id); return undefined }
  rollback ({ id }: { id: string }): void { this.held.delete(id) }
  commitEstablished (): undefined {}
  onSwarmEvent (event: FromSwarm): void { this.told.push(event) }
  poll (cx: PollContext): Poll<ToSwarm> { return this.#out.poll(cx) }
}

async function callerNode (stack: typeof STACKS[number] = ANY_STACK) {
  const caller = new Caller()
  const node = await swarmNode(stack, { behaviours: { caller } })
  return { node, caller, swarm: node.services.swarm }
}

describe.each(STACKS)('swarm.dial() over %s', (stack) => {
  it('resolves with the connection, which has the id of its attempt', async () => {
    const { swarm, caller } = await callerNode(stack)
    const bob = await stockNode(stack)
    const connection = await swarm.dial(bob.getMultiaddrs())
    expect(swarm.connections).toEqual([connection])
    expect(connection.peer.equals(bob.peerId)).toBe(true)
    expect(connection.direction).toBe('outbound')
    expect(caller.held).toEqual(new Set([connection.id]))
    expect(caller.failures()).toEqual([])
  })

  // That nobody is there takes WebRTC as long as a dial may take.
  it.skipIf(BRINGS_MUXER)('tries one address after the other, and tells which failed', async () => {
    const { swarm, caller } = await callerNode(stack)
    const bob = await stockNode(stack)
    const dead = multiaddr(`${stack.startsWith('memory') ? '/memory/nowhere' : '/ip4/127.0.0.1/tcp/1'}/p2p/${bob.peerId.toString()}`)
    const opened = eventOf<CustomEvent<{ failedAddresses: Multiaddr[] }>>(swarm, 'connection:open')
    await swarm.dial([dead, ...bob.getMultiaddrs()])
    const failed = (await opened).detail.failedAddresses.map(String)
    expect(failed.every((address) => address === dead.toString())).toBe(true)
    await expect(swarm.dial(dead, { condition: 'always' })).rejects.toMatchObject({
      name: 'DialFailureError', kind: 'transport', errors: [{ address: expect.objectContaining({}) as unknown }]
    })
    expect(caller.failures()).toMatchObject([{ kind: 'transport', peer: expect.objectContaining({}) as unknown }])
  })

  it('fails with kind wrong-peer when somebody else answers', async () => {
    const { swarm } = await callerNode(stack)
    const bob = await stockNode(stack)
    const [address] = bob.getMultiaddrs()
    const wrong = address!.decapsulate('/p2p').encapsulate(`/p2p/${STRANGER.toString()}`)
    await expect(swarm.dial(wrong)).rejects.toMatchObject({ kind: 'wrong-peer' })
  })

  it('fails with the typed denial of a behaviour, and leaves nothing behind', async () => {
    const { swarm, caller } = await callerNode(stack)
    const bob = await stockNode(stack)
    caller.check = async () => new ConnectionDenied(new RangeError('enough'))
    const denied = eventOf<CustomEvent>(swarm, 'connection:denied')
    const failed = eventOf<CustomEvent>(swarm, 'dial:failure')
    await expect(swarm.dial(bob.getMultiaddrs())).rejects.toMatchObject({ kind: 'denied', cause: { name: 'ConnectionDenied', behaviour: 'caller', stage: 'pending' } })
    expect((await denied).detail).toMatchObject({ behaviour: 'caller', direction: 'outbound', cause: { name: 'RangeError' } })
    expect((await failed).detail).toMatchObject({ kind: 'denied', cause: { cause: { name: 'RangeError' } } })
    expect(caller.held.size).toBe(0)
    expect(caller.failures()).toHaveLength(1)
  })

  it('passes one gate of a limit that its own attempt fills', async () => {
    const { swarm, caller } = await callerNode(stack)
    const bob = await stockNode(stack)
    caller.check = () => caller.held.size > 0 ? new ConnectionDenied(new RangeError('one at a time')) : undefined
    await swarm.dial(bob.getMultiaddrs())
    expect(caller.held.size).toBe(1)
  })
})

describe('swarm.dial()', () => {
  it('fails for the node itself, without addresses, and without sense', async () => {
    const { node, swarm, caller } = await callerNode()
    await expect(swarm.dial(node.peerId)).rejects.toMatchObject({ kind: 'local-peer' })
    await expect(swarm.dial(STRANGER)).rejects.toMatchObject({ kind: 'no-addresses', errors: [] })
    await expect(swarm.dial(multiaddr('/ip4/127.0.0.1/udp/1'))).rejects.toMatchObject({ kind: 'no-addresses' })
    expect(caller.failures().map(({ kind }) => kind)).toEqual(['local-peer', 'no-addresses', 'no-addresses'])
    await expect(swarm.dial([])).rejects.toThrow(TypeError)
    const [one, other] = [STRANGER, OTHER_STRANGER].map((peer) => multiaddr(`/memory/x/p2p/${peer.toString()}`)) as [Multiaddr, Multiaddr]
    await expect(swarm.dial([one, other])).rejects.toThrow(TypeError)
    await expect(swarm.dial(one, { timeoutMs: -1 })).rejects.toThrow(RangeError)
  })

  it('has a condition, by default that there is neither a connection nor a dial (S7.10)', async () => {
    const { swarm, caller } = await callerNode()
    const bob = await stockNode(ANY_STACK)
    const target = bob.getMultiaddrs()
    const first = swarm.dial(target)
    await expect(swarm.dial(target)).rejects.toMatchObject({ kind: 'condition-false' })
    await expect(swarm.dial(target, { condition: 'not-dialing' })).rejects.toMatchObject({ kind: 'condition-false' })
    const joined = swarm.dial(target, { condition: 'disconnected' })
    expect(await joined).toBe(await first)
    await expect(swarm.dial(target, { condition: 'disconnected' })).rejects.toMatchObject({ kind: 'condition-false' })
    expect(await swarm.dial(target, { condition: 'not-dialing' })).toBe(await first)
    expect(caller.failures()).toHaveLength(3)
    expect(caller.held.size).toBe(1)
    const second = await swarm.dial(target, { condition: 'always' }).catch((error: unknown) => error)
    expect([second === await first || swarm.connections.length === 2, caller.held.size]).toEqual([true, swarm.connections.length])
  })

  it('asks behaviours for addresses, and the peer store', async () => {
    const { node, swarm, caller } = await callerNode()
    const [bob, carol] = await Promise.all([stockNode(ANY_STACK), stockNode(ANY_STACK)])
    caller.addresses = bob.getMultiaddrs().map((address) => address.decapsulate('/p2p'))
    expect((await swarm.dial(bob.peerId)).peer.equals(bob.peerId)).toBe(true)
    caller.addresses = []
    await node.peerStore.merge(carol.peerId, { multiaddrs: carol.getMultiaddrs() })
    expect((await swarm.dial(carol.peerId)).peer.equals(carol.peerId)).toBe(true)
  })

  it('ends by its signal or its time; the dial goes on while somebody else waits (S8.20)', async () => {
    const { swarm, caller } = await callerNode()
    const bob = await stockNode(ANY_STACK)
    let release = (): void => {}
    let signal: AbortSignal | undefined
    caller.check = async (attempt) => {
      signal = attempt.signal
      await new Promise<void>((resolve) => { release = resolve })
      return undefined
    }
    const target = bob.getMultiaddrs()
    await expect(swarm.dial(target, { timeoutMs: 20 })).rejects.toMatchObject({ kind: 'aborted', cause: { name: 'TimeoutError' } })
    await until('the failure is told', () => caller.failures().length === 1)
    expect(signal?.aborted).toBe(true)
    expect(caller.failures()[0]?.kind).toBe('aborted')

    const controller = new AbortController()
    const aborted = swarm.dial(target, { signal: controller.signal })
    const kept = swarm.dial(target, { condition: 'disconnected' })
    await until('the gate is asked', () => signal?.aborted === false)
    controller.abort()
    await expect(aborted).rejects.toMatchObject({ kind: 'aborted', cause: { name: 'AbortError' } })
    release()
    expect((await kept).peer.equals(bob.peerId)).toBe(true)
    expect(caller.failures()).toHaveLength(1)
  })

  it('ends when the node stops', async () => {
    const { node, swarm, caller } = await callerNode()
    const bob = await stockNode(ANY_STACK)
    caller.check = async () => new Promise(() => {})
    const dial = expect(swarm.dial(bob.getMultiaddrs())).rejects.toMatchObject({ kind: 'aborted' })
    await new Promise((resolve) => setTimeout(resolve, 10))
    await node.stop()
    await dial
  })

  it('is refused on a node that has stopped, and says so, until it is started again (S7.10)', async () => {
    const { node, swarm } = await callerNode()
    const bob = await stockNode(ANY_STACK)
    await node.stop()
    await expect(swarm.dial(bob.getMultiaddrs())).rejects.toMatchObject({
      kind: 'aborted', message: expect.stringContaining('the node has stopped') as string, cause: { name: 'InvalidStateError' }
    })
    await node.start()
    expect((await swarm.dial(bob.getMultiaddrs())).peer.equals(bob.peerId)).toBe(true)
  })

  it('fails with the denial when behaviours refuse what was reached', async () => {
    const caller = new Caller()
    const strict = { checkEstablished: () => new ConnectionDenied(new RangeError('not you')), commitEstablished: () => undefined }
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { caller, strict } }), stockNode(ANY_STACK)])
    await expect(alice.services.swarm.dial(bob.getMultiaddrs())).rejects.toMatchObject({ kind: 'denied', cause: { behaviour: 'strict', stage: 'established' } })
    expect(caller.held.size).toBe(0)
    // With the bare service the gate stands behind the connection: the host sees it close.
    const name = MODE === 'hosted' ? 'ConnectionClosedError' : 'ConnectionInterceptedError'
    expect(caller.failures()).toMatchObject([{ kind: 'denied', errors: [{ error: { name } }] }])
  })
})

describe('swarm.disconnect() (S8.20)', () => {
  it('closes all connections to a peer, and no other', async () => {
    const { swarm } = await callerNode()
    const [bob, carol] = await Promise.all([stockNode(ANY_STACK), stockNode(ANY_STACK)])
    await swarm.dial(bob.getMultiaddrs())
    await swarm.dial(carol.getMultiaddrs())
    await within('the end', swarm.disconnect(bob.peerId, { timeoutMs: 1000 }))
    expect(swarm.connections.map(({ peer }) => peer.equals(carol.peerId))).toEqual([true])
    await swarm.disconnect(bob.peerId)
  })
})

describe('what makes no sense is refused at once, and nothing is dialed or closed', () => {
  it.each<[unknown, object, string]>([
    [undefined, {}, 'the target must be a PeerId, a Multiaddr, or a list of Multiaddrs that is not empty, received undefined'],
    ['/memory/x', {}, 'received the string "/memory/x"; multiaddr(text) of @multiformats/multiaddr makes an address of a text'],
    [[], {}, 'received an empty list; multiaddr(text) of @multiformats/multiaddr makes an address of a text'],
    [[undefined], {}, 'received a list with undefined in it'],
    [['/memory/x'], {}, 'received a list with the string "/memory/x" in it'],
    [[STRANGER], {}, 'received a list with a PeerId in it'],
    [STRANGER, { condition: 'sometimes' }, 'condition must be one of disconnected, not-dialing, disconnected-and-not-dialing, always, received "sometimes"'],
    [STRANGER, { condition: 1 }, 'received number'],
    [STRANGER, { conditon: 'always' }, 'there is no option "conditon", did you mean condition?'],
    [STRANGER, { signal: {} }, 'signal must be an AbortSignal, received object'],
    [STRANGER, { timeoutMs: '1' }, 'timeoutMs must be a number, received string'],
    [STRANGER, { timeoutMs: NaN }, 'timeoutMs must be milliseconds of at least 0, received NaN'],
    [STRANGER, AbortSignal.abort(), 'options must be { signal, timeoutMs }, received an AbortSignal']
  ])('dial(%o, %o)', async (target, options, message) => {
    const { swarm, caller } = await callerNode()
    await expect(swarm.dial(target as never, options)).rejects.toThrow(message)
    expect(caller.failures()).toEqual([])
  })

  it.each<[unknown, object, string]>([
    [undefined, {}, 'the peer must be a PeerId, received undefined'],
    [STRANGER.toString(), {}, 'the peer must be a PeerId, received string'],
    [STRANGER, { timeout: 1 }, 'there is no option "timeout", did you mean timeoutMs?'],
    [STRANGER, { signal: 1 }, 'signal must be an AbortSignal, received number'],
    [STRANGER, { timeoutMs: -1 }, 'timeoutMs must be milliseconds of at least 0, received -1']
  ])('disconnect(%o, %o)', async (peer, options, message) => {
    const { swarm } = await callerNode()
    await expect(swarm.disconnect(peer as never, options)).rejects.toThrow(message)
  })
})

describe('a behaviour', () => {
  it('dials, and hears of the one outcome as all others do', async () => {
    const { caller, swarm } = await callerNode()
    const bob = await stockNode(ANY_STACK)
    caller.want({ type: 'dial', target: bob.getMultiaddrs() })
    await until('it is connected', () => caller.told.some(({ type }) => type === 'connection-established'))
    caller.want({ type: 'dial', target: bob.peerId })
    await until('the condition fails', () => caller.failures().length === 1)
    expect(caller.failures()).toMatchObject([{ kind: 'condition-false' }])
    caller.want({ type: 'dial', target: [] })
    await until('a target without sense fails', () => caller.failures().length === 2)
    expect(swarm.connections).toHaveLength(1)
  })

  it('listens on one more address, and no longer (S7.8, S7.9)', async () => {
    const { node, caller } = await callerNode('memory, plaintext, yamux')
    const address = multiaddr('/memory/one-more')
    caller.want({ type: 'listen-on', address })
    await until('it is told', () => caller.told.some((event) => event.type === 'new-listener' && event.addresses.some((other) => other.equals(address))))
    expect(node.getMultiaddrs().some((other) => other.toString().startsWith('/memory/one-more'))).toBe(true)
    caller.want({ type: 'remove-listener', address })
    await until('it is gone', () => caller.told.some(({ type }) => type === 'listener-closed'))
    caller.want({ type: 'remove-listener', address })
    await until('there is nothing to remove', () => caller.told.some(({ type }) => type === 'listener-error'))
    caller.want({ type: 'listen-on', address: multiaddr('/ip4/127.0.0.1/udp/1') })
    await until('no transport listens there', () => caller.told.filter(({ type }) => type === 'listener-error').length === 2)
  })

  it('tells the node of external addresses and of addresses of peers, and all behaviours with it (S7.8, S7.9)', async () => {
    // The host looks for a listener of the same kind.
    const { node, caller } = await callerNode('tcp, noise, yamux')
    const address = multiaddr('/ip4/1.2.3.4/tcp/4001')
    const peer = STRANGER
    caller.want({ type: 'external-address-candidate', address })
    caller.want({ type: 'external-address-confirmed', address })
    await until('it is announced', () => node.getMultiaddrs().some((other) => other.toString().startsWith(address.toString())))
    caller.want({ type: 'external-address-expired', address })
    await until('it is gone', () => !node.getMultiaddrs().some((other) => other.toString().startsWith(address.toString())))
    caller.want({ type: 'peer-external-address', peer, address })
    await until('it is known', async () => (await node.peerStore.has(peer)) && (await node.peerStore.get(peer)).addresses.length === 1)
    expect(caller.told.map(({ type }) => type).filter((type) => type.includes('external'))).toEqual([
      'external-address-candidate', 'external-address-confirmed', 'external-address-expired', 'peer-external-address'
    ])
  })
})

describe('a behaviour, of what other services of the node find out (S7.8)', () => {
  it('hears of external addresses, of addresses of peers, and of a listener that fails', async () => {
    const { node, caller } = await callerNode('tcp, noise, yamux')
    const { addressManager, transportManager } = (node as unknown as { components: SwarmComponents }).components
    const address = multiaddr('/ip4/1.2.3.4/tcp/4001')
    const heard = (type: string) => caller.told.filter((event) => event.type === type)
    addressManager.addObservedAddr(address)
    addressManager.confirmObservedAddr(address, { type: 'observed' })
    await until('it is confirmed', () => heard('external-address-confirmed').length === 1)
    addressManager.removeObservedAddr(address)
    await until('it has expired', () => heard('external-address-expired').length === 1)
    expect([...heard('external-address-confirmed'), ...heard('external-address-expired')].map((event) => 'address' in event && event.address.toString()))
      .toEqual([address.toString(), address.toString()])
    await node.peerStore.merge(STRANGER, { multiaddrs: [address] })
    expect(heard('peer-external-address')).toMatchObject([{ peer: STRANGER }])
    const [listener] = transportManager.getListeners()
    listener?.safeDispatchEvent('error', { detail: new Error('EMFILE') })
    await until('the fault is told', () => heard('listener-error').length === 1)
    expect(heard('listener-error')).toMatchObject([{ error: { message: 'EMFILE' } }])
  })
})

describe('calls to peers without a connection (S7.17)', () => {
  it('dial first', async () => {
    const shout = () => requestResponse({ protocols: ['/shout/1.0.0'], serve: (request) => bytesOf(textOf(request).toUpperCase()) })
    const [alice, bob] = await Promise.all([0, 1].map(async () => swarmNode(ANY_STACK, { behaviours: { chat: chat(), shout: shout() } })))
    await alice!.peerStore.merge(bob!.peerId, { multiaddrs: bob!.getMultiaddrs() })
    const { behaviours } = alice!.services.swarm
    const [answer] = await Promise.all([behaviours.shout.request(bob!.peerId, bytesOf('quiet')), behaviours.chat.say(bob!.peerId, 'hello')])
    expect(textOf(answer)).toBe('QUIET')
    expect(alice!.services.swarm.connections).toHaveLength(1)
  })

  it('fail with the failure of the dial', async () => {
    const opener = protocolBehaviour({ protocols: CHAT, commands: ({ open }) => ({ open }) })
    const alice = await swarmNode(ANY_STACK, { behaviours: { opener } })
    await expect(alice.services.swarm.behaviours.opener.open(STRANGER)).rejects.toMatchObject({
      name: 'NotConnectedError', cause: { name: 'DialFailureError', kind: 'no-addresses' }
    })
  })

  it('share a connection that comes from elsewhere', async () => {
    const opener = () => protocolBehaviour({ protocols: CHAT, inbound: () => {}, commands: ({ open }) => ({ open }) })
    const [alice, bob] = await Promise.all([0, 1].map(async () => swarmNode(ANY_STACK, { behaviours: { opener: opener() } })))
    await connect(alice!, bob!)
    expect((await alice!.services.swarm.behaviours.opener.open(bob!.peerId)).protocol).toBe(CHAT)
  })
})
