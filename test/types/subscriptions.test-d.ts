import { describe, expectTypeOf, it } from 'vitest'
import { CompositeSubscription, EventHub, FilteredHub, subscription } from '../../src/subscriptions/index.ts'
import type { Subscription } from '../../src/subscriptions/index.ts'

describe('CompositeSubscription', () => {
  it('gives back what is added, by its own type', () => {
    const container = new CompositeSubscription()
    expectTypeOf(container.add(subscription(() => {}))).toEqualTypeOf<Subscription>()
    expectTypeOf(container.add(new CompositeSubscription())).toEqualTypeOf<CompositeSubscription>()
    // @ts-expect-error it could not be ended
    container.add({})
    // @ts-expect-error it could not be ended
    container.add(null)
  })
})

describe('hubs', () => {
  it('hand their event to the callbacks', () => {
    new EventHub<'a' | 'b'>(() => {}).subscribe((event) => { expectTypeOf(event).toEqualTypeOf<'a' | 'b'>() })
  })

  it('take the dimensions they were made for: any of them in a filter, all of them in a topic', () => {
    const hub = new FilteredHub<string, 'peer' | 'protocol'>(['peer', 'protocol'], () => {})
    hub.subscribe({ protocol: ['/a', '/b'], peer: undefined }, (event) => { expectTypeOf(event).toEqualTypeOf<string>() })
    hub.publish({ peer: 'p', protocol: ['/a'] }, 'event')
    // @ts-expect-error there is no such dimension
    hub.subscribe({ side: 'remote' }, () => {})
    // @ts-expect-error the protocol is missing
    hub.publish({ peer: 'p' }, 'event')
  })
})
