/** What composition infers from behaviours that declare nothing, and what must not compile. Shape: S7.1, S7.13, S7.16. */

import { describe, expectTypeOf, it } from 'vitest'
import { Outbox, PENDING, composeBehaviours } from 'libp2p-behaviours'
import { ping } from 'libp2p-behaviours/ping'
import { requestResponse } from 'libp2p-behaviours/request-response'
import type { PeerId } from '@libp2p/interface'
import type {
  BehaviourEvent, Commands, ComposedBehaviour, ConnectionEvent, ConnectionHandler, ConnectionId, EventOf, HandlerOutput, NetworkBehaviour,
  Poll, PollContext, SwarmComponents, ToSwarm
} from 'libp2p-behaviours'
import type { Ping, PingEvent } from 'libp2p-behaviours/ping'
import type { InboundFailure, ReceivedRequest, RequestEvent, RequestResponse } from 'libp2p-behaviours/request-response'

interface Say { readonly text: string }
type ChatEvent =
  | { readonly type: 'message', readonly text: string }
  | { readonly type: 'undelivered', readonly text: string, readonly error: Error }
const CHAT: readonly string[] = Object.freeze(['/chat/1.0.0'])

/** A class says nothing about its events but in its methods. */
class ChatHandler implements ConnectionHandler<Say, ChatEvent, Say> {
  readonly #out = new Outbox<HandlerOutput<ChatEvent, Say>>()

  listenProtocols (): readonly string[] { return CHAT }
  poll (cx: PollContext): Poll<HandlerOutput<ChatEvent, Say>> { return this.#out.poll(cx) }
  onBehaviourEvent (say: Say): void { this.#out.push({ type: 'outbound-stream-request', protocols: CHAT, info: say }) }

  async onConnectionEvent (event: ConnectionEvent<Say>): Promise<void> {
    switch (event.type) {
      case 'fully-negotiated-inbound':
        for await (const chunk of event.stream) {
          this.#out.push({ type: 'notify-behaviour', event: { type: 'message', text: `${chunk.byteLength} bytes` } })
        }
        break
      case 'fully-negotiated-outbound':
        event.stream.send(new TextEncoder().encode(event.info.text))
        event.stream.ignoreForKeepAlive()
        await event.stream.close()
        break
      case 'dial-upgrade-error':
        this.#out.push({ type: 'notify-behaviour', event: { type: 'undelivered', text: event.info.text, error: event.error } })
        break
      case 'address-change':
        expectTypeOf(event.address.toString()).toEqualTypeOf<string>()
        break
      case 'listen-upgrade-error':
      case 'local-protocols-change':
      case 'remote-protocols-change':
    }
  }
}

class Chat implements NetworkBehaviour<ChatEvent, Say, ChatEvent> {
  readonly protocols = CHAT
  readonly #out = new Outbox<ToSwarm<ChatEvent, Say>>()

  get waiting (): number { return this.#out.size }
  say (peer: PeerId, text: string): void { this.#out.push({ type: 'notify-handler', peer, connection: 'any', event: { text } }) }
  commitEstablished (): ChatHandler { return new ChatHandler() }
  onHandlerEvent (peer: PeerId, connection: ConnectionId, event: ChatEvent): void { this.#out.push({ type: 'event', peer, connection, event }) }
  poll (cx: PollContext): Poll<ToSwarm<ChatEvent, Say>> { return this.#out.poll(cx) }
}

/** A behaviour that emits nothing. */
const silent = { commitEstablished: () => undefined, count: 1 }

/** A literal, whose only declaration is what `poll` returns. */
const ticker = {
  commitEstablished: () => undefined,
  poll: (cx: PollContext): Poll<ToSwarm<{ type: 'tick', at: number }>> => cx.now < 0 ? PENDING : { type: 'event', event: { type: 'tick', at: cx.now } }
}

describe('EventOf', () => {
  it('is read from poll', () => {
    expectTypeOf<EventOf<Chat>>().toEqualTypeOf<ChatEvent>()
    expectTypeOf<EventOf<typeof ticker>>().toEqualTypeOf<{ type: 'tick', at: number }>()
    expectTypeOf<EventOf<Ping>>().toEqualTypeOf<PingEvent>()
    expectTypeOf<EventOf<RequestResponse>>().toEqualTypeOf<RequestEvent>()
  })

  it('is never for a behaviour that emits nothing', () => {
    expectTypeOf<EventOf<typeof silent>>().toBeNever()
  })

  it('looks through functions of the components', () => {
    expectTypeOf<EventOf<(components: SwarmComponents) => Chat>>().toEqualTypeOf<ChatEvent>()
    expectTypeOf<EventOf<() => Ping>>().toEqualTypeOf<PingEvent>()
  })
})

describe('composeBehaviours', () => {
  const parts = {
    chat: new Chat(),
    ping: ping(),
    files: (components: SwarmComponents) => requestResponse({ protocols: `/files/${components.peerId.toString()}` }),
    silent,
    group: composeBehaviours({ inner: ticker, deep: composeBehaviours({ pong: () => ping() }) })
  }
  const composed = composeBehaviours(parts)
  type Event = BehaviourEvent<typeof parts>

  it('types events by key, and leaves out the silent', () => {
    expectTypeOf<Event['behaviour']>().toEqualTypeOf<'chat' | 'ping' | 'files' | 'group'>()
    expectTypeOf<EventOf<typeof composed>>().toEqualTypeOf<Event>()
  })

  it('narrows event by behaviour, also destructured', () => {
    const narrow = ({ behaviour, peer, connection, event }: Event): void => {
      expectTypeOf(peer).toEqualTypeOf<PeerId>()
      expectTypeOf(connection).toEqualTypeOf<ConnectionId | undefined>()
      switch (behaviour) {
        case 'chat':
          expectTypeOf(event).toEqualTypeOf<ChatEvent>()
          break
        case 'ping':
          expectTypeOf(event).toEqualTypeOf<PingEvent>()
          break
        case 'files':
          expectTypeOf(event).toEqualTypeOf<ReceivedRequest | InboundFailure>()
          break
        case 'group':
          if (event.behaviour === 'inner') {
            expectTypeOf(event.event.at).toEqualTypeOf<number>()
          } else {
            expectTypeOf(event.event.behaviour).toEqualTypeOf<'pong'>()
            expectTypeOf(event.event.event).toEqualTypeOf<PingEvent>()
          }
      }
    }
    expectTypeOf(narrow).toBeFunction()
  })

  it('keeps the record', () => {
    expectTypeOf(composed.parts.chat).toEqualTypeOf<Chat>()
  })

  it('of an inline record infers as well', () => {
    const inline = composeBehaviours({ a: ping(), b: ticker })
    expectTypeOf<EventOf<typeof inline>['behaviour']>().toEqualTypeOf<'a' | 'b'>()
  })

  it('refuses what is no behaviour', () => {
    // @ts-expect-error -- a number is no behaviour
    composeBehaviours({ a: 1 })
    // @ts-expect-error -- commitEstablished is missing
    composeBehaviours({ a: { poll: () => PENDING } })
    // @ts-expect-error -- the function returns none
    composeBehaviours({ a: () => 'behaviour' })
    // @ts-expect-error -- a handler is no behaviour
    composeBehaviours({ a: new ChatHandler() })
  })
})

describe('requestResponse', () => {
  interface Question { readonly text: string }
  interface Answer { readonly count: number }
  const codec = {
    encodeRequest: ({ text }: Question): Uint8Array => new TextEncoder().encode(text),
    decodeRequest: (bytes: Uint8Array): Question => ({ text: new TextDecoder().decode(bytes) }),
    encodeResponse: ({ count }: Answer): Uint8Array => Uint8Array.of(count),
    decodeResponse: ([count = 0]: Uint8Array): Answer => ({ count })
  }

  it('has the types of its codec', () => {
    const counting = requestResponse({
      protocols: '/count/1.0.0',
      codec,
      serve: (request) => {
        expectTypeOf(request).toEqualTypeOf<Question>()
        return { count: request.text.length }
      }
    })
    expectTypeOf(counting).toEqualTypeOf<RequestResponse<Question, Answer>>()
    expectTypeOf<EventOf<typeof counting>>().toEqualTypeOf<ReceivedRequest<Question, Answer> | InboundFailure>()
    expectTypeOf(counting.request).parameter(1).toEqualTypeOf<Question>()
    expectTypeOf(counting.request).returns.resolves.toEqualTypeOf<Answer>()
    expectTypeOf(composeBehaviours({ counting }).parts.counting).toEqualTypeOf<typeof counting>()
  })

  it('infers the parameters of a codec that is written in place', () => {
    expectTypeOf(requestResponse({
      protocols: '/count/1.0.0',
      codec: { ...codec, decodeRequest: (bytes) => ({ text: String(bytes) }), decodeResponse: (bytes) => ({ count: bytes.length }) },
      serve: ({ text }) => ({ count: text.length })
    })).toEqualTypeOf<RequestResponse<Question, Answer>>()
  })

  it('takes bytes without one', () => {
    expectTypeOf(requestResponse({ protocols: '/a', serve: (request) => request })).toEqualTypeOf<RequestResponse>()
    // @ts-expect-error -- a text is no response without a codec
    requestResponse({ protocols: '/a', serve: () => 'text' })
    // @ts-expect-error -- the codec speaks of other responses
    requestResponse({ protocols: '/a', codec, serve: (request) => request })
    // @ts-expect-error -- half a codec
    requestResponse({ protocols: '/a', codec: { encodeRequest: codec.encodeRequest } })
  })
})

describe('Commands', () => {
  it('are the public members that are not of the contract', () => {
    expectTypeOf<keyof Commands<Chat>>().toEqualTypeOf<'say' | 'waiting'>()
    expectTypeOf<keyof Commands<Ping>>().toEqualTypeOf<'ping'>()
    expectTypeOf<keyof Commands<() => RequestResponse>>().toEqualTypeOf<'request'>()
    expectTypeOf<keyof Commands<typeof silent>>().toEqualTypeOf<'count'>()
  })

  it('keep their signatures', () => {
    expectTypeOf<Commands<Chat>['say']>().parameters.toEqualTypeOf<[peer: PeerId, text: string]>()
    expectTypeOf<Commands<Ping>['ping']>().returns.toEqualTypeOf<Promise<number>>()
    expectTypeOf<Commands<RequestResponse>['request']>().returns.resolves.toEqualTypeOf<Uint8Array>()
  })

  it('of a nested composition are its keys', () => {
    type MakeChat = () => Chat
    type Nested = Commands<ComposedBehaviour<{ a: Ping, group: ComposedBehaviour<{ b: MakeChat }> }>>
    expectTypeOf<keyof Nested>().toEqualTypeOf<'a' | 'group'>()
    expectTypeOf<keyof Nested['group']>().toEqualTypeOf<'b'>()
    expectTypeOf<Nested['group']['b']['say']>().toBeFunction()
  })

  it('leave out what the swarm calls', () => {
    const commands = {} as Commands<Chat>
    // @ts-expect-error -- poll is the swarm's
    commands.poll
    // @ts-expect-error -- so is commitEstablished
    commands.commitEstablished
  })
})

describe('a behaviour', () => {
  it('gets the types of its parameters in a literal', () => {
    const literal: NetworkBehaviour<'event', Say, ChatEvent> = {
      commitEstablished: (connection) => {
        expectTypeOf(connection.peer).toEqualTypeOf<PeerId>()
        return connection.limits === undefined ? new ChatHandler() : undefined
      },
      onHandlerEvent: (_peer, _connection, event) => {
        expectTypeOf(event).toEqualTypeOf<ChatEvent>()
      },
      poll: (cx) => {
        cx.wakeAt(cx.now + 15_000)
        return { type: 'event', event: 'event' }
      }
    }
    expectTypeOf(literal).toExtend<NetworkBehaviour<'event', Say, ChatEvent>>()
  })

  it('cannot emit, or send, what its types leave out', () => {
    const wrongEvent: NetworkBehaviour<'event'> = {
      commitEstablished: () => undefined,
      // @ts-expect-error -- emits something else
      poll: (): Poll<ToSwarm<'other'>> => PENDING
    }
    const out = new Outbox<ToSwarm<ChatEvent, Say>>()
    const peer = {} as PeerId
    // @ts-expect-error -- the message has no text
    out.push({ type: 'notify-handler', peer, connection: 'any', event: {} })
    // @ts-expect-error -- a message needs a peer
    out.push({ type: 'notify-handler', connection: 'any', event: { text: 'x' } })
    // @ts-expect-error -- there is no such command
    out.push({ type: 'explode' })
    expectTypeOf(wrongEvent).toBeObject()
  })

  it('must give a handler, or nothing', () => {
    const wrongHandler: NetworkBehaviour = {
      // @ts-expect-error -- a handler has onConnectionEvent
      commitEstablished: () => ({ listenProtocols: () => [] })
    }
    expectTypeOf(wrongHandler).toBeObject()
  })
})

describe('a handler', () => {
  it('must send info with a request as soon as its type leaves out undefined (S4.2)', () => {
    const out = new Outbox<HandlerOutput<ChatEvent, Say>>()
    out.push({ type: 'outbound-stream-request', protocols: CHAT, info: { text: 'x' }, timeoutMs: undefined })
    // @ts-expect-error -- info is missing
    out.push({ type: 'outbound-stream-request', protocols: CHAT })
    // @ts-expect-error -- info is something else
    out.push({ type: 'outbound-stream-request', protocols: CHAT, info: 1 })

    const plain = new Outbox<HandlerOutput<never>>()
    plain.push({ type: 'outbound-stream-request', protocols: CHAT })
    // @ts-expect-error -- it tells its behaviour nothing
    plain.push({ type: 'notify-behaviour', event: 1 })
  })
})
