/// <reference lib="esnext.disposable" preserve="true" />
import { checkSignal } from '../behaviours/call-options.ts'
import { BoundedQueue } from '../core/bounded-queue.ts'
import { unknownName } from '../core/known-names.ts'
import { checkNames } from '../core/options.ts'
import { show } from '../core/printable.ts'
import { OverflowError } from '../errors.ts'
import type { KeyedEvent } from '../behaviour/inference.ts'

/** What `swarm.events()` takes. */
export interface EventsOptions<Key> {
  /** Events of these behaviours only. Default: of all. */
  behaviour?: Key | readonly Key[] | undefined
  /** Ends the iteration when it aborts. */
  signal?: AbortSignal | undefined
}

/** What `swarm.events()` gives. */
export type EventsIterator<Event> = AsyncIterableIterator<Event, undefined> & AsyncDisposable

/** The open iterators over the events of behaviours. Each gets every event that its filter lets through (S8.1). */
export class SwarmEventStreams<Event extends KeyedEvent<string, unknown>> {
  readonly #capacity: number
  readonly #keys: readonly string[]
  readonly #open = new Set<EventStream<Event>>()

  /**
   * @param capacity - events that an iterator buffers before it ends with `OverflowError`
   * @param keys - of all behaviours
   */
  constructor (capacity: number, keys: readonly string[]) {
    this.#capacity = capacity
    this.#keys = keys
  }

  /**
   * Begins an iteration: with the next event, not with those before.
   *
   * @throws TypeError for an unknown option, a key that no behaviour has, or a signal that is none
   */
  open (options: EventsOptions<string>): EventsIterator<Event> {
    checkNames(options, ['behaviour', 'signal'], ACTION)
    checkSignal(options.signal, ACTION)
    const filter = parseFilter(options.behaviour, this.#keys)
    const stream = new EventStream<Event>(this.#capacity, filter, options.signal, () => { this.#open.delete(stream) })
    if (options.signal?.aborted !== true) {
      this.#open.add(stream)
    }
    return stream
  }

  /** Gives `event` to those whom it concerns. */
  push (event: Event): void {
    for (const stream of this.#open) {
      stream.push(event)
    }
  }

  /** Ends all iterations after what they have buffered. */
  close (): void {
    for (const stream of this.#open) {
      stream.end()
    }
  }
}

const ACTION = 'Cannot iterate over events'

function parseFilter (behaviour: string | readonly string[] | undefined, keys: readonly string[]): ReadonlySet<string> | undefined {
  if (behaviour === undefined) {
    return undefined
  }
  const known = new Set<unknown>(keys)
  const wanted = new Set(typeof behaviour === 'string' ? [behaviour] : behaviour)
  for (const key of wanted as ReadonlySet<unknown>) {
    if (!known.has(key)) {
      throw new TypeError(`${ACTION}: ${unknownName('behaviour', show(String(key)), keys)}`)
    }
  }
  return wanted
}

interface Waiting<Event> {
  resolve (result: IteratorResult<Event, undefined>): void
  reject (error: unknown): void
}

/** Buffered events, or consumers that wait for one: never both. */
class EventStream<Event extends KeyedEvent<string, unknown>> implements AsyncIterableIterator<Event, undefined>, AsyncDisposable {
  readonly #filter: ReadonlySet<string> | undefined
  readonly #signal: AbortSignal | undefined
  readonly #onEnd: () => void
  readonly #buffer: BoundedQueue<Event>
  readonly #waiting: Array<Waiting<Event>> = []
  #isOpen = true
  /** Thrown once, after the buffer. */
  #error: Error | undefined
  readonly #abort = (): void => { this.#drop() }

  constructor (capacity: number, filter: ReadonlySet<string> | undefined, signal: AbortSignal | undefined, onEnd: () => void) {
    this.#buffer = new BoundedQueue(capacity)
    this.#filter = filter
    this.#signal = signal
    this.#onEnd = onEnd
    this.#isOpen = signal?.aborted !== true
    if (this.#isOpen) {
      signal?.addEventListener('abort', this.#abort)
    }
  }

  push (event: Event): void {
    if (this.#filter?.has(event.behaviour) === false) {
      return
    }
    const consumer = this.#waiting.shift()
    if (consumer !== undefined) {
      consumer.resolve({ done: false, value: event })
    } else if (!this.#buffer.push(event)) {
      this.#error = new OverflowError(`Cannot buffer an event of "${event.behaviour}": eventBufferSize is ${this.#buffer.capacity}, consume faster or raise it`)
      this.end()
    }
  }

  /** No event follows; what is buffered may still be taken. */
  end (): void {
    if (!this.#isOpen) {
      return
    }
    this.#isOpen = false
    this.#signal?.removeEventListener('abort', this.#abort)
    this.#onEnd()
    for (const consumer of this.#waiting.splice(0)) {
      consumer.resolve({ done: true, value: undefined })
    }
  }

  async next (): Promise<IteratorResult<Event, undefined>> {
    const event = this.#buffer.shift()
    if (event !== undefined) {
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
    return await new Promise((resolve, reject) => { this.#waiting.push({ resolve, reject }) })
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
}
