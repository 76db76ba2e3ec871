import { BoundedQueue } from '../core/bounded-queue.ts'
import { NEVER, earliest } from '../core/instant.ts'
import type { Instant } from '../core/instant.ts'
import type { Hop } from '../handler/route.ts'
import type { StreamUpgrade } from '../handler/stream-upgrade.ts'
import type { DialerNegotiation } from '../negotiation/dialer-negotiation.ts'
import type { StreamOpening } from './muxer-port.ts'

/** Who asked for a stream: a handler part, or the host for one of its own services. */
export type Requester<Stream> =
  | {
    readonly type: 'handler'
    readonly info: unknown
    readonly hop: Hop | undefined
    readonly token: unknown
    readonly upgrade: ((stream: Stream, protocol: string) => StreamUpgrade<unknown>) | undefined
  }
  | { readonly type: 'host', readonly token: unknown, readonly options: unknown }

/** One request on its way: its deadline already runs, and it gets exactly one outcome. */
export interface OutboundRequest<Stream> {
  readonly requester: Requester<Stream>
  readonly machine: DialerNegotiation
  readonly startedAt: Instant
  readonly deadline: Instant
}

interface Opening<Stream> extends StreamOpening {
  /** Whom a stream granted now would serve; undefined once the request has ended. */
  request: OutboundRequest<Stream> | undefined
}

/**
 * Requests that have no stream yet: first in a bounded queue, then asked for at the muxer. Streams go to requests in the
 * order of the requests, whichever opening they were granted for (S5.7); only the host's own requests keep theirs, because
 * the muxer was told their options.
 */
export class RequestedStreams<Stream> {
  readonly #waiting: BoundedQueue<OutboundRequest<Stream>>
  readonly #openings: Set<Opening<Stream>> = new Set()

  constructor (maxQueued: number) {
    this.#waiting = new BoundedQueue(maxQueued)
  }

  /** Requests in the queue. */
  get waiting (): number {
    return this.#waiting.size
  }

  /** Streams asked for at the muxer and not answered yet, those whose request has ended included. */
  get opening (): number {
    return this.#openings.size
  }

  /** Whether any request waits for a stream. */
  get isBusy (): boolean {
    return this.#waiting.size > 0 || this.#oldestOpening(() => true) !== undefined
  }

  /** Queues a request; false when the queue is full. */
  push (request: OutboundRequest<Stream>): boolean {
    return this.#waiting.push(request)
  }

  /** Takes the oldest waiting request; the muxer is to be asked for a stream for it. */
  open (): StreamOpening | undefined {
    const request = this.#waiting.shift()
    if (request === undefined) {
      return undefined
    }
    const opening = { request, options: request.requester.type === 'host' ? request.requester.options : undefined }
    this.#openings.add(opening)
    return opening
  }

  /**
   * The muxer granted a stream.
   *
   * @returns the request that it serves; undefined when nobody waits for it any more, or it was granted already
   */
  granted (opening: StreamOpening): OutboundRequest<Stream> | undefined {
    const own = this.#take(opening)
    if (own === undefined || own.request?.requester.type === 'host') {
      return own?.request
    }
    const oldest = this.#oldestOpening(request => request.requester.type === 'handler')
    if (oldest === undefined || (own.request !== undefined && own.request.startedAt <= (oldest.request?.startedAt ?? NEVER))) {
      return own.request ?? this.#oldestWaiting()
    }
    const { request } = oldest
    oldest.request = own.request
    return request
  }

  /** The muxer could not open a stream; returns the request that fails by it. */
  failed (opening: StreamOpening): OutboundRequest<Stream> | undefined {
    return this.#take(opening)?.request
  }

  /**
   * Ends every request for which `matches` is true.
   *
   * @returns the ended requests, oldest first, each with its opening at the muxer if it has one
   */
  end (matches: (request: OutboundRequest<Stream>) => boolean): Array<{ readonly request: OutboundRequest<Stream>, readonly opening: StreamOpening | undefined }> {
    const ended: Array<{ request: OutboundRequest<Stream>, opening: StreamOpening | undefined }> = []
    for (const opening of this.#openings) {
      const { request } = opening
      if (request !== undefined && matches(request)) {
        opening.request = undefined
        ended.push({ request, opening })
      }
    }
    this.#waiting.remove(request => matches(request) && ended.push({ request, opening: undefined }) > 0)
    return ended
  }

  /** The earliest deadline of all requests here. */
  nextDeadline (): Instant {
    let next = NEVER
    for (const { request } of this.#openings) {
      next = earliest(next, request?.deadline ?? NEVER)
    }
    for (const request of this.#waiting) {
      next = earliest(next, request.deadline)
    }
    return next
  }

  #take (opening: StreamOpening): Opening<Stream> | undefined {
    for (const known of this.#openings) {
      if (known === opening) {
        this.#openings.delete(known)
        return known
      }
    }
    return undefined
  }

  #oldestOpening (matches: (request: OutboundRequest<Stream>) => boolean): Opening<Stream> | undefined {
    for (const opening of this.#openings) {
      if (opening.request !== undefined && matches(opening.request)) {
        return opening
      }
    }
    return undefined
  }

  #oldestWaiting (): OutboundRequest<Stream> | undefined {
    return this.#waiting.peek()?.requester.type === 'handler' ? this.#waiting.shift() : undefined
  }
}
