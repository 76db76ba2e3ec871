/** Slow twins of the containers in src/subscriptions: lists that are searched from end to end. */

import type { Child } from '../../src/subscriptions/index.ts'

/** A `CompositeSubscription` of functions. */
export class NaiveComposite {
  children: Array<() => void> = []
  closed = false

  add (child: () => void): void {
    if (this.closed) {
      child()
    } else if (!this.children.includes(child)) {
      this.children.push(child)
    }
  }

  detach (child: Child): boolean {
    const isHeld = this.children.some(held => held === child)
    this.children = this.children.filter(held => held !== child)
    return isHeld
  }

  remove (child: () => void): boolean {
    const isHeld = this.detach(child)
    if (isHeld) {
      child()
    }
    return isHeld
  }

  clear (): void {
    const { children } = this
    this.children = []
    children.forEach((child) => { child() })
  }

  dispose (): void {
    this.closed = true
    this.clear()
  }
}

/** A `FilteredHub` that asks everybody; also an `EventHub`, when no filter is given. */
export class NaiveHub {
  readonly #subscribers: Subscriber[] = []

  get size (): number {
    return this.#subscribers.filter(({ isClosed }) => !isClosed).length
  }

  subscribe (filter: NaiveFilter, tell: (event: number) => void): { unsubscribe (): void } {
    const subscriber: Subscriber = { filter, tell, isClosed: false }
    this.#subscribers.push(subscriber)
    return { unsubscribe () { subscriber.isClosed = true } }
  }

  publish (topic: NaiveTopic, event: number): void {
    for (const subscriber of [...this.#subscribers]) {
      if (!subscriber.isClosed && covers(subscriber.filter, topic)) {
        subscriber.tell(event)
      }
    }
  }
}

/** One key, several, or all. */
export type NaiveFilter = Readonly<Record<string, string | readonly string[] | undefined>>

/** One key, or several. */
export type NaiveTopic = Readonly<Record<string, string | readonly string[]>>

interface Subscriber {
  readonly filter: NaiveFilter
  isClosed: boolean
  tell (event: number): void
}

function covers (filter: NaiveFilter, topic: NaiveTopic): boolean {
  return Object.entries(filter).every(([dimension, keys]) => keys === undefined || listOf(keys).some(key => listOf(topic[dimension]!).includes(key)))
}

function listOf (keys: string | readonly string[]): readonly string[] {
  return typeof keys === 'string' ? [keys] : keys
}
