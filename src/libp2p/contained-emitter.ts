import { TypedEventEmitter } from '@libp2p/interface'
import { ContainedListeners } from './contained-listeners.ts'
import type { EventHandler } from '@libp2p/interface'

/** An event target whose listeners cannot harm the process: what one throws, or rejects with, is caught and reported (S4.15). */
export abstract class ContainedEmitter<Events extends Record<keyof Events, Event>> extends TypedEventEmitter<Events> {
  readonly #contained = new ContainedListeners((type, cause) => { this.onListenerError(type, cause) })

  override addEventListener<Type extends keyof Events> (
    type: Type, listener: EventHandler<Events[Type]> | null, options?: boolean | AddEventListenerOptions
  ): void {
    if (listener !== null) {
      super.addEventListener(type, this.#contained.wrap(listener), options)
    }
  }

  override removeEventListener<Type extends keyof Events> (
    type: Type, listener?: EventHandler<Events[Type]> | null, options?: boolean | EventListenerOptions
  ): void {
    if (listener != null) {
      super.removeEventListener(type, this.#contained.find(listener), options)
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
