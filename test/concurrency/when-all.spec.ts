import { describe, expect, it, vi } from 'vitest'
import { andAllComplete, andAllSucceed, gather, inlineExecutor, whenAllComplete, whenAllSucceed } from '../../src/concurrency/index.ts'
import type { Executor } from '../../src/concurrency/index.ts'

const forms = { whenAllSucceed, whenAllComplete, andAllSucceed, andAllComplete }
const each = Object.entries(forms)

/** What a form gives for plain members. */
function resultOf (name: string, values: readonly unknown[]): unknown {
  switch (name) {
    case 'whenAllSucceed': return values
    case 'whenAllComplete': return values.map(value => ({ status: 'fulfilled', value }))
    default: return undefined
  }
}

/** Whether `promise` is settled now, told by the microtask in which it answers. */
async function isSettled (promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending')
  return await Promise.race([promise, Promise.resolve(pending)]).then(first => first !== pending, () => true)
}

function pending<Value> () {
  let resolve!: (value: Value) => void
  let reject!: (reason: unknown) => void
  const promise = new Promise<Value>((resolvePromise, rejectPromise) => { [resolve, reject] = [resolvePromise, rejectPromise] })
  return { promise, resolve, reject }
}

/** Runs jobs when told, and knows whether one of them is running. */
class ManualExecutor implements Executor {
  isInside = false
  readonly #jobs: Array<() => void> = []

  get size (): number {
    return this.#jobs.length
  }

  execute (job: () => void): void {
    this.#jobs.push(job)
  }

  run (): void {
    this.isInside = true
    this.#jobs.splice(0).forEach((job) => { job() })
    this.isInside = false
  }
}

async function microtasks (): Promise<void> {
  await new Promise((resolve) => { setImmediate(resolve) })
}

/** Drives the executor until `promise` has settled. */
async function drive<Value> (executor: ManualExecutor, promise: Promise<Value>): Promise<Value> {
  const settled = vi.fn()
  Promise.resolve(promise).then(settled, settled)
  while (settled.mock.calls.length === 0) {
    await microtasks()
    executor.run()
  }
  return promise
}

function * yielding<Member> (...members: Member[]): Generator<Member, void, undefined> {
  yield * members
}

function thenable<Value> (value: Value): PromiseLike<Value> {
  return { then: (onFulfilled: (value: Value) => unknown) => { onFulfilled(value) } } as unknown as PromiseLike<Value>
}

describe('P01: empty list', () => {
  it.each(each)('%s completes by itself, fulfilled already', async (name, form) => {
    for (const members of [[], new Set(), yielding()]) {
      const joined: Promise<unknown> = form(members)
      expect(joined).toBeInstanceOf(Promise)
      expect(await isSettled(joined)).toBe(true)
      expect(await joined).toEqual(resultOf(name, []))
    }
  })

  it.each(each)('%s does so on an executor as well', async (name, form) => {
    const joined: Promise<unknown> = form([], { on: inlineExecutor })
    expect(await isSettled(Promise.resolve().then(() => joined))).toBe(false)
    expect(await joined).toEqual(resultOf(name, []))
  })

  it('gather gives an empty array', () => {
    expect(gather([])).toEqual([])
    expect(gather(yielding())).toEqual([])
  })
})

describe('P04: delivered after the call, and where promised', () => {
  const done = Promise.resolve('done')
  const kinds: Array<[string, readonly unknown[]]> = [['no members', []], ['values', [7]], ['settled members', [done]], ['both', [7, done]]]

  for (const [name, form] of each) {
    it.each(kinds)(`${name} delivers after the call for %s`, async (_, members) => {
      let stage = 1
      const seen = (form(members) as Promise<unknown>).then(() => stage)
      stage = 2
      expect(await seen).toBe(2)
    })

    it.each(kinds)(`${name} runs callbacks inside the executor for %s`, async (_, members) => {
      const executor = new ManualExecutor()
      const seen = (form(members, { on: executor }) as Promise<unknown>).then(() => executor.isInside)
      expect(executor.size).toBe(0)
      expect(await drive(executor, seen)).toBe(true)
    })

    it(`${name} runs callbacks inside the executor for pending members`, async () => {
      const executor = new ManualExecutor()
      const { promise, resolve } = pending<string>()
      const seen = (form([promise], { on: executor }) as Promise<unknown>).then(() => executor.isInside)
      await microtasks()
      expect(executor.size).toBe(0)
      resolve('later')
      expect(await drive(executor, seen)).toBe(true)
    })
  }

  it('catch and finally run on the executor, and what callbacks throw or return is passed on', async () => {
    const executor = new ManualExecutor()
    const joined = whenAllSucceed([Promise.reject(new Error('member'))], { on: executor })
    expect(await drive(executor, joined.catch((cause: unknown) => [executor.isInside, cause]))).toEqual([true, new Error('member')])
    const onFinally = vi.fn(() => { expect(executor.isInside).toBe(true) })
    await expect(drive(executor, joined.finally(onFinally))).rejects.toThrow('member')
    expect(onFinally).toHaveBeenCalledOnce()
    const values = whenAllSucceed([1, 2], { on: executor })
    await expect(drive(executor, values.then(() => { throw new Error('callback') }))).rejects.toThrow('callback')
    expect(await drive(executor, values.then(async ([one]) => one))).toBe(1)
    expect(await drive(executor, values.then(null))).toEqual([1, 2])
  })

  it('a callback that is handed to an executor that fails rejects', async () => {
    const executor: Executor = { execute () { throw new Error('stopped') } }
    await expect(whenAllSucceed([1], { on: executor }).then(() => 'never')).rejects.toThrow('stopped')
  })

  it('one completion, one job per callback (S8.18)', async () => {
    const executor = new ManualExecutor()
    const { promise, resolve } = pending<number>()
    const callback = vi.fn()
    const called = whenAllSucceed([promise, promise], { on: executor }).then(callback)
    resolve(1)
    await microtasks()
    expect(executor.size).toBe(1)
    await drive(executor, called)
    expect(callback.mock.calls).toEqual([[[1, 1]]])
  })
})

describe('results (S8.17)', () => {
  it.each(each)('%s takes any iterable of values and thenables', async (name, form) => {
    const plain = [1, undefined, null, 'a', { then: 'no function' }, () => {}]
    const promise = Promise.resolve('twice')
    for (const [members, values] of [
      [plain, plain],
      [new Set(plain), plain],
      [yielding(...plain), plain],
      ['ab', ['a', 'b']],
      [[promise, 1, promise], ['twice', 1, 'twice']],
      [[promise, promise], ['twice', 'twice']],
      [yielding<unknown>(1, thenable('foreign'), promise), [1, 'foreign', 'twice']],
      // eslint-disable-next-line no-sparse-arrays
      [[, 1], [undefined, 1]],
      [[thenable(thenable('nested'))], ['nested']],
      [[promise, 1, undefined, thenable('foreign'), promise], ['twice', 1, undefined, 'foreign', 'twice']]
    ] as Array<[Iterable<unknown>, unknown[]]>) {
      const result: unknown = await (form(members))
      expect(result).toEqual(resultOf(name, values))
    }
  })

  it('are in the order of the members, whoever ends first', async () => {
    const [first, second] = [pending<string>(), pending<string>()] as const
    const joined = whenAllSucceed([first.promise, 'value', second.promise])
    const ended = whenAllComplete([first.promise, 'value', second.promise])
    second.resolve('second')
    await microtasks()
    expect(await isSettled(joined)).toBe(false)
    first.resolve('first')
    expect(await joined).toEqual(['first', 'value', 'second'])
    expect((await ended).map(outcome => outcome.status === 'fulfilled' && outcome.value)).toEqual(['first', 'value', 'second'])
  })

  it('are in an array of their own', async () => {
    for (const members of [[1, 2], [Promise.resolve(1), 2], [Promise.resolve(1)]]) {
      expect(await whenAllSucceed(members)).not.toBe(members)
      expect(members).toHaveLength(members.length)
      expect(await gather(members)).not.toBe(members)
    }
  })

  it('a thenable is asked once, after the call', async () => {
    const then = vi.fn((onFulfilled: (value: number) => void) => { onFulfilled(1) })
    const members = [{ then }, Promise.reject(new Error('other'))] as unknown as Array<PromiseLike<number>>
    const joined = whenAllComplete(members)
    expect(then).not.toHaveBeenCalled()
    expect((await joined).map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(then).toHaveBeenCalledOnce()
  })
})

describe('failures (S8.18)', () => {
  it.each([['whenAllSucceed', whenAllSucceed], ['andAllSucceed', andAllSucceed], ['gather', gather]] as const)(
    '%s rejects with the first failure at once, and later ones are ignored', async (_, form) => {
      const [first, second, never] = [pending<never>(), pending<never>(), pending<never>()] as const
      const joined = Promise.resolve(form([first.promise, 'value', never.promise, second.promise]))
      second.reject(new Error('second'))
      await expect(joined).rejects.toThrow('second')
      first.reject(new Error('first'))
      await microtasks()
      await expect(joined).rejects.toThrow('second')
    })

  it('whenAllComplete waits for all and reports each, andAllComplete waits as well', async () => {
    const [first, second] = [pending<number>(), pending<number>()] as const
    const members = [first.promise, 'value', Promise.reject(new Error('failed')), second.promise]
    const [ended, over] = [whenAllComplete(members), andAllComplete(members)] as const
    first.reject(new Error('first'))
    await microtasks()
    expect([await isSettled(ended), await isSettled(over)]).toEqual([false, false])
    second.resolve(2)
    expect(await ended).toEqual([
      { status: 'rejected', reason: new Error('first') },
      { status: 'fulfilled', value: 'value' },
      { status: 'rejected', reason: new Error('failed') },
      { status: 'fulfilled', value: 2 }
    ])
    await over
  })

  it.each(each)('%s counts every member as handled, also those from an iterable that throws', async (_, form) => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    try {
      const members = () => [Promise.reject(new Error('a')), 1, Promise.reject(new Error('b'))]
      await (form(members()) as Promise<unknown>).catch(() => {})
      const cause = new Error('iterable')
      const joined = form((function * () {
        yield * members()
        throw cause
      })()) as Promise<unknown>
      await expect(joined).rejects.toBe(cause)
      await expect(form(undefined as unknown as []) as Promise<unknown>).rejects.toThrow(TypeError)
      await microtasks()
      expect(unhandled).not.toHaveBeenCalled()
    } finally {
      process.off('unhandledRejection', unhandled)
    }
  })

  it('a member whose `then` cannot be read is one that failed', async () => {
    const broken = { get then () { throw new Error('unreadable') } }
    await expect(whenAllSucceed([1, broken])).rejects.toThrow('unreadable')
    expect(await whenAllComplete([1, broken])).toEqual([{ status: 'fulfilled', value: 1 }, { status: 'rejected', reason: new Error('unreadable') }])
  })
})

function * failing (): Generator<number> {
  yield 1
  throw new Error('iterable')
}

describe('gather (S8.19)', () => {
  it('stays synchronous when no member is thenable', () => {
    expect(gather([1, undefined, 'a'])).toEqual([1, undefined, 'a'])
    expect(gather(new Set([1, 2]))).toEqual([1, 2])
  })

  it('gives a promise when one is', async () => {
    const joined = gather([1, Promise.resolve(2)])
    expect(joined).toBeInstanceOf(Promise)
    expect(await joined).toEqual([1, 2])
  })

  it('throws what the iterable throws', () => {
    expect(() => gather(failing())).toThrow('iterable')
  })

  it.each([...each, ['gather', gather] as const])('%s takes 100 000 members of each kind without recursion', async (_, form) => {
    const values = Array.from({ length: 100_000 }, (_, index) => index)
    const promises = values.map(async value => value)
    for (const members of [values, promises, [...promises, ...values]]) {
      const result: unknown = await form(members)
      expect(Array.isArray(result) ? result.length : members.length).toBe(members.length)
    }
    const failed = [...promises, Promise.reject(new Error('last'))]
    await Promise.resolve(form(failed) as Promise<unknown>).catch((cause: unknown) => { expect(cause).toEqual(new Error('last')) })
  })
})
