/** What the short forms infer (S4.17, S7.17), and what must not compile. */

import { describe, expectTypeOf, it } from 'vitest'
import { asyncUpgrade, composeBehaviours, composeHandlers, oneShotHandler, protocolBehaviour, protocolHandler } from 'libp2p-behaviours'
import { ping } from 'libp2p-behaviours/ping'
import { requestResponse } from 'libp2p-behaviours/request-response'
import type { PeerId } from '@libp2p/interface'
import type {
  CallOptions, Commands, ConnectionEvent, ConnectionHandler, ConnectionId, EventOf, HandlerOutput, NegotiatedStream, NetworkBehaviour, OpenStream,
  Poll, PollContext
} from 'libp2p-behaviours'
import type { PingEvent } from 'libp2p-behaviours/ping'

declare function linesOf (stream: NegotiatedStream): AsyncGenerator<string>

const chat = () => protocolBehaviour({
  protocols: ['/chat/1.0.0'],
  async * inbound (stream) {
    for await (const text of linesOf(stream)) {
      yield { type: 'message', text }
    }
  },
  commands: ({ open }) => ({
    async say (peer: PeerId, text: string, options?: CallOptions): Promise<void> {
      const stream = await open(peer, options)
      stream.send(new TextEncoder().encode(`${text}\n`))
      await stream.close()
    }
  })
})

describe('protocolBehaviour', () => {
  it('infers events from yields, literal types included', () => {
    expectTypeOf<EventOf<ReturnType<typeof chat>>>().toEqualTypeOf<{ readonly type: 'message', readonly text: string }>()
    const several = protocolBehaviour({
      protocols: '/x',
      async * inbound (stream) {
        yield { type: 'begin' }
        yield { type: 'end', bytes: stream.readBufferLength }
      }
    })
    expectTypeOf<EventOf<typeof several>['type']>().toEqualTypeOf<'begin' | 'end'>()
  })

  it('gives its callback a stream and a context', () => {
    protocolBehaviour({
      protocols: '/x',
      async inbound (stream, { peer, connection, protocol, signal }) {
        expectTypeOf(stream).toEqualTypeOf<NegotiatedStream>()
        expectTypeOf(peer).toEqualTypeOf<PeerId>()
        expectTypeOf(connection).toEqualTypeOf<ConnectionId>()
        expectTypeOf(protocol).toEqualTypeOf<string>()
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
        await stream.close()
      }
    })
  })

  it('has the commands that were made, and no others', () => {
    type ChatCommands = Commands<ReturnType<typeof chat>>
    expectTypeOf<keyof ChatCommands>().toEqualTypeOf<'say'>()
    expectTypeOf<ChatCommands['say']>().toExtend<(peer: PeerId, text: string, options?: CallOptions) => Promise<void>>()
    expectTypeOf<Parameters<ChatCommands['say']>['length']>().toEqualTypeOf<2 | 3>()
    const none = protocolBehaviour({ protocols: '/x' })
    expectTypeOf(none).not.toHaveProperty('open')
    expectTypeOf<EventOf<typeof none>>().toBeNever()
  })

  it('composes, as a value and as a function', () => {
    const composed = composeBehaviours({ chat, again: chat(), ping: ping() })
    type Event = EventOf<typeof composed>
    expectTypeOf<Extract<Event, { behaviour: 'chat' }>['event']['type']>().toEqualTypeOf<'message'>()
    expectTypeOf<Extract<Event, { behaviour: 'ping' }>['event']>().toEqualTypeOf<PingEvent>()
  })

  it('infers the same where it is written, in a composition or in a node', () => {
    const composed = composeBehaviours({
      chat: protocolBehaviour({
        protocols: '/chat/1.0.0',
        async * inbound (stream) {
          for await (const text of linesOf(stream)) {
            yield { type: 'message', text }
          }
        },
        commands: ({ open }) => ({ open })
      }),
      client: protocolBehaviour({ protocols: '/client/1.0.0' })
    })
    expectTypeOf<EventOf<typeof composed>['behaviour']>().toEqualTypeOf<'chat'>()
    expectTypeOf<EventOf<typeof composed>['event']>().toEqualTypeOf<{ readonly type: 'message', readonly text: string }>()
    expectTypeOf<keyof Commands<typeof composed>['chat']>().toEqualTypeOf<'open'>()
  })

  it('is a behaviour', () => {
    expectTypeOf<ReturnType<typeof chat>>().toExtend<NetworkBehaviour<{ readonly type: 'message', readonly text: string }, unknown, unknown>>()
  })

  it('refuses wrong options', () => {
    // @ts-expect-error -- protocols are missing
    protocolBehaviour({})
    // @ts-expect-error -- protocols are strings
    protocolBehaviour({ protocols: [1] })
    // @ts-expect-error -- a callback takes a stream
    protocolBehaviour({ protocols: '/x', inbound (stream: string) { return stream } })
    // @ts-expect-error -- there is no such option
    protocolBehaviour({ protocols: '/x', lazy: true })
  })
})

describe('protocolHandler', () => {
  it('infers its events, and takes open-stream', () => {
    const handler = protocolHandler({ protocols: '/x', async * inbound () { yield 1 }, async outbound (stream) { await stream.close() } })
    handler.onBehaviourEvent?.({ type: 'open-stream', protocols: ['/x'] })
    // @ts-expect-error -- there is no such command
    handler.onBehaviourEvent?.({ type: 'close-stream' })
    expectTypeOf(handler).toExtend<ConnectionHandler<OpenStream, 1>>()
  })

  it('does not know whose stream it is', () => {
    protocolHandler({
      protocols: '/x',
      // @ts-expect-error -- only protocolBehaviour does
      async inbound (stream, { peer }) {
        await stream.close()
      }
    })
  })
})

describe('composeHandlers', () => {
  it('infers from handlers that are written in place', () => {
    const composed = composeHandlers({
      yielding: protocolHandler({ protocols: '/x', async * inbound () { yield 1 } }),
      silent: protocolHandler({ protocols: '/y' })
    })
    type Outgoing = Extract<ReturnType<NonNullable<typeof composed.poll>>, { type: 'notify-behaviour' }>['event']
    expectTypeOf<Outgoing>().toEqualTypeOf<{ readonly handler: 'yielding', readonly event: 1 }>()
  })

  it('keys events in both directions', () => {
    class Talker implements ConnectionHandler<'speak', 'spoke'> {
      listenProtocols (): readonly string[] { return [] }
      onConnectionEvent (_event: ConnectionEvent): void {}
      onBehaviourEvent (_event: 'speak'): void {}
      poll (cx: PollContext): Poll<HandlerOutput<'spoke'>> { return { type: 'notify-behaviour', event: cx.now > 0 ? 'spoke' : 'spoke' } }
    }
    const composed = composeHandlers({ a: new Talker(), b: new Talker(), mute: { listenProtocols: () => [], onConnectionEvent () {} } })
    type Incoming = Parameters<NonNullable<typeof composed.onBehaviourEvent>>[0]
    expectTypeOf<Incoming>().toEqualTypeOf<{ readonly handler: 'a', readonly event: 'speak' } | { readonly handler: 'b', readonly event: 'speak' }>()
    type Outgoing = Extract<ReturnType<NonNullable<typeof composed.poll>>, { type: 'notify-behaviour' }>['event']
    expectTypeOf<Outgoing>().toEqualTypeOf<{ readonly handler: 'a', readonly event: 'spoke' } | { readonly handler: 'b', readonly event: 'spoke' }>()
    composed.onBehaviourEvent?.({ handler: 'a', event: 'speak' })
    // @ts-expect-error -- no part has this key
    composed.onBehaviourEvent?.({ handler: 'c', event: 'speak' })
  })

  it('knows parts that come later, when their types are named', () => {
    class Chat implements ConnectionHandler<'say', 'said'> {
      listenProtocols (): readonly string[] { return [] }
      onConnectionEvent (_event: ConnectionEvent): void {}
      onBehaviourEvent (_event: 'say'): void {}
      poll (cx: PollContext): Poll<HandlerOutput<'said'>> { return { type: 'notify-behaviour', event: cx.now > 0 ? 'said' : 'said' } }
    }
    class Files implements ConnectionHandler<'get', 'got'> {
      listenProtocols (): readonly string[] { return [] }
      onConnectionEvent (_event: ConnectionEvent): void {}
      onBehaviourEvent (_event: 'get'): void {}
      poll (cx: PollContext): Poll<HandlerOutput<'got'>> { return { type: 'notify-behaviour', event: cx.now > 0 ? 'got' : 'got' } }
    }
    const composed = composeHandlers<{ chat: Chat, files?: Files }>({ chat: new Chat() })
    type Incoming = Parameters<NonNullable<typeof composed.onBehaviourEvent>>[0]
    expectTypeOf<Incoming>().toEqualTypeOf<{ readonly handler: 'chat', readonly event: 'say' } | { readonly handler: 'files', readonly event: 'get' }>()
    type Outgoing = Extract<ReturnType<NonNullable<typeof composed.poll>>, { type: 'notify-behaviour' }>['event']
    expectTypeOf<Outgoing>().toEqualTypeOf<{ readonly handler: 'chat', readonly event: 'said' } | { readonly handler: 'files', readonly event: 'got' }>()
    composed.add('files', new Files())
    expectTypeOf(composed.remove('files')).toEqualTypeOf<boolean>()
    // @ts-expect-error -- that is no handler of this kind
    composed.add('files', 'no handler')
    // @ts-expect-error -- no part has this key
    composed.add('other', new Chat())
    // @ts-expect-error -- no part has this key
    composed.remove('other')
    // @ts-expect-error -- chat is there from the beginning
    composeHandlers<{ chat: Chat, files?: Files }>({})
    const many = composeHandlers<Record<string, Chat>>({})
    many.add('room 1', new Chat())
    many.onBehaviourEvent?.({ handler: 'room 1', event: 'say' })
  })
})

describe('oneShotHandler', () => {
  it('infers messages and outputs from its upgrades', () => {
    const handler = oneShotHandler({
      protocols: '/note/1.0.0',
      outbound: (stream, text: string) => asyncUpgrade(async () => {
        expectTypeOf(stream).toEqualTypeOf<NegotiatedStream>()
        await stream.close()
        return text.length
      }),
      inbound: (stream, protocol) => asyncUpgrade(signal => Promise.resolve({ protocol, isOver: signal.aborted, status: stream.status }))
    })
    const composed = composeHandlers({ notes: handler })
    type Incoming = Parameters<NonNullable<typeof composed.onBehaviourEvent>>[0]
    expectTypeOf<Incoming>().toEqualTypeOf<{ readonly handler: 'notes', readonly event: string }>()
    type Outgoing = Extract<ReturnType<NonNullable<typeof composed.poll>>, { type: 'notify-behaviour' }>['event']['event']
    expectTypeOf<Extract<Outgoing, { type: 'sent' }>['output']>().toEqualTypeOf<number>()
    expectTypeOf<Extract<Outgoing, { type: 'failed' }>['message']>().toEqualTypeOf<string>()
    expectTypeOf<Extract<Outgoing, { type: 'received' }>['output']['isOver']>().toEqualTypeOf<boolean>()
    // @ts-expect-error -- what sends a message is missing
    oneShotHandler({ protocols: '/note/1.0.0' })
  })
})

describe('requestResponse', () => {
  it('takes and gives bytes', () => {
    requestResponse({
      protocols: '/files/1.0.0',
      serve: (request, { peer, signal }) => {
        expectTypeOf(request).toEqualTypeOf<Uint8Array>()
        expectTypeOf(peer).toEqualTypeOf<PeerId>()
        return signal.aborted ? request : Promise.resolve(request)
      }
    })
    // @ts-expect-error -- a response is bytes
    requestResponse({ protocols: '/files/1.0.0', serve: () => 'text' })
    // @ts-expect-error -- protocols are missing
    requestResponse({ maxRequestBytes: 10 })
    void requestResponse({ protocols: '/x' }).request({} as PeerId, new Uint8Array(1), { signal: undefined, timeoutMs: 10 })
    // @ts-expect-error -- a request is bytes
    void requestResponse({ protocols: '/x' }).request({} as PeerId, 'text')
  })
})

describe('options', () => {
  it('accept undefined for what is optional, so they can be passed on', () => {
    ping({ intervalMs: undefined, timeoutMs: undefined })
    requestResponse({ protocols: '/x', serve: undefined, timeoutMs: undefined, maxInboundRequests: undefined, runOnLimitedConnection: undefined })
    protocolBehaviour({ protocols: '/x', inbound: undefined, keepAlive: undefined, inboundTimeoutMs: undefined, runOnLimitedConnection: undefined })
  })
})
