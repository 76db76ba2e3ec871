/** The two containers between which a `CompositeSubscription` changes, each for all sizes, with the same checks. */

import type { Child } from 'libp2p-behaviours/subscriptions'

function check (child: Child, container: object): void {
  if (typeof child !== 'function' && !('unsubscribe' in child && typeof child.unsubscribe === 'function')) {
    throw new TypeError('it could not be ended')
  }
  if (Object.is(child, container)) {
    throw new TypeError('a container cannot hold itself')
  }
}

function end (child: Child): void {
  if (typeof child === 'function') {
    child()
  } else if ('unsubscribe' in child) {
    child.unsubscribe()
  }
}

/** Held in an array at every size. */
export class ArrayContainer {
  closed = false
  readonly #children: Child[] = []

  get size (): number {
    return this.#children.length
  }

  add<Added extends Child> (child: Added): Added {
    check(child, this)
    if (this.closed) {
      end(child)
    } else if (!this.#children.includes(child)) {
      this.#children.push(child)
    }
    return child
  }

  detach (child: Child): boolean {
    const at = this.#children.indexOf(child)
    if (at === -1) {
      return false
    }
    for (let to = at; to < this.#children.length - 1; to++) {
      this.#children[to] = this.#children[to + 1]!
    }
    this.#children.pop()
    return true
  }
}

/** Held in a `Set` at every size. */
export class SetContainer {
  closed = false
  readonly #children = new Set<Child>()

  get size (): number {
    return this.#children.size
  }

  add<Added extends Child> (child: Added): Added {
    check(child, this)
    if (this.closed) {
      end(child)
    } else {
      this.#children.add(child)
    }
    return child
  }

  detach (child: Child): boolean {
    return this.#children.delete(child)
  }
}
