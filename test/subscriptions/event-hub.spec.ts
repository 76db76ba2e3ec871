import { describe, expect, it, vi } from 'vitest'
import { CompositeSubscription, EventHub } from '../../src/subscriptions/index.ts'

function hubThatMustNotFail<Event> () {
  return new EventHub<Event>((cause) => { throw cause })
}

describe('EventHub', () => {
  it('tells all in the order in which they subscribed, at once', () => {
    const hub = hubThatMustNotFail<string>()
    const heard: string[] = []
    for (const name of ['a', 'b', 'c']) {
      hub.subscribe((event) => { heard.push(`${name} ${event}`) })
    }
    hub.publish('1')
    expect(heard).toEqual(['a 1', 'b 1', 'c 1'])
  })

  it('counts subscriptions that have not ended; one callback may have several', () => {
    const hub = hubThatMustNotFail<number>()
    const callback = vi.fn()
    const [first] = [hub.subscribe(callback), hub.subscribe(callback)] as const
    hub.publish(1)
    expect([hub.size, callback.mock.calls.length]).toEqual([2, 2])
    first.unsubscribe()
    first.unsubscribe()
    expect([hub.size, first.closed]).toEqual([1, true])
    hub.publish(2)
    expect(callback).toHaveBeenCalledTimes(3)
  })

  it('calls callbacks without a receiver', () => {
    const hub = hubThatMustNotFail<number>()
    hub.subscribe(function (this: unknown) { expect(this).toBeUndefined() })
    hub.publish(1)
  })

  it('a callback that throws breaks nobody, and is reported', () => {
    const reported: unknown[] = []
    const hub = new EventHub<number>((cause) => { reported.push(cause) })
    const others = [vi.fn(), vi.fn(), vi.fn()] as const
    hub.subscribe(others[0])
    hub.subscribe(() => { throw new Error('first') })
    hub.subscribe(others[1])
    hub.subscribe(() => { throw new Error('second') })
    hub.subscribe(() => { throw new Error('third') })
    hub.subscribe(others[2])
    hub.publish(1)
    hub.publish(2)
    expect(reported).toEqual([1, 2].flatMap(() => [new Error('first'), new Error('second'), new Error('third')]))
    expect(others.map(other => other.mock.calls)).toEqual(others.map(() => [[1], [2]]))
  })

  it('works on after a reporter that throws', () => {
    const hub = new EventHub<number>((cause) => { throw cause })
    const callback = vi.fn()
    const faulty = hub.subscribe(() => { throw new Error('callback') })
    hub.subscribe(callback)
    expect(() => { hub.publish(1) }).toThrow('callback')
    faulty.unsubscribe()
    hub.publish(2)
    expect(callback.mock.calls).toEqual([[2]])
    expect(hub.size).toBe(1)
  })

  it('does not tell who unsubscribes meanwhile, nor who subscribes meanwhile (S8.8)', () => {
    const hub = hubThatMustNotFail<number>()
    const [before, after, late] = [vi.fn(), vi.fn(), vi.fn()] as const
    const ofBefore = hub.subscribe(before)
    const own = hub.subscribe(() => {
      for (const subscription of [ofBefore, own, ofAfter]) {
        subscription.unsubscribe()
      }
      hub.subscribe(late)
    })
    const ofAfter = hub.subscribe(after)
    hub.publish(1)
    expect([before, after, late].map(callback => callback.mock.calls)).toEqual([[[1]], [], []])
    hub.publish(2)
    expect([before, after, late].map(callback => callback.mock.calls)).toEqual([[[1]], [], [[2]]])
    expect(hub.size).toBe(1)
  })

  it('delivers what a subscriber publishes before the rest of the outer event', () => {
    const hub = hubThatMustNotFail<number>()
    const heard: string[] = []
    hub.subscribe((event) => {
      heard.push(`a${event}`)
      if (event === 1) {
        hub.publish(2)
      }
    })
    hub.subscribe((event) => { heard.push(`b${event}`) })
    hub.publish(1)
    expect(heard).toEqual(['a1', 'a2', 'b2', 'b1'])
  })

  it('hands out subscriptions that leave their container when they end', () => {
    const hub = hubThatMustNotFail<number>()
    const container = new CompositeSubscription()
    const [first] = [container.add(hub.subscribe(() => {})), container.add(hub.subscribe(() => {}))] as const
    first[Symbol.dispose]()
    expect([container.size, hub.size]).toEqual([1, 1])
    container.dispose()
    expect(hub.size).toBe(0)
  })

  it('lets go of callbacks that left', () => {
    const hub = hubThatMustNotFail<number>()
    const kept = hub.subscribe(() => {})
    const subscriptions = Array.from({ length: 1000 }, () => hub.subscribe(() => {}))
    const last = hub.subscribe(() => {})
    subscriptions.forEach((subscription) => { subscription.unsubscribe() })
    const heard = vi.fn()
    hub.subscribe(heard)
    hub.publish(1)
    expect(hub.size).toBe(3)
    last.unsubscribe()
    kept.unsubscribe()
    hub.publish(2)
    expect(heard).toHaveBeenCalledTimes(2)
  })
})
