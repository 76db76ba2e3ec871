/** What an application sees of its swarm, inferred through `createLibp2p`, and what must not compile. */

import { describe, expectTypeOf, it } from 'vitest'
import { identify } from '@libp2p/identify'
import { yamux } from '@libp2p/yamux'
import { createLibp2p } from 'libp2p'
import { composeBehaviours, negotiated, protocolBehaviour, swarm, withSwarm } from 'libp2p-behaviours'
import { ping } from 'libp2p-behaviours/ping'
import { requestResponse } from 'libp2p-behaviours/request-response'
import type { Identify } from '@libp2p/identify'
import type { Connection, PeerId, Startable } from '@libp2p/interface'
import type {
  ConnectionClosed, ConnectionEstablished, HandlerError, NegotiatedStream, PeerProtocolsChange, Subscription, Swarm, SwarmComponents
} from 'libp2p-behaviours'
import type { Ping, PingEvent } from 'libp2p-behaviours/ping'
import type { RequestEvent } from 'libp2p-behaviours/request-response'

/** A service of the user's own, which works with the swarm. */
class Greeter implements Startable {
  readonly #swarm: Swarm

  constructor (components: { swarm: Swarm }) {
    this.#swarm = components.swarm
  }

  greeting (): string { return `${this.#swarm.connections.length} connections` }
  start (): void {}
  stop (): void {}
}

const makeNode = async () => await createLibp2p(withSwarm({
  streamMuxers: [yamux()],
  services: { identify: identify(), greeter: (components: { swarm: Swarm }) => new Greeter(components) }
}, {
  behaviours: {
    ping: ping(),
    files: (components: SwarmComponents) => requestResponse({ protocols: `/files/${components.peerId.toString()}` }),
    group: composeBehaviours({ chat: protocolBehaviour({ protocols: '/chat/1.0.0', async * inbound () { yield { type: 'message' } } }) })
  },
  eventBufferSize: 16
}))
type Node = Awaited<ReturnType<typeof makeNode>>
declare const node: Node
declare const peer: PeerId

describe('withSwarm', () => {
  it('keeps the services of the user, and adds its own', () => {
    expectTypeOf(node.services.identify).toEqualTypeOf<Identify>()
    expectTypeOf(node.services.greeter).toEqualTypeOf<Greeter>()
    expectTypeOf<keyof Node['services']>().toEqualTypeOf<'identify' | 'greeter' | 'swarm'>()
  })

  it('refuses behaviours that are none, and options that do not exist', () => {
    // @ts-expect-error -- a string is no behaviour
    withSwarm({}, { behaviours: { ping: 'ping' } })
    // @ts-expect-error -- behaviours are missing
    withSwarm({}, {})
    // @ts-expect-error -- there is no such option
    withSwarm({}, { behaviours: {}, idleTimeout: 10 })
  })
})

describe('swarm.behaviours', () => {
  const { behaviours } = node.services.swarm

  it('has the commands of each behaviour under its key', () => {
    expectTypeOf<keyof typeof behaviours>().toEqualTypeOf<'ping' | 'files' | 'group'>()
    expectTypeOf(behaviours.ping.ping(peer, { timeoutMs: 100 })).resolves.toEqualTypeOf<number>()
    expectTypeOf(behaviours.files.request(peer, new Uint8Array(1))).resolves.toEqualTypeOf<Uint8Array>()
    expectTypeOf<keyof typeof behaviours.group>().toEqualTypeOf<'chat'>()
  })

  it('has nothing else', () => {
    // @ts-expect-error -- there is no such key
    behaviours.pong
    // @ts-expect-error -- the contract is the swarm's
    behaviours.ping.onSwarmEvent
    // @ts-expect-error -- a command wants a peer
    void behaviours.ping.ping('peer')
  })
})

describe('swarm.events()', () => {
  it('narrows events by behaviour, also destructured', async () => {
    for await (const { behaviour, peer: whom, event } of node.services.swarm.events()) {
      expectTypeOf(whom).toEqualTypeOf<PeerId>()
      if (behaviour === 'ping') {
        expectTypeOf(event).toEqualTypeOf<PingEvent>()
      } else if (behaviour === 'files') {
        expectTypeOf(event).toEqualTypeOf<RequestEvent>()
      } else {
        expectTypeOf(event.behaviour).toEqualTypeOf<'chat'>()
        expectTypeOf(event.event.type).toEqualTypeOf<'message'>()
      }
    }
  })

  it('of one behaviour are of its type', async () => {
    for await (const { event } of node.services.swarm.events({ behaviour: 'ping', signal: AbortSignal.abort() })) {
      expectTypeOf(event).toEqualTypeOf<PingEvent>()
    }
    for await (const { behaviour } of node.services.swarm.events({ behaviour: ['ping', 'files'] })) {
      expectTypeOf(behaviour).toEqualTypeOf<'ping' | 'files'>()
    }
    // @ts-expect-error -- there is no such behaviour
    node.services.swarm.events({ behaviour: 'pong' })
    expectTypeOf(node.services.swarm.events({ overflow: 'end', behaviour: undefined, signal: undefined })).toExtend<AsyncDisposable>()
    // @ts-expect-error -- nothing is ever dropped silently
    node.services.swarm.events({ overflow: 'drop' })
  })
})

describe('DOM events of a swarm', () => {
  it('have a typed detail', () => {
    const { swarm: target } = node.services
    target.addEventListener('behaviour:event', ({ detail }) => {
      if (detail.behaviour === 'ping') {
        expectTypeOf(detail.event).toEqualTypeOf<PingEvent>()
      }
    })
    target.addEventListener('connection:open', ({ detail }) => { expectTypeOf(detail).toExtend<ConnectionEstablished>() })
    target.addEventListener('connection:close', ({ detail }) => { expectTypeOf(detail).toExtend<ConnectionClosed>() })
    target.addEventListener('protocols:change', ({ detail }) => { expectTypeOf(detail).toEqualTypeOf<PeerProtocolsChange>() })
    target.addEventListener('handler:error', ({ detail }) => { expectTypeOf(detail).toEqualTypeOf<HandlerError>() })
  })
})

describe('swarm.protocols and swarm.connections', () => {
  const { protocols, connections } = node.services.swarm

  it('say who speaks what', () => {
    expectTypeOf(protocols.subscribe({ side: 'remote', protocol: ['/a'] }, (change) => {
      expectTypeOf(change.added).toEqualTypeOf<readonly string[]>()
    })).toEqualTypeOf<Subscription>()
    expectTypeOf(protocols.supports(peer, '/a')).toEqualTypeOf<boolean | undefined>()
    expectTypeOf(protocols.of(peer)).toEqualTypeOf<ReadonlySet<string>>()
    // @ts-expect-error -- there are two sides
    protocols.subscribe({ side: 'both' }, () => {})
  })

  it('have the host\'s own objects', () => {
    const [connection] = connections
    expectTypeOf(connection?.host).toEqualTypeOf<Connection | undefined>()
    expectTypeOf(connection?.streams).toEqualTypeOf<readonly NegotiatedStream[] | undefined>()
    expectTypeOf(connections).not.toHaveProperty('push')
  })
})

describe('swarm() and negotiated()', () => {
  it('plug in by hand with the same types', async () => {
    const byHand = await createLibp2p({
      streamMuxers: [negotiated(yamux())],
      services: { swarm: swarm({ behaviours: { ping: ping() } }), identify: identify() }
    })
    expectTypeOf(byHand.services.swarm).toEqualTypeOf<Swarm<{ readonly ping: Ping }>>()
  })

  it('let streams of stock services be opened lazily', () => {
    const open = async (connection: Connection) => [
      await connection.newStream('/a/1', { lazy: true }),
      await connection.newStream('/a/1', { lazy: undefined, signal: AbortSignal.timeout(1000) }),
      // @ts-expect-error -- lazy is true or false
      await connection.newStream('/a/1', { lazy: 'yes' })
    ]
    expectTypeOf(open).returns.resolves.toExtend<object[]>()
  })

  it('make a swarm that a service can ask for without naming behaviours', () => {
    expectTypeOf(node.services.swarm).toExtend<Pick<Swarm, 'connections' | 'protocols'>>()
  })
})
