import { PatternTree } from './pattern-tree.ts'
import { SubscriptionBase } from './subscription.ts'
import type { AdaptiveSet } from './adaptive-set.ts'
import type { EventCallback } from './event-hub.ts'
import type { Key, Pattern } from './pattern-tree.ts'
import type { Subscription } from './subscription.ts'

/** Which events a subscriber wants: those that have one of these keys in each dimension that is named; no keys, no events. */
export type Filter<Dimension extends string> = { readonly [Name in Dimension]?: Key | readonly Key[] | undefined }

/**
 * What an event is about: its key or keys in each dimension. With undefined it has none there, and concerns those who do not
 * name that dimension.
 */
export type Topic<Dimension extends string> = { readonly [Name in Dimension]: Key | readonly Key[] | undefined }

/**
 * Tells those of an event whom it concerns, found by index: an event costs its matches, and those whom it does not concern
 * cost nothing, however many they are (S8.8). Otherwise as an `EventHub`: at once, in the order in which they subscribed,
 * over a snapshot, each once, and a callback that throws breaks nobody.
 *
 * ```ts
 * const hub = new FilteredHub<Change, 'peer' | 'protocol'>(['peer', 'protocol'], report)
 * hub.subscribe({ protocol: ['/a', '/b'] }, callback)
 * hub.publish({ peer: 'p', protocol: '/a' }, change)
 * ```
 */
export class FilteredHub<Event, Dimension extends string> {
  readonly #dimensions: readonly Dimension[]
  readonly #onError: (cause: unknown) => void
  readonly #tree = new PatternTree<FilteredSubscription<Event>>()
  #made = 0
  #merges = 0
  #size = 0

  /**
   * @param dimensions - by what can be filtered; those with few keys first make the smallest index
   * @param onError - told what a callback threw, after which the next one is called. Must not throw
   */
  constructor (dimensions: readonly Dimension[], onError: (cause: unknown) => void) {
    this.#dimensions = [...dimensions]
    this.#onError = onError
  }

  /** Subscriptions that have not ended. */
  get size (): number {
    return this.#size
  }

  /** Adds a subscriber; it hears of events that are published after this call and pass `filter`, which is copied. */
  subscribe (filter: Filter<Dimension>, callback: EventCallback<Event>): Subscription {
    const pattern = this.#dimensions.map(name => copyOf(filter[name]))
    const subscription = new FilteredSubscription<Event>(this.#made++, callback, () => {
      this.#size--
      this.#tree.delete(pattern, subscription)
    })
    this.#size++
    this.#tree.add(pattern, subscription)
    return subscription
  }

  /** Tells those whose filter covers `topic`. May be called by a subscriber: those events arrive first. */
  publish (topic: Topic<Dimension>, event: Event): void {
    for (const subscription of this.#concernedBy(topic)) {
      if (!subscription.closed) {
        try {
          const { callback } = subscription
          callback(event)
        } catch (cause) {
          this.#onError(cause)
        }
      }
    }
  }

  #concernedBy (topic: Topic<Dimension>): Array<FilteredSubscription<Event>> {
    const groups = this.#tree.find(this.#dimensions.map(name => topic[name]))
    const [first, second] = groups
    return first === undefined ? [] : second === undefined ? first.toArray() : this.#merge(groups)
  }

  /** Each once, in the order in which they subscribed. */
  #merge (groups: ReadonlyArray<AdaptiveSet<FilteredSubscription<Event>>>): Array<FilteredSubscription<Event>> {
    const round = ++this.#merges
    const merged: Array<FilteredSubscription<Event>> = []
    for (const group of groups) {
      for (const subscription of group.toArray()) {
        if (subscription.round !== round) {
          subscription.round = round
          merged.push(subscription)
        }
      }
    }
    return merged.sort((left, right) => left.order - right.order)
  }
}

class FilteredSubscription<Event> extends SubscriptionBase {
  readonly order: number
  readonly callback: EventCallback<Event>
  /** The last merge that had it. */
  round = 0
  readonly #onLeave: () => void

  constructor (order: number, callback: EventCallback<Event>, onLeave: () => void) {
    super()
    this.order = order
    this.callback = callback
    this.#onLeave = onLeave
  }

  protected override onEnd (): void {
    this.#onLeave()
  }
}

function copyOf (keys: Key | readonly Key[] | undefined): Pattern[number] {
  return typeof keys === 'object' ? [...keys] : keys
}
