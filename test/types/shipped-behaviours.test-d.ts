/** What streams, limits and lists infer in compositions, and what must not compile. Shape: S7.6, S7.14, S7.16. */

import { describe, expectTypeOf, it } from 'vitest'
import { composeBehaviours, toggle, withSwarm } from 'libp2p-behaviours'
import { allowList, blockList } from 'libp2p-behaviours/allow-block-list'
import { connectionLimits } from 'libp2p-behaviours/connection-limits'
import { memoryLimits } from 'libp2p-behaviours/memory-limits'
import { streams } from 'libp2p-behaviours/streams'
import { createLibp2p } from 'libp2p'
import type { PeerId } from '@libp2p/interface'
import type { BehaviourEvent, Commands, ConnectionId, Denial, EventOf, NegotiatedStream, SwarmInit } from 'libp2p-behaviours'
import type { AllowList, BlockList, PeerBlockedError, PeerNotAllowedError } from 'libp2p-behaviours/allow-block-list'
import type {
  ConnectionCounts, ConnectionLimitKind, ConnectionLimitValues, ConnectionLimitsBehaviour, LimitExceededError
} from 'libp2p-behaviours/connection-limits'
import type { MemoryLimitError, MemoryLimits } from 'libp2p-behaviours/memory-limits'
import type { AcceptedStream, AcceptedStreams, Serving, StreamRejected, Streams } from 'libp2p-behaviours/streams'

const usage = (): number => 1
const parts = {
  streams: streams(),
  limits: connectionLimits({ maxEstablished: 10 }),
  memory: toggle(memoryLimits({ maxBytes: 1, usage })),
  access: composeBehaviours({ friends: () => allowList(), inner: composeBehaviours({ blocked: toggle(blockList()) }) })
}
type Any = Denial<typeof parts>

declare const peer: PeerId
declare const signal: AbortSignal

describe('denials of limits and lists', () => {
  it('have the paths of those that deny', () => {
    expectTypeOf<Any['behaviour']>().toEqualTypeOf<'limits' | 'memory' | 'access.friends' | 'access.inner.blocked'>()
  })

  it('have their cause typed by the path', () => {
    const narrow = ({ behaviour, cause }: Any): void => {
      switch (behaviour) {
        case 'limits':
          expectTypeOf(cause).toEqualTypeOf<LimitExceededError>()
          expectTypeOf(cause.kind).toEqualTypeOf<ConnectionLimitKind>()
          expectTypeOf(cause.limit).toEqualTypeOf<number>()
          expectTypeOf(cause.current).toEqualTypeOf<number>()
          break
        case 'memory':
          expectTypeOf(cause).toEqualTypeOf<MemoryLimitError>()
          expectTypeOf(cause.usedBytes).toEqualTypeOf<number>()
          break
        case 'access.friends':
          expectTypeOf(cause).toEqualTypeOf<PeerNotAllowedError>()
          break
        case 'access.inner.blocked':
          expectTypeOf(cause).toEqualTypeOf<PeerBlockedError>()
          expectTypeOf(cause.peer).toEqualTypeOf<PeerId>()
      }
    }
    expectTypeOf(narrow).toBeFunction()
  })

  it('are told apart by name as well', () => {
    const narrow = ({ cause }: Any): void => {
      if (cause.name === 'MemoryLimitError') {
        expectTypeOf(cause).toEqualTypeOf<MemoryLimitError>()
      }
    }
    expectTypeOf(narrow).toBeFunction()
  })
})

describe('events', () => {
  it('come from streams only', () => {
    expectTypeOf<BehaviourEvent<typeof parts>['behaviour']>().toEqualTypeOf<'streams'>()
    expectTypeOf<EventOf<Streams>>().toEqualTypeOf<StreamRejected>()
    expectTypeOf<EventOf<ConnectionLimitsBehaviour>>().toBeNever()
    expectTypeOf<EventOf<MemoryLimits>>().toBeNever()
    expectTypeOf<EventOf<AllowList>>().toBeNever()
    expectTypeOf<Denial<{ streams: Streams }>>().toBeNever()
  })
})

describe('commands', () => {
  it('are these', () => {
    expectTypeOf<keyof Commands<Streams>>().toEqualTypeOf<'open' | 'accept' | 'serve'>()
    expectTypeOf<keyof Commands<ConnectionLimitsBehaviour>>().toEqualTypeOf<'limits' | 'counts' | 'bypassing' | 'countOf' | 'setLimits' | 'bypass' | 'endBypass'>()
    expectTypeOf<keyof Commands<AllowList>>().toEqualTypeOf<'list' | 'has' | 'allow' | 'disallow'>()
    expectTypeOf<keyof Commands<BlockList>>().toEqualTypeOf<'list' | 'has' | 'block' | 'unblock'>()
    expectTypeOf<keyof Commands<MemoryLimits>>().toEqualTypeOf<'maxBytes' | 'usedBytes' | 'setMaxBytes'>()
  })

  it('are found on the swarm of a node, through compositions and toggles', async () => {
    const node = await createLibp2p(withSwarm({}, { behaviours: parts }))
    const { behaviours } = node.services.swarm
    expectTypeOf(behaviours.limits.counts).toEqualTypeOf<ConnectionCounts>()
    expectTypeOf(behaviours.limits.limits).toEqualTypeOf<Readonly<ConnectionLimitValues>>()
    expectTypeOf(behaviours.memory.inner.usedBytes).toEqualTypeOf<number | undefined>()
    expectTypeOf(behaviours.access.friends.allow).toEqualTypeOf<(peer: PeerId) => boolean>()
    expectTypeOf(behaviours.access.inner.blocked.inner.list()).toEqualTypeOf<readonly PeerId[]>()
    node.services.swarm.addEventListener('connection:denied', ({ detail }) => { expectTypeOf(detail).toEqualTypeOf<Any>() })
    // @ts-expect-error -- a getter has no setter
    behaviours.limits.limits = {}
    // @ts-expect-error -- they are frozen
    behaviours.limits.limits.maxEstablished = 1
    // @ts-expect-error -- the members of the contract are the swarm's
    behaviours.limits.commitPending
  })
})

describe('streams()', () => {
  const behaviour = streams({ runOnLimitedConnection: true })

  it('opens streams', () => {
    expectTypeOf(behaviour.open(peer, '/a')).resolves.toEqualTypeOf<NegotiatedStream>()
    void behaviour.open(peer, ['/a', '/b'] as const, { lazy: true, signal, timeoutMs: 1 })
    // @ts-expect-error -- for what?
    void behaviour.open(peer)
    // @ts-expect-error -- there is no such option
    void behaviour.open(peer, '/a', { protocols: ['/b'] })
  })

  it('accepts streams as they come', async () => {
    const accepted = behaviour.accept('/a', { signal, maxWaiting: 1, maxWaitingPerPeer: undefined })
    expectTypeOf(accepted).toEqualTypeOf<AcceptedStreams>()
    expectTypeOf(accepted).toExtend<AsyncDisposable>()
    for await (const { peer, connection, protocol, stream, signal } of accepted) {
      expectTypeOf(peer).toEqualTypeOf<PeerId>()
      expectTypeOf(connection).toEqualTypeOf<ConnectionId>()
      expectTypeOf(protocol).toEqualTypeOf<string>()
      expectTypeOf(stream).toEqualTypeOf<NegotiatedStream>()
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
    }
    expectTypeOf<Awaited<ReturnType<AcceptedStreams['next']>>>().toEqualTypeOf<IteratorResult<AcceptedStream, undefined>>()
    // @ts-expect-error -- one name at a time
    behaviour.accept(['/a', '/b'])
  })

  it('serves streams with a callback, which emits nothing', () => {
    const serving = behaviour.serve('/a', async (stream, { peer }) => {
      expectTypeOf(stream).toEqualTypeOf<NegotiatedStream>()
      expectTypeOf(peer).toEqualTypeOf<PeerId>()
      await stream.close()
    })
    expectTypeOf(serving).toEqualTypeOf<Serving>()
    expectTypeOf(serving).toExtend<Disposable>()
    // @ts-expect-error -- there is no event that it could emit
    behaviour.serve('/a', async function * () { yield await Promise.resolve(1) })
  })
})

describe('options', () => {
  it('may be passed on, undefined ones included', () => {
    const passOn = (options: { maxEstablished?: number | undefined, bypass?: PeerId[] | undefined }) => connectionLimits(options)
    expectTypeOf(passOn).returns.toEqualTypeOf<ConnectionLimitsBehaviour>()
    expectTypeOf<SwarmInit<typeof parts>['behaviours']>().toEqualTypeOf<typeof parts>()
  })

  it('must be there, and right', () => {
    // @ts-expect-error -- how should it read?
    memoryLimits({ maxBytes: 1 })
    // @ts-expect-error -- and how much?
    memoryLimits({ usage })
    // @ts-expect-error -- an async reader is none
    memoryLimits({ maxBytes: 1, usage: async () => Promise.resolve(1) })
    // @ts-expect-error -- there is no such limit
    connectionLimits({ maxConnections: 1 })
    // @ts-expect-error -- a list of peers
    blockList({ peers: peer })
    // @ts-expect-error -- only the other list has it
    allowList().block
  })
})
