/** One outcome per request (S10.6) and per inbound request, through a whole behaviour, in virtual time. */

import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { requestResponse } from '../../src/behaviours/request-response.ts'
import { ALICE, BOB, VirtualWorld } from '../support/virtual-world.ts'
import type { ReceivedRequest } from '../../src/behaviours/request-response.ts'

const FILES = '/files/1.0.0'

/** One thing that may happen; `pick` says to which request. */
const step = fc.record({
  type: fc.constantFrom(
    'request', 'request', 'request', 'impatient request', 'long request', 'cancel', 'cancel', 'respond', 'respond', 'respond', 'respond too much', 'refuse',
    'respond twice', 'reset ours', 'reset theirs', 'wait', 'wait', 'wait'
  ),
  pick: fc.nat({ max: 12 }),
  ms: fc.constantFrom(1, 10, 40)
})
const ending = fc.constantFrom('close ours', 'close theirs', 'abort', 'cut', 'nothing')
const isServing = fc.boolean()

interface Asked {
  readonly text: string
  readonly controller: AbortController
  /** How it ended; twice would be a mistake of the promise itself, none one of ours. */
  outcome: { readonly value: string } | { readonly error: Error } | undefined
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

/** Requests and responses are short texts; what begins with `x` means nothing. */
const codec = {
  encodeRequest: bytesOf,
  decodeRequest: textOf,
  encodeResponse: bytesOf,
  decodeResponse (bytes: Uint8Array): string {
    const text = textOf(bytes)
    if (text.startsWith('x')) {
      throw new SyntaxError('no text')
    }
    return text
  }
}

interface Scenario {
  readonly steps: ReadonlyArray<{ readonly type: string, readonly pick: number, readonly ms: number }>
  readonly end: string
  readonly serving: boolean
}

function pick<Item> (items: readonly Item[], at: number): Item | undefined {
  return items[at % Math.max(1, items.length)]
}

/** Bob answers the request `3` with `>3`, or in every fifth case with what means nothing, too late, or not at all. */
async function answerTo (text: string, world: VirtualWorld): Promise<string> {
  const kind = Number.parseInt(text) % 5
  if (kind === 1) {
    await new Promise<void>((resolve) => { world.post(resolve) })
  }
  if (kind === 2) {
    throw new Error('no answer')
  }
  return kind === 3 ? 'x' : `>${text}`
}

async function play ({ steps, end, serving }: Scenario) {
  const world = new VirtualWorld(5)
  const shared = { protocols: FILES, codec, maxRequestBytes: 40, maxResponseBytes: 40, timeoutMs: 200, maxInboundRequests: 2, maxQueuedInboundRequests: 2 }
  const alice = world.node(ALICE, { files: requestResponse({ ...shared, maxOutboundRequests: 4 }) })
  const bob = world.node(BOB, { files: requestResponse({ ...shared, serve: serving ? async (text) => await answerTo(text, world) : undefined }) })
  const [ours, theirs] = world.connect(alice, bob)
  const asked: Asked[] = []

  const ask = (text: string, timeoutMs?: number): void => {
    const entry: Asked = { text, controller: new AbortController(), outcome: undefined }
    asked.push(entry)
    alice.behaviours.files.request(BOB, text, { signal: entry.controller.signal, timeoutMs }).then(
      (value) => { entry.outcome = { value } },
      (error: unknown) => { entry.outcome = { error: error as Error } }
    )
  }
  const received = (): Array<ReceivedRequest<string, string>> => bob.events.flatMap(({ event }) => event.type === 'request' ? [event] : [])
  const respond = (at: number, text?: string): void => {
    const request = pick(received(), at)
    request?.respond(text ?? `>${request.request}`).catch(() => {})
  }
  const act = (type: string, at: number): void => {
    switch (type) {
      case 'request':
        ask(String(asked.length))
        break
      case 'impatient request':
        ask(String(asked.length), at)
        break
      case 'long request':
        ask('1'.repeat(41))
        break
      case 'cancel':
        pick(asked, at)?.controller.abort()
        break
      case 'respond':
        respond(at)
        break
      case 'respond too much':
        respond(at, '>'.repeat(41))
        break
      case 'respond twice':
        respond(at)
        respond(at)
        break
      case 'refuse':
        pick(received(), at)?.refuse()
        break
      case 'reset ours':
        pick(ours.streams, at)?.abort(new Error('reset'))
        break
      case 'reset theirs':
        pick(theirs.streams, at)?.abort(new Error('reset'))
        break
      case 'wait':
    }
  }
  for (const { type, pick: at, ms } of steps) {
    act(type, at)
    await (type === 'wait' ? world.advance(ms) : world.settle())
  }
  switch (end) {
    case 'close ours':
      alice.turn(() => { ours.close() })
      ours.wake()
      break
    case 'close theirs':
      bob.turn(() => { theirs.close() })
      theirs.wake()
      break
    case 'abort':
      alice.turn(() => { ours.abort(new Error('abort')) })
      ours.wake()
      break
    case 'cut':
      ours.cut()
      break
    case 'nothing':
  }
  await world.advance(20_000)
  return { world, alice, bob, ours, theirs, asked, received }
}

describe('a request-response behaviour', () => {
  it('gives every request one outcome, its own, and leaves nothing behind (S10.6)', async () => {
    await fc.assert(fc.asyncProperty(fc.record({ steps: fc.array(step, { maxLength: 30 }), end: ending, serving: isServing }), async (scenario) => {
      const { alice, bob, ours, theirs, asked, received } = await play(scenario)

      for (const { text, outcome, controller } of asked) {
        expect(outcome).toBeDefined()
        if (outcome !== undefined && 'value' in outcome) {
          expect(outcome.value).toBe(`>${text}`)
        }
        expect(getEventListeners(controller.signal, 'abort')).toEqual([])
      }
      for (const { status } of [...ours.streams, ...theirs.streams]) {
        expect(status).toMatch(/^(closed|aborted|reset)$/)
      }
      // What Bob was asked is over as well, and told once: an event for each, at most one failure more.
      expect(received().every(({ signal }) => signal.aborted)).toBe(true)
      expect(bob.events.length - received().length).toBeLessThanOrEqual(theirs.streams.length)
      expect(alice.events).toEqual([])
      expect(alice.logOf('handler-error')).toEqual([])
    }), { numRuns: 150 })
  }, 60_000)

  it('serves again once its peer has come to rest: no place is lost', async () => {
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 30 }), isServing, async (steps, serving) => {
      const { world, alice, bob, asked } = await play({ steps, end: 'nothing', serving })
      if (alice.logOf('connection-closed').length > 0) {
        world.connect(alice, bob, { id: 'c2' })
      }
      const before = asked.length
      const answers = Array.from({ length: 4 }, async () => await alice.behaviours.files.request(BOB, '10'))
      await world.settle()
      for (let round = 0; round < 10; round++) {
        for (const { event } of bob.events) {
          if (event.type === 'request' && !event.signal.aborted) {
            event.respond(`>${event.request}`).catch(() => {})
          }
        }
        await world.advance(10)
      }
      expect(await Promise.all(answers)).toEqual(['>10', '>10', '>10', '>10'])
      expect(asked).toHaveLength(before)
    }), { numRuns: 50 })
  }, 60_000)
})
