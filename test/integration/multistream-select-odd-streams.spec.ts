/** `select` and `handle` over streams and duplexes that do what they should not: nothing is lost, told twice, or left to the event loop (S2.32). */

import { handle, select } from 'libp2p-behaviours/negotiation'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fakeStreams } from '../support/fake-stream.ts'
import { turns } from '../support/observed-negotiation.ts'
import { hex, toHex, wire } from '../support/wire.ts'
import type { MultistreamSelectInit } from 'libp2p-behaviours/negotiation'
import type { FakeStream } from '../support/fake-stream.ts'

/** A stream that delivers before `send` is over. */
const inside = (deliver: () => void): void => { deliver() }

const uncaught: unknown[] = []
const keep = (error: unknown): void => { uncaught.push(error) }

beforeEach(() => {
  uncaught.length = 0
  process.on('uncaughtException', keep).on('unhandledRejection', keep)
})

afterEach(async () => {
  await turns()
  process.off('uncaughtException', keep).off('unhandledRejection', keep)
  expect(uncaught).toEqual([])
})

function fail (message = 'boom'): never {
  throw new Error(message)
}

async function failure (negotiated: Promise<unknown>): Promise<unknown> {
  return negotiated.then(() => fail('it agreed'), (error: unknown) => error)
}

async function received (stream: FakeStream): Promise<string> {
  let bytes = ''
  stream.addEventListener('message', ({ data }) => { bytes += toHex(data.subarray()) })
  await turns()
  return bytes
}

describe('over a stream that delivers inside send', () => {
  it('both agree', async () => {
    const [outbound, inbound] = fakeStreams(inside)
    expect(await Promise.all([handle(inbound, ['/b', '/a']), select(outbound, ['/x', '/y', '/a'])])).toEqual(['/a', '/a'])
  })

  it('S2.30: what comes behind the agreement comes once', async () => {
    const [outbound, inbound] = fakeStreams(inside)
    inbound.addEventListener('message', () => { inbound.send(wire('HDR A pong')) })
    expect(await select(outbound, '/a')).toBe('/a')
    expect(await received(outbound)).toBe(hex('pong'))
  })

  it('S2.32: it is reset once', async () => {
    const [outbound, inbound] = fakeStreams(inside)
    let resets = 0
    const abort = outbound.abort.bind(outbound)
    outbound.abort = (error) => {
      resets++
      abort(error)
    }
    inbound.addEventListener('message', () => { inbound.send(wire('HDR B')) })
    expect(await failure(select(outbound, '/a'))).toMatchObject({ name: 'InvalidMessageError' })
    expect(resets).toBe(1)
  })

  it('a signal that aborts inside of it leaves no listener', async () => {
    const [outbound, inbound] = fakeStreams(inside)
    const controller = new AbortController()
    const before = outbound.listenerCount('message')
    inbound.addEventListener('message', () => { controller.abort() })
    expect(await failure(select(outbound, '/a', { signal: controller.signal }))).toMatchObject({ name: 'AbortError' })
    await turns()
    expect(outbound.listenerCount('message')).toBe(before)
  })
})

describe('over a stream that throws', () => {
  it('S2.17: in the write of the confirmation, with data behind the proposal, both agreed all the same', async () => {
    const [outbound, inbound] = fakeStreams(queueMicrotask)
    inbound.sendData = () => fail()
    outbound.send(wire('HDR A data'))
    expect(await handle(inbound, '/a')).toBe('/a')
    expect(inbound.status).toBe('aborted')
  })

  it('as it takes nothing back for the next turn, it is a reset', async () => {
    const [outbound, inbound] = fakeStreams(queueMicrotask)
    inbound.unshift = () => fail()
    outbound.send(wire(`HDR ${'B '.repeat(20)}`))
    expect(await failure(handle(inbound, '/a'))).toMatchObject({ name: 'StreamResetError', cause: { cause: { message: 'boom' } } })
  })

  it('in its abort, the error is told, and other streams of the turn are served', async () => {
    const pairs = [fakeStreams(queueMicrotask), fakeStreams(queueMicrotask)]
    for (const [outbound, inbound] of pairs) {
      outbound.abort = () => fail()
      await inbound.close()
    }
    await turns()
    const errors = await Promise.all(pairs.map(async ([outbound]) => failure(select(outbound, '/a'))))
    expect(errors).toMatchObject([{ name: 'UnsupportedProtocolError' }, { name: 'UnsupportedProtocolError' }])
    const [outbound, inbound] = fakeStreams(queueMicrotask)
    outbound.abort = () => fail()
    inbound.send(wire('HDR B'))
    expect(await failure(select(outbound, '/a'))).toMatchObject({ name: 'InvalidMessageError' })
    const [other] = fakeStreams(queueMicrotask)
    other.abort = () => fail()
    expect(await failure(select(other, '/a', { signal: AbortSignal.timeout(1) }))).toMatchObject({ name: 'TimeoutError' })
  })

  it('where nothing should, that is what they reject with', async () => {
    const [deaf] = fakeStreams(queueMicrotask)
    deaf.addEventListener = () => fail('deaf')
    expect(await failure(select(deaf, '/a'))).toMatchObject({ message: 'deaf' })
    const [outbound, inbound] = fakeStreams(queueMicrotask)
    Object.assign(outbound, { remoteAddr: { toString: () => fail('no address') } })
    inbound.send(wire('HDR B'))
    expect(await failure(select(outbound, '/a'))).toMatchObject({ message: 'no address' })
  })
})

describe('over a duplex', () => {
  interface Odd { next (): unknown, return? (): unknown }

  const drink = async (source: AsyncIterable<unknown>): Promise<void> => {
    for await (const chunk of source) {
      expect(chunk).toBeInstanceOf(Uint8Array)
    }
  }
  const drinkOrFail = async (source: AsyncIterable<unknown>): Promise<void> => drink(source).catch(() => {})
  const duplexOf = (odd: Odd, sink: unknown = drinkOrFail): Parameters<typeof select>[0] =>
    ({ source: { [Symbol.asyncIterator]: () => odd }, sink }) as unknown as Parameters<typeof select>[0]
  const refused = { next: async () => ({ done: false, value: wire('HDR NA') }) }

  it.each<[string, Odd, unknown?]>([
    ['a source of text', { next: async () => ({ done: false, value: 'abc' }) }],
    ['a source of nothing', { next: async () => undefined }],
    ['a source that throws at once', { next: () => fail() }],
    ['a sink that throws at once', { next: async () => new Promise(() => {}) }, () => fail()]
  ])('with %s it is a reset', async (_, odd, sink) => {
    expect(await failure(select(duplexOf(odd, sink), '/a'))).toMatchObject({ name: 'StreamResetError', cause: { cause: expect.any(Error) as Error } })
  })

  it.each<[string, Odd]>([
    ['throws as it is left', { ...refused, return: () => fail() }],
    ['is left without a promise', { ...refused, return: () => undefined }]
  ])('whose source %s, the error is told', async (_, odd) => {
    expect(await failure(select(duplexOf(odd), '/a'))).toMatchObject({ name: 'UnsupportedProtocolError' })
  })

  it('whose sink returns nothing, they agree', async () => {
    const [header, name] = [wire('HDR'), wire('A')]
    const answers = [header, name]
    const odd = { next: async () => ({ done: false, value: answers.shift() }) }
    expect(await select(duplexOf(odd, (source: AsyncIterable<unknown>) => { void drink(source) }), '/a')).toMatchObject({ protocol: '/a' })
  })

  it('that is none, nothing is done', async () => {
    for (const duplex of [{ source: [], sink: drink }, { source: null, sink: drink }, { source: (async function * () {})(), sink: 1 }]) {
      expect(await failure(select(duplex as unknown as Parameters<typeof select>[0], '/a')))
        .toMatchObject({ name: 'TypeError', message: expect.stringContaining('a duplex with source and sink') as string })
    }
  })
})

describe('with options', () => {
  const take = async (options: unknown): Promise<unknown> => {
    const [outbound, inbound] = fakeStreams(queueMicrotask)
    select(outbound, '/a').catch(() => { /* as the other end tells */ })
    return handle(inbound, '/a', options as MultistreamSelectInit).catch((error: unknown) => error)
  }

  it('of null, or limits that are undefined, all is as by default', async () => {
    expect(await take(null)).toBe('/a')
    expect(await take({ limits: { maxRounds: undefined, maxFrameLength: undefined, maxFramesPerTurn: undefined, ls: undefined } })).toBe('/a')
  })

  it('whose limits do not exist, they reject', async () => {
    expect(await take({ limits: { maxRound: 1 } })).toMatchObject({
      name: 'TypeError', message: 'Cannot negotiate: there is no option "maxRound", did you mean maxRounds? Known are maxFrameLength, maxRounds, maxFramesPerTurn, ls'
    })
    expect(await take({ limits: null })).toMatchObject({ name: 'TypeError' })
    expect(await take({ get limits () { return fail() } })).toMatchObject({ message: 'boom' })
  })
})
