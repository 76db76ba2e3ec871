import { describe, expect, it } from 'vitest'
import { Wait } from '../../src/libp2p/wait.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'

const init = (scheduler = new ManualScheduler()) => ({ scheduler, action: 'Cannot wait' })

describe('Wait', () => {
  it('resolves once, and tells whether it did', async () => {
    const wait = new Wait<number>(init())
    expect([wait.resolve(1), wait.resolve(2)]).toEqual([true, false])
    wait.reject(new Error('too late'))
    expect(await wait.promise).toBe(1)
  })

  it('rejects once', async () => {
    const wait = new Wait<number>(init())
    wait.reject(new Error('first'))
    wait.reject(new Error('second'))
    expect(wait.resolve(1)).toBe(false)
    await expect(wait.promise).rejects.toThrow('first')
  })

  it('rejects with AbortError when its signal aborts, with the reason as cause', async () => {
    const abort = new AbortController()
    const wait = new Wait<number>(init(), { signal: abort.signal })
    abort.abort('because')
    await expect(wait.promise).rejects.toMatchObject({ name: 'AbortError', message: 'Cannot wait: the signal aborted', cause: 'because' })
  })

  it('rejects at once with a signal that has aborted', async () => {
    await expect(new Wait<number>(init(), { signal: AbortSignal.abort() }).promise).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('rejects with TimeoutError when its time is up, and not before', async () => {
    const scheduler = new ManualScheduler()
    const wait = new Wait<number>(init(scheduler), { timeoutMs: 100 })
    scheduler.advance(99)
    scheduler.advance(1)
    await expect(wait.promise).rejects.toMatchObject({ name: 'TimeoutError', message: 'Cannot wait: 100 ms have passed' })
  })

  it('makes no timer for Infinity, and clears the one that it made', () => {
    const scheduler = new ManualScheduler()
    new Wait<number>(init(scheduler), { timeoutMs: Infinity }).resolve(1)
    expect(scheduler.timers).toEqual([])
    new Wait<number>(init(scheduler), { timeoutMs: 100 }).resolve(1)
    expect(scheduler.timers.map(({ deadline }) => deadline)).toEqual([Infinity])
  })

  it.each([
    [{ signal: {} }, 'Cannot wait: signal must be an AbortSignal, received object'],
    [{ signal: null }, 'Cannot wait: signal must be an AbortSignal, received null'],
    [{ timeoutMs: '1' }, 'Cannot wait: timeoutMs must be a number, received string'],
    [{ timeout: 1 }, 'Cannot wait: there is no option "timeout", did you mean timeoutMs? Known are signal, timeoutMs'],
    [new AbortController().signal, 'Cannot wait: options must be { signal, timeoutMs }, received an AbortSignal'],
    [null, 'Cannot wait: options must be an object, received null']
  ])('refuses %o with a TypeError, and arms nothing', (options, message) => {
    const scheduler = new ManualScheduler()
    expect(() => new Wait<number>(init(scheduler), options as never)).toThrow(new TypeError(message))
    expect(scheduler.timers).toEqual([])
  })

  it.each([-1, NaN])('refuses timeoutMs: %d', (timeoutMs) => {
    expect(() => new Wait<number>(init(), { timeoutMs })).toThrow(RangeError)
  })
})
