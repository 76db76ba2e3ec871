import { createLibp2p } from 'libp2p'
import { afterEach, describe, expect, it } from 'vitest'
import { protocolBehaviour, swarm, withSwarm } from 'libp2p-behaviours'
import { ProtocolList } from 'libp2p-behaviours/protocols'
import { CHAT, chat } from '../support/chat.ts'
import { eventOf, until, within } from '../support/deadline.ts'
import { ANY_STACK, MODE, connect, connectionTo, stockNode, stopNodes, swarmNode, untilReset } from '../support/nodes.ts'
import type { FromSwarm, NetworkBehaviour, Swarm } from 'libp2p-behaviours'

afterEach(stopNodes)

describe('the service', () => {
  it('asks for identify, as that is how a node learns what its peers speak', async () => {
    await expect(createLibp2p(withSwarm({}, { behaviours: {} }))).rejects.toMatchObject({
      name: 'UnmetServiceDependenciesError', message: expect.stringContaining('libp2p-behaviours') as string
    })
  })

  it('refuses behaviours that share a name, if it is told to (S3.4)', async () => {
    const behaviours = () => ({ one: chat(), other: chat() })
    await expect(swarmNode(ANY_STACK, { behaviours: behaviours(), onDuplicate: 'error' })).rejects.toMatchObject({ name: 'DuplicateProtocolError' })
    const node = await swarmNode(ANY_STACK, { behaviours: behaviours() })
    expect(Object.keys(node.services.swarm.behaviours)).toEqual(['one', 'other'])
  })

  it('takes a behaviour for one node only (S7.13)', async () => {
    const behaviours = { chat: chat() }
    await swarmNode(ANY_STACK, { behaviours })
    await expect(swarmNode(ANY_STACK, { behaviours })).rejects.toMatchObject({ name: 'InvalidStateError' })
  })

  it('makes one behaviour per node of a function, and gives it the components of the node', async () => {
    const peers: string[] = []
    const init = { behaviours: { chat: ({ peerId }: { readonly peerId: { toString (): string } }) => { peers.push(peerId.toString()); return chat() } } }
    const nodes = await Promise.all([swarmNode(ANY_STACK, init), swarmNode(ANY_STACK, init)])
    expect(peers.sort()).toEqual(nodes.map(({ peerId }) => peerId.toString()).sort())
  })

  it('is found by other services that come after it', async () => {
    const node = await createLibp2p(withSwarm({
      services: {
        identify: () => ({ [Symbol.for('@libp2p/service-capabilities')]: ['@libp2p/identify'] }),
        other: (components: { readonly swarm: Swarm }) => ({ keys: Object.keys(components.swarm.behaviours) })
      },
      start: false
    }, { behaviours: { chat: chat() } }))
    expect(node.services.other.keys).toEqual(['chat'])
  })

  it('checks its options before there is a node', () => {
    expect(() => swarm({ behaviours: {}, closeTimeoutMs: -1 })).toThrow(RangeError)
  })
})

describe('what behaviours hear of their node (S7.8)', () => {
  it('is where it listens, and each connection from beginning to end', async () => {
    const heard: FromSwarm[] = []
    const listener: NetworkBehaviour = { commitEstablished: () => undefined, onSwarmEvent: (event) => { heard.push(event) } }
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { listener } }), stockNode(ANY_STACK)])
    await connect(alice, bob)
    const [address] = alice.getMultiaddrs()
    await alice.services.swarm.connections[0]?.close()
    await alice.stop()
    // When the addresses of a peer are stored is the host's affair.
    const life = heard.filter(({ type }) => type !== 'peer-external-address')
    expect(life.map(({ type }) => type)).toEqual([
      'new-listener', 'new-listen-address', 'connection-established', 'connection-closed', 'swarm-stopped', 'expired-listen-address', 'listener-closed'
    ])
    expect(life[1]).toMatchObject({ address: address?.decapsulate('/p2p') })
    expect(life[2]).toMatchObject({ peer: bob.peerId, direction: 'outbound', otherEstablished: 0 })
    expect(life[3]).toMatchObject({ peer: bob.peerId, reason: 'local-close', remaining: 0 })
  })
})

describe('the order of events (S8.2)', () => {
  it('is handlers, then behaviours, then subscribers, then DOM listeners, and connection:close comes last', async () => {
    const heard: string[] = []
    const extra = new ProtocolList(['/first/1'])
    const observer: NetworkBehaviour = {
      commitEstablished: () => ({
        listenProtocols: () => extra,
        onConnectionEvent: ({ type }) => { heard.push(`handler ${type}`) },
        onBehaviourEvent: () => {}
      }),
      onSwarmEvent: ({ type }) => { heard.push(`behaviour ${type}`) }
    }
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { observer } }), stockNode(ANY_STACK)])
    const { swarm } = alice.services
    swarm.protocols.subscribe({ side: 'local' }, ({ added: [name] }) => { heard.push(`subscriber ${name}`) })
    for (const type of ['connection:open', 'connection:close', 'protocols:change'] as const) {
      swarm.addEventListener(type, ({ detail }) => {
        if (!('side' in detail) || detail.side === 'local') {
          heard.push(`listener ${type}`)
        }
      })
    }
    const isOfLife = (entry: string): boolean => /local-protocols|connection-|subscriber|listener (connection|protocols)/.test(entry)
    const connection = await swarm.dial(bob.getMultiaddrs())
    await until('the first set is known', () => heard.includes('listener protocols:change'))
    const begin = heard.splice(0).filter(isOfLife)
    expect(begin[0]).toBe('handler local-protocols-change')
    expect(begin.indexOf('behaviour connection-established')).toBeLessThan(begin.indexOf('listener connection:open'))
    extra.add('/second/1')
    await until('the change is known', () => heard.includes('listener protocols:change'))
    expect(heard.splice(0).filter(isOfLife)).toEqual(['handler local-protocols-change', 'subscriber /second/1', 'listener protocols:change'])
    await connection.close()
    await until('it has closed', () => heard.includes('listener connection:close'))
    expect(heard.filter(isOfLife).slice(-2)).toEqual(['behaviour connection-closed', 'listener connection:close'])
  })
})

describe('an entry of swarm.connections', () => {
  it('shows its connection as of now, and is the same object as long as that lives', async () => {
    const modes = { native: ['native', 'native'], hosted: ['hosted', 'hosted'], mixed: ['native', 'hosted'], quic: ['hosted', 'hosted'], webrtc: ['hosted', 'hosted'] }[MODE]
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { chat: chat() } }), swarmNode(ANY_STACK, { behaviours: { chat: chat() } })])
    const opened = eventOf<CustomEvent<object>>(alice.services.swarm, 'connection:open')
    const host = await connect(alice, bob)
    await within('bob has the connection', connectionTo(bob, alice.peerId))
    const [entry] = alice.services.swarm.connections
    const [other] = bob.services.swarm.connections
    expect(entry).toMatchObject({ peer: bob.peerId, direction: 'outbound', mode: modes[0], streams: [] })
    expect(other).toMatchObject({ peer: alice.peerId, direction: 'inbound', mode: modes[1] })
    expect(entry?.host).toBe(host)
    expect(entry?.id).not.toBe(other?.id)
    expect(alice.services.swarm.connections[0]).toBe(entry)
    expect(Object.isFrozen(alice.services.swarm.connections)).toBe(true)
    expect((await opened).detail).toMatchObject({
      type: 'connection-established', connection: entry?.id, mode: modes[0], openedAt: host.timeline.open, otherEstablished: 0
    })
    await until('it is idle', () => entry?.idleSince !== undefined)
    expect(entry?.idleSince).toBeLessThanOrEqual(performance.now())
  })
})

describe('what peers make grow', () => {
  it('is cut at its limit, with a report: names of a peer (S3.21)', async () => {
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: {}, maxRemoteProtocols: 2 }), stockNode(ANY_STACK)])
    const cut = eventOf<CustomEvent<object>>(alice.services.swarm, 'protocols:truncated')
    await connect(alice, bob)
    expect((await cut).detail).toMatchObject({ type: 'protocols-truncated', source: 'host', kept: 2, peer: bob.peerId })
    const { protocols } = alice.services.swarm
    expect(protocols.of(bob.peerId).size).toBe(2)
    expect(protocols.supports(bob.peerId, '/ipfs/ping/1.0.0')).not.toBe(false)
    expect(protocols.supports(bob.peerId, '/none/1')).toBe(undefined)
  })
})

describe('names that are none', () => {
  it('are left out of a listing, and are the host\'s affair in its own requests (S3.2)', async () => {
    const sloppy: NetworkBehaviour = {
      commitEstablished: () => ({ listenProtocols: () => ['no-slash', CHAT], onConnectionEvent: () => {} })
    }
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { sloppy } }), stockNode(ANY_STACK)])
    await bob.handle('no-slash', () => {})
    await alice.handle('neither', () => {})
    const connection = await connect(alice, bob)
    const back = await within('bob has the connection', connectionTo(bob, alice.peerId))
    expect(alice.services.swarm.connections[0]?.local).toContain(CHAT)
    expect(alice.services.swarm.connections[0]?.local).not.toContain('no-slash')
    expect((await connection.newStream('no-slash')).protocol).toBe('no-slash')
    expect((await back.newStream('neither')).protocol).toBe('neither')
    await expect(back.newStream('no-slash')).rejects.toMatchObject({ name: 'UnsupportedProtocolError' })
  })
})

describe('a listener for handler:error that throws', () => {
  it('does not call itself', async () => {
    const bad = () => protocolBehaviour({ protocols: CHAT, inbound: () => { throw new Error('mine') }, commands: ({ open }) => ({ open }) })
    const [alice, bob] = await Promise.all([swarmNode(ANY_STACK, { behaviours: { bad: bad() } }), swarmNode(ANY_STACK, { behaviours: { bad: bad() } })])
    await connect(alice, bob)
    let calls = 0
    bob.services.swarm.addEventListener('handler:error', () => { calls++; throw new Error('and mine') })
    await untilReset(alice.services.swarm.behaviours.bad.open(bob.peerId))
    await until('the listener is called', () => calls > 0)
    expect(calls).toBe(1)
  })
})
