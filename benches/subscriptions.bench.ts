import { TypedEventEmitter } from 'main-event'
import { CompositeSubscription, EventHub, subscription } from 'libp2p-behaviours/subscriptions'
import { Subscription } from 'rxjs'
import { ArrayContainer, SetContainer } from './plain-containers.ts'
import type { Bench, Matrix } from './matrix.ts'

interface AddRemoveCell {
  /** Subscriptions that are there all the time. */
  readonly present: number
  /** `CompositeSubscription`, `EventHub`, the emitter of js-libp2p's nodes, and the container of RxJS. */
  readonly variant: 'ours' | 'hub' | 'main-event' | 'rxjs'
  readonly [axis: string]: string | number
}

/** One subscription is made, added and removed again, which ends it. */
export const subscriptionsAddRemove: Matrix<AddRemoveCell> = {
  name: 'subscriptions-add-remove',
  cells: [1, 10, 100, 1000, 10_000].flatMap(present =>
    (['ours', 'hub', 'main-event', 'rxjs'] as const).map(variant => ({ present, variant }))),
  iterations: 1000,
  baseline: 'main-event',
  setup: ({ present, variant }) => ADD_REMOVE[variant](present)
}

const ADD_REMOVE: Record<AddRemoveCell['variant'], (present: number) => Bench> = {
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

interface DispatchCell {
  readonly listeners: number
  /** `EventHub`, or a loop over an array of callbacks. */
  readonly variant: 'ours' | 'bare'
  readonly [axis: string]: string | number
}

/** One event is told to all. */
export const subscriptionsDispatch: Matrix<DispatchCell> = {
  name: 'subscriptions-dispatch',
  cells: [1, 10, 100, 1000].flatMap(listeners => (['ours', 'bare'] as const).map(variant => ({ listeners, variant }))),
  iterations: 2000,
  baseline: 'bare',
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
  }
}

interface SizeCell {
  readonly present: number
  readonly variant: 'ours' | 'array' | 'set'
  readonly [axis: string]: string | number
}

/** One child after the other is taken out and put back, the oldest first. */
export const subscriptionsSize: Matrix<SizeCell> = {
  name: 'subscriptions-size',
  cells: [1, 2, 4, 8, 16, 32, 100, 1000, 10_000].flatMap(present => (['ours', 'array', 'set'] as const).map(variant => ({ present, variant }))),
  iterations: 1000,
  baseline: 'array',
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
  }
}

/** `work` is done once an iteration and gives 1. */
function benchOf (work: () => number, isDone: (iterations: number) => boolean): Bench {
  return {
    run (iterations) {
      let sum = 0
      for (let left = iterations; left > 0; left--) {
        sum += work()
      }
      return sum
    },
    verify: (iterations, checksum) => checksum === iterations && isDone(iterations)
  }
}

function repeat (times: number, work: () => unknown): void {
  for (let left = times; left > 0; left--) {
    work()
  }
}
