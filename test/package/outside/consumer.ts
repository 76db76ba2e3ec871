/**
 * What somebody writes who has installed the package: every type here is inferred by the published declarations, and each
 * misuse is refused. Type-checked as a project of its own, with the declarations of all packages (outside.spec.ts).
 */

/* eslint-disable @typescript-eslint/no-unused-vars, @typescript-eslint/no-unnecessary-type-parameters, @typescript-eslint/no-unsafe-call -- the
   types of things are asked for, not their values */
/* eslint-disable @typescript-eslint/no-unnecessary-type-arguments -- written out, as users do */

import { identify } from '@libp2p/identify'
import { noise } from '@libp2p/noise'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { createLibp2p } from 'libp2p'
import {
  ConnectionDenied, Outbox, PENDING, composeBehaviours, mapBehaviour, negotiated, protocolBehaviour, swarm, toggle, withSwarm
} from 'libp2p-behaviours'
import { ping } from 'libp2p-behaviours/ping'
import { requestResponse } from 'libp2p-behaviours/request-response'
import { streams } from 'libp2p-behaviours/streams'
import type { Identify } from '@libp2p/identify'
import type { PeerId } from '@libp2p/interface'
import type {
  BehaviourEvent, Denial, EstablishedConnection, HandlerOutput, NegotiatedStream, NetworkBehaviour, PendingConnection, Poll,
  PollContext, Swarm, SwarmConnection, SwarmInit, ToSwarm
} from 'libp2p-behaviours'
import type { CallOptions, Ping, PingEvent } from 'libp2p-behaviours/ping'
import type { Streams } from 'libp2p-behaviours/streams'

type Equal<One, Other> = (<Probe>() => Probe extends One ? 1 : 2) extends (<Probe>() => Probe extends Other ? 1 : 2) ? true : false

/** Compiles for equal types only. */
function same<One, Other> (..._proof: Equal<One, Other> extends true ? [] : ['these types differ']): void {}

// ------------------------------------------------------------------------------------------------ behaviours of all kinds

interface TooManyError extends Error {
  readonly name: 'TooManyError'
  readonly limit: number
}
interface BlockedError extends Error {
  readonly name: 'BlockedError'
  readonly peer: PeerId
}

/** Declares nothing but its methods; its two gates deny for different causes. */
class Doorman {
  readonly #tooMany: TooManyError
  readonly #blocked: BlockedError

  constructor (tooMany: TooManyError, blocked: BlockedError) {
    this.#tooMany = tooMany
    this.#blocked = blocked
  }

  checkPending ({ direction }: PendingConnection) {
    return direction === 'inbound' ? new ConnectionDenied(this.#tooMany) : undefined
  }

  async checkEstablished (_connection: EstablishedConnection) {
    await Promise.resolve()
    return new ConnectionDenied(this.#blocked)
  }

  commitEstablished (): undefined {}
  block (_peer: PeerId): void {}
}
declare const doorman: Doorman

interface Say { readonly text: string }
type Said = { readonly type: 'said', readonly text: string } | { readonly type: 'lost', readonly error: Error }

/** The full form. */
class ChatHandler {
  readonly #out = new Outbox<HandlerOutput<Said, Say>>()
  listenProtocols (): readonly string[] { return ['/chat/1.0.0'] }
  poll (cx: PollContext): Poll<HandlerOutput<Said, Say>> { return this.#out.poll(cx) }
  onBehaviourEvent (say: Say): void { this.#out.push({ type: 'outbound-stream-request', protocols: ['/chat/1.0.0'], info: say }) }
  onConnectionEvent (): void {}
}
class Chat implements NetworkBehaviour<Said, Say, Said> {
  readonly #out = new Outbox<ToSwarm<Said, Say>>()
  say (peer: PeerId, text: string): void { this.#out.push({ type: 'notify-handler', peer, connection: 'any', event: { text } }) }
  commitEstablished (): ChatHandler { return new ChatHandler() }
  poll (cx: PollContext): Poll<ToSwarm<Said, Say>> { return this.#out.poll(cx) }
}

/** The short form: what is yielded are the events, what `commands` returns are the commands. */
const shortChat = protocolBehaviour({
  protocols: '/short-chat/1.0.0',
  async * inbound (stream, { peer }) {
    same<typeof stream, NegotiatedStream>()
    for await (const chunk of stream) {
      yield { type: 'heard', bytes: chunk.byteLength, peer }
    }
  },
  commands: ({ open }) => ({
    async say (peer: PeerId, bytes: Uint8Array, options?: CallOptions): Promise<number> {
      const stream = await open(peer, options)
      await stream.write(bytes)
      return bytes.byteLength
    }
  })
})

const parts = {
  ping: ping({ intervalMs: undefined }),
  chat: new Chat(),
  short: shortChat,
  switched: toggle(doorman, { enabled: false }),
  mapped: mapBehaviour(new Chat(), { out: ({ type }) => ({ kind: type }) }),
  group: composeBehaviours({ inner: composeBehaviours({ doorman: () => doorman }), files: requestResponse({ protocols: '/files/1.0.0' }) }),
  streams: streams()
}

// ------------------------------------------------------------------------------------------------ plugged into a node

/** Options are passed on as they are, undefined ones included. */
function limitsFrom (idleTimeoutMs: number | undefined): Omit<SwarmInit<typeof parts>, 'behaviours'> {
  return { idleTimeoutMs, closeTimeoutMs: undefined, eventBufferSize: 16 }
}

interface Library { readonly titles: readonly string[] }
/** A service that wants a swarm with a certain behaviour in it. */
function library ({ swarm }: { swarm: Swarm<{ streams: Streams }> }): Library {
  same<ReturnType<typeof swarm.behaviours.streams.open>, Promise<NegotiatedStream>>()
  return { titles: [] }
}
function needsPing (_components: { swarm: Swarm<{ ping: Ping }> }): object {
  return {}
}

export async function createNode () {
  return await createLibp2p(withSwarm({
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    services: { identify: identify(), library }
  }, { behaviours: parts, ...limitsFrom(undefined) }))
}

export async function byHand () {
  return await createLibp2p({ streamMuxers: [negotiated(yamux())], services: { swarm: swarm({ behaviours: { ping: ping() } }), identify: identify() } })
}
same<Awaited<ReturnType<typeof byHand>>['services']['swarm'], Swarm<{ readonly ping: Ping }>>()

type Services = Awaited<ReturnType<typeof createNode>>['services']
same<keyof Services, 'identify' | 'library' | 'swarm'>()
same<Services['identify'], Identify>()
same<Services['library'], Library>()

// ------------------------------------------------------------------------------------------------ what is inferred

export async function use ({ swarm }: Services, peer: PeerId, options: { signal?: AbortSignal | undefined, timeoutMs?: number | undefined }): Promise<void> {
  for await (const { behaviour, event } of swarm.events()) {
    switch (behaviour) {
      case 'ping':
        same<typeof event, PingEvent>()
        break
      case 'chat':
        same<typeof event, Said>()
        break
      case 'short':
        same<typeof event, { readonly type: 'heard', readonly bytes: number, readonly peer: PeerId }>()
        break
      case 'mapped':
        same<typeof event.kind, 'said' | 'lost'>()
        break
      case 'group':
        same<typeof event.behaviour, 'files'>()
        break
      case 'streams':
        same<typeof event.type, 'stream-rejected'>()
    }
    // @ts-expect-error -- a behaviour without events is not among them
    behaviour === 'switched' // eslint-disable-line @typescript-eslint/no-unused-expressions -- the case
  }
  for await (const { behaviour } of swarm.events({ behaviour: ['ping', 'chat'], signal: undefined })) {
    same<typeof behaviour, 'ping' | 'chat'>()
  }
  swarm.addEventListener('connection:denied', ({ detail }) => {
    if (detail.behaviour === 'switched' && detail.cause.name === 'TooManyError') {
      same<typeof detail.cause.limit, number>()
    }
    if (detail.behaviour === 'group.inner.doorman' && detail.cause.name === 'BlockedError') {
      same<typeof detail.cause.peer, PeerId>()
    }
  })
  same<Denial<typeof parts>['behaviour'], 'switched' | 'group.inner.doorman'>()
  same<BehaviourEvent<typeof parts>['behaviour'], 'ping' | 'chat' | 'short' | 'mapped' | 'group' | 'streams'>()

  const { behaviours } = swarm
  same<ReturnType<typeof behaviours.ping.ping>, Promise<number>>()
  same<Parameters<typeof behaviours.chat.say>, [peer: PeerId, text: string]>()
  same<ReturnType<typeof behaviours.short.say>, Promise<number>>()
  same<Parameters<typeof behaviours.switched.inner.block>, [peer: PeerId]>()
  same<typeof behaviours.switched.enabled, boolean>()
  same<Parameters<typeof behaviours.mapped.inner.say>, [peer: PeerId, text: string]>()
  same<Parameters<typeof behaviours.group.inner.doorman.block>, [peer: PeerId]>()
  same<ReturnType<typeof behaviours.group.files.request>, Promise<Uint8Array>>()
  same<ReturnType<typeof swarm.dial>, Promise<SwarmConnection>>()
  await behaviours.ping.ping(peer, options)
  await swarm.dial(peer, { ...options, condition: 'disconnected' })
  needsPing({ swarm })

  // @ts-expect-error -- what the swarm calls is no command
  behaviours.chat.poll // eslint-disable-line @typescript-eslint/no-unused-expressions -- the case
  // @ts-expect-error -- there is no such behaviour
  behaviours.chess // eslint-disable-line @typescript-eslint/no-unused-expressions -- the case
  // @ts-expect-error -- the wrapped one is reached through inner
  behaviours.switched.block(peer)
  // @ts-expect-error -- a text is no peer
  void behaviours.ping.ping('peer')
  // @ts-expect-error -- there is no such condition
  void swarm.dial(peer, { condition: 'sometimes' })
  // @ts-expect-error -- there is no such event
  swarm.addEventListener('connection:lost', () => {})
  // @ts-expect-error -- this swarm has no such behaviour
  swarm.events({ behaviour: 'chess' })
}

// ------------------------------------------------------------------------------------------------ what is refused

// @ts-expect-error -- a text is no behaviour
withSwarm({}, { behaviours: { ping: 'ping' } })
// @ts-expect-error -- behaviours are missing
withSwarm({}, {})
// @ts-expect-error -- there is no such option
withSwarm({}, { behaviours: {}, idleTimeout: 10 })
// @ts-expect-error -- no behaviour has this command
withSwarm({ services: { library } }, { behaviours: { ping: ping() } })
// @ts-expect-error -- there is no such option
ping({ interval: 10 })
// @ts-expect-error -- a number is no behaviour
toggle(1)
// @ts-expect-error -- the handlers do not understand that
mapBehaviour(new Chat(), { in: () => 1 })
// @ts-expect-error -- a request needs its info
new Outbox<HandlerOutput<Said, Say>>().push({ type: 'outbound-stream-request', protocols: [] })

/** A poll whose only answer is PENDING has its type written out. */
export class Silent implements NetworkBehaviour {
  commitEstablished (): undefined {}
  poll (): Poll<ToSwarm<never, never>> { return PENDING }
}

/** Emits what it does not declare. */
export class Wrong implements NetworkBehaviour<'said'> {
  commitEstablished (): undefined {}
  // @ts-expect-error -- its events are texts
  poll (): Poll<ToSwarm<number, never>> { return { type: 'event', event: 1 } }
}
