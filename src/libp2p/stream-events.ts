import { callListener } from './call-listener.ts'
import type { EventHandler, StreamMuxerEvents, TypedEventTarget } from '@libp2p/interface'

type StreamEvent = StreamMuxerEvents['stream']

interface Added {
  readonly listener: EventHandler<StreamEvent>
  readonly isOnce: boolean
}

const NOBODY: readonly Added[] = Object.freeze([])

/**
 * The event target of a muxer. It has one kind of event, and as a rule one listener, the connection of the host; there is one
 * per connection, and a target of the platform takes close to a kilobyte with its first listener.
 */
export abstract class StreamEvents implements TypedEventTarget<StreamMuxerEvents> {
  #added = NOBODY

  /** See `EventTarget`. */
  addEventListener (type: string, listener: EventHandler<StreamEvent> | null, options?: boolean | AddEventListenerOptions): void {
    const { once: isOnce = false, signal } = typeof options === 'object' ? options : {}
    if (type !== 'stream' || listener === null || signal?.aborted === true || this.#added.some((added) => added.listener === listener)) {
      return
    }
    // A spread would leave room for a dozen more.
    this.#added = this.#added.concat({ listener, isOnce })
    signal?.addEventListener('abort', () => { this.removeEventListener(type, listener) }, { once: true })
  }

  /** See `EventTarget`. */
  removeEventListener (type: string, listener?: EventHandler<StreamEvent> | EventHandler<Event> | null): void {
    if (type === 'stream') {
      this.#added = this.#added.filter((added) => added.listener !== listener)
    }
  }

  /** See `TypedEventTarget`. */
  listenerCount (type: string): number {
    return type === 'stream' ? this.#added.length : 0
  }

  /** See `EventTarget`. What a listener throws harms no other one, nor the stream that it is told of. */
  dispatchEvent (event: Event): boolean {
    if (isStreamEvent(event)) {
      for (const { listener, isOnce } of this.#added) {
        if (isOnce) {
          this.removeEventListener('stream', listener)
        }
        callListener(listener, event, (cause) => { this.onListenerError('stream', cause) })
      }
    }
    return !event.defaultPrevented
  }

  /** See `TypedEventTarget`. */
  safeDispatchEvent<Detail> (type: keyof StreamMuxerEvents, init: CustomEventInit<Detail> = {}): boolean {
    return this.dispatchEvent(new CustomEvent(type, init))
  }

  /** Told what a listener for `type` threw, or rejected with. Must not throw. */
  protected abstract onListenerError (type: string, cause: unknown): void
}

function isStreamEvent (event: Event): event is StreamEvent {
  return event.type === 'stream'
}
