/** What gates, wrappers and dials infer, and what must not compile. Shape: S7.1, S7.6, S7.14 to S7.16, S8.20. */

import { describe, expectTypeOf, it } from 'vitest'
import { ConnectionDenied, Outbox, composeBehaviours, mapBehaviour, mapHandler, protocolBehaviour, toggle, withSwarm } from 'libp2p-behaviours'
import { ping } from 'libp2p-behaviours/ping'
import { createLibp2p } from 'libp2p'
import type { PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type {
  AnyHandler, BehaviourEvent, Check, Commands, ConnectionHandler, Denial, DialFailure, Direction, EstablishedConnection, EventOf, ListenFailure,
  NetworkBehaviour, PendingConnection, Poll, PollContext, SwarmComponents, SwarmConnection, ToSwarm, Toggle, WrappedBehaviour
} from 'libp2p-behaviours'
import type { Ping, PingEvent } from 'libp2p-behaviours/ping'

interface LimitExceededError extends Error {
  readonly name: 'LimitExceededError'
  readonly limit: number
}
interface BlockedError extends Error {
  readonly name: 'BlockedError'
  readonly peer: PeerId
}
declare const tooMany: LimitExceededError
declare const blocked: BlockedError

/** Declares its cause as the fourth argument. */
interface Limits extends NetworkBehaviour<never, never, never, LimitExceededError> {
  bypass (peer: PeerId): void
}
declare const limits: Limits

/** Declares nothing: two gates, each with a cause of its own. */
class Blocklist {
  checkPending ({ direction }: PendingConnection) {
    return direction === 'inbound' ? new ConnectionDenied(tooMany) : undefined
  }

  async checkEstablished (_connection: EstablishedConnection) {
    await Promise.resolve()
    return new ConnectionDenied(blocked)
  }

  commitEstablished (): undefined {}
  block (_peer: PeerId): void {}
}

const parts = {
  limits,
  ping: ping(),
  switched: toggle(limits),
  mapped: mapBehaviour(new Blocklist(), { out: (event: never) => event }),
  group: composeBehaviours({ inner: composeBehaviours({ blocklist: () => new Blocklist() }), quiet: ping() })
}
type Any = Denial<typeof parts>

describe('Denial', () => {
  it('has the paths of those that deny, and no others', () => {
    expectTypeOf<Any['behaviour']>().toEqualTypeOf<'limits' | 'switched' | 'mapped' | 'group.inner.blocklist'>()
    expectTypeOf<Any['stage']>().toEqualTypeOf<'pending' | 'established'>()
    expectTypeOf<Any['direction']>().toEqualTypeOf<Direction>()
  })

  it('narrows its cause by the path, also destructured', () => {
    const narrow = ({ behaviour, cause }: Any): void => {
      if (behaviour === 'limits' || behaviour === 'switched') {
        expectTypeOf(cause).toEqualTypeOf<LimitExceededError>()
      } else {
        expectTypeOf(cause).toEqualTypeOf<LimitExceededError | BlockedError>()
        // @ts-expect-error -- only one of the two has it
        cause.limit
      }
    }
    expectTypeOf(narrow).toBeFunction()
  })

  it('is never for behaviours that let everybody pass', () => {
    expectTypeOf<Denial<{ ping: Ping }>>().toBeNever()
  })
})

describe('ConnectionDenied', () => {
  it('keeps the type of its cause, and finds others', () => {
    const denied = new ConnectionDenied(tooMany)
    expectTypeOf(denied.cause).toEqualTypeOf<LimitExceededError>()
    expectTypeOf(denied.find((cause): cause is BlockedError => cause.name === 'BlockedError')).toEqualTypeOf<BlockedError | undefined>()
    // @ts-expect-error -- a cause is an error
    new ConnectionDenied('full')
  })
})

describe('gates of a behaviour', () => {
  it('deny with the cause that it declares, now or later', () => {
    const behaviour: NetworkBehaviour<never, never, never, LimitExceededError> = {
      checkPending: async (attempt) => {
        expectTypeOf(attempt.addresses).toEqualTypeOf<readonly Multiaddr[]>()
        expectTypeOf(attempt.peer).toEqualTypeOf<PeerId | undefined>()
        expectTypeOf(attempt.signal).toEqualTypeOf<AbortSignal>()
        return Promise.resolve(new ConnectionDenied(tooMany))
      },
      commitPending: () => undefined,
      checkEstablished: ({ peer }) => {
        expectTypeOf(peer).toEqualTypeOf<PeerId>()
        return new ConnectionDenied(tooMany)
      },
      commitEstablished: () => new ConnectionDenied(tooMany),
      rollback: (attempt, cause) => {
        expectTypeOf(attempt).toEqualTypeOf<PendingConnection | EstablishedConnection>()
        expectTypeOf(cause).toBeUnknown()
      }
    }
    expectTypeOf(behaviour.checkPending).toEqualTypeOf<((attempt: PendingConnection) => Check<LimitExceededError>) | undefined>()
  })

  it('do not deny otherwise', () => {
    const wrongCause: NetworkBehaviour<never, never, never, LimitExceededError> = {
      commitEstablished: () => undefined,
      // @ts-expect-error -- another cause
      checkPending: () => new ConnectionDenied(blocked)
    }
    const undeclared: NetworkBehaviour = {
      commitEstablished: () => undefined,
      // @ts-expect-error -- it declares none
      checkPending: () => new ConnectionDenied(tooMany)
    }
    const asynchronousCommit: NetworkBehaviour<never, never, never, LimitExceededError> = {
      commitEstablished: () => undefined,
      // @ts-expect-error -- a commit does not wait
      commitPending: async () => Promise.resolve(undefined)
    }
    // @ts-expect-error -- true is no denial
    const yes: NetworkBehaviour = { commitEstablished: () => undefined, checkPending: () => true }
    expectTypeOf([wrongCause, undeclared, asynchronousCommit, yes]).toBeArray()
  })
})

describe('toggle()', () => {
  it('keeps events, and has commands of its own beside those of the wrapped one', () => {
    const switched = toggle(ping(), { enabled: false })
    expectTypeOf(switched).toEqualTypeOf<Toggle<Ping>>()
    expectTypeOf<EventOf<typeof switched>>().toEqualTypeOf<PingEvent>()
    expectTypeOf<keyof Commands<typeof switched>>().toEqualTypeOf<'enabled' | 'enable' | 'disable' | 'inner'>()
    expectTypeOf<keyof Commands<typeof switched>['inner']>().toEqualTypeOf<'ping'>()
    expectTypeOf<EventOf<Toggle<(components: SwarmComponents) => Ping>>>().toEqualTypeOf<PingEvent>()
    // @ts-expect-error -- a number is no behaviour
    toggle(1)
    // @ts-expect-error -- there is no such option
    toggle(ping(), { on: true })
  })
})

interface Say { readonly text: string }
class Chat implements NetworkBehaviour<'said', Say> {
  readonly #out = new Outbox<ToSwarm<'said', Say>>()
  commitEstablished (): undefined {}
  poll (cx: PollContext): Poll<ToSwarm<'said', Say>> { return this.#out.poll(cx) }
}

describe('mapBehaviour()', () => {
  it('has the events that its map gives', () => {
    const mapped = mapBehaviour(new Chat(), {
      out: (event) => {
        expectTypeOf(event).toEqualTypeOf<'said'>()
        return { kind: event } as const
      },
      in: (message) => {
        expectTypeOf(message).toEqualTypeOf<Say>()
        return { text: message.text.trim() }
      }
    })
    expectTypeOf(mapped).toEqualTypeOf<WrappedBehaviour<Chat, { readonly kind: 'said' }>>()
    expectTypeOf<BehaviourEvent<{ chat: typeof mapped }>['event']>().toEqualTypeOf<{ readonly kind: 'said' }>()
    expectTypeOf<EventOf<WrappedBehaviour<Ping>>>().toEqualTypeOf<PingEvent>()
    // @ts-expect-error -- the handlers do not understand that
    mapBehaviour(new Chat(), { in: () => 1 })
  })
})

describe('mapHandler()', () => {
  it('has the events that its map takes and gives', () => {
    const handler = {
      listenProtocols: () => [],
      onConnectionEvent: () => {},
      onBehaviourEvent: (_event: Say) => {},
      poll: (_cx: PollContext): Poll<{ type: 'notify-behaviour', event: number }> => ({ type: 'notify-behaviour', event: 1 })
    }
    const mapped = mapHandler(handler, {
      in: (text: string) => ({ text }),
      out: (event) => {
        expectTypeOf(event).toEqualTypeOf<number>()
        return String(event)
      }
    })
    expectTypeOf(mapped).toExtend<AnyHandler<string, string>>()
    expectTypeOf(mapped.onBehaviourEvent).toEqualTypeOf<ConnectionHandler<string, string>['onBehaviourEvent']>()
    expectTypeOf(mapHandler(handler, {})).toExtend<AnyHandler<Say, number>>()
    // @ts-expect-error -- the handler wants text
    mapHandler(handler, { in: (value: number) => value })
  })
})

const makeNode = async () => await createLibp2p(withSwarm({}, {
  behaviours: { limits: toggle(limits), group: composeBehaviours({ chat: toggle(protocolBehaviour({ protocols: '/chat', commands: () => ({ say: (text: string) => text.length }) })) }) }
}))
declare const node: Awaited<ReturnType<typeof makeNode>>
declare const peer: PeerId
declare const address: Multiaddr

describe('a swarm', () => {
  const { swarm } = node.services

  it('tells of denials and failures in typed events', () => {
    swarm.addEventListener('connection:denied', ({ detail }) => {
      expectTypeOf(detail.behaviour).toEqualTypeOf<'limits'>()
      expectTypeOf(detail.cause.limit).toEqualTypeOf<number>()
    })
    swarm.addEventListener('dial:failure', ({ detail }) => { expectTypeOf(detail).toEqualTypeOf<DialFailure>() })
    swarm.addEventListener('listen:failure', ({ detail }) => { expectTypeOf(detail).toEqualTypeOf<ListenFailure>() })
  })

  it('has commands of wrappers and of what they wrap', () => {
    expectTypeOf(swarm.behaviours.limits.enabled).toEqualTypeOf<boolean>()
    expectTypeOf(swarm.behaviours.limits.inner.bypass).parameters.toEqualTypeOf<[peer: PeerId]>()
    expectTypeOf(swarm.behaviours.group.chat.inner.say('x')).toEqualTypeOf<number>()
    // @ts-expect-error -- the wrapped one is reached through inner
    swarm.behaviours.limits.bypass
    // @ts-expect-error -- gates are the swarm's
    swarm.behaviours.limits.checkPending
  })

  it('dials peers and addresses, and disconnects peers', () => {
    expectTypeOf(swarm.dial(peer, { condition: 'always', signal: undefined, timeoutMs: undefined })).resolves.toEqualTypeOf<SwarmConnection>()
    expectTypeOf(swarm.dial([address])).resolves.toEqualTypeOf<SwarmConnection>()
    expectTypeOf(swarm.disconnect(peer, { timeoutMs: 1000 })).resolves.toBeVoid()
    // @ts-expect-error -- there is no such condition
    void swarm.dial(peer, { condition: 'sometimes' })
    // @ts-expect-error -- a string is no target
    void swarm.dial('/memory/a')
    // @ts-expect-error -- an address is no peer
    void swarm.disconnect(address)
  })
})
