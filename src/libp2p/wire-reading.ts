import { StreamMessageEvent } from '@libp2p/interface'
import { Uint8ArrayList } from 'uint8arraylist'
import type { EventHandler, MessageStream, StreamMuxer } from '@libp2p/interface'
import type { TurnBudget } from './turn-budget.ts'

/** What the muxer is given at a time once there is more: less than two hundred of the smallest frames. Cutting costs 10 us for 64 KiB. */
const SLICE_BYTES = 2048

type AddListener = (type: string, listener: EventHandler<Event> | null, options?: boolean | AddEventListenerOptions) => void

/**
 * Stands between the wire of a connection and its muxer. A muxer handles all that one read of the socket brought at once, and
 * the socket is read again and again as long as there is something: a peer that sends small frames without end would hold
 * the event loop. So once the time of a turn is spent the rest waits for the next one, and the wire is paused meanwhile.
 *
 * Nothing is changed or left out, and the wire itself is what the muxer has. Before {@link follow} everything passes.
 */
export class WireReading {
  readonly #wire: MessageStream
  #budget: TurnBudget | undefined
  #deliver: (event: StreamMessageEvent) => void = () => {}
  /** Came from the wire, and has not been given to the muxer. */
  readonly #rest = new Uint8ArrayList()
  /** Goes on in the next turn. */
  #isWaiting = false
  #isPaused = false
  #isResuming = false

  constructor (wire: MessageStream) {
    this.#wire = wire
  }

  /** Makes a muxer that reads the wire through this: it takes the place of the listeners that the muxer adds while it is made. */
  attach (make: () => StreamMuxer): StreamMuxer {
    const wire: EventTarget = this.#wire
    const add = wire.addEventListener.bind(wire)
    const addWatched: AddListener = (type, listener, options) => { add(type, this.#inPlaceOf(type, listener), options) }
    const restore = replace(wire, 'addEventListener', addWatched)
    try {
      return make()
    } finally {
      restore()
    }
  }

  /** From now on no more is given to the muxer than `budget` allows. */
  follow (budget: TurnBudget): void {
    this.#budget = budget
  }

  #inPlaceOf (type: string, listener: EventHandler<Event> | null): EventHandler<Event> | null {
    if (listener === null || (type !== 'message' && type !== 'close')) {
      return listener
    }
    const call = (event: Event): void => {
      if (typeof listener === 'function') {
        listener(event)
      } else {
        listener.handleEvent(event)
      }
    }
    if (type === 'close') {
      return (event) => {
        this.#flush()
        call(event)
      }
    }
    this.#deliver = call
    return (event) => {
      if (isMessage(event)) {
        this.#onMessage(event)
      } else {
        call(event)
      }
    }
  }

  #onMessage (event: StreamMessageEvent): void {
    const budget = this.#budget
    if (budget === undefined) {
      this.#deliver(event)
    } else if (!this.#isWaiting && !budget.isSpent && event.data.byteLength <= SLICE_BYTES) {
      this.#deliverTimed(event, budget)
    } else {
      this.#rest.append(event.data)
      if (!this.#isWaiting && !this.#isResuming) {
        this.#goOn(budget)
      }
    }
  }

  /**
   * As much of the rest as there is time for.
   *
   * @param isDue - whether it has waited for its turn: then it gets on, however little time there is
   */
  #goOn (budget: TurnBudget, isDue: boolean = false): void {
    for (let isNext = isDue; this.#rest.byteLength > 0; isNext = false) {
      if (!isNext && budget.isSpent) {
        this.#wait(budget)
        return
      }
      const slice = this.#rest.sublist(0, Math.min(SLICE_BYTES, this.#rest.byteLength))
      this.#rest.consume(slice.byteLength)
      this.#deliverTimed(new StreamMessageEvent(slice), budget)
    }
  }

  #wait (budget: TurnBudget): void {
    this.#isWaiting = true
    this.#pause()
    budget.later(() => {
      this.#isWaiting = false
      this.#goOn(budget, true)
      this.#resume(budget)
    })
  }

  #pause (): void {
    if (!this.#isPaused) {
      try {
        this.#wire.pause()
        this.#isPaused = true
      } catch {
        // It is closing: nothing more comes.
      }
    }
  }

  #resume (budget: TurnBudget): void {
    if (!this.#isWaiting && this.#isPaused) {
      this.#take()
      this.#goOn(budget)
    }
  }

  /** The wire delivers what it has kept from inside `resume`; a pause made there would be undone at the end of it. */
  #take (): void {
    this.#isPaused = false
    this.#isResuming = true
    try {
      this.#wire.resume()
    } catch {
      // It was ended at once: what it had kept is gone.
    }
    this.#isResuming = false
  }

  /** The wire has closed: what came before comes first. Muxers answer what they read, which nobody takes any more. */
  #flush (): void {
    if (this.#isPaused) {
      this.#take()
    }
    if (this.#rest.byteLength === 0) {
      return
    }
    const rest = this.#rest.sublist()
    this.#rest.consume(rest.byteLength)
    const restore = replace(this.#wire, 'send', () => true)
    try {
      this.#deliver(new StreamMessageEvent(rest))
    } catch {
      // The muxer has ended by itself.
    } finally {
      restore()
    }
  }

  #deliverTimed (event: StreamMessageEvent, budget: TurnBudget): void {
    budget.begin()
    try {
      this.#deliver(event)
    } finally {
      budget.end()
    }
  }
}

function isMessage (event: Event): event is StreamMessageEvent {
  return 'data' in event
}

/** Puts `method` in the place of one of `object`, which the result puts back. */
function replace (object: object, name: string, method: unknown): () => void {
  const own = Object.getOwnPropertyDescriptor(object, name)
  Object.defineProperty(object, name, { value: method, configurable: true, writable: true })
  return () => {
    Reflect.deleteProperty(object, name)
    if (own !== undefined) {
      Object.defineProperty(object, name, own)
    }
  }
}
