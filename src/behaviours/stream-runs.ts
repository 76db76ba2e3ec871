import { BoundedQueue } from '../core/bounded-queue.ts'
import { PENDING } from '../core/poll.ts'
import { AbortError, StreamResetError } from '../errors.ts'
import { LazySignal } from './lazy-signal.ts'
import type { StreamCloseEvent } from '@libp2p/interface'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { Poll, PollContext } from '../core/poll.ts'

/** Starts a callback; gives what it returned. */
export type StartCallback<Event> = (signal: LazySignal) => AsyncIterable<Event> | PromiseLike<void> | undefined

/** A yielded event, and whom to tell that it was taken. */
interface Yielded<Event> {
  readonly event: Event
  taken (): void
}

/** The callbacks that run over the streams of one connection, and what they yield. */
export class StreamRuns<Event> {
  /** There while there are any. */
  #runs: Set<StreamRun<Event>> | undefined
  /** Not bounded: every run has one event in it at most. Made for the first event. */
  #yields: BoundedQueue<Yielded<Event>> | undefined
  #cx: PollContext | undefined
  #hasEnded = false

  /** Runs a callback over `stream`. The promise ends with it, and rejects if it failed while the stream was well. */
  async run (stream: NegotiatedStream, start: StartCallback<Event>): Promise<void> {
    const run = new StreamRun<Event>(stream, async event => { await this.#yield(event) })
    this.#runs ??= new Set()
    this.#runs.add(run)
    try {
      await run.start(start)
    } finally {
      this.#runs?.delete(run)
      if (this.#runs?.size === 0) {
        this.#runs = undefined
      }
    }
  }

  /** The oldest event that nobody took. */
  poll (cx: PollContext): Poll<Event> {
    this.#cx = cx
    const yielded = this.#yields?.shift()
    if (yielded === undefined) {
      return PENDING
    }
    yielded.taken()
    return yielded.event
  }

  /** The connection ends: every run is told, and its generator returned. Events yielded before can still be polled. */
  end (reason: Error): void {
    this.#hasEnded = true
    for (const run of this.#runs ?? []) {
      run.fail(reason)
    }
  }

  async #yield (event: Event): Promise<void> {
    if (this.#hasEnded) {
      return
    }
    await new Promise<void>((resolve) => {
      this.#yields ??= new BoundedQueue(Infinity)
      this.#yields.push({ event, taken: resolve })
      this.#cx?.wake()
    })
  }
}

/** One callback over one stream. */
class StreamRun<Event> implements EventListenerObject {
  readonly #stream: NegotiatedStream
  readonly #emit: (event: Event) => Promise<void>
  readonly #signal = new LazySignal()
  #iterator: AsyncIterator<Event> | undefined
  #release: (() => void) | undefined
  #hasFailed = false

  constructor (stream: NegotiatedStream, emit: (event: Event) => Promise<void>) {
    this.#stream = stream
    this.#emit = emit
  }

  async start (start: StartCallback<Event>): Promise<void> {
    this.#stream.addEventListener('close', this)
    this.#stream.addEventListener('end', this)
    try {
      const result = start(this.#signal)
      if (result === undefined) {
        await this.#untilClosed()
        return
      }
      if (isAsyncIterable(result)) {
        await this.#drain(result)
      } else {
        await result
      }
      // Both directions: what the callback left unread, or a listener that it forgot, must not keep the stream.
      await this.#stream.closeRead()
      await this.#stream.close()
    } catch (error) {
      // The end of a stream shows in whatever its callback does next, and is nobody's mistake.
      if (!this.#hasFailed) {
        throw error
      }
    } finally {
      if (!this.#isReadLate()) {
        this.#detach()
      }
    }
  }

  /** Listener of the stream. */
  handleEvent (event: StreamCloseEvent | globalThis.Event): void {
    const { status, readableEnded } = this.#stream
    if (status === 'reset' || status === 'aborted') {
      const error: Error | undefined = 'error' in event ? event.error : undefined
      this.fail(error ?? new StreamResetError(`The stream was ${status}`))
    } else if (status === 'closed') {
      // Who has not read everything may still do so, but nobody waits for it: it may never happen.
      this.#release?.()
      if (readableEnded) {
        this.#detach()
        this.#signal.abort(new AbortError('The stream has ended'))
      }
    }
  }

  /** The stream, or its connection, is gone. */
  fail (reason: Error): void {
    this.#hasFailed = true
    this.#signal.abort(reason)
    this.#release?.()
    void this.#returnIterator()
  }

  /** Both sides have ended, and not everything was read: the signal is still to be told when it is. */
  #isReadLate (): boolean {
    return this.#stream.status === 'closed' && !this.#stream.readableEnded
  }

  #detach (): void {
    this.#stream.removeEventListener('close', this)
    this.#stream.removeEventListener('end', this)
  }

  async #drain (events: AsyncIterable<Event>): Promise<void> {
    const iterator = events[Symbol.asyncIterator]()
    this.#iterator = iterator
    for (;;) {
      const next = await iterator.next()
      if (next.done === true) {
        return
      }
      await this.#emit(next.value)
      if (this.#hasFailed) {
        return
      }
    }
  }

  async #returnIterator (): Promise<void> {
    try {
      await this.#iterator?.return?.()
    } catch {
      // What it throws on its way out comes after the end, and is no news.
    }
  }

  /** A callback that returned nothing keeps the stream, and its signal works on. */
  async #untilClosed (): Promise<void> {
    await new Promise<void>((resolve) => { this.#release = resolve })
  }
}

function isAsyncIterable<Event> (result: AsyncIterable<Event> | PromiseLike<void>): result is AsyncIterable<Event> {
  return Symbol.asyncIterator in result
}
