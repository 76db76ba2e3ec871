/**
 * What every connection handler has to do, whatever its protocol, as a suite for any test runner that has `describe` and
 * `it`. It drives the handler on a connection of its own in virtual time; no check needs an assertion library.
 */

import { PENDING } from '../core/poll.ts'
import { StreamUpgradeError } from '../errors.ts'
import { Connection } from '../connection/connection.ts'
import { composeHandlers } from '../handler/compose.ts'
import { hopOf, withRoute } from '../handler/route.ts'
import { brokenProtocolRule } from '../protocols/stream-protocol.ts'
import { ProtocolsNotice } from '../protocols/protocols-change.ts'
import { ScriptedMuxer } from './scripted-muxer.ts'
import { VirtualClock } from './virtual-clock.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { ConnectionOutput } from '../connection/connection-output.ts'
import type { StreamUpgradeErrorKind } from '../errors.ts'
import type { AnyHandler, ConnectionEvent, HandlerOutput } from '../handler/connection-handler.ts'

/** The two functions of a test runner that the suite is declared with. */
export interface SuiteRunner {
  /** Groups tests. */
  describe (name: string, body: () => void): void
  /** One test; it fails by a throw. */
  it (name: string, body: () => void): void
}

/** The handler that a suite is about. */
export interface ComplianceSubject {
  /** Makes a handler in its first state, never the same twice. */
  create (): AnyHandler
  /** Makes it do what it does when it is used: events of its behaviour that ask for streams, and so on. Default: nothing. */
  readonly behaviourEvents?: readonly unknown[] | undefined
}

/** Values that a handler may give at one instant, with nobody answering it, before it is taken for one that never rests. */
const MAX_VALUES = 10_000
/** Longest name that a connection with default options takes, in bytes. */
const MAX_NAME_BYTES = 1023
/** Milliseconds that a handler is watched for, in which its own deadlines pass. */
const WATCHED_MS = 100_000
/** Deadlines of its own in that time; more of them mean that it never waits. */
const MAX_DEADLINES = 100_000
const KINDS: readonly StreamUpgradeErrorKind[] = [
  'negotiation-failed', 'io', 'timeout', 'aborted', 'apply', 'limit', 'invalid-request', 'connection-closed'
]

/**
 * Declares the suite.
 *
 * @param runner - `describe` and `it`, of any test runner
 * @param name - what is tested
 * @param subject - how it is made and used
 *
 * @example
 * handlerComplianceSuite({ describe, it }, 'my handler', { create: () => new MyHandler() })
 */
export function handlerComplianceSuite (runner: SuiteRunner, name: string, subject: ComplianceSubject): void {
  runner.describe(`${name}, as any connection handler,`, () => {
    for (const rule of RULES) {
      runner.it(rule.rule, () => { rule.check(subject) })
    }
  })
}

interface Rule {
  readonly rule: string
  check (subject: ComplianceSubject): void
}

const RULES: readonly Rule[] = [
  {
    rule: 'is a new one each time',
    check: subject => { check(subject.create() !== subject.create(), 'the same handler was made twice') }
  },
  {
    rule: 'lists valid names, and the same ones until it wakes (S3.1, S4.10)',
    check (subject) {
      const bench = new Bench(subject)
      const names = bench.listing()
      for (const listed of names) {
        const rule = brokenProtocolRule(listed, MAX_NAME_BYTES)
        check(rule === undefined, `lists ${listed}, which ${rule ?? ''}`)
      }
      bench.checkListing()
    }
  },
  {
    rule: 'comes to rest when nobody answers, and then asks for no poll (S4.8)',
    check (subject) {
      const bench = new Bench(subject).use()
      const { wakes } = bench
      check(bench.drain().length === 0, 'has more to say without reason')
      check(bench.wakes === wakes, 'wakes itself although nothing changed')
    }
  },
  {
    rule: 'asks for streams by valid names, with timeouts that are durations (S2.18, S4.2)',
    check (subject) {
      for (const request of new Bench(subject).use().requests) {
        check(request.protocols.length > 0, 'asks for a stream without a name')
        for (const asked of request.protocols) {
          const rule = brokenProtocolRule(asked, MAX_NAME_BYTES)
          check(rule === undefined, `asks for ${asked}, which ${rule ?? ''}`)
        }
        check(request.timeoutMs === undefined || request.timeoutMs >= 0, `asks for a stream within ${request.timeoutMs ?? 0} ms`)
      }
    }
  },
  ...KINDS.map(kind => ({
    rule: `takes the failure of its requests by ${kind}, and comes to rest (S5.5)`,
    check (subject: ComplianceSubject) {
      const bench = new Bench(subject).use()
      for (const request of bench.requests.splice(0)) {
        bench.tell(Object.freeze(withRoute({ type: 'dial-upgrade-error', info: request.info, error: failure(kind) }, hopOf(request))))
      }
      bench.drain()
    }
  })),
  {
    rule: 'takes changes of protocols, and keeps nothing of a change but what it copied (S3.11)',
    check (subject) {
      const bench = new Bench(subject).use()
      for (const type of ['local-protocols-change', 'remote-protocols-change'] as const) {
        for (const change of ['added', 'removed'] as const) {
          const notice = new ProtocolsNotice(change, ['/compliance/1.0.0', ...bench.listing()])
          bench.tell({ type, change: notice.change })
          notice.end()
          bench.drain()
          bench.listing()
        }
      }
    }
  },
  {
    rule: 'takes a change of address',
    check (subject) {
      new Bench(subject).use().tell(Object.freeze({ type: 'address-change', address: undefined })).drain()
    }
  },
  {
    rule: 'waits for deadlines that come, one after the other (S4.7)',
    check (subject) {
      const bench = new Bench(subject).use()
      for (let left = MAX_DEADLINES; bench.wakeInstant <= WATCHED_MS; left--) {
        check(left > 0, `asks for a poll more than ${MAX_DEADLINES} times in ${WATCHED_MS} ms`)
        bench.pass(bench.wakeInstant)
      }
    }
  },
  {
    rule: 'says with true or false whether it holds the connection open (S4.1)',
    check (subject) {
      const { handler } = new Bench(subject).use()
      check(typeof (handler.keepAlive?.() ?? false) === 'boolean', 'keepAlive gives something else')
    }
  },
  {
    rule: 'ends: it gives its last events, then undefined (S4.11, S6.6)',
    check (subject) {
      const bench = new Bench(subject).use()
      for (let left = MAX_VALUES; bench.handler.pollClose !== undefined; left--) {
        check(left > 0, `gives more than ${MAX_VALUES} last events`)
        const event: unknown = bench.handler.pollClose(bench.cx)
        if (event === undefined) {
          return
        }
        check(event !== PENDING || bench.wakeInstant < Infinity, 'waits for something that a closed connection does not bring')
        if (event === PENDING) {
          bench.cx.now = Math.max(bench.cx.now, bench.wakeInstant)
        }
      }
    }
  },
  {
    rule: 'says the same in a composition as alone (S4.13, S4.14)',
    check (subject) {
      const alone = eventsOn(subject, handler => handler, event => event)
      const composed = eventsOn(subject, part => composeHandlers({ part }), event => ({ handler: 'part', event }))
      check(composed.outputs === alone.outputs, `gives ${composed.outputs} in a composition, alone ${alone.outputs}`)
      check(composed.names === alone.names, `lists ${composed.names} in a composition, alone ${alone.names}`)
    }
  },
  {
    rule: 'closes with its connection in any state: one closed output, the last one (S10.14)',
    check (subject) {
      for (const isUsed of [false, true]) {
        const rig = connectionWith(subject, subject.create(), event => event, isUsed)
        rig.connection.close()
        rig.drain()
        rig.clock.advance(WATCHED_MS)
        const outputs = rig.drain()
        check(outputs.at(-1)?.type === 'closed', 'keeps its connection from closing')
        check(outputs.filter(({ type }) => type === 'closed').length === 1, 'closes its connection more than once')
        check(rig.connection.pollTimeout() === Infinity, 'leaves a deadline behind')
      }
    }
  }
]

type Request = Extract<HandlerOutput<unknown, unknown, unknown>, { type: 'outbound-stream-request' }>

/** A handler with nothing around it but a context. */
class Bench {
  readonly handler: AnyHandler
  readonly cx: PollContext & { now: Instant }
  /** Streams that it asked for. */
  readonly requests: Request[] = []
  wakes = 0
  wakeInstant: Instant = Infinity
  readonly #behaviourEvents: readonly unknown[]

  constructor (subject: ComplianceSubject) {
    this.handler = subject.create()
    this.#behaviourEvents = subject.behaviourEvents ?? []
    this.cx = {
      now: 0,
      wake: () => { this.wakes++ },
      wakeAt: instant => {
        check(!Number.isNaN(instant), 'asks for a poll at NaN')
        this.wakeInstant = instant
      }
    }
    this.drain()
  }

  /** What its behaviour would tell it. */
  use (): this {
    for (const event of this.#behaviourEvents) {
      this.handler.onBehaviourEvent?.(event)
    }
    this.drain()
    return this
  }

  tell (event: ConnectionEvent<unknown, unknown>): this {
    const returned: unknown = this.handler.onConnectionEvent(event)
    check(returned === undefined || typeof returned === 'object', 'returns something from an event')
    return this
  }

  /** Polls as a connection does: until PENDING, and again in the next turn if it woke meanwhile or its deadline is due. */
  drain (): Array<HandlerOutput<unknown, unknown, unknown>> {
    const outputs: Array<HandlerOutput<unknown, unknown, unknown>> = []
    let wakes: number
    do {
      wakes = this.wakes
      for (let output = this.#poll(); output !== PENDING; output = this.#poll()) {
        outputs.push(output)
        check(outputs.length < MAX_VALUES, `gives more than ${MAX_VALUES} values`)
        if (output.type === 'outbound-stream-request') {
          this.requests.push(output)
        }
      }
      check(this.wakes < MAX_VALUES, 'wakes itself without end')
    } while (this.wakes > wakes)
    return outputs
  }

  /** Time passes. */
  pass (until: Instant): void {
    this.cx.now = Math.max(this.cx.now, until)
    if (this.wakeInstant <= this.cx.now) {
      this.wakeInstant = Infinity
    }
    this.drain()
  }

  /** A connection would find a change in every pass, and never come to rest. */
  checkListing (): void {
    check(this.listing().join('\n') === this.listing().join('\n'), 'lists other names when asked again')
  }

  listing (): readonly string[] {
    const listing = this.handler.listenProtocols()
    return 'snapshot' in listing ? listing.snapshot : [...listing]
  }

  #poll (): Poll<HandlerOutput<unknown, unknown, unknown>> {
    return this.handler.poll?.(this.cx) as Poll<HandlerOutput<unknown, unknown, unknown>> | undefined ?? PENDING
  }
}

interface Rig {
  readonly connection: Connection<unknown>
  readonly clock: VirtualClock
  readonly muxer: ScriptedMuxer
  /** Polls until nothing moves; all that came out so far. */
  drain (): ReadonlyArray<ConnectionOutput<unknown, unknown>>
}

/** The handler on a connection whose muxer never answers. */
function connectionWith (subject: ComplianceSubject, handler: AnyHandler, wrap: (event: unknown) => unknown, isUsed: boolean): Rig {
  new Bench(subject).checkListing()
  const { behaviourEvents = [] } = subject
  const clock = new VirtualClock()
  const muxer = new ScriptedMuxer()
  const connection = new Connection<unknown>(
    { id: 'compliance', peer: 'peer', direction: 'outbound', handler, muxer, wake () {} }, { idleTimeoutMs: Infinity }, clock.now)
  const outputs: Array<ConnectionOutput<unknown, unknown>> = []
  const drain = (): ReadonlyArray<ConnectionOutput<unknown, unknown>> => {
    for (let output = connection.poll(clock.now); output !== PENDING; output = connection.poll(clock.now)) {
      outputs.push(output)
      check(outputs.length < MAX_VALUES, `gives more than ${MAX_VALUES} values`)
    }
    checkHealthy(connection)
    return outputs
  }
  drain()
  if (isUsed) {
    behaviourEvents.forEach(event => connection.onBehaviourEvent(wrap(event)))
    drain()
  }
  return { connection, clock, muxer, drain }
}

/** What comes out of it, and what it lists, when it is used. */
function eventsOn (
  subject: ComplianceSubject, around: (handler: AnyHandler) => AnyHandler, wrap: (event: unknown) => unknown
): { readonly outputs: string, readonly names: string } {
  const rig = connectionWith(subject, around(subject.create()), wrap, true)
  const events = rig.drain().filter(({ type }) => type === 'handler-event').length
  return { outputs: `${events} events and ${rig.muxer.openings.length} requests`, names: rig.connection.localProtocols.toArray().join() }
}

function checkHealthy (connection: Connection<unknown>): void {
  for (let report = connection.pollReport(); report !== PENDING; report = connection.pollReport()) {
    if (report.type === 'handler-error') {
      throw new Error(`The handler threw in ${report.method}`, { cause: report.cause })
    }
  }
}

function failure (kind: StreamUpgradeErrorKind): StreamUpgradeError {
  const failure = { phase: 'open', tried: [], direction: 'outbound', peer: 'peer', connectionId: 'compliance', elapsedMs: 1 } as const
  return new StreamUpgradeError(`Cannot open stream: ${kind}`, kind, failure, { cause: new Error(kind) })
}

function check (holds: boolean, otherwise: string): void {
  if (!holds) {
    throw new Error(`The handler does not comply: it ${otherwise}`)
  }
}
