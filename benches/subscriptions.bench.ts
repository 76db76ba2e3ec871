import { TypedEventEmitter } from 'main-event'
import { CompositeSubscription, EventHub, FilteredHub, subscription } from 'libp2p-behaviours/subscriptions'
import { Subscription } from 'rxjs'
import { matrix } from 'libp2p-behaviours/bench'
import { ArrayContainer, SetContainer } from './plain-containers.ts'
import type { Work } from 'libp2p-behaviours/bench'

/** Work that is done once an iteration and gives 1, and whether so much of it left what it should. */
interface Bench {
  work (): number
  isDone (iterations: number): boolean
}

/** What all matrices of this file do. */
const common = {
  run: ({ work }: Bench, iterations: number) => {
    let sum = 0
    for (let left = iterations; left > 0; left--) {
      sum += work()
    }
    return sum
  },
  verify: ({ isDone }: Bench, { iterations, checksum }: Work) => checksum === iterations && isDone(iterations)
}

/** One subscription is made, added and removed again, which ends it. */
const addRemove = matrix({
  name: 'subscriptions-add-remove',
  axes: {
    /** Subscriptions that are there all the time. */
    present: [1, 100, 10_000],
    /** `CompositeSubscription`, `EventHub`, the emitter of js-libp2p's nodes, and the container of RxJS. */
    variant: ['ours', 'hub', 'main-event', 'rxjs']
  },
  baseline: { variant: 'main-event' },
  claims: [
    { where: { present: 10_000, variant: 'ours' }, to: { variant: 'main-event' }, ratio: [0, 1 / 50] },
    { where: { present: 10_000, variant: 'ours' }, to: { variant: 'rxjs' }, ratio: [0, 1] }
  ],
  setup: ({ present, variant }) => ADD_REMOVE[variant](present),
  ...common
})

const ADD_REMOVE: Record<'ours' | 'hub' | 'main-event' | 'rxjs', (present: number) => Bench> = {
  ours: (present) => {
    const container = new CompositeSubscription()
    repeat(present, () => container.add(subscription(() => {})))
    let ended = 0
    return benchOf(() => {
      const added = container.add(subscription(() => { ended++ }))
      return Number(container.remove(added))
    }, iterations => container.size === present && ended === iterations)
  },
  hub: (present) => {
    const hub = new EventHub<number>(() => {})
    repeat(present, () => hub.subscribe(() => {}))
    return benchOf(() => {
      const added = hub.subscribe(() => {})
      added.unsubscribe()
      return Number(added.closed)
    }, () => hub.size === present)
  },
  'main-event': (present) => {
    const emitter = new TypedEventEmitter<{ change: CustomEvent<number> }>()
    repeat(present, () => { emitter.addEventListener('change', () => {}) })
    return benchOf(() => {
      const added = (): void => {}
      emitter.addEventListener('change', added)
      emitter.removeEventListener('change', added)
      return 1
    }, () => emitter.listenerCount('change') === present)
  },
  rxjs: (present) => {
    const container = new Subscription()
    repeat(present, () => { container.add(new Subscription(() => {})) })
    let ended = 0
    return benchOf(() => {
      const added = new Subscription(() => { ended++ })
      container.add(added)
      added.unsubscribe()
      return Number(added.closed)
    }, iterations => ended === iterations)
  }
}

/** One event is told to all. */
const dispatch = matrix({
  name: 'subscriptions-dispatch',
  axes: {
    listeners: [1, 10, 100, 1000],
    /** `EventHub`, or a loop over an array of callbacks. */
    variant: ['ours', 'bare']
  },
  baseline: { variant: 'bare' },
  claims: [{ where: { variant: 'ours' }, to: { variant: 'bare' }, ratio: [0, 1.3] }],
  units: ({ listeners }) => listeners,
  setup: ({ listeners, variant }) => {
    let heard = 0
    const callbacks = Array.from({ length: listeners }, () => (event: number): void => { heard += event })
    const verify = (iterations: number): boolean => heard === iterations * listeners
    if (variant === 'bare') {
      return benchOf(() => {
        for (let at = 0; at < callbacks.length; at++) {
          callbacks[at]?.(1)
        }
        return 1
      }, verify)
    }
    const hub = new EventHub<number>((cause) => { throw cause })
    callbacks.forEach(callback => hub.subscribe(callback))
    return benchOf(() => {
      hub.publish(1)
      return 1
    }, verify)
  },
  ...common
})

/** One child after the other is taken out and put back, the oldest first. */
const size = matrix({
  name: 'subscriptions-size',
  axes: {
    present: [1, 4, 8, 32, 1000, 10_000],
    variant: ['ours', 'array', 'set']
  },
  baseline: { variant: 'array' },
  // As fast, within the 5 % that a verdict tolerates.
  claims: [
    { where: { present: 1, variant: 'ours' }, to: { variant: 'array' }, ratio: [0, 1.05] },
    { where: { present: 4, variant: 'ours' }, to: { variant: 'array' }, ratio: [0, 1.05] },
    { where: { present: 8, variant: 'ours' }, to: { variant: 'array' }, ratio: [0, 1.05] },
    { where: { present: 1000, variant: 'ours' }, to: { variant: 'set' }, ratio: [0, 1.05] }
  ],
  setup: ({ present, variant }) => {
    const container = new { ours: CompositeSubscription, array: ArrayContainer, set: SetContainer }[variant]()
    const children = Array.from({ length: present }, () => container.add(() => {}))
    let next = 0
    return benchOf(() => {
      const child = children[next]
      next = next + 1 === present ? 0 : next + 1
      if (child === undefined || !container.detach(child)) {
        return 0
      }
      container.add(child)
      return 1
    }, () => container.size === present)
  },
  ...common
})

/** One event with one protocol, of which each subscriber wants another: one is called, however many there are. */
const filtered = matrix({
  name: 'subscriptions-filtered',
  axes: {
    present: [1, 100, 10_000],
    /** `FilteredHub`, or a loop that looks at every filter. */
    variant: ['ours', 'scan']
  },
  baseline: { variant: 'scan' },
  setup: ({ present, variant }) => {
    let called = 0
    const protocols = Array.from({ length: present }, (_, at) => `/protocol/${at}`)
    const topic = { protocol: [protocols[present >> 1] ?? ''] }
    const callback = (): void => { called++ }
    const isDone = (iterations: number): boolean => called === iterations
    if (variant === 'scan') {
      const filters = protocols.map((protocol) => ({ protocols: new Set([protocol]), callback }))
      return benchOf(() => {
        for (const filter of filters) {
          if (topic.protocol.some((protocol) => filter.protocols.has(protocol))) {
            filter.callback()
          }
        }
        return 1
      }, isDone)
    }
    const hub = new FilteredHub<number, 'protocol'>(['protocol'], (cause) => { throw cause })
    protocols.forEach((protocol) => hub.subscribe({ protocol }, callback))
    return benchOf(() => {
      hub.publish(topic, 1)
      return 1
    }, isDone)
  },
  ...common
})

export default [addRemove, dispatch, size, filtered]

function benchOf (work: () => number, isDone: (iterations: number) => boolean): Bench {
  return { work, isDone }
}

function repeat (times: number, work: () => unknown): void {
  for (let left = times; left > 0; left--) {
    work()
  }
}
