import { describe, expect, it, vi } from 'vitest'
import { FilteredHub } from '../../src/subscriptions/index.ts'
import type { Filter } from '../../src/subscriptions/index.ts'

type Dimension = 'side' | 'peer' | 'protocol'

function hubThatMustNotFail () {
  return new FilteredHub<string, Dimension>(['side', 'peer', 'protocol'], (cause) => { throw cause })
}

const TOPIC = { side: 'remote', peer: 'p1', protocol: ['/a', '/b'] } as const

describe('FilteredHub', () => {
  it.each<[string, Filter<Dimension>, boolean]>([
    ['nothing', {}, true],
    ['the side', { side: 'remote' }, true],
    ['the other side', { side: 'local' }, false],
    ['a protocol', { protocol: '/b' }, true],
    ['one of several protocols', { protocol: ['/x', '/a'] }, true],
    ['other protocols', { protocol: ['/x', '/y'] }, false],
    ['all that it has', { side: 'remote', peer: 'p1', protocol: '/a' }, true],
    ['all but one thing', { side: 'remote', peer: 'p2', protocol: '/a' }, false],
    ['any of no protocols', { protocol: [] }, false],
    ['undefined', { side: undefined, peer: 'p1' }, true]
  ])('an event meets a filter for %s', (_, filter, isMet) => {
    const hub = hubThatMustNotFail()
    const callback = vi.fn()
    const subscription = hub.subscribe(filter, callback)
    hub.publish(TOPIC, 'event')
    expect(callback.mock.calls).toEqual(isMet ? [['event']] : [])
    expect(hub.size).toBe(1)
    subscription.unsubscribe()
    subscription.unsubscribe()
    hub.publish(TOPIC, 'later')
    expect(callback.mock.calls).toEqual(isMet ? [['event']] : [])
    expect(hub.size).toBe(0)
  })

  it('10 000 subscriptions on different protocols and one change: one callback (S8.8)', () => {
    const hub = hubThatMustNotFail()
    const called: number[] = []
    for (let index = 0; index < 10_000; index++) {
      hub.subscribe({ side: 'remote', protocol: `/protocol/${index}` }, () => { called.push(index) })
    }
    hub.publish({ side: 'remote', peer: 'p1', protocol: '/protocol/7777' }, 'event')
    expect(called).toEqual([7777])
  })

  it.each<Dimension>(['side', 'peer', 'protocol'])('looks at no key of %s but those of the event', (dimension) => {
    const hub = hubThatMustNotFail()
    const called: number[] = []
    for (let index = 0; index < 1000; index++) {
      hub.subscribe({ [dimension]: index }, () => { called.push(index) })
    }
    hub.publish({ ...TOPIC, [dimension]: [5, 3] }, 'event')
    expect(called).toEqual([3, 5])
  })

  it('tells each once, in the order in which they subscribed, however they are found', () => {
    const hub = hubThatMustNotFail()
    const heard: string[] = []
    const subscribe = (name: string, filter: Filter<Dimension>) => hub.subscribe(filter, () => { heard.push(name) })
    subscribe('by both protocols', { protocol: ['/b', '/a', '/a'] })
    subscribe('general', {})
    subscribe('by peer', { peer: 'p1' })
    subscribe('by protocol', { protocol: '/a' })
    subscribe('general again', {})
    hub.publish(TOPIC, 'event')
    hub.publish(TOPIC, 'event')
    expect(heard).toEqual([1, 2].flatMap(() => ['by both protocols', 'general', 'by peer', 'by protocol', 'general again']))
  })

  it('an event that has nothing in a dimension concerns those who do not name it', () => {
    const hub = hubThatMustNotFail()
    const [general, byPeer, byProtocol] = [vi.fn(), vi.fn(), vi.fn()] as const
    hub.subscribe({}, general)
    hub.subscribe({ peer: 'p1' }, byPeer)
    hub.subscribe({ protocol: '/a' }, byProtocol)
    hub.publish({ ...TOPIC, protocol: undefined }, 'event')
    expect([general, byPeer, byProtocol].map(callback => callback.mock.calls.length)).toEqual([1, 1, 0])
  })

  it('without dimensions it tells all', () => {
    const hub = new FilteredHub<string, never>([], (cause) => { throw cause })
    const callback = vi.fn()
    const subscription = hub.subscribe({}, callback)
    hub.publish({}, 'event')
    subscription.unsubscribe()
    hub.publish({}, 'event')
    expect(callback).toHaveBeenCalledOnce()
  })

  it('does not see what becomes of a filter later', () => {
    const hub = hubThatMustNotFail()
    const callback = vi.fn()
    const protocol = ['/a']
    const subscription = hub.subscribe({ protocol }, callback)
    protocol[0] = '/x'
    hub.publish(TOPIC, 'event')
    expect(callback).toHaveBeenCalledOnce()
    subscription.unsubscribe()
    hub.publish(TOPIC, 'event')
    expect(callback).toHaveBeenCalledOnce()
  })

  it('a callback that throws breaks nobody, and is reported', () => {
    const reported: unknown[] = []
    const hub = new FilteredHub<string, Dimension>(['side', 'peer', 'protocol'], (cause) => { reported.push(cause) })
    const callback = vi.fn()
    hub.subscribe({ peer: 'p1' }, () => { throw new Error('first') })
    hub.subscribe({}, callback)
    hub.publish(TOPIC, 'event')
    expect(reported).toEqual([new Error('first')])
    expect(callback).toHaveBeenCalledOnce()
  })

  it('calls callbacks without a receiver', () => {
    const hub = hubThatMustNotFail()
    hub.subscribe({}, function (this: unknown) { expect(this).toBeUndefined() })
    hub.publish(TOPIC, 'event')
  })

  it('does not tell who unsubscribes meanwhile, nor who subscribes meanwhile (S8.8)', () => {
    const hub = hubThatMustNotFail()
    const [after, late] = [vi.fn(), vi.fn()] as const
    hub.subscribe({ peer: 'p1' }, () => {
      ofAfter.unsubscribe()
      hub.subscribe({ protocol: '/a' }, late)
    })
    const ofAfter = hub.subscribe({ protocol: '/a' }, after)
    hub.publish(TOPIC, 'event')
    expect([after, late].map(callback => callback.mock.calls.length)).toEqual([0, 0])
    hub.publish(TOPIC, 'event')
    expect(late).toHaveBeenCalledOnce()
  })
})
