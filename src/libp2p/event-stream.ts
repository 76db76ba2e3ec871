/// <reference lib="esnext.disposable" preserve="true" />
/**
 * ```
 *            push                    the buffer is full: stalled
 *  open ───────────────▶ buffered ──────────────────────────────▶ full ──next()──▶ buffered
 *    │                                                              │
 *    └── break, signal, dispose, the node stops ──▶ ended ◀─────────┘  maxStallMs
 * ```
 * One iteration over events. It holds buffered events, or consumers that wait for one, never both. While it is full, its owner
 * sees to it that no event comes (`'stall'`), or the next one ends it (`'end'`).
 */

import { BoundedQueue } from '../core/bounded-queue.ts'
import { addDuration } from '../core/instant.ts'
import { OverflowError } from '../errors.ts'
import type { KeyedEvent } from '../behaviour/inference.ts'
import type { Scheduler, Timer } from './scheduler.ts'

/** What happens when an iterator is full: nobody is polled for events until there is room, or it ends. */
export type Overflow = 'stall' | 'end'

/** What `swarm.events()` gives. */
export type EventsIterator<Event> = AsyncIterableIterator<Event, undefined> & AsyncDisposable

/** How one iteration works. */
export interface EventStreamInit {
  /** Events that it buffers. */
  readonly capacity: number
  /** What happens at {@link capacity}. */
  readonly overflow: Overflow
  /** Milliseconds that it may stay full, with `'stall'`; `Infinity` for as long as it likes. */
  readonly maxStallMs: number
  /** Whose clock runs. */
  readonly scheduler: Scheduler
  /** Keys of the behaviours whose events it gets; undefined: all. */
  readonly filter: ReadonlySet<string> | undefined
  /** Ends it. */
  readonly signal: AbortSignal | undefined
}

/** Who feeds an iteration. */
export interface EventStreamOwner {
  /** Its buffer is full: it can take no event. Told of those with `'stall'` only. */
  filled (): void
  /** There is room again, or it has ended. Once for each {@link filled}. */
  drained (): void
  /** It takes no events any more. */
  ended (): void
}

interface Waiting<Event> {
  resolve (result: IteratorResult<Event, undefined>): void
}

/** See above. */
export class EventStream<Event extends KeyedEvent<string, unknown>> implements AsyncIterableIterator<Event, undefined>, AsyncDisposable {
  readonly #init: EventStreamInit
  readonly #owner: EventStreamOwner
  readonly #buffer: BoundedQueue<Event>
  readonly #waiting: BoundedQueue<Waiting<Event>> = new BoundedQueue(Infinity)
  /** Made when it is full for the first time. */
  #timer: Timer | undefined
  #isOpen = true
  #isFull = false
  /** Thrown once, after the buffer. */
  #error: Error | undefined
  readonly #abort = (): void => { this.#drop() }

  constructor (init: EventStreamInit, owner: EventStreamOwner) {
    this.#init = init
    this.#owner = owner
    this.#buffer = new BoundedQueue(init.capacity)
    this.#isOpen = init.signal?.aborted !== true
    if (this.#isOpen) {
      init.signal?.addEventListener('abort', this.#abort)
    }
  }

  /** Whether events are taken. */
  get isOpen (): boolean {
    return this.#isOpen
  }

  /** Events that nobody has taken yet. */
  get length (): number {
    return this.#buffer.size
  }

  /** Takes `event`, if the filter lets it through; whether it did. */
  push (event: Event): boolean {
    if (!this.#isOpen || this.#init.filter?.has(event.behaviour) === false) {
      return false
    }
    const consumer = this.#waiting.shift()
    if (consumer !== undefined) {
      consumer.resolve({ done: false, value: event })
      return true
    }
    if (!this.#buffer.push(event)) {
      this.#overflow(`Cannot buffer an event of "${event.behaviour}": eventBufferSize is ${this.#buffer.capacity}, consume faster or raise it`)
      return false
    }
    if (this.#buffer.size === this.#buffer.capacity) {
      this.#fill()
    }
    return true
  }

  /** No event follows; what is buffered may still be taken. */
  end (): void {
    if (!this.#isOpen) {
      return
    }
    this.#isOpen = false
    this.#init.signal?.removeEventListener('abort', this.#abort)
    this.#owner.ended()
    this.#drain()
    for (let consumer = this.#waiting.shift(); consumer !== undefined; consumer = this.#waiting.shift()) {
      consumer.resolve({ done: true, value: undefined })
    }
  }

  async next (): Promise<IteratorResult<Event, undefined>> {
    const event = this.#buffer.shift()
    if (event !== undefined) {
      this.#drain()
      return { done: false, value: event }
    }
    if (this.#error !== undefined) {
      const error = this.#error
      this.#error = undefined
      throw error
    }
    if (!this.#isOpen) {
      return { done: true, value: undefined }
    }
    return await new Promise((resolve) => { this.#waiting.push({ resolve }) })
  }

  async return (): Promise<IteratorResult<Event, undefined>> {
    this.#drop()
    return await Promise.resolve({ done: true, value: undefined })
  }

  async [Symbol.asyncDispose] (): Promise<void> {
    await this.return()
  }

  [Symbol.asyncIterator] (): this {
    return this
  }

  #drop (): void {
    this.#buffer.clear()
    this.#error = undefined
    this.end()
  }

  #overflow (message: string): void {
    this.#error = new OverflowError(message)
    this.end()
  }

  #fill (): void {
    const { overflow, maxStallMs, scheduler } = this.#init
    if (overflow === 'end') {
      return
    }
    this.#isFull = true
    this.#owner.filled()
    if (maxStallMs !== Infinity) {
      this.#timer ??= scheduler.timer(() => {
        this.#overflow(`Cannot hold events back any longer: an iterator of swarm.events() was full for ${maxStallMs} ms (maxStallMs); consume faster, or do not wait in its loop for what needs events`)
      })
      this.#timer.arm(addDuration(scheduler.now(), maxStallMs))
    }
  }

  #drain (): void {
    if (this.#isFull) {
      this.#isFull = false
      this.#timer?.clear()
      this.#owner.drained()
    }
  }
}
