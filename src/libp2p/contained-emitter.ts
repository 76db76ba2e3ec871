import { TypedEventEmitter } from '@libp2p/interface'
import { callListener } from './call-listener.ts'
import type { EventHandler } from '@libp2p/interface'
import type { Listener } from './call-listener.ts'

/** An event target whose listeners cannot harm the process: what one throws, or rejects with, is caught and reported (S4.15). */
export abstract class ContainedEmitter<Events extends Record<keyof Events, Event>> extends TypedEventEmitter<Events> {
  /** One wrapper per listener, so that adding one twice counts once, and removing finds it. */
  readonly #wrappers = new WeakMap<object, ContainedListener>()

  override addEventListener<Type extends keyof Events> (
    type: Type, listener: EventHandler<Events[Type]> | null, options?: boolean | AddEventListenerOptions
  ): void {
    if (listener !== null) {
      const wrapper = this.#wrappers.get(listener) ?? new Contained(listener, (at, cause) => { this.onListenerError(at, cause) })
      this.#wrappers.set(listener, wrapper)
      super.addEventListener(type, wrapper, options)
    }
  }

  override removeEventListener<Type extends keyof Events> (
    type: Type, listener?: EventHandler<Events[Type]> | null, options?: boolean | EventListenerOptions
  ): void {
    if (listener != null) {
      // The base class itself removes what was added for one event only, and that is a wrapper already.
      super.removeEventListener(type, this.#wrappers.get(listener) ?? listener, options)
    }
  }

  /** Dispatches `detail`, frozen, to the listeners of `type`; without a listener nothing is made. */
  protected announce (type: keyof Events & string, detail: object): void {
    if (this.listenerCount(type) > 0) {
      this.safeDispatchEvent(type, { detail: Object.freeze(detail) })
    }
  }

  /** Told what a listener for `type` threw, or rejected with. Must not throw. */
  protected abstract onListenerError (type: string, cause: unknown): void
}

/** A listener for any type: a method, so that one for a certain event is one. */
interface ContainedListener {
  handleEvent (event: Event): void
}

class Contained<Dispatched extends Event> implements ContainedListener {
  readonly #listener: Listener<Dispatched>
  readonly #onError: (type: string, cause: unknown) => void

  constructor (listener: EventHandler<Dispatched>, onError: (type: string, cause: unknown) => void) {
    this.#listener = listener
    this.#onError = onError
  }

  handleEvent (event: Dispatched): void {
    callListener(this.#listener, event, (cause) => { this.#onError(event.type, cause) })
  }
}
