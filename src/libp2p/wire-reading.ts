import { StreamMessageEvent } from '@libp2p/interface'
import { Uint8ArrayList } from 'uint8arraylist'
import { BoundedQueue } from '../core/bounded-queue.ts'
import type { EventHandler, MessageStream, StreamMuxer } from '@libp2p/interface'
import type { TurnBudget } from './turn-budget.ts'

/** What the muxer is given at a time once there is more: less than two hundred of the smallest frames. Cutting costs 10 us for 64 KiB. */
const SLICE_BYTES = 2048

/** What is held before the wire is paused: about one read of a socket. What comes during a pause is put together by the wire. */
const HELD_BYTES = 65_536

type AddListener = (type: string, listener: EventHandler<Event> | null, options?: boolean | AddEventListenerOptions) => void

/**
 * Stands between the wire of a connection and its muxer. A muxer handles all that one read of the socket brought at once, and
 * the socket is read again and again as long as there is something: a peer that sends small frames without end would hold
 * the event loop. So once the time of a turn is spent the rest waits for the next one, and the wire is paused if that is much.
 *
 * Nothing is changed or left out, and the wire itself is what the muxer has. Before {@link follow} everything passes.
 */
export class WireReading {
  readonly #wire: MessageStream
  #budget: TurnBudget | undefined
  #deliver: (event: StreamMessageEvent) => void = () => {}
  /** Came from the wire, and has not been given to the muxer. */
  readonly #rest: BoundedQueue<Uint8ArrayList> = new BoundedQueue(Infinity)
  #restBytes = 0
  /** Goes on by itself. */
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
    } else if (this.#rest.size === 0 && !this.#isWaiting && !budget.isSpent && event.data.byteLength <= SLICE_BYTES) {
      this.#deliverTimed(event, budget)
    } else {
      this.#keep(event.data)
      if (!this.#isWaiting && !this.#isResuming) {
        this.#goOn(budget)
      }
    }
  }

  #keep (data: Uint8Array | Uint8ArrayList): void {
    this.#rest.push(new Uint8ArrayList(data))
    this.#restBytes += data.byteLength
    if (this.#restBytes > HELD_BYTES && !this.#isResuming) {
      this.#pause()
    }
  }

  /**
   * One piece of the rest, if there is time for it; what it leads to in microtasks is done before the next one, as if they
   * had come one by one.
   *
   * @param isDue - whether it has waited for its turn: then it gets on, however little time there is
   */
  #goOn (budget: TurnBudget, isDue: boolean = false): void {
    if (this.#rest.size > 0 && !isDue && budget.isSpent) {
      this.#isWaiting = true
      budget.later(() => {
        this.#isWaiting = false
        this.#goOn(budget, true)
      })
      return
    }
    const piece = this.#nextPiece()
    if (piece !== undefined) {
      this.#deliverTimed(new StreamMessageEvent(piece), budget)
    }
    if (this.#rest.size === 0 && this.#isPaused) {
      this.#take()
    }
    if (this.#rest.size > 0) {
      this.#isWaiting = true
      budget.soon(() => {
        this.#isWaiting = false
        this.#goOn(budget)
      })
    }
  }

  #nextPiece (): Uint8ArrayList | undefined {
    const first = this.#rest.peek()
    if (first === undefined) {
      return undefined
    }
    if (first.byteLength <= SLICE_BYTES) {
      this.#rest.shift()
      this.#restBytes -= first.byteLength
      return first
    }
    const piece = first.sublist(0, SLICE_BYTES)
    first.consume(SLICE_BYTES)
    this.#restBytes -= SLICE_BYTES
    return piece
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
    if (this.#rest.size === 0) {
      return
    }
    const restore = replace(this.#wire, 'send', () => true)
    try {
      for (let piece = this.#nextPiece(); piece !== undefined; piece = this.#nextPiece()) {
        this.#deliver(new StreamMessageEvent(piece))
      }
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
