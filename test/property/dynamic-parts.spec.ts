import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { composeHandlers } from '../../src/handler/compose.ts'
import { RecordingHandler, ScriptedConnection } from '../../src/testing/index.ts'
import { failuresOf, outputsOf, reportsOf, settle } from '../support/scripted.ts'
import { wire } from '../support/wire.ts'
import type { Poll, PollContext } from '../../src/core/poll.ts'
import type { AnyHandler, ConnectionEvent, HandlerOutput } from '../../src/handler/connection-handler.ts'
import type { ComposedHandler } from '../../src/handler/compose.ts'
import type { ScriptedStream } from '../../src/testing/index.ts'

type Open = ComposedHandler<Record<string, AnyHandler>>

const KEYS = ['x', 'y', 'z'] as const
const NAMES = ['/a', '/b', '/c'] as const
const WIRE = { '/a': 'HDR A', '/b': 'HDR B', '/c': 'HDR C' } as const

const key = fc.constantFrom(...KEYS)
const names = fc.subarray([...NAMES])
/** Which of two nested compositions. */
const isInner = fc.boolean()

const step = fc.oneof(
  fc.record({ type: fc.constant('add'), key, names, isInner }),
  fc.record({ type: fc.constant('remove'), key, isInner }),
  fc.record({ type: fc.constant('request'), key, isInner }),
  fc.record({ type: fc.constant('report'), key, names, isInner }),
  fc.record({ type: fc.constant('message'), key, isInner }),
  fc.record({ type: fc.constant('offer'), name: fc.constantFrom(...NAMES) }),
  fc.record({ type: fc.constantFrom('grant', 'refuse', 'agree', 'drive', 'stall', 'resume', 'removeInNotice') })
)

/** A part that keeps account of what it is told, and of when it was removed. */
class Account extends RecordingHandler {
  readonly key: string
  readonly known = { local: new Set<string>(), remote: new Set<string>() }
  reported: readonly string[] = []
  hasLeft = false
  isGreeted = false
  closes = 0
  asked = 0
  broken: string | undefined
  onNotice: (() => void) | undefined

  constructor (key: string, protocols: readonly string[]) {
    super(Object.freeze(protocols))
    this.key = key
  }

  override poll (cx: PollContext): Poll<HandlerOutput<unknown, unknown, unknown>> {
    this.#called('poll')
    const output = super.poll(cx)
    this.#count(output)
    return output
  }

  pollClose (cx: PollContext): Poll<unknown> {
    this.closes++
    for (let output = super.poll(cx); output !== PENDING; output = super.poll(cx)) {
      if (output.type === 'notify-behaviour') {
        return output.event
      }
    }
    return undefined
  }

  override onBehaviourEvent (event: unknown): void {
    this.#called('onBehaviourEvent')
    super.onBehaviourEvent(event)
  }

  override onConnectionEvent (event: ConnectionEvent<unknown, unknown>): void | PromiseLike<void> {
    if (event.type !== 'dial-upgrade-error') {
      this.#called(event.type)
    }
    if (event.type === 'local-protocols-change' || event.type === 'remote-protocols-change') {
      const known = event.type === 'local-protocols-change' ? this.known.local : this.known.remote
      const isAdded = event.change.type === 'added'
      for (const name of event.change.protocols) {
        if (known.has(name) === isAdded) {
          this.broken ??= `${name} ${event.change.type} twice`
        }
        if (isAdded) {
          known.add(name)
        } else {
          known.delete(name)
        }
      }
      this.onNotice?.()
    }
    return super.onConnectionEvent(event)
  }

  #called (what: string): void {
    if (this.hasLeft) {
      this.broken ??= `${what} after it was removed`
    }
  }

  #count (output: Poll<HandlerOutput<unknown, unknown, unknown>>): void {
    if (output !== PENDING && output.type === 'outbound-stream-request') {
      this.asked++
    } else if (output !== PENDING && output.type === 'report-remote-protocols') {
      this.reported = output.protocols
    }
  }
}

describe('parts that come and go (S4.13)', () => {
  it('whatever the order: each part knows the sets, each request has one outcome, nothing comes after the end (S10.6, S10.7, S10.8, S10.19)', () => {
    fc.assert(fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, isClosing) => {
      const inner: Open = composeHandlers<Record<string, AnyHandler>>({})
      const outer: Open = composeHandlers<Record<string, AnyHandler>>({ inner })
      const parts = { outer: new Map<string, Account>(), inner: new Map<string, Account>() }
      const all: Account[] = []
      const test = new ScriptedConnection(outer, { init: { idleTimeoutMs: Infinity, maxNegotiatingOutboundStreams: 2 } })
      const agreeing: Array<[ScriptedStream, typeof NAMES[number]]> = []
      const at = (isInner: boolean) => (isInner ? { composed: inner, own: parts.inner } : { composed: outer, own: parts.outer })
      const remove = (name: string, isInner: boolean): void => {
        const { composed, own } = at(isInner)
        const part = own.get(name)
        expect(composed.remove(name)).toBe(part !== undefined)
        own.delete(name)
        if (part !== undefined) {
          part.hasLeft = true
        }
      }
      let isStalled = false
      let messages = 0
      for (const todo of steps) {
        switch (todo.type) {
          case 'add': {
            const { composed, own } = at(todo.isInner)
            const part = new Account(todo.key, todo.names)
            if (own.has(todo.key)) {
              expect(() => { composed.add(todo.key, part) }).toThrow('in use')
            } else {
              composed.add(todo.key, part)
              own.set(todo.key, part)
              all.push(part)
            }
            break
          }
          case 'remove':
            remove(todo.key, todo.isInner)
            break
          case 'request':
            at(todo.isInner).own.get(todo.key)?.request(['/a'], { info: 1 })
            break
          case 'report':
            at(todo.isInner).own.get(todo.key)?.push({ type: 'report-remote-protocols', change: 'replaced', protocols: todo.names })
            break
          case 'message': {
            messages++
            const event = { handler: todo.key, event: 'message' }
            test.connection.onBehaviourEvent(todo.isInner ? { handler: 'inner', event } : event)
            break
          }
          case 'offer':
            agreeing.push([test.offer(), todo.name])
            break
          case 'grant':
            if (test.muxer.openings.length > 0) {
              agreeing.push([test.grant(), '/a'])
            }
            break
          case 'refuse':
            if (test.muxer.openings.length > 0) {
              test.connection.handleOutboundStreamFailure(test.muxer.takeOpening(), new Error('no stream'))
            }
            break
          case 'agree': {
            const [stream, name] = agreeing.shift() ?? []
            if (stream !== undefined && name !== undefined) {
              test.feed(stream, wire(WIRE[name]))
            }
            break
          }
          case 'removeInNotice': {
            const [first, second] = parts.outer.values()
            if (first !== undefined && second !== undefined) {
              first.onNotice = () => {
                first.onNotice = undefined
                if (parts.outer.get(second.key) === second) {
                  remove(second.key, false)
                }
              }
            }
            break
          }
          case 'stall':
            isStalled = true
            test.connection.stall()
            break
          case 'resume':
            isStalled = false
            test.connection.resume()
            break
          case 'drive':
            settle(test)
            if (!isStalled) {
              checkSets()
            }
        }
      }
      test.connection.resume()
      settle(test)
      checkSets()
      if (isClosing) {
        test.connection.close()
      } else {
        for (const part of [...parts.outer.keys()]) {
          remove(part, false)
        }
        outer.remove('inner')
        parts.inner.forEach(part => { part.hasLeft = true })
      }
      settle(test)
      for (const part of all) {
        expect(part.broken).toBeUndefined()
        expect(part.closes).toBe(1)
        expect(part.eventsOf('fully-negotiated-outbound').length + failuresOf(part).length).toBe(part.asked)
      }
      expect(reportsOf(test, 'handler-error')).toEqual([])
      const taken = all.reduce((sum, { behaviourEvents }) => sum + behaviourEvents.length, 0)
      expect(taken + outputsOf(test, 'handler-notified').length).toBe(messages)
      expect(test.connection.load).toMatchObject({ negotiatingOutbound: 0, queuedOutbound: 0 })

      function checkSets (): void {
        const live = [...parts.inner.values(), ...parts.outer.values()]
        const local = new Set(live.flatMap(({ protocols }) => [...protocols as readonly string[]]))
        const remote = new Set(live.flatMap(({ reported }) => reported))
        expect(new Set(test.connection.localProtocols.toArray())).toEqual(local)
        expect(new Set(test.connection.remoteProtocols.toArray())).toEqual(remote)
        for (const { known } of live) {
          expect(known).toEqual({ local, remote })
        }
      }
    }), { numRuns: 1000 })
  })
})
