import { toError } from '../core/to-error.ts'
import { AbortError, InvalidStateError, StreamResetError } from '../errors.ts'
import { checkEncoded, decoded } from './codec.ts'
import { LazySignal } from './lazy-signal.ts'
import { pauseReading, resumeReading } from './reading.ts'
import { StreamScope } from './stream-scope.ts'
import { readToEnd, writeToEnd } from './stream-io.ts'
import type { StreamCloseEvent } from '@libp2p/interface'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { EstablishedConnection } from '../behaviour/network-behaviour.ts'
import type { Codec } from './codec.ts'
import type { StreamContext } from './stream-callback.ts'

/** A request without `serve`: the application answers it. */
export interface ReceivedRequest<Request = Uint8Array, Response = Uint8Array> {
  readonly type: 'request'
  readonly request: Request
  /** The name that was agreed. */
  readonly protocol: string
  /** Aborts when the request has ended, in whatever way. */
  readonly signal: AbortSignal
  /**
   * Answers. Resolves when the answer was handed to the muxer. Rejects with `InvalidStateError` when the request was
   * answered, refused or has ended, with `RangeError` when the answer is too long, `TypeError` when it is no `Uint8Array`,
   * as the codec throws (after these three another answer may follow), or as the stream does; failures of the stream come as
   * `inbound-failure` too, so the promise may be ignored.
   */
  respond (response: Response): Promise<void>
  /** Resets the stream: the peer's request fails. Without effect after the end. */
  refuse (): void
}

/** What an {@link InboundRequest} is read and answered with. */
export interface InboundRequestTerms<Request, Response> {
  readonly codec: Codec<Request, Response>
  readonly limits: {
    /** Longest request. */
    readonly maxRequestBytes: number
    /** Longest answer. */
    readonly maxResponseBytes: number
  }
}

/** One request of the peer, from its stream to the end of it: answered, refused, or failed. */
export class InboundRequest<Request, Response> implements EventListenerObject {
  readonly context: StreamContext
  /** Settles at the end: with an error, unless the request was answered or refused, or ended by `end()`. */
  readonly ended: Promise<Error | undefined>
  readonly #stream: NegotiatedStream
  readonly #signal = new LazySignal()
  readonly #terms: InboundRequestTerms<Request, Response>
  #settle: (error: Error | undefined) => void = () => {}
  #state: 'open' | 'answering' | 'ended' = 'open'

  /**
   * @param stream - the peer's
   * @param protocol - the name that was agreed
   * @param connection - whose stream it is
   * @param terms - how it is read and answered
   */
  constructor (stream: NegotiatedStream, protocol: string, connection: EstablishedConnection, terms: InboundRequestTerms<Request, Response>) {
    this.context = new StreamScope(protocol, this.#signal, connection)
    this.#stream = stream
    this.#terms = terms
    this.ended = new Promise((resolve) => { this.#settle = resolve })
    stream.addEventListener('close', this)
  }

  /** Nothing is read for now: what the peer sends stays with it, above one window of the muxer. */
  pause (): void {
    pauseReading(this.#stream)
  }

  /** Reads the request to its end; undefined when that failed, or it means nothing, which ends it. */
  async read (): Promise<{ readonly request: Request } | undefined> {
    const { codec, limits } = this.#terms
    try {
      resumeReading(this.#stream)
      const bytes = await readToEnd(this.#stream, limits.maxRequestBytes, 'request')
      return { request: decoded((encoded) => codec.decodeRequest(encoded), bytes, 'request') }
    } catch (thrown) {
      this.fail(toError(thrown))
      return undefined
    }
  }

  /** What the application is given. */
  toEvent (request: Request): ReceivedRequest<Request, Response> {
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
  async answer (response: Response): Promise<void> {
    if (this.#state !== 'open') {
      throw new InvalidStateError('Cannot respond: the request was answered or refused, or has ended')
    }
    const { codec, limits } = this.#terms
    const bytes: unknown = codec.encodeResponse(response)
    checkEncoded(bytes, limits.maxResponseBytes, 'response', 'Cannot respond')
    this.#state = 'answering'
    try {
      await writeToEnd(this.#stream, bytes)
    } catch (thrown) {
      const error = toError(thrown)
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
