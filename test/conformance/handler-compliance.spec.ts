import { describe, expect, it } from 'vitest'
import { IdentifyHandler } from '../../src/behaviours/identify-handler.ts'
import { IdentifyHost } from '../../src/behaviours/identify-host.ts'
import { PingHandler } from '../../src/behaviours/ping-handler.ts'
import { oneShotHandler } from '../../src/behaviours/one-shot-handler.ts'
import { protocolHandler } from '../../src/behaviours/protocol-handler.ts'
import { RequestHandler } from '../../src/behaviours/request-handler.ts'
import { streams } from '../../src/behaviours/streams.ts'
import { Calls } from '../../src/behaviours/calls.ts'
import { BYTES } from '../../src/behaviours/codec.ts'
import { PENDING } from '../../src/core/poll.ts'
import { composeHandlers } from '../../src/handler/compose.ts'
import { ProtocolList } from '../../src/protocols/index.ts'
import { RecordingHandler, handlerComplianceSuite } from '../../src/testing/index.ts'
import { identifyComponents } from '../support/identify-components.ts'
import { ALICE, NEVER_ABORTED, SOMEWHERE } from '../support/virtual-world.ts'
import type { PollContext, ProtocolsChange } from 'libp2p-behaviours'
import type { AnyHandler } from '../../src/behaviour/connection-handler.ts'
import type { ComplianceSubject } from '../../src/testing/index.ts'
import type { ConnectionEvent } from '../../src/handler/connection-handler.ts'
import type { StreamUpgrade } from '../../src/handler/stream-upgrade.ts'

const runner = { describe, it }

const ping = () => new PingHandler({ intervalMs: 1000, jitterMs: 100, timeoutMs: 500, maxFailures: 3 }, () => 0.5)
const openStream = { type: 'open-stream' } as const

const connection = { id: 'c1', peer: ALICE, direction: 'outbound', address: SOMEWHERE, limits: undefined, signal: NEVER_ABORTED } as const

function requestHandler (): RequestHandler<Uint8Array, Uint8Array> {
  const limits = { maxRequestBytes: 100, maxResponseBytes: 100, maxInboundRequests: 2, maxQueuedInboundRequests: 1, maxOutboundRequests: 2, timeoutMs: 1000 }
  return new RequestHandler({ protocols: ['/compliance/request/1.0.0'], serve: () => new Uint8Array(1), codec: BYTES, limits }, connection)
}

const host = await identifyComponents()

function identifyHandler (): IdentifyHandler {
  const config = { timeoutMs: 1000, pushIntervalMs: 100, pushBurst: 2, maxMessageBytes: 100, maxMessages: 2 }
  return new IdentifyHandler(config, new IdentifyHost(host.given, { agentVersion: 'a', protocolVersion: 'p' }), connection)
}

function streamsHandler (): AnyHandler {
  const behaviour = streams()
  behaviour.accept('/compliance/accepted/1.0.0')
  behaviour.serve('/compliance/served/1.0.0', () => {})
  return behaviour.commitEstablished(connection) as AnyHandler
}

function send (): unknown {
  const call = new Calls<Uint8Array>({ action: 'Cannot request', maxOpen: 1 }).start({ peer: ALICE, connection: 'c1' }, {}, 1000)
  // Nobody waits for it here.
  call.promise.catch(() => {})
  return { type: 'send', request: new Uint8Array(3), call }
}

const NEVER: StreamUpgrade<undefined> = { poll: () => PENDING }

/** A composition that is what its parts left behind, and in which one part comes and goes whenever it is used. */
function changingComposition (): AnyHandler {
  const composed = composeHandlers<Record<string, AnyHandler>>({ first: ping(), gone: ping() })
  const changing = Object.assign(new RecordingHandler(['/changing/1']), {
    onBehaviourEvent () {
      composed.add('passing', protocolHandler({ protocols: '/passing/1', inbound: () => {} }))
      composed.remove('passing')
    }
  })
  composed.add('changing', changing)
  composed.listenProtocols()
  composed.remove('gone')
  composed.add('late', ping())
  return composed
}

handlerComplianceSuite(runner, 'an empty composition', { create: () => composeHandlers({}) })
handlerComplianceSuite(runner, 'a composition', {
  create: () => composeHandlers({ ping: ping(), inner: composeHandlers({ chat: protocolHandler({ protocols: '/chat/1', inbound: () => {} }), ping: ping() }) }),
  behaviourEvents: [{ handler: 'ping', event: { type: 'ping-now' } }, { handler: 'inner', event: { handler: 'chat', event: openStream } }]
})
handlerComplianceSuite(runner, 'a composition whose parts came and went', {
  create: changingComposition,
  behaviourEvents: [{ handler: 'late', event: { type: 'ping-now' } }, { handler: 'gone', event: { type: 'ping-now' } }, { handler: 'changing', event: 'on' }]
})
handlerComplianceSuite(runner, 'oneShotHandler', {
  create: () => oneShotHandler({ protocols: ['/shot/1', '/shot/2'], inbound: () => NEVER, outbound: (_stream, _message: number) => NEVER, maxConcurrentDials: 2 }),
  behaviourEvents: [1, 2, 3, 4]
})
handlerComplianceSuite(runner, 'a one-shot handler with room for nothing', {
  create: () => oneShotHandler({ protocols: '/shot/1', outbound: (_stream, _message: number) => NEVER, maxQueuedMessages: 0, keepAlive: true }),
  behaviourEvents: [1, 2]
})
handlerComplianceSuite(runner, 'protocolHandler', {
  create: () => protocolHandler({ protocols: new ProtocolList(['/chat/1', '/chat/2']), inbound: () => {}, outbound: () => {}, outboundFailed: () => {} }),
  behaviourEvents: [openStream, { ...openStream, protocols: ['/other/1'] }]
})
handlerComplianceSuite(runner, 'the handler of ping', { create: ping, behaviourEvents: [{ type: 'ping-now' }] })
handlerComplianceSuite(runner, 'the handler of identify', { create: identifyHandler, behaviourEvents: [{ type: 'ask-now' }, { type: 'addresses-changed' }] })
handlerComplianceSuite(runner, 'the handler of requestResponse', { create: requestHandler, get behaviourEvents () { return [send(), send(), send()] } })
handlerComplianceSuite(runner, 'the handler of streams', { create: streamsHandler, behaviourEvents: [{ ...openStream, protocols: ['/other/1'] }] })
handlerComplianceSuite(runner, 'RecordingHandler', { create: () => new RecordingHandler(['/a']) })

/** Rules of the suite that a handler breaks. */
function brokenBy (subject: ComplianceSubject): string[] {
  const broken: string[] = []
  handlerComplianceSuite({
    describe: (_, body) => { body() },
    it: (rule, body) => {
      try {
        body()
      } catch {
        broken.push(rule.slice(0, 24))
      }
    }
  }, 'subject', subject)
  return broken
}

/** A handler that breaks one rule. */
class Faulty extends RecordingHandler {
  constructor (...methods: ReadonlyArray<Partial<RecordingHandler> & { pollClose? (cx: PollContext): unknown }>) {
    super(['/a'])
    Object.assign(this, ...methods)
  }
}

describe('the suite', () => {
  const shared = new RecordingHandler(['/a'])
  let kept: ProtocolsChange | undefined
  let turns = 0

  it.each<[string, () => RecordingHandler, string]>([
    ['is the same each time', () => shared, 'is a new one each time'],
    ['lists what is no name', () => new RecordingHandler(['no name']), 'lists valid names'],
    ['lists other names each time', () => new Faulty({ listenProtocols: () => [`/a/${turns++}`] }), 'lists valid names'],
    ['always has something', () => new Faulty({ poll: () => ({ type: 'notify-behaviour', event: 1 }) }), 'comes to rest'],
    ['wakes itself without end', () => new Faulty({ poll: cx => { cx.wake(); return PENDING } }), 'comes to rest'],
    ['waits for NaN', () => new Faulty({ poll: cx => { cx.wakeAt(NaN); return PENDING } }), 'waits for deadlines'],
    ['waits for now', () => new Faulty({ poll: cx => { cx.wakeAt(cx.now); return PENDING } }), 'waits for deadlines'],
    ['keeps a change', () => new Faulty({
      onConnectionEvent: (event: ConnectionEvent<unknown, unknown>) => {
        if (event.type === 'local-protocols-change') {
          kept?.protocols.toArray()
          kept = event.change
        }
      }
    }), 'takes changes of protocols'],
    ['has no opinion on keep-alive', () => new Faulty({ keepAlive: () => 1 as unknown as boolean }), 'says with true or false'],
    ['never ends', () => new Faulty({ pollClose: () => 1 }), 'ends: it gives its last'],
    ['waits for nothing at its end', () => new Faulty({ pollClose: () => PENDING }), 'ends: it gives its last']
  ])('finds a handler that %s', (_, create, rule) => {
    expect(brokenBy({ create }).some(broken => broken.startsWith(rule) || rule.startsWith(broken))).toBe(true)
  })

  it('finds a handler that asks for a stream without a name, or throws when it fails', () => {
    class Asking extends RecordingHandler {
      override onBehaviourEvent (): void {
        this.request([])
      }

      override onConnectionEvent (event: ConnectionEvent<unknown, unknown>): void {
        if (event.type === 'dial-upgrade-error' && event.error.kind === 'timeout') {
          throw event.error
        }
      }
    }
    expect(brokenBy({ create: () => new Asking(), behaviourEvents: [1] })).toEqual(['asks for streams by vali', 'takes the failure of its'])
  })
})
