import { SubscriptionBase } from './subscription.ts'
import type { Subscription } from './subscription.ts'

/** Called with each event, synchronously; what it throws is caught and reported. */
export type EventCallback<Event> = (event: Event) => void

/**
 * Holes may be one in so many slots before they are closed: seldom enough that a removal moves `HOLE_RATIO` others on
 * average, often enough that passing over them costs a dispatch little.
 */
const HOLE_RATIO = 4

/**
 * Tells many of an event, at once and in the order in which they subscribed, over a snapshot: who subscribes meanwhile is not
 * told of this event, who unsubscribes meanwhile is not told either. A callback that throws breaks nobody.
 *
 * It is an array at every size: each subscription knows its slot, so that leaving needs neither a search nor a hash, and a
 * dispatch is a loop over an array. Slots that were left are closed together, when there are many.
 */
export class EventHub<Event> {
  readonly #onError: (cause: unknown) => void
  /** By slot; undefined where somebody left. */
  readonly #callbacks: Array<EventCallback<Event> | undefined> = []
  /** By slot, as the callbacks are; apart from them, as a dispatch needs none of it. */
  readonly #subscriptions: HubSubscription[] = []
  /** Slots that were left. */
  #holes = 0
  /** Slots must not move meanwhile. */
  #isPublishing = false
  readonly #onLeave = (slot: number): void => { this.#leave(slot) }

  /**
   * @param onError - told what a callback threw, after which the next one is called. Must not throw
   */
  constructor (onError: (cause: unknown) => void) {
    this.#onError = onError
  }

  /** Subscriptions that have not ended. */
  get size (): number {
    return this.#callbacks.length - this.#holes
  }

  /** Adds a subscriber; it hears of events that are published after this call. The same callback may be added again. */
  subscribe (callback: EventCallback<Event>): Subscription {
    const subscription = new HubSubscription(this.#callbacks.length, this.#onLeave)
    this.#callbacks.push(callback)
    this.#subscriptions.push(subscription)
    return subscription
  }

  /**
   * Tells all subscribers. A subscriber may publish as well: all hear of the inner event before the others hear of the outer
   * one.
   */
  publish (event: Event): void {
    const callbacks = this.#callbacks
    const end = callbacks.length
    const isNested = this.#isPublishing
    this.#isPublishing = true
    for (let at = 0; at < end; at++) {
      const callback = callbacks[at]
      if (callback !== undefined) {
        try {
          callback(event)
        } catch (cause) {
          this.#report(cause, isNested)
        }
      }
    }
    this.#isPublishing = isNested
    if (this.#holes > 0) {
      this.#tidy()
    }
  }

  /** Here and not around the loop, where it would cost half of what a dispatch to one does. */
  #report (cause: unknown, isNested: boolean): void {
    try {
      this.#onError(cause)
    } catch (error) {
      this.#isPublishing = isNested
      throw error
    }
  }

  #leave (slot: number): void {
    this.#callbacks[slot] = undefined
    this.#holes++
    this.#tidy()
  }

  /** Takes the holes at the end away; closes the others when there are many. */
  #tidy (): void {
    const callbacks = this.#callbacks
    if (this.#isPublishing) {
      return
    }
    let end = callbacks.length
    while (end > 0 && callbacks[end - 1] === undefined) {
      end--
    }
    this.#holes -= callbacks.length - end
    this.#cut(end)
    if (this.#holes * HOLE_RATIO > end) {
      this.#closeHoles()
    }
  }

  #closeHoles (): void {
    let end = 0
    for (const subscription of this.#subscriptions) {
      const callback = this.#callbacks[subscription.slot]
      if (callback !== undefined) {
        this.#callbacks[end] = callback
        this.#subscriptions[end] = subscription
        subscription.slot = end++
      }
    }
    this.#holes = 0
    this.#cut(end)
  }

  #cut (end: number): void {
    this.#callbacks.length = end
    this.#subscriptions.length = end
  }
}

class HubSubscription extends SubscriptionBase {
  slot: number
  readonly #onLeave: (slot: number) => void

  constructor (slot: number, onLeave: (slot: number) => void) {
    super()
    this.slot = slot
    this.#onLeave = onLeave
  }

  protected override onEnd (): void {
    this.#onLeave(this.slot)
  }
}
