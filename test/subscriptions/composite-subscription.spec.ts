import { describe, expect, it, vi } from 'vitest'
import { CompositeSubscription, subscription } from '../../src/subscriptions/index.ts'
import type { Child } from '../../src/subscriptions/index.ts'

/** Functions that note when they are called. */
function teardowns (count: number) {
  const called: number[] = []
  return { called, made: Array.from({ length: count }, (_, index) => () => { called.push(index) }) }
}

function failing (message: string): () => void {
  return () => { throw new Error(message) }
}

function messagesOf (error: unknown): string[] {
  expect(error).toBeInstanceOf(AggregateError)
  return (error as AggregateError).errors.map((cause: Error) => cause.message)
}

function thrownBy (work: () => void): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

describe('CompositeSubscription', () => {
  describe('S01: add after dispose', () => {
    it('disposes the child at once and does not store it', () => {
      const container = new CompositeSubscription()
      container.dispose()
      for (const child of [vi.fn(), vi.fn()]) {
        expect(container.add(child)).toBe(child)
        expect(child).toHaveBeenCalledOnce()
        expect(container.size).toBe(0)
      }
    })

    it('throws what that child throws', () => {
      const container = new CompositeSubscription()
      container.dispose()
      expect(() => container.add(failing('late'))).toThrow('late')
    })
  })

  describe('S03: clear versus dispose, and twice', () => {
    it('clear disposes the children and keeps the container, dispose is final, and both change nothing when repeated', () => {
      const container = new CompositeSubscription()
      const [a, b, d] = [vi.fn(), vi.fn(), vi.fn()] as const
      container.add(a)
      container.add(b)
      container.clear()
      container.clear()
      expect([a, b].map(child => child.mock.calls.length)).toEqual([1, 1])
      expect([container.size, container.closed]).toEqual([0, false])
      container.add(d)
      expect(d).not.toHaveBeenCalled()
      container.dispose()
      container.dispose()
      expect([a, b, d].map(child => child.mock.calls.length)).toEqual([1, 1, 1])
      expect([container.size, container.closed]).toEqual([0, true])
    })
  })

  describe('S05: same child twice (S8.12)', () => {
    it.each([1, 100])('holds it once, among %d others', (others) => {
      const container = new CompositeSubscription()
      teardowns(others).made.forEach(child => container.add(child))
      const child = vi.fn()
      container.add(child)
      container.add(child)
      expect(container.size).toBe(others + 1)
      container.dispose()
      expect(child).toHaveBeenCalledOnce()
    })

    it('leaves it for good when it ends by itself, although it was added twice', () => {
      const container = new CompositeSubscription()
      const child = subscription(() => {})
      container.add(child)
      container.add(child)
      child.unsubscribe()
      expect(container.size).toBe(0)
    })

    it('disposes it once after add, detach, add', () => {
      const container = new CompositeSubscription()
      const child = vi.fn()
      container.add(child)
      container.detach(child)
      container.add(child)
      container.dispose()
      expect(child).toHaveBeenCalledOnce()
    })

    it('does not run what was removed again', () => {
      const container = new CompositeSubscription()
      const child = vi.fn()
      container.add(child)
      container.remove(child)
      expect(child).toHaveBeenCalledOnce()
      container.dispose()
      expect(child).toHaveBeenCalledOnce()
    })

    it('runs two equal but distinct functions both', () => {
      const container = new CompositeSubscription()
      const called: string[] = []
      const make = () => () => { called.push('called') }
      container.add(make())
      container.add(make())
      container.dispose()
      expect(called).toHaveLength(2)
    })
  })

  describe('S08: null child', () => {
    it.each([
      ['null', null], ['undefined', undefined], ['object', {}], ['object', { unsubscribe: true }], ['object', { [Symbol.dispose]: 1 }],
      ['string', 'unsubscribe'], ['number', 1]
    ])('refuses %s at once, alive or disposed, and stays usable', (shown, child) => {
      const container = new CompositeSubscription()
      const refused = new TypeError(`Cannot add a subscription: it must be a function or have unsubscribe() or [Symbol.dispose](), received ${shown}`)
      const add = () => container.add(child as unknown as Child)
      expect(add).toThrow(refused)
      const alive = vi.fn()
      container.add(alive)
      container.dispose()
      expect(alive).toHaveBeenCalledOnce()
      expect(add).toThrow(refused)
    })
  })

  describe('S09: cycles', () => {
    it('refuses itself and stays alive, or disposed', () => {
      const container = new CompositeSubscription()
      const refused = new TypeError('Cannot add a subscription: a container cannot hold itself')
      expect(() => container.add(container)).toThrow(refused)
      expect([container.size, container.closed]).toEqual([0, false])
      container.dispose()
      expect(() => container.add(container)).toThrow(refused)
    })

    it.each(['dispose', 'clear'] as const)('%s ends a ring of two, each child once', (method) => {
      const [a, b] = [new CompositeSubscription(), new CompositeSubscription()] as const
      const [ofA, ofB] = [vi.fn(), vi.fn()] as const
      a.add(b)
      b.add(a)
      a.add(ofA)
      b.add(ofB)
      a[method]()
      expect([a.size, b.size, a.closed, b.closed]).toEqual([0, 0, true, true])
      expect([ofA, ofB].map(child => child.mock.calls.length)).toEqual([1, 1])
    })

    it('ends a ring of 100 000 without using up the stack', () => {
      const ring = Array.from({ length: 100_000 }, () => new CompositeSubscription())
      const last = vi.fn()
      ring.at(-1)?.add(last)
      ring.forEach((container, index) => { container.add(ring[(index + 1) % ring.length]!) })
      ring[0]!.dispose()
      expect(ring.every(({ closed, size }) => closed && size === 0)).toBe(true)
      expect(last).toHaveBeenCalledOnce()
    })
  })

  describe('D11: taking a child out', () => {
    it.each([0, 100])('remove disposes it, detach does not, both answer whether it was there, among %d others', (others) => {
      const container = new CompositeSubscription()
      teardowns(others).made.forEach(child => container.add(child))
      const [a, b] = [vi.fn(), vi.fn()] as const
      container.add(a)
      container.add(b)
      expect([container.has(a), container.has(b)]).toEqual([true, true])
      expect([container.remove(a), container.detach(b)]).toEqual([true, true])
      expect([container.has(a), container.has(b), container.size]).toEqual([false, false, others])
      expect([container.remove(a), container.detach(a), container.remove(b), container.detach(b)]).toEqual([false, false, false, false])
      container.dispose()
      expect([a, b].map(child => child.mock.calls.length)).toEqual([1, 0])
    })

    it('remove throws what the child throws as it is (S8.13)', () => {
      const container = new CompositeSubscription()
      const cause = new Error('teardown')
      const child = () => { throw cause }
      container.add(child)
      expect(thrownBy(() => container.remove(child))).toBe(cause)
      expect(container.size).toBe(0)
    })
  })

  describe('what it holds', () => {
    it('ends each child in its own way: functions, foreign subscriptions, disposables, subscriptions of ours', () => {
      const called: string[] = []
      const container = new CompositeSubscription()
      container.add(() => { called.push('function') })
      container.add({ unsubscribe () { called.push('unsubscribe') }, [Symbol.dispose] () { called.push('never') } })
      container.add({ [Symbol.dispose] () { called.push('dispose') } })
      container.add(subscription(() => { called.push('ours') }))
      container[Symbol.dispose]()
      expect(called).toEqual(['function', 'unsubscribe', 'dispose', 'ours'])
    })

    it('does not hold what has ended', () => {
      const container = new CompositeSubscription()
      const ended = subscription(() => {})
      ended.unsubscribe()
      expect(container.add(ended)).toBe(ended)
      expect(container.size).toBe(0)
    })

    it.each([1, 100])('is left by a child that ends by itself, a container as well (S8.14), among %d', (count) => {
      const [outer, inner] = [new CompositeSubscription(), new CompositeSubscription()] as const
      const children = Array.from({ length: count }, () => outer.add(subscription(() => {})))
      outer.add(inner)
      inner.dispose()
      expect(outer.size).toBe(count)
      children.forEach((child) => { child.unsubscribe() })
      expect(outer.size).toBe(0)
    })

    it('disposes a child that two containers hold once', () => {
      const [a, b] = [new CompositeSubscription(), new CompositeSubscription()] as const
      const teardown = vi.fn()
      const child = subscription(teardown)
      a.add(child)
      b.add(child)
      a.dispose()
      expect(b.size).toBe(0)
      b.dispose()
      expect(teardown).toHaveBeenCalledOnce()
    })
  })

  describe('S8.15: disposal', () => {
    it.each([3, 100])('calls %d children in order of insertion; what returned is the newest', (count) => {
      const container = new CompositeSubscription()
      const { called, made } = teardowns(count)
      made.forEach(child => container.add(child))
      container.detach(made[0]!)
      container.add(made[0]!)
      container.dispose()
      expect(called).toEqual([...made.keys()].slice(1).concat(0))
    })

    it('calls all, then throws one error with all causes in order, those of containers within among them', () => {
      const [outer, inner] = [new CompositeSubscription(), new CompositeSubscription()] as const
      const last = vi.fn()
      outer.add(failing('first'))
      outer.add(inner)
      inner.add(failing('second'))
      inner.add(failing('third'))
      outer.add(() => { throw new AggregateError([new AggregateError([new Error('fourth')]), new Error('fifth')]) })
      outer.add(last)
      const error = thrownBy(() => { outer.dispose() })
      expect(messagesOf(error)).toEqual(['first', 'second', 'third', 'fourth', 'fifth'])
      expect((error as Error).message).toBe('Cannot end all subscriptions: 5 failed')
      expect(last).toHaveBeenCalledOnce()
      expect([outer.closed, inner.closed]).toEqual([true, true])
      expect(() => { outer.dispose() }).not.toThrow()
    })

    it('is marked before the first child is called', () => {
      const container = new CompositeSubscription()
      const seen: unknown[] = []
      container.add(() => { seen.push(container.closed, container.size) })
      container.dispose()
      expect(seen).toEqual([true, 0])
    })

    it.each(['clear', 'dispose'] as const)('%s calls a child once that a teardown adds, removes, detaches or ends meanwhile', (method) => {
      const container = new CompositeSubscription()
      const [a, b, c, d] = [vi.fn(), vi.fn(), vi.fn(), vi.fn()] as const
      const ofD = subscription(d)
      const answers: unknown[] = []
      container.add(() => {
        container.add(a)
        answers.push(container.size, container.has(a), container.remove(b), container.detach(c))
        ofD.unsubscribe()
      })
      for (const child of [a, b, c, ofD]) {
        container.add(child)
      }
      container[method]()
      expect(answers).toEqual([0, false, false, false])
      expect([a, b, c, d].map(child => child.mock.calls.length)).toEqual([1, 1, 1, 1])
      expect(container.size).toBe(0)
    })

    it.each([['clear', 1, 0], ['dispose', 0, 1]] as const)('what is new when a teardown of %s adds it: %d is held, %d is ended', (method, size, calls) => {
      const container = new CompositeSubscription()
      const child = vi.fn()
      container.add(() => { container.add(child) })
      container[method]()
      expect([container.size, child.mock.calls.length]).toEqual([size, calls])
    })

    it.each(['clear', 'dispose'] as const)('%s inside a teardown ends the rest at once, in order', (method) => {
      const container = new CompositeSubscription()
      const { called, made } = teardowns(40)
      container.add(made[0]!)
      container.add(() => {
        container.add(made[39]!)
        container[method]()
        expect(called).toHaveLength(40)
      })
      made.slice(1, 39).forEach(child => container.add(child))
      container.clear()
      expect(called).toEqual([...made.keys()])
    })
  })

  describe('thresholds', () => {
    it.each([
      [{ setAbove: 0 }], [{ setAbove: 1 }], [{ setAbove: Infinity }], [{ setAbove: 4, arrayBelow: 4 }], [{ setAbove: 6 }], [{ arrayBelow: 0 }],
      [{ setAbove: undefined, arrayBelow: undefined }]
    ])('with %j the container behaves as any other (S8.16)', (init) => {
      const container = new CompositeSubscription(init)
      const { called, made } = teardowns(50)
      made.forEach(child => container.add(child))
      made.slice(3, 49).forEach(child => container.detach(child))
      made.slice(10, 20).forEach(child => container.add(child))
      container.dispose()
      expect(called).toEqual([0, 1, 2, 49, ...[...made.keys()].slice(10, 20)])
    })

    it('refuses thresholds that are none', () => {
      const make = (init: object) => () => new CompositeSubscription(init)
      expect(make({ setAbove: -1 })).toThrow(new RangeError(
        'Cannot make a container of subscriptions: setAbove must be a whole number from 0 to Infinity, received -1'
      ))
      expect(make({ setAbove: 4, arrayBelow: 5 })).toThrow(new RangeError(
        'Cannot make a container of subscriptions: arrayBelow must be at most setAbove (4), received 5'
      ))
      expect(make({ threshold: 4 })).toThrow(TypeError)
      expect(make({ arrayBelow: '4' })).toThrow(TypeError)
    })
  })
})
