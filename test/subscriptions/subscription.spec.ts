import { describe, expect, it, vi } from 'vitest'
import { CompositeSubscription, subscription } from '../../src/subscriptions/index.ts'

describe('subscription', () => {
  it('calls the teardown once, after it is closed', () => {
    const teardown = vi.fn(() => { expect(made.closed).toBe(true) })
    const made = subscription(teardown)
    expect(made.closed).toBe(false)
    made.unsubscribe()
    made.unsubscribe()
    expect(teardown).toHaveBeenCalledOnce()
  })

  it('ends with the scope of `using`', () => {
    const teardown = vi.fn()
    const made = subscription(teardown)
    made[Symbol.dispose]()
    expect(made.closed).toBe(true)
    expect(teardown).toHaveBeenCalledOnce()
  })

  it('throws what the teardown throws, and has ended all the same', () => {
    const cause = new Error('teardown')
    const made = subscription(() => { throw cause })
    expect(() => { made.unsubscribe() }).toThrow(cause)
    expect(made.closed).toBe(true)
    expect(() => { made.unsubscribe() }).not.toThrow()
  })

  it('leaves every container that holds it when it ends by itself, before its teardown runs (S8.14)', () => {
    const containers = Array.from({ length: 20 }, () => new CompositeSubscription())
    const teardown = vi.fn(() => { expect(containers.map(({ size }) => size)).toEqual(containers.map(() => 0)) })
    const made = subscription(teardown)
    containers.forEach((container) => { container.add(made) })
    made.unsubscribe()
    containers.forEach((container) => { container.dispose() })
    expect(teardown).toHaveBeenCalledOnce()
  })

  it('leaves those that still hold it, after others let it go', () => {
    const [first, second, third] = [new CompositeSubscription(), new CompositeSubscription(), new CompositeSubscription()] as const
    const made = subscription(() => {})
    for (const container of [first, second, third]) {
      container.add(made)
    }
    first.detach(made)
    second.detach(made)
    first.add(made)
    made.unsubscribe()
    expect([first.size, second.size, third.size]).toEqual([0, 0, 0])
  })
})
