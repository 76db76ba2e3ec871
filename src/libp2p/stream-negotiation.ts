import { PENDING } from '../core/poll.ts'
import { cancellationError, negotiationError } from './negotiation-errors.ts'
import { hostScheduler } from './scheduler.ts'
import type { MessageStream, StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import type { Poll } from '../core/poll.ts'
import type { StreamFailure, StreamPhase } from '../errors.ts'
import type { NegotiationOutcome } from '../negotiation/outcome.ts'
import type { Scheduler } from './scheduler.ts'

/** A machine of either role, as one that runs it over a stream sees it. */
export interface Negotiation {
  readonly phase: StreamPhase
  readonly tried?: readonly string[]
  handleData (bytes: Uint8Array): void
  handleFin (): void
  handleReset (): void
  handleWriteFailed (): void
  takeKept (): Uint8Array | undefined
  takeOutput (): Uint8Array | undefined
  pollOutcome (): Poll<NegotiationOutcome<unknown>>
}

const scheduler: Scheduler = /* @__PURE__ */ hostScheduler({ keepProcessAlive: false })

/**
 * Runs `negotiation` over a stream of the host, to the agreed name. Everything else resets the stream, once. No listener is
 * left at the end, and what came behind the negotiation is left to whoever reads next.
 *
 * @returns rejects with an error by the host's name (S2.39)
 */
export function negotiate (stream: MessageStream, negotiation: Negotiation, signal: AbortSignal | undefined): Promise<string> {
  return new Promise((resolve, reject) => {
    new StreamNegotiation(stream, negotiation, signal, resolve, reject).start()
  })
}

/** One negotiation over one stream: the only object made for it, and the listener of all events. */
class StreamNegotiation {
  readonly #stream: MessageStream
  readonly #negotiation: Negotiation
  readonly #signal: AbortSignal | undefined
  readonly #resolve: (protocol: string) => void
  readonly #reject: (error: Error) => void
  readonly #startedAt = scheduler.now()
  #isWatching = false
  #isDone = false
  /** What the stream failed with. */
  #cause: unknown

  constructor (
    stream: MessageStream, negotiation: Negotiation, signal: AbortSignal | undefined,
    resolve: (protocol: string) => void, reject: (error: Error) => void
  ) {
    this.#stream = stream
    this.#negotiation = negotiation
    this.#signal = signal
    this.#resolve = resolve
    this.#reject = reject
  }

  start (): void {
    if (this.#signal?.aborted === true) {
      this.#cancel()
      return
    }
    this.#signal?.addEventListener('abort', this)
    // What has arrived already follows in a microtask.
    this.#stream.addEventListener('message', this)
    watchLater(this)
    this.#drain()
  }

  /** From now on the end of the stream is told, and so is one that has come already. */
  watch (): void {
    const { status, readableEnded, readBufferLength } = this.#stream
    if (isOver(status)) {
      this.#negotiation.handleReset()
      this.#drain()
    } else if (readableEnded && readBufferLength === 0) {
      this.#negotiation.handleFin()
      this.#drain()
    } else {
      this.#isWatching = true
      this.#stream.addEventListener('end', this)
      this.#stream.addEventListener('close', this)
    }
  }

  /** Listener of the stream and of the signal. */
  handleEvent (event: StreamMessageEvent | StreamCloseEvent | Event): void {
    if ('data' in event) {
      this.#negotiation.handleData(event.data.subarray())
    } else if (event.type === 'abort') {
      this.#cancel()
      return
    } else if ('error' in event) {
      this.#cause = event.error
      this.#negotiation.handleReset()
    } else if (!isOver(this.#stream.status)) {
      // The end is told for a reset too, and before it.
      this.#negotiation.handleFin()
    }
    this.#drain()
  }

  #drain (): void {
    this.#send()
    const outcome = this.#negotiation.pollOutcome()
    if (outcome === PENDING) {
      this.#giveBack(this.#negotiation.takeKept())
    } else if (outcome.type === 'ok') {
      this.#leave()
      this.#giveBack(outcome.rest)
      this.#resolve(outcome.protocol)
    } else {
      this.#fail(negotiationError(outcome, this.#failure(), this.#cause))
    }
  }
