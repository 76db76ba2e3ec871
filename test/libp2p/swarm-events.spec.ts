import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { SwarmEventStreams } from '../../src/libp2p/swarm-events.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'
import type { KeyedEvent } from '../../src/behaviour/inference.ts'

const event = (behaviour: string, value: number): KeyedEvent<string, number> => ({ behaviour, peer: undefined as never, connection: undefined, event: value })
const END = { done: true, value: undefined }

function streams (eventBufferSize = 3, maxStallMs = 100) {
  const scheduler = new ManualScheduler()
  const stalls: string[] = []
  const all = new SwarmEventStreams<KeyedEvent<string, number>>({
    eventBufferSize, maxStallMs, scheduler, keys: ['a', 'b', 'c'], stall: () => { stalls.push('stall') }, resume: () => { stalls.push('resume') }
  })
  return { all, push: (behaviour: string, value: number) => all.push(event(behaviour, value)), scheduler, stalls }
}

const valuesOf = async (iterator: AsyncIterator<KeyedEvent<string, number>>, count: number) => {
  const values: unknown[] = []
  while (values.length < count) {
    const { value } = await iterator.next() as IteratorYieldResult<KeyedEvent<string, number>>
    values.push(value.event)
  }
  return values
}

describe('an iterator over events (S8.1)', () => {
  it('begins with its call, and gives each event in order to each iterator', async () => {
    const { all, push } = streams()
    push('a', 0)
    const [left, right] = [all.open({}), all.open({})]
    push('a', 1)
    push('b', 2)
    expect(await valuesOf(left, 2)).toEqual([1, 2])
    expect(await valuesOf(right, 2)).toEqual([1, 2])
  })

  it('leaves no listener on a signal that had aborted before', async () => {
    const signal = AbortSignal.abort()
    const { all } = streams()
    expect(await all.open({ signal }).next()).toEqual(END)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('gives the next event to those who wait, in the order in which they asked', async () => {
    const { all, push } = streams()
    const iterator = all.open({})
    const waiting = [iterator.next(), iterator.next()]
    push('a', 1)
    push('a', 2)
    push('a', 3)
    expect((await Promise.all([...waiting, iterator.next()])).map(({ value }) => value?.event)).toEqual([1, 2, 3])
  })

  it.each([
    { filter: 'a', values: [1, 3] },
    { filter: ['b', 'c'], values: [2, 4] }
  ])('lets only events of $filter through', async ({ filter, values }) => {
    const { all, push } = streams()
    const iterator = all.open({ behaviour: filter })
    push('a', 1)
    push('b', 2)
    push('a', 3)
    push('c', 4)
    expect(await valuesOf(iterator, 2)).toEqual(values)
  })

  it.each([
    [{ behaviour: 'd' }, 'Cannot iterate over events: there is no behaviour "d"; known are a, b, c'],
    [{ behaviour: ['a', 'd'] }, 'there is no behaviour "d"'],
    [{ behaviours: 'a' }, 'there is no option "behaviours", did you mean behaviour?'],
    [{ signal: {} }, 'signal must be an AbortSignal, received object'],
    [{ overflow: 'drop' }, 'overflow must be "stall" or "end", received "drop"'],
    [{ overflow: null }, 'overflow must be "stall" or "end", received null']
  ])('refuses %j at once', (options, message) => {
    const { all } = streams()
    expect(() => all.open(options as never)).toThrow(expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) as string }))
  })

  it('throws OverflowError once, after its buffer, when it falls behind with overflow "end"; others go on', async () => {
    const { all, push, stalls } = streams(2)
    const slow = all.open({ overflow: 'end' })
    const other = all.open({ behaviour: 'b' })
    push('a', 1)
    push('a', 2)
    push('a', 3)
    push('b', 4)
    expect(await valuesOf(slow, 2)).toEqual([1, 2])
    await expect(slow.next()).rejects.toMatchObject({ name: 'OverflowError', message: expect.stringContaining('eventBufferSize is 2') as string })
    expect(await slow.next()).toEqual(END)
    expect(await valuesOf(other, 1)).toEqual([4])
    expect(stalls).toEqual([])
  })

  it('ends with break, and lets go of everything', async () => {
    const { all, push } = streams()
    const seen: number[] = []
    const reading = (async () => {
      for await (const { event: value } of all.open({})) {
        seen.push(value)
        break
      }
    })()
    push('a', 1)
    await reading
    push('a', 2)
    expect(seen).toEqual([1])
  })

  it('ends with its signal, at once and for good, and leaves no listener', async () => {
    const { all, push } = streams()
    const abort = new AbortController()
    const iterator = all.open({ signal: abort.signal })
    const waiting = iterator.next()
    abort.abort()
    expect(await waiting).toEqual(END)
    push('a', 1)
    expect(await iterator.next()).toEqual(END)

    const buffered = all.open({ signal: AbortSignal.abort() })
    push('a', 2)
    expect(await buffered.next()).toEqual(END)
  })

  it('drops what it has buffered when its signal aborts', async () => {
    const { all, push } = streams()
    const abort = new AbortController()
    const iterator = all.open({ signal: abort.signal })
    push('a', 1)
    abort.abort()
    expect(await iterator.next()).toEqual(END)
  })

  it('ends with Symbol.asyncDispose', async () => {
    const { all, push } = streams()
    const iterator = all.open({})
    await iterator[Symbol.asyncDispose]()
    push('a', 1)
    expect(await iterator.next()).toEqual(END)
    expect(await iterator.return()).toEqual(END)
  })

  it('gives what it has buffered when the swarm stops, then ends', async () => {
    const { all, push } = streams()
    const iterator = all.open({})
    push('a', 1)
    all.close()
    push('a', 2)
    expect(await valuesOf(iterator, 1)).toEqual([1])
    expect(await iterator.next()).toEqual(END)
  })

  it('ends at once when it begins while the node is stopped, and goes on when it runs again', async () => {
    const { all, push } = streams()
    all.close()
    expect(await all.open({}).next()).toEqual(END)
    all.reopen()
    const iterator = all.open({})
    push('a', 1)
    expect(await valuesOf(iterator, 1)).toEqual([1])
  })

  it('says whether anybody takes an event', () => {
    const { all, push } = streams()
    expect(push('a', 1)).toBe(false)
    all.open({ behaviour: 'b' })
    expect([push('a', 2), push('b', 3)]).toEqual([false, true])
  })

  it('leaves no listener on a signal that outlives it', async () => {
    const { all } = streams()
    const { signal } = new AbortController()
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => { listeners++; add(...args) }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => { listeners--; remove(...args) }
    const iterator = all.open({ signal })
    expect(listeners).toBe(1)
    await iterator.return()
    expect(listeners).toBe(0)
  })
})

describe('an iterator that is full (S8.3)', () => {
  it('stalls with the event that fills it, until one is taken', async () => {
    const { all, push, stalls } = streams(2)
    const iterator = all.open({})
    push('a', 1)
    expect(stalls).toEqual([])
    push('a', 2)
    expect(stalls).toEqual(['stall'])
    expect(all.length).toBe(2)
    expect(await valuesOf(iterator, 1)).toEqual([1])
    expect(stalls).toEqual(['stall', 'resume'])
    push('a', 3)
    expect(await valuesOf(iterator, 2)).toEqual([2, 3])
  })

  it('never fills while its consumer waits', async () => {
    const { all, push, stalls } = streams(1)
    const iterator = all.open({})
    const waiting = iterator.next()
    push('a', 1)
    expect(stalls).toEqual([])
    expect((await waiting).value?.event).toBe(1)
  })

  it('goes on when the last of several has room', async () => {
    const { all, push, stalls } = streams(1)
    const [first, second] = [all.open({}), all.open({})]
    push('a', 1)
    expect(stalls).toEqual(['stall'])
    await first.next()
    expect(stalls).toEqual(['stall'])
    await second.next()
    expect(stalls).toEqual(['stall', 'resume'])
  })

  it.each([
    ['break', async (iterator: AsyncIterator<unknown>) => { await iterator.return?.() }],
    ['Symbol.asyncDispose', async (iterator: unknown) => { await (iterator as AsyncDisposable)[Symbol.asyncDispose]() }]
  ])('goes on after %s', async (_, end) => {
    const { all, push, stalls, scheduler } = streams(1)
    const iterator = all.open({})
    push('a', 1)
    await end(iterator)
    expect(stalls).toEqual(['stall', 'resume'])
    expect(scheduler.timers.map(({ deadline }) => deadline)).toEqual([Infinity])
    expect(await iterator.next()).toEqual(END)
  })

  it('goes on after its signal, and when the node stops', () => {
    const { all, push, stalls } = streams(1)
    const abort = new AbortController()
    all.open({ signal: abort.signal })
    push('a', 1)
    abort.abort()
    expect(stalls).toEqual(['stall', 'resume'])
    all.open({})
    push('a', 2)
    all.close()
    expect(stalls).toEqual(['stall', 'resume', 'stall', 'resume'])
  })

  it('ends with OverflowError after maxStallMs without an event taken, after its buffer', async () => {
    const { all, push, stalls, scheduler } = streams(2, 100)
    const iterator = all.open({})
    push('a', 1)
    push('a', 2)
    scheduler.advance(60)
    expect(await valuesOf(iterator, 1)).toEqual([1])
    push('a', 3)
    scheduler.advance(60)
    expect(stalls).toEqual(['stall', 'resume', 'stall'])
    scheduler.advance(40)
    expect(stalls).toEqual(['stall', 'resume', 'stall', 'resume'])
    expect(push('a', 4)).toBe(false)
    expect(await valuesOf(iterator, 2)).toEqual([2, 3])
    await expect(iterator.next()).rejects.toMatchObject({ name: 'OverflowError', message: expect.stringContaining('maxStallMs') as string })
    expect(await iterator.next()).toEqual(END)
  })

  it('may stay so for ever with maxStallMs Infinity', () => {
    const { all, push, stalls, scheduler } = streams(1, Infinity)
    all.open({})
    push('a', 1)
    scheduler.advance(1e9)
    expect([stalls, scheduler.timers]).toEqual([['stall'], []])
  })
})
