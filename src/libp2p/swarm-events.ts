import { checkSignal } from '../behaviours/call-options.ts'
import { unknownName } from '../core/known-names.ts'
import { checkNames, kindOf } from '../core/options.ts'
import { show } from '../core/printable.ts'
import { EventStream } from './event-stream.ts'
import type { KeyedEvent } from '../behaviour/inference.ts'
import type { Overflow } from './event-stream.ts'
import type { Scheduler } from './scheduler.ts'

/** What `swarm.events()` takes. */
export interface EventsOptions<Key> {
  /** Events of these behaviours only. Default: of all. */
  behaviour?: Key | readonly Key[] | undefined
  /** Ends the iteration when it aborts. */
  signal?: AbortSignal | undefined
  /**
   * What happens when `eventBufferSize` events wait for the consumer: `'stall'`, handlers are not polled and what behaviours say
   * waits until one is taken, so that nothing is lost and the peers are slowed down; `'end'`, the next event ends the iteration
   * with `OverflowError`.
   *
   * @default 'stall'
   */
  overflow?: Overflow | undefined
}

/** How the iterators of a swarm work. */
export interface SwarmEventStreamsInit {
  /** Events that an iterator buffers. */
  readonly eventBufferSize: number
  /** Milliseconds that an iterator may stay full before it ends with `OverflowError`. */
  readonly maxStallMs: number
  /** Whose clock runs. */
  readonly scheduler: Scheduler
  /** Of all behaviours. */
  readonly keys: readonly string[]
  /** An iterator is full: no event may come until {@link resume}. */
  stall (): void
  /** Every iterator has room. */
  resume (): void
}

/** The open iterators over the events of behaviours. Each gets every event that its filter lets through (S8.1, S8.3). */
export class SwarmEventStreams<Event extends KeyedEvent<string, unknown>> {
  readonly #init: SwarmEventStreamsInit
  readonly #open = new Set<EventStream<Event>>()
  /** Iterators that are full. */
  #full = 0
  #isClosed = false

  /**
   * @param init - limits, keys, and who is told when to stall
   */
  constructor (init: SwarmEventStreamsInit) {
    this.#init = init
  }

  /** Events that wait for a consumer, of all iterators. */
  get length (): number {
    let length = 0
    for (const stream of this.#open) {
      length += stream.length
    }
    return length
  }

  /**
   * Begins an iteration: with the next event, not with those before. While the node is stopped it ends at once.
   *
   * @throws TypeError for an unknown option or one of the wrong type, or a key that no behaviour has
   */
  open (options: EventsOptions<string>): EventStream<Event> {
    checkNames(options, ['behaviour', 'signal', 'overflow'], ACTION)
    checkSignal(options.signal, ACTION)
    const overflow = parseOverflow(options.overflow)
    const filter = parseFilter(options.behaviour, this.#init.keys)
    const { eventBufferSize: capacity, maxStallMs, scheduler } = this.#init
    const stream = new EventStream<Event>({ capacity, overflow, maxStallMs, scheduler, filter, signal: options.signal }, {
      filled: () => { this.#filled() },
      drained: () => { this.#drained() },
      ended: () => { this.#open.delete(stream) }
    })
    if (this.#isClosed) {
      stream.end()
    } else if (stream.isOpen) {
      this.#open.add(stream)
    }
    return stream
  }

  /** Gives `event` to those whom it concerns; whether there was anybody. */
  push (event: Event): boolean {
    let isTaken = false
    for (const stream of this.#open) {
      isTaken = stream.push(event) || isTaken
    }
    return isTaken
  }

  /** The node runs: iterations that begin now go on. */
  reopen (): void {
    this.#isClosed = false
  }

  /** Ends all iterations after what they have buffered, and those that begin from now on. */
  close (): void {
    this.#isClosed = true
    for (const stream of this.#open) {
      stream.end()
    }
  }

  #filled (): void {
    this.#full++
    if (this.#full === 1) {
      this.#init.stall()
    }
  }

  #drained (): void {
    this.#full--
    if (this.#full === 0) {
      this.#init.resume()
    }
  }
}

const ACTION = 'Cannot iterate over events'

const OVERFLOW: ReadonlyMap<unknown, Overflow> = new Map([[undefined, 'stall'], ['stall', 'stall'], ['end', 'end']])

function parseOverflow (given: unknown): Overflow {
  const overflow = OVERFLOW.get(given)
  if (overflow === undefined) {
    throw new TypeError(`${ACTION}: overflow must be "stall" or "end", received ${typeof given === 'string' ? `"${show(given)}"` : kindOf(given)}`)
  }
  return overflow
}

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
