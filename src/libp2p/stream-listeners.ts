import { callListener } from './call-listener.ts'
import type { Listener } from './call-listener.ts'

/** A listener of ours, which throws nothing: there are several for every stream, and they are added as they are. */
export abstract class OwnListener {
  abstract handleEvent (event: Event): void
}

/** Told what a listener for `type` threw, or rejected with. Must not throw. */
export type OnListenerError = (type: string, cause: unknown) => void

/** A listener as the event target of the host has it, which must not see it fail. */
class Contained implements EventListenerObject {
  readonly type: string
  readonly listener: Listener<Event>
  readonly isCapture: boolean
  readonly #onError: OnListenerError

  constructor (type: string, listener: Listener<Event>, isCapture: boolean, onError: OnListenerError) {
    this.type = type
    this.listener = listener
    this.isCapture = isCapture
    this.#onError = onError
  }

  handleEvent (event: Event): void {
    callListener(this.listener, event, (cause) => { this.#onError(this.type, cause) })
  }
}

/** The listeners that the user of one stream has added: few, so that the search for one costs less than a map would. */
export class StreamListeners {
  readonly #onError: OnListenerError
  readonly #added: Contained[] = []

  constructor (onError: OnListenerError) {
    this.#onError = onError
  }

  /** What to add to the target of the host: the same for a listener that is added again; one that captures is another. */
  add (type: string, listener: Listener<Event>, options?: boolean | EventListenerOptions): EventListenerObject {
    const isCapture = captures(options)
    const known = this.#added.find((added) => added.type === type && added.listener === listener && added.isCapture === isCapture)
    const contained = known ?? new Contained(type, listener, isCapture, this.#onError)
    if (known === undefined) {
      this.#added.push(contained)
    }
    return contained
  }

  /** What to remove from it; the host itself removes what was added for one event. */
  remove (type: string, listener: Listener<Event>, options?: boolean | EventListenerOptions): Listener<Event> {
    const isCapture = captures(options)
    const at = this.#added.findIndex((added) => added.type === type && (added.listener === listener || added === listener) && added.isCapture === isCapture)
    return this.#added.splice(at, at < 0 ? 0 : 1)[0] ?? listener
  }
}

function captures (options: boolean | EventListenerOptions | null | undefined): boolean {
  return typeof options === 'boolean' ? options : options?.capture === true
}
