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
export class StreamEvents implements TypedEventTarget<StreamMuxerEvents> {
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

  /** See `EventTarget`. What a listener throws harms no other one, and surfaces as it does elsewhere: nobody has handled it. */
  dispatchEvent (event: Event): boolean {
    if (isStreamEvent(event)) {
      for (const { listener, isOnce } of this.#added) {
        if (isOnce) {
          this.removeEventListener('stream', listener)
        }
        void call(listener, event)
      }
    }
    return !event.defaultPrevented
  }

  /** See `TypedEventTarget`. */
  safeDispatchEvent<Detail> (type: keyof StreamMuxerEvents, init: CustomEventInit<Detail> = {}): boolean {
    return this.dispatchEvent(new CustomEvent(type, init))
  }
}

function isStreamEvent (event: Event): event is StreamEvent {
  return event.type === 'stream'
}

/** Runs at once; a promise, so that a throw is an unhandled rejection. */
// eslint-disable-next-line @typescript-eslint/require-await -- for the promise alone
async function call (listener: EventHandler<StreamEvent>, event: StreamEvent): Promise<void> {
  if (typeof listener === 'function') {
    listener(event)
  } else {
    listener.handleEvent(event)
  }
}
