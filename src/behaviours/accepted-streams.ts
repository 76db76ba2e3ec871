/// <reference lib="esnext.disposable" preserve="true" />
import { BoundedQueue } from '../core/bounded-queue.ts'
import { AbortError } from '../errors.ts'
import { pauseReading, resumeReading } from './reading.ts'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { StreamContext } from './stream-callback.ts'

/** A stream that a peer opened, and whose it is. */
export interface AcceptedStream extends StreamContext {
  readonly stream: NegotiatedStream
}

/** The streams that peers open for one protocol, as they come. It ends with `break`, its signal, or the node. */
export interface AcceptedStreams extends AsyncIterableIterator<AcceptedStream, undefined>, AsyncDisposable {
  /** The name that is accepted. */
  readonly protocol: string
  /** False once it has ended, and the name is offered no more. */
  readonly isOpen: boolean
  /** Streams that wait to be taken. */
  readonly waiting: number
  /** Streams that were reset so far because too many waited. */
  readonly rejected: number
}

/** How many streams may wait. */
export interface AcceptLimits {
  /** In all. */
  readonly maxWaiting: number
  /** Of one peer. */
  readonly maxWaitingPerPeer: number
}

/** What a {@link StreamQueue} needs. */
export interface StreamQueueInit {
  /** The name. */
  readonly protocol: string
  /** How many may wait. */
  readonly limits: AcceptLimits
  /** Ends it. */
  readonly signal: AbortSignal | undefined
  /** The name is to be offered no more. */
  onEnd (): void
}

/** See {@link AcceptedStreams}. Streams wait, or consumers do: never both. */
export class StreamQueue implements AcceptedStreams, EventListenerObject {
  readonly protocol: string
  rejected = 0
  readonly #init: StreamQueueInit
  readonly #streams: BoundedQueue<AcceptedStream>
  readonly #perPeer = new Map<string, number>()
  /** Peers that were told of, until there is room again. Bounded by those that are connected. */
  readonly #told = new Set<string>()
  /** Whoever called `next` ahead: the application's own. */
  #consumers: Array<(result: IteratorResult<AcceptedStream, undefined>) => void> = []
  #isOpen = true

  constructor (init: StreamQueueInit) {
    const { protocol, limits, signal } = init
    this.protocol = protocol
    this.#init = init
    this.#streams = new BoundedQueue(limits.maxWaiting)
    signal?.addEventListener('abort', this)
  }

  get isOpen (): boolean {
    return this.#isOpen
  }

  get waiting (): number {
    return this.#streams.size
  }

  /**
   * A peer opened a stream.
   *
   * @returns true if it was reset, and that is news: once per peer until a stream is taken
   */
  offer (accepted: AcceptedStream): boolean {
    const consumer = this.#consumers.shift()
    if (consumer !== undefined) {
      consumer({ done: false, value: accepted })
      return false
    }
    const peer = accepted.peer.toString()
    if (this.#hasRoom(peer) || (this.#dropDead() && this.#hasRoom(peer))) {
      // Else the host would reset a stream of which too much is unread.
      pauseReading(accepted.stream)
      this.#streams.push(accepted)
      this.#count(peer, 1)
      return false
    }
    this.rejected++
    accepted.stream.abort(new AbortError(`Too many streams of "${this.protocol}" wait to be taken`))
    const isNews = !this.#told.has(peer)
    this.#told.add(peer)
    return isNews
  }

  /** No stream follows: those that wait are reset. */
  end (): void {
    if (!this.#isOpen) {
      return
    }
    this.#isOpen = false
    this.#init.signal?.removeEventListener('abort', this)
    this.#init.onEnd()
    const consumers = this.#consumers
    this.#consumers = []
    for (const consumer of consumers) {
      consumer({ done: true, value: undefined })
    }
    for (let accepted = this.#take(); accepted !== undefined; accepted = this.#take()) {
      accepted.stream.abort(new AbortError(`Streams of "${this.protocol}" are accepted no more`))
    }
  }

  /** Listener of the signal. */
  handleEvent (): void {
    this.end()
  }

  async next (): Promise<IteratorResult<AcceptedStream, undefined>> {
    const value = this.#take()
    if (value !== undefined) {
      resumeReading(value.stream)
      return { done: false, value }
    }
    return this.#isOpen ? await new Promise((resolve) => { this.#consumers.push(resolve) }) : { done: true, value }
  }

  async return (): Promise<IteratorResult<AcceptedStream, undefined>> {
    this.end()
    return await Promise.resolve({ done: true, value: undefined })
  }

  async [Symbol.asyncDispose] (): Promise<void> {
    await this.return()
  }

  [Symbol.asyncIterator] (): this {
    return this
  }

  #hasRoom (peer: string): boolean {
    const { maxWaiting, maxWaitingPerPeer } = this.#init.limits
    return this.#streams.size < maxWaiting && (this.#perPeer.get(peer) ?? 0) < maxWaitingPerPeer
  }

  /** The oldest one that is still alive. */
  #take (): AcceptedStream | undefined {
    this.#told.clear()
    for (let accepted = this.#streams.shift(); accepted !== undefined; accepted = this.#streams.shift()) {
      this.#count(accepted.peer.toString(), -1)
      if (isAlive(accepted)) {
        return accepted
      }
    }
    return undefined
  }

  /** Those that peers have reset meanwhile make room; only looked for when there is none. */
  #dropDead (): boolean {
    return this.#streams.remove((accepted) => {
      const isDead = !isAlive(accepted)
      if (isDead) {
        this.#count(accepted.peer.toString(), -1)
      }
      return isDead
    }) > 0
  }

  #count (peer: string, by: 1 | -1): void {
    const count = (this.#perPeer.get(peer) ?? 0) + by
    if (count === 0) {
      this.#perPeer.delete(peer)
    } else {
      this.#perPeer.set(peer, count)
    }
  }
}

/** A stream that has ended in good order still has what the peer wrote; one that was reset is of no use to anybody. */
function isAlive ({ stream: { status } }: AcceptedStream): boolean {
  return status !== 'reset' && status !== 'aborted'
}
