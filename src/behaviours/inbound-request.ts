import { AbortError, InvalidStateError, StreamResetError } from '../errors.ts'
import { LazySignal } from './lazy-signal.ts'
import { StreamScope } from './stream-scope.ts'
import { asError, readToEnd, writeToEnd } from './stream-io.ts'
import type { StreamCloseEvent } from '@libp2p/interface'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { EstablishedConnection } from '../behaviour/network-behaviour.ts'
import type { StreamContext } from './stream-callback.ts'

/** A request without `serve`: the application answers it. */
export interface ReceivedRequest {
  readonly type: 'request'
  readonly request: Uint8Array
  /** The name that was agreed. */
  readonly protocol: string
  /** Aborts when the request has ended, in whatever way. */
  readonly signal: AbortSignal
  /**
   * Answers. Resolves when the answer was handed to the muxer. Rejects with `InvalidStateError` when the request was
   * answered, refused or has ended, with `RangeError` when the answer is too long, `TypeError` when it is no `Uint8Array`
   * (another may follow), or as the stream does; failures of the stream come as `inbound-failure` too, so the promise may be ignored.
   */
  respond (response: Uint8Array): Promise<void>
  /** Resets the stream: the peer's request fails. Without effect after the end. */
  refuse (): void
}

/** One request of the peer, from its stream to the end of it: answered, refused, or failed. */
export class InboundRequest implements EventListenerObject {
  readonly context: StreamContext
  /** Settles at the end: with an error, unless the request was answered or refused, or ended by `end()`. */
  readonly ended: Promise<Error | undefined>
  readonly #stream: NegotiatedStream
  readonly #signal = new LazySignal()
  readonly #maxResponseBytes: number
  #settle: (error: Error | undefined) => void = () => {}
  #state: 'open' | 'answering' | 'ended' = 'open'

  /**
   * @param stream - the peer's
   * @param protocol - the name that was agreed
   * @param connection - whose stream it is
   * @param maxResponseBytes - longest answer
   */
  constructor (stream: NegotiatedStream, protocol: string, connection: EstablishedConnection, maxResponseBytes: number) {
    this.context = new StreamScope(protocol, this.#signal, connection)
    this.#stream = stream
    this.#maxResponseBytes = maxResponseBytes
    this.ended = new Promise((resolve) => { this.#settle = resolve })
    stream.addEventListener('close', this)
  }

  /** Reads the request to its end; undefined when that failed, which ends it. */
  async read (maxBytes: number): Promise<Uint8Array | undefined> {
    try {
      return await readToEnd(this.#stream, maxBytes, 'request')
    } catch (thrown) {
      this.fail(asError(thrown))
      return undefined
    }
  }

  /** What the application is given. */
  toEvent (request: Uint8Array): ReceivedRequest {
    const { context } = this
    return {
      type: 'request',
      request,
      protocol: context.protocol,
      get signal () { return context.signal },
      respond: (response) => {
        const answered = this.answer(response)
        // Whoever ignores the promise has the event.
        answered.catch(() => {})
        return answered
      },
      refuse: () => { this.refuse() }
    }
  }

  /** See {@link ReceivedRequest.respond}. */
  async answer (response: Uint8Array): Promise<void> {
    if (this.#state !== 'open') {
      throw new InvalidStateError('Cannot respond: the request was answered or refused, or has ended')
    }
    checkBytes(response)
    if (response.byteLength > this.#maxResponseBytes) {
      throw new RangeError(`Cannot respond: a response must have at most ${this.#maxResponseBytes} bytes, received ${response.byteLength}`)
    }
    this.#state = 'answering'
    try {
      await writeToEnd(this.#stream, response)
    } catch (thrown) {
      const error = asError(thrown)
      this.fail(error)
      throw error
    }
    this.end()
  }

  /** See {@link ReceivedRequest.refuse}. */
  refuse (): void {
    if (this.end()) {
      this.#stream.abort(new AbortError('The request was refused'))
    }
  }

  /** Ends it without an answer and without a word; false when it has ended already. */
  end (error?: Error): boolean {
    if (this.#state === 'ended') {
      return false
    }
    this.#state = 'ended'
    this.#stream.removeEventListener('close', this)
    this.#signal.abort(error ?? new AbortError('The request has ended'))
    this.#settle(error)
    return true
  }

  /** Ends it with an error and resets the stream. */
  fail (error: Error): void {
    if (this.end(error)) {
      this.#stream.abort(error)
    }
  }

  /** Listener of the stream. */
  handleEvent (event: StreamCloseEvent | Event): void {
    const error: Error | undefined = 'error' in event ? event.error : undefined
    if (error !== undefined || this.#state === 'open') {
      this.fail(error ?? new StreamResetError('The stream was lost with its connection'))
    }
  }
}

/** Anything else would go out as an empty answer, or half of one. */
function checkBytes (response: unknown): void {
  if (!(response instanceof Uint8Array)) {
    throw new TypeError(`Cannot respond: a response must be a Uint8Array, received ${typeof response}`)
  }
}
