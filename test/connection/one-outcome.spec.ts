import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { composeHandlers } from '../../src/handler/compose.ts'
import { RecordingHandler, ScriptedConnection } from '../../src/testing/index.ts'
import { outputsOf, settle } from '../support/scripted.ts'
import { wire } from '../support/wire.ts'
import type { StreamUpgrade } from '../../src/handler/stream-upgrade.ts'
import type { ScriptedStream } from '../../src/testing/index.ts'

const KINDS = ['negotiation-failed', 'io', 'timeout', 'aborted', 'apply', 'limit', 'invalid-request', 'connection-closed']

/** One thing that may happen; `pick` chooses which of the openings or streams it happens to. */
const step = fc.record({
  type: fc.constantFrom(
    'request', 'request', 'request', 'upgrading request', 'host request', 'bad request', 'grant', 'grant', 'grant', 'refuse', 'grant again', 'agree', 'agree',
    'decline', 'garbage', 'end', 'reset', 'close stream', 'cancel', 'cancel host', 'wait', 'wait', 'noise'
  ),
  pick: fc.nat({ max: 20 }),
  ms: fc.constantFrom(1, 10, 60)
})
const ending = fc.constantFrom('close', 'abort', 'muxer error', 'muxer end', 'muxer closed', 'only idle')

interface Scenario {
  readonly steps: ReadonlyArray<{ readonly type: string, readonly pick: number, readonly ms: number }>
  readonly end: string
  readonly endAt: number
  readonly isDriven: readonly boolean[]
}

interface Played {
  /** How often each request was answered, by its info. */
  readonly outcomes: Map<unknown, number>
  readonly made: number
  readonly test: ScriptedConnection
}

/** An upgrade that takes some polls, or throws what is no error. */
function upgradeOf (polls: number): StreamUpgrade<unknown> {
  let left = polls
  const nothing: unknown = undefined
  return {
    poll: () => {
      if (left === 3) {
        throw nothing
      }
      return left-- > 0 ? PENDING : 'output'
    }
  }
}

/** Plays a scenario on two parts and the host. */
function play ({ steps, end, endAt, isDriven }: Scenario): Played {
  const parts = [new RecordingHandler(['/a']), new RecordingHandler(['/b'])]
  const test = new ScriptedConnection(composeHandlers({ left: parts[0]!, inner: composeHandlers({ right: parts[1]! }) }), {
    init: {
      outboundTimeoutMs: 50,
      maxQueuedOutboundRequests: 4,
      maxNegotiatingOutboundStreams: 3,
      idleTimeoutMs: 200,
      closeTimeoutMs: 100,
      maxHandlerEventsPerTurn: 3
    }
  })
  let made = 0
  const granted: ScriptedStream[] = []
  const used: Array<ReturnType<ScriptedConnection['muxer']['takeOpening']>> = []
  const { connection, muxer } = test
  const act = (type: string, pick: number, ms: number): void => {
    const part = parts[pick % 2]!
    const stream = granted[pick % Math.max(1, granted.length)]
    // A handler that has had its last word is not asked for requests any more.
    if (type.endsWith('request') && connection.status.phase !== 'open') {
      return
    }
    switch (type) {
      case 'request':
        part.request(['/a', '/b'], { info: made++, token: pick })
        break
      case 'upgrading request':
        part.push({ type: 'outbound-stream-request', protocols: ['/a'], info: made++, token: pick, upgrade: () => upgradeOf(pick % 4) })
        break
      case 'bad request':
        part.request(['bad'], { info: made++ })
        break
      case 'host request':
        connection.requestHostStream({ protocols: ['/a'], token: `host ${made++}`, options: {} }, test.clock.now)
        break
      case 'grant':
        if (muxer.openings.length > 0) {
          const [opening] = muxer.openings.splice(pick % muxer.openings.length, 1)
          used.push(opening!)
          muxer.openings.unshift(opening!)
          granted.push(test.grant())
        }
        break
      case 'grant again':
        if (used.length > 0) {
          muxer.openings.unshift(used[pick % used.length]!)
          granted.push(test.grant())
        }
        break
      case 'refuse':
        if (muxer.openings.length > 0) {
          test.refuse(new Error('refused'))
        }
        break
      case 'agree':
      case 'decline':
      case 'garbage':
        if (stream !== undefined) {
          test.feed(stream, wire(type === 'agree' ? 'HDR A' : type === 'decline' ? 'HDR NA' : '00'))
        }
        break
      case 'end':
      case 'reset':
      case 'close stream':
        if (stream !== undefined) {
          connection[type === 'end' ? 'handleStreamEnd' : type === 'reset' ? 'handleStreamReset' : 'handleStreamClosed'](stream)
        }
        break
      case 'cancel':
        part.push({ type: 'cancel-outbound-request', token: pick })
        break
      case 'cancel host':
        connection.cancelHostStream(`host ${pick}`)
        break
      case 'wait':
        test.advance(ms)
        break
      case 'noise':
        connection.handleAddressChange(pick)
        break
      case 'close':
        connection.close()
        break
      case 'abort':
        connection.abort(new Error('aborted'))
        break
      case 'muxer error':
        connection.handleMuxerError(new Error('broken'))
        break
      case 'muxer end':
        connection.handleMuxerEnd()
        break
      case 'muxer closed':
        connection.handleMuxerClosed()
    }
  }
  steps.forEach(({ type, pick, ms }, at) => {
    if (at === endAt) {
      act(end, pick, ms)
    }
    act(type, pick, ms)
    if (isDriven[at % isDriven.length] !== false) {
      settle(test)
    }
  })
  test.advance(1000)
  settle(test)
  connection.close()
  test.advance(1000)
  const outcomes = new Map<unknown, number>()
  const count = (info: unknown): void => { outcomes.set(info, (outcomes.get(info) ?? 0) + 1) }
  for (const part of parts) {
    part.eventsOf('fully-negotiated-outbound').forEach(({ info }) => { count(info) })
    for (const { info, error } of part.eventsOf('dial-upgrade-error')) {
      expect(KINDS).toContain(error.kind)
      count(info)
    }
  }
  outputsOf(test, 'host-stream-opened').forEach(({ token }) => { count(token) })
  outputsOf(test, 'host-stream-failed').forEach(({ token }) => { count(token) })
  for (const stream of granted) {
    expect(stream.resets.length).toBeLessThanOrEqual(1)
  }
  return { outcomes, made, test }
}

describe('Connection: outcomes', () => {
  it('every request gets exactly one, for every interleaving; afterwards nothing is left (S5.5, S10.6, S10.14)', () => {
    const scenario = fc.record({
      steps: fc.array(step, { minLength: 1, maxLength: 60 }),
      end: ending,
      endAt: fc.nat({ max: 60 }),
      isDriven: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 })
    })
    fc.assert(fc.property(scenario, played => {
      const { outcomes, made, test } = play(played)
      expect([...outcomes.values()].every(times => times === 1)).toBe(true)
      expect(outcomes.size).toBe(made)
      expect(outputsOf(test, 'closed')).toHaveLength(1)
      expect(test.outputs.at(-1)?.type).toBe('closed')
      expect(test.connection.status.phase).toBe('closed')
      expect(test.connection.pollTimeout()).toBe(Infinity)
      expect([...test.connection.streams]).toEqual([])
      expect(test.muxer.closes).toBeLessThanOrEqual(1)
      expect(test.muxer.aborts.length).toBeLessThanOrEqual(1)
    }), { numRuns: 500 })
  })
})
