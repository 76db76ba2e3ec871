import { callListener } from './call-listener.ts'
import type { Listener } from './call-listener.ts'

/** A listener for any type: a method, so that one for a certain event is one. */
export interface ContainedListener {
  handleEvent (event: Event): void
}

/** Told what a listener for `type` threw, or rejected with. Must not throw. */
export type OnListenerError = (type: string, cause: unknown) => void

/**
 * What event targets are given in place of the listeners of users, which must not fail there (S4.15): one wrapper for each, so
 * that adding one twice counts once, and removing finds it. Types, captures and ends are the affair of the target.
 */
export class ContainedListeners {
  readonly #onError: OnListenerError
  readonly #wrappers = new WeakMap<object, ContainedListener>()

  constructor (onError: OnListenerError) {
    this.#onError = onError
  }

  /** What to add. */
  wrap<Dispatched extends Event> (listener: Listener<Dispatched>): ContainedListener {
    const wrapper = this.#wrappers.get(listener) ?? new Contained(listener, this.#onError)
    this.#wrappers.set(listener, wrapper)
    return wrapper
  }

  /** What to remove. A target itself removes what was added for one event only, and that is a wrapper already. */
  find<Dispatched extends Event> (listener: Listener<Dispatched>): ContainedListener | Listener<Dispatched> {
    return this.#wrappers.get(listener) ?? listener
  }
}

class Contained<Dispatched extends Event> implements ContainedListener {
  readonly #listener: Listener<Dispatched>
  readonly #onError: OnListenerError

  constructor (listener: Listener<Dispatched>, onError: OnListenerError) {
    this.#listener = listener
    this.#onError = onError
  }

  handleEvent (event: Dispatched): void {
    callListener(this.#listener, event, (cause) => { this.#onError(event.type, cause) })
  }
}
