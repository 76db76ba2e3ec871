import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { andAllComplete, whenAllComplete } from '../../src/concurrency/index.ts'

const unhandled = vi.fn()

beforeEach(() => {
  unhandled.mockClear()
  process.on('unhandledRejection', unhandled)
})

afterEach(async () => {
  await tasks(2)
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
})

/** Lets so many tasks of the event loop pass; failures that nobody handles are reported between them. */
async function tasks (count: number): Promise<void> {
  for (let left = count; left > 0; left--) {
    await new Promise((resolve) => { setImmediate(resolve) })
  }
}

/** What a member is: when it ends, in tasks (0: it has ended before the join), and how. */
interface Plan {
  readonly after: number
  readonly isFailure: boolean
}

async function member ({ after, isFailure }: Plan, at: number): Promise<number> {
  const promise = (async () => {
    if (after > 0) {
      await tasks(after)
    }
    if (isFailure) {
      throw new Error(`${at}`)
    }
    return at
  })()
  return await promise
}

/** How the host itself tells it. */
async function together (plans: readonly Plan[]): Promise<unknown> {
  return await Promise.allSettled(plans.map(member))
}

const ENDED: Plan = { after: 0, isFailure: false }

/** So many members have ended, but for some. */
function plansOf (count: number, others: Readonly<Record<number, Plan>>): Plan[] {
  return Array.from({ length: count }, (_, at) => others[at] ?? ENDED)
}

describe('how many promises ended (S8.17, S8.18)', () => {
  it.each([
    ['all that have succeeded', plansOf(1000, {})],
    ['some that have failed', plansOf(200, { 0: { after: 0, isFailure: true }, 77: { after: 0, isFailure: true }, 199: { after: 0, isFailure: true } })],
    ['all that have failed', plansOf(100, {}).map(() => ({ after: 0, isFailure: true }))],
    ['none that has ended', plansOf(100, {}).map((_, at) => ({ after: 1 + at % 3, isFailure: at % 5 === 0 }))],
    ['one that ends late', plansOf(200, { 100: { after: 2, isFailure: false } })],
    ['one that fails late, behind another that ends later', plansOf(200, { 3: { after: 3, isFailure: false }, 150: { after: 1, isFailure: true } })],
    ['the last that ends late', plansOf(65, { 64: { after: 2, isFailure: true } })],
    ['one less than are walked', plansOf(63, { 5: { after: 1, isFailure: true } })],
    ['as many as are walked', plansOf(64, { 5: { after: 1, isFailure: true } })]
  ])('%s', async (_, plans) => {
    expect(await whenAllComplete(plans.map(member))).toEqual(await together(plans))
    await expect(andAllComplete(plans.map(member))).resolves.toBeUndefined()
  })

  it('any mixture, as `Promise.allSettled` has it', async () => {
    const plan = fc.record({ after: fc.oneof({ weight: 20, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 3 })), isFailure: fc.boolean() })
    await fc.assert(fc.asyncProperty(fc.array(plan, { minLength: 50, maxLength: 300, size: 'max' }), async (plans) => {
      expect(await whenAllComplete(plans.map(member))).toEqual(await together(plans))
    }), { numRuns: 60 })
  })

  it('a failure while an earlier member is waited for is handled, wherever both stand', async () => {
    for (let waiting = 0; waiting < 40; waiting++) {
      const plans = plansOf(200, { [waiting]: { after: 3, isFailure: false }, [waiting + 60]: { after: 1, isFailure: true } })
      expect(await whenAllComplete(plans.map(member))).toEqual(await together(plans))
    }
  })

  it('members are those of the call, whatever becomes of the list', async () => {
    const list = Array.from({ length: 100 }, async (_, at) => at)
    const joined = whenAllComplete(list)
    void list.fill(Promise.resolve(-1))
    expect((await joined).map(outcome => outcome.status === 'fulfilled' ? outcome.value : undefined)).toEqual(Array.from({ length: 100 }, (_, at) => at))
  })

  it('a promise that is there many times appears as often', async () => {
    const failed = Promise.reject(new Error('same'))
    expect(await whenAllComplete(Array.from({ length: 100 }, async () => await failed))).toEqual(Array(100).fill({ status: 'rejected', reason: new Error('same') }))
    expect(await whenAllComplete(Array<unknown>(100).fill(failed))).toEqual(Array(100).fill({ status: 'rejected', reason: new Error('same') }))
  })

  it('waits no longer than for the last of them', async () => {
    const ended = vi.fn()
    void whenAllComplete(plansOf(100, { 50: { after: 3, isFailure: false } }).map(member)).then(ended)
    await tasks(1)
    expect(ended).not.toHaveBeenCalled()
    await tasks(3)
    expect(ended).toHaveBeenCalledOnce()
  })
})
