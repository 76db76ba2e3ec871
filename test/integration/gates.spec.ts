import { identify } from '@libp2p/identify'
import { memory } from '@libp2p/memory'
import { plaintext } from '@libp2p/plaintext'
import { yamux } from '@libp2p/yamux'
import { createLibp2p } from 'libp2p'
import { afterEach, describe, expect, it } from 'vitest'
import { ConnectionDenied, composeBehaviours, negotiated, swarm, toggle, withSwarm } from 'libp2p-behaviours'
import { eventOf, until, within } from '../support/deadline.ts'
import { ANY_STACK, BRINGS_MUXER, MODE, STACKS, connect, connectionTo, stockNode, stopNodes, swarmNode } from '../support/nodes.ts'
import type { ConnectionGater, Libp2p, MultiaddrConnection, PeerId } from '@libp2p/interface'
import type {
  Check, Denied, EstablishedConnection, FromSwarm, NetworkBehaviour, PendingConnection
} from 'libp2p-behaviours'

afterEach(stopNodes)

class Refused extends Error {
  override readonly name = 'Refused'
  readonly code = 42
}

/** A gate of a node: counts what it holds, and refuses what the test says. */
class Guard implements NetworkBehaviour<never, never, never, Refused> {
  readonly held = new Set<string>()
  readonly seen: string[] = []
  readonly told: FromSwarm[] = []
  readonly connections: EstablishedConnection[] = []
  refuses: (gate: string, direction: string) => boolean | Promise<boolean> = () => false

  checkPending ({ direction }: PendingConnection): Check<Refused> { return this.#gate('checkPending', direction) }

  commitPending (attempt: PendingConnection): Denied<Refused> {
    this.held.add(`pending ${attempt.id}`)
    return undefined
  }

  checkEstablished ({ direction }: EstablishedConnection): Check<Refused> { return this.#gate('checkEstablished', direction) }

  commitEstablished (connection: EstablishedConnection): Denied<Refused> {
    this.connections.push(connection)
    this.held.add(`established ${connection.id}`)
    return undefined
  }

  rollback (attempt: PendingConnection | EstablishedConnection): void {
    const stage = `${'addresses' in attempt ? 'pending' : 'established'} ${attempt.id}`
    if (!this.held.delete(stage)) {
      throw new Error(`${stage} was never committed`)
    }
  }

  onSwarmEvent (event: FromSwarm): void {
    this.told.push(event)
    if (event.type === 'connection-closed') {
      this.held.delete(`pending ${event.connection}`)
      this.held.delete(`established ${event.connection}`)
    }
  }

  #gate (gate: string, direction: string): Check<Refused> {
    this.seen.push(`${gate} ${direction}`)
    const refused = this.refuses(gate, direction)
    const toAnswer = (isRefused: boolean) => isRefused ? new ConnectionDenied(new Refused('not today')) : undefined
    return typeof refused === 'boolean' ? toAnswer(refused) : refused.then(toAnswer)
  }
}

const later = async (answer: boolean) => { await new Promise((resolve) => setTimeout(resolve, 20)); return answer }

describe.each(STACKS)('gates over %s', (stack) => {
  it.each([
    { gate: 'checkPending', answer: () => true },
    { gate: 'checkPending', answer: async () => later(true) },
    { gate: 'checkEstablished', answer: () => true },
    { gate: 'checkEstablished', answer: async () => later(true) }
  ])('refuse inbound connections at $gate, and nothing is left of them', async ({ gate, answer }) => {
    const guard = new Guard()
    guard.refuses = (asked) => asked === gate ? answer() : false
    const [alice, bob] = await Promise.all([swarmNode(stack, { behaviours: { group: composeBehaviours({ guard }) } }), stockNode(stack)])
    const denied = eventOf<CustomEvent>(alice.services.swarm, 'connection:denied')
    const failed = eventOf<CustomEvent>(alice.services.swarm, 'listen:failure')
    await connect(bob, alice).catch(() => undefined)
    expect((await denied).detail).toMatchObject({ behaviour: 'group.guard', stage: gate === 'checkPending' ? 'pending' : 'established', direction: 'inbound', cause: { code: 42 } })
    expect((await failed).detail).toMatchObject({ type: 'listen-failure', kind: 'denied', cause: { name: 'ConnectionDenied' } })
    expect(guard.told.filter(({ type }) => type === 'listen-failure')).toHaveLength(1)
    expect(guard.held.size).toBe(0)
    await until('bob has no connection', () => bob.getConnections().length === 0)
    expect(alice.services.swarm.connections).toHaveLength(0)
  })

  it('let pass what nobody refuses: two stages, one id, and the signal until the end (S7.2)', async () => {
    const guard = new Guard()
    guard.refuses = async () => later(false)
    const [alice, bob] = await Promise.all([swarmNode(stack, { behaviours: { guard } }), stockNode(stack)])
    await connect(bob, alice)
    await within('the connection', connectionTo(alice, bob.peerId))
    const [connection] = alice.services.swarm.connections
    expect(guard.held).toEqual(new Set([`pending ${connection!.id}`, `established ${connection!.id}`]))
    expect(guard.seen).toEqual(['checkPending inbound', 'checkEstablished inbound'])
    expect(guard.connections[0]?.peer.equals(bob.peerId)).toBe(true)
    expect(guard.connections[0]?.signal.aborted).toBe(false)
    await connection?.close()
    expect(guard.connections[0]?.signal.aborted).toBe(true)
    expect(guard.held.size).toBe(0)
  })

  it('take back what was committed for a connection that fails in between (S7.5)', async () => {
    const guard = new Guard()
    const [alice, bob] = await Promise.all([
      swarmNode(stack, { behaviours: { guard } }, { connectionGater: { denyInboundEncryptedConnection: () => true } }), stockNode(stack)
    ])
    const failed = eventOf<CustomEvent>(alice.services.swarm, 'listen:failure')
    await connect(bob, alice).catch(() => undefined)
    // WebRTC closes the wire without a word of who refused it.
    expect((await failed).detail).toMatchObject(MODE === 'webrtc' ? { kind: 'transport' } : { kind: 'denied', cause: { name: 'ConnectionInterceptedError' } })
    expect(guard.held.size).toBe(0)
    expect(guard.seen).toEqual(['checkPending inbound'])
  })

  it('refuse dials of other code by their check, and outbound connections at the established stage (S7.7)', async () => {
    const guard = new Guard()
    guard.refuses = (gate) => gate === 'checkPending'
    const [alice, bob] = await Promise.all([swarmNode(stack, { behaviours: { guard } }), stockNode(stack)])
    const denied = eventOf<CustomEvent>(alice.services.swarm, 'connection:denied')
    await expect(connect(alice, bob)).rejects.toMatchObject({ name: 'DialDeniedError' })
    expect((await denied).detail).toMatchObject({ behaviour: 'guard', stage: 'pending', direction: 'outbound', connection: undefined })
    guard.refuses = (gate) => gate === 'checkEstablished'
    await expect(connect(alice, bob)).rejects.toMatchObject({ name: 'ConnectionInterceptedError' })
    expect(guard.held.size).toBe(0)
    guard.refuses = () => false
    await connect(alice, bob)
    expect(alice.services.swarm.connections).toHaveLength(1)
  })
})

describe('a gate', () => {
  it('that takes longer than gateTimeoutMs denies (S7.3)', async () => {
    const guard = new Guard()
    guard.refuses = async () => new Promise(() => {})
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { guard }, gateTimeoutMs: 30 }), stockNode(ANY_STACK)])
    const denied = eventOf<CustomEvent>(alice.services.swarm, 'connection:denied')
    await connect(bob, alice).catch(() => undefined)
    expect((await denied).detail).toMatchObject({ behaviour: 'guard', cause: { name: 'TimeoutError' } })
  })

  it('that rejects denies, and is reported', async () => {
    const guard = new Guard()
    guard.refuses = async () => { throw new Error('no database') }
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { guard } }), stockNode(ANY_STACK)])
    const errors = eventOf<CustomEvent>(alice.services.swarm, 'handler:error')
    await connect(bob, alice).catch(() => undefined)
    expect((await errors).detail).toMatchObject({ behaviour: 'guard', method: 'checkPending', cause: { message: 'no database' } })
  })

  // Over QUIC and WebRTC the host asks first when the wire has gone already.
  it.skipIf(BRINGS_MUXER)('whose wire goes away meanwhile is not asked to commit, and its signal tells', async () => {
    const guard = new Guard()
    let signal: AbortSignal | undefined
    guard.checkPending = async (attempt) => {
      signal = attempt.signal
      await new Promise((resolve) => { attempt.signal.addEventListener('abort', resolve) })
      return undefined
    }
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { guard } }), stockNode(ANY_STACK)])
    const failed = eventOf<CustomEvent>(alice.services.swarm, 'listen:failure')
    await bob.dial(alice.getMultiaddrs(), { signal: AbortSignal.timeout(50) }).catch(() => undefined)
    expect((await failed).detail).toMatchObject({ kind: 'transport' })
    expect(signal?.aborted).toBe(true)
    expect(guard.held.size).toBe(0)
  })
})

describe('the gater of the user', () => {
  it('is asked first, keeps its other hooks and its private state, and is not written to', async () => {
    class Own implements ConnectionGater {
      readonly #asked: string[] = []
      get asked () { return this.#asked }
      denyInboundConnection (wire: MultiaddrConnection) { this.#asked.push(`inbound ${wire.direction}`); return false }
      async denyOutboundUpgradedConnection () { this.#asked.push('outbound'); return true }
      denyDialPeer (peer: PeerId) { this.#asked.push(`peer ${typeof peer}`); return false }
    }
    const own = Object.freeze(new Own())
    const guard = new Guard()
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { guard } }, { connectionGater: own }), stockNode(ANY_STACK)])
    await connect(bob, alice)
    await within('the connection', connectionTo(alice, bob.peerId))
    await alice.hangUp(bob.peerId)
    await expect(connect(alice, bob)).rejects.toMatchObject({ name: 'ConnectionInterceptedError' })
    expect(own.asked).toEqual(['inbound inbound', 'peer object', 'outbound'])
    expect(guard.seen.filter((seen) => seen.endsWith('outbound'))).toEqual(['checkPending outbound'])
  })

  it('is asked by each node that is made of the same options, with the gates of that node', async () => {
    const guards: Guard[] = []
    const options = withSwarm({
      transports: [memory()],
      connectionEncrypters: [plaintext()],
      streamMuxers: [yamux()],
      services: { identify: identify() }
    }, { behaviours: { guard: () => { const guard = new Guard(); guards.push(guard); return guard } } })
    const nodes: Libp2p[] = []
    for (const name of ['twin-1', 'twin-2']) {
      delete options.privateKey
      nodes.push(await createLibp2p({ ...options, connectionGater: options.connectionGater!, addresses: { listen: [`/memory/${name}`] } }))
    }
    const [one, other] = nodes as [Libp2p, Libp2p]
    await connect(one, other)
    await until('both have seen it', () => guards.every(({ seen }) => seen.length > 0))
    expect(guards[0]?.seen).toEqual(['checkPending outbound', 'checkEstablished outbound'])
    expect(guards[1]?.seen).toEqual(['checkPending inbound', 'checkEstablished inbound'])
    await Promise.all(nodes.map(async (node) => node.stop()))
  })
})

describe.skipIf(BRINGS_MUXER)('the bare service, without our gater (S7.7)', () => {
  const bareNode = async (guard: Guard) => createLibp2p({
    transports: [memory()],
    connectionEncrypters: [plaintext()],
    streamMuxers: [negotiated(yamux())],
    addresses: { listen: ['/memory/bare'] },
    services: { swarm: swarm({ behaviours: { guard } }), identify: identify() }
  })

  it.each([{ name: 'at once', answer: () => true }, { name: 'later', answer: async () => later(true) }])('asks the established stage at connection:open, and closes what is denied $name', async ({ answer }) => {
    const guard = new Guard()
    guard.refuses = answer
    const [bare, bob] = await Promise.all([bareNode(guard), stockNode(ANY_STACK)])
    const denied = eventOf<CustomEvent>(bare.services.swarm, 'connection:denied')
    await bob.dial(bare.getMultiaddrs()).catch(() => undefined)
    expect((await denied).detail).toMatchObject({ behaviour: 'guard', stage: 'established' })
    await until('the connection is closed', () => bob.getConnections().length === 0 && bare.getConnections().length === 0)
    expect(guard.seen).toEqual(['checkEstablished inbound'])
    expect(guard.held.size).toBe(0)
    await bare.stop()
  })

  it('takes a connection that passes later, with what identify learnt meanwhile', async () => {
    const guard = new Guard()
    guard.refuses = async () => { await new Promise((resolve) => setTimeout(resolve, 200)); return false }
    const [bare, bob] = await Promise.all([bareNode(guard), stockNode(ANY_STACK)])
    const opened = eventOf<CustomEvent>(bare.services.swarm, 'connection:open')
    await bob.dial(bare.getMultiaddrs())
    await opened
    const [connection] = bare.services.swarm.connections
    await until('the protocols are known', () => connection!.remote.size > 0)
    await bare.stop()
  })
})

describe.skipIf(BRINGS_MUXER)('a connection whose muxer is not wrapped, on a node whose gater is', () => {
  it('passes the same gates', async () => {
    const guard = new Guard()
    const options = withSwarm({
      transports: [memory()], connectionEncrypters: [plaintext()], streamMuxers: [yamux()], services: { identify: identify() }
    }, { behaviours: { guard } })
    const gater = options.connectionGater!
    const [alice, bob] = await Promise.all([createLibp2p({ ...options, connectionGater: gater, streamMuxers: [yamux()] }), stockNode(ANY_STACK)])
    expect(await alice.services.swarm.dial(bob.getMultiaddrs())).toMatchObject({ id: guard.connections[0]?.id })
    expect(guard.seen).toEqual(['checkPending outbound', 'checkEstablished outbound'])
    await alice.stop()
    expect(guard.held.size).toBe(0)
  })
})

describe('a toggle', () => {
  it('lets its behaviour in on live connections when the asynchronous gate answers (S7.14)', async () => {
    const guard = new Guard()
    guard.refuses = async () => later(false)
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { guard: toggle(guard, { enabled: false }) } }), stockNode(ANY_STACK)])
    await connect(alice, bob)
    expect(guard.seen).toEqual([])
    alice.services.swarm.behaviours.guard.enable()
    await until('the connection is the behaviour\'s as well', () => guard.connections.length === 1)
    expect(guard.seen).toEqual(['checkEstablished outbound'])
    guard.refuses = async () => later(true)
    alice.services.swarm.behaviours.guard.disable()
    await alice.services.swarm.disconnect(bob.peerId)
    await connect(alice, bob)
    const closed = eventOf<CustomEvent>(alice.services.swarm, 'connection:close')
    alice.services.swarm.behaviours.guard.enable()
    expect((await closed).detail).toMatchObject({ reason: 'aborted', cause: { name: 'ConnectionDenied', cause: { code: 42 } } })
  })
})
