import { describe, expect, it, vi } from 'vitest'
import { ConnectionDenied } from '../../src/behaviour/connection-denied.ts'
import { JointCheck } from '../../src/behaviour/joint-check.ts'
import { passGate, verdictOf } from '../../src/libp2p/verdict.ts'
import { Full, deny } from '../support/gated-behaviour.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'
import type { Lifetime } from '../../src/libp2p/verdict.ts'

const QUESTION = { stage: 'pending', direction: 'inbound' } as const

function terms () {
  const scheduler = new ManualScheduler()
  const onRejection = vi.fn()
  return { scheduler, gateTimeoutMs: 100, onRejection }
}

describe('verdictOf() (S7.3)', () => {
  it('is there at once when nobody takes time', () => {
    expect(verdictOf(undefined, QUESTION, terms())).toBeUndefined()
    const denied = deny()()
    expect(verdictOf(denied, QUESTION, terms())).toBe(denied)
  })

  it('is the first denial in composition order, whoever is faster, by its path', async () => {
    let slow = (_: unknown): void => {}
    const check = new JointCheck([
      { behaviour: 'slow', check: new Promise((resolve) => { slow = resolve as never }) },
      { behaviour: 'fast', check: Promise.resolve(deny(2)()) }
    ], QUESTION)
    const verdict = verdictOf(check, QUESTION, terms())
    slow(deny(1)())
    expect(await verdict).toMatchObject({ behaviour: 'slow', stage: 'pending', direction: 'inbound', cause: { limit: 1 } })
  })

  it('denies a check that does not settle in time, and leaves no timer', async () => {
    const own = terms()
    const check = new JointCheck([{ behaviour: 'a', check: Promise.resolve(undefined) }, { behaviour: 'b', check: new Promise(() => {}) }], QUESTION)
    const verdict = verdictOf(check, QUESTION, own)
    await Promise.resolve()
    own.scheduler.advance(100)
    expect(await verdict).toMatchObject({ behaviour: 'b', cause: { name: 'TimeoutError' } })
    expect(own.scheduler.timers.every(({ deadline }) => deadline === Infinity)).toBe(true)
  })

  it('denies, and reports, a check that rejects, whatever with', async () => {
    const own = terms()
    expect(await verdictOf(Promise.reject(new Error('no database')), QUESTION, own)).toMatchObject({ cause: { message: 'no database' } })
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- authors do
    expect(await verdictOf(Promise.reject(undefined), QUESTION, own)).toMatchObject({ cause: { message: 'Something was thrown that is no error: undefined' } })
    expect(own.onRejection).toHaveBeenCalledTimes(2)
    expect(own.onRejection).toHaveBeenCalledWith('', QUESTION, undefined)
  })

  it('denies what resolves to anything but a denial or nothing', async () => {
    expect(await verdictOf(Promise.resolve(true as never), QUESTION, terms())).toMatchObject({ cause: { name: 'TypeError' } })
    expect(await verdictOf(Promise.resolve(null as never), QUESTION, terms())).toBeUndefined()
  })

  it('denies a thenable that throws', async () => {
    const thenable = { then: () => { throw new Error('broken') } } as never
    expect(await verdictOf(thenable, QUESTION, terms())).toMatchObject({ cause: { message: 'broken' } })
  })

  it('does not wait any longer than its signal', async () => {
    const controller = new AbortController()
    const verdict = verdictOf(new Promise(() => {}), QUESTION, terms(), lifetimeOf(controller))
    controller.abort()
    expect(await verdict).toMatchObject({ cause: { name: 'AbortError' } })
  })
})

/** One that ends with `controller`. */
function lifetimeOf ({ signal }: AbortController): Lifetime {
  return { get isOver () { return signal.aborted }, signal }
}

describe('passGate()', () => {
  const driver = { ask: <Answer> (input: () => Answer) => input() }
  const busy = { ask: async <Answer> (input: () => Answer) => Promise.resolve().then(input) }
  const never = lifetimeOf(new AbortController())

  it('commits at once what nobody denies, and not what somebody does', () => {
    const commit = vi.fn(() => undefined)
    expect(passGate(driver, { question: QUESTION, check: () => undefined, commit }, terms(), never)).toBeUndefined()
    expect(commit).toHaveBeenCalledOnce()
    expect(passGate(driver, { question: QUESTION, check: deny(), commit }, terms(), never)).toBeInstanceOf(ConnectionDenied)
    expect(commit).toHaveBeenCalledOnce()
    expect(passGate(driver, { question: QUESTION, check: () => undefined }, terms(), never)).toBeUndefined()
  })

  it('gives the denial of the commit', async () => {
    expect(await passGate(driver, { question: QUESTION, check: async () => undefined, commit: deny(3) }, terms(), never)).toMatchObject({ cause: { limit: 3 } })
  })

  it('waits for a drain that is running, and for the check no longer than its time', async () => {
    const own = terms()
    const verdict = passGate(busy, { question: QUESTION, check: () => new Promise(() => {}) }, own, never)
    await new Promise((resolve) => { setImmediate(resolve) })
    own.scheduler.advance(100)
    expect(await verdict).toMatchObject({ cause: { name: 'TimeoutError' } })
  })

  it('commits nothing for an attempt that is over', async () => {
    const controller = new AbortController()
    const commit = vi.fn(() => undefined)
    let answer = (_?: undefined): void => {}
    const check = () => new Promise<undefined>((resolve) => { answer = resolve })
    const verdict = passGate(driver, { question: QUESTION, check, commit }, terms(), lifetimeOf(controller))
    controller.abort(new Full())
    answer()
    expect(await verdict).toBeInstanceOf(ConnectionDenied)
    expect(commit).not.toHaveBeenCalled()
    expect(passGate(driver, { question: QUESTION, check: () => undefined, commit }, terms(), lifetimeOf(controller))).toMatchObject({ cause: { name: 'Full' } })
  })
})
