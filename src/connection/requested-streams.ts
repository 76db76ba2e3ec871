import { BoundedQueue } from '../core/bounded-queue.ts'
import { NEVER, earliest } from '../core/instant.ts'
import { Linked, LinkedList } from '../core/linked-list.ts'
import type { Instant } from '../core/instant.ts'
import type { Hop } from '../handler/route.ts'
import type { StreamUpgrade } from '../handler/stream-upgrade.ts'
import type { DialerNegotiation } from '../negotiation/dialer-negotiation.ts'
import type { StreamOpening } from './muxer-port.ts'

/** A handler part that asked for a stream. */
export interface HandlerRequester<Stream> {
  readonly type: 'handler'
  readonly info: unknown
  readonly hop: Hop | undefined
  readonly token: unknown
  readonly upgrade: ((stream: Stream, protocol: string) => StreamUpgrade<unknown>) | undefined
}

/** The host, which asked for a stream for one of its own services. */
export interface HostRequester {
  readonly type: 'host'
  readonly token: unknown
  readonly options: unknown
}

/** Who asked for a stream. */
export type Requester<Stream> = HandlerRequester<Stream> | HostRequester

/** One request on its way: its deadline already runs, and it gets exactly one outcome. */
export interface OutboundRequest<Stream> {
  readonly requester: Requester<Stream>
  readonly machine: DialerNegotiation
  /** The one name that may be used before the peer agreed, if it has announced it by then (S2.24). */
  readonly lazyName: string | undefined
  readonly startedAt: Instant
  readonly deadline: Instant
}

class Opening<Stream> extends Linked<Opening<Stream>> implements StreamOpening {
  readonly protocols: readonly string[]
  readonly options: unknown
  request: OutboundRequest<Stream>

  constructor (request: OutboundRequest<Stream>) {
    super()
    this.protocols = request.machine.protocols
    this.options = request.requester.type === 'host' ? request.requester.options : undefined
    this.request = request
  }
}

/** A request that ended before it had a stream, and what was asked for it at the muxer, if anything was. */
export interface EndedRequest<Stream> {
  readonly request: OutboundRequest<Stream>
  readonly opening: StreamOpening | undefined
}

/** A request that has its stream. */
export interface GrantedRequest<Stream> {
  readonly request: OutboundRequest<Stream>
  /** An opening that is no longer needed, because the stream was granted for another one. */
  readonly spare: StreamOpening | undefined
}

/**
 * Requests that have no stream yet: first in a bounded queue, then asked for at the muxer. Streams go to requests in the
 * order of the requests, whichever opening they were granted for (S5.7, S10.11); only the host's own requests keep theirs,
 * because the muxer was told their options, and all do where the muxer negotiates, because it was told their names. An opening
 * whose request has ended is forgotten, so that it holds no slot.
 */
export class RequestedStreams<Stream> {
  readonly #maxQueued: number
  /** There while any waits. */
  #waiting: BoundedQueue<OutboundRequest<Stream>> | undefined
  /** Whether a stream may serve another request than the one it was opened for. */
  readonly #areAlike: boolean
  /** In the order of the requests; there while there are any. */
  #opening: LinkedList<Opening<Stream>> | undefined

  /**
   * @param maxQueued - requests that may wait
   * @param negotiates - whether the muxer agrees on the names by itself
   */
  constructor (maxQueued: number, negotiates: boolean) {
    this.#maxQueued = maxQueued
    this.#areAlike = !negotiates
  }

  /** Requests in the queue. */
  get waiting (): number {
    return this.#waiting?.size ?? 0
  }

  /** Requests that were asked for at the muxer. */
  get opening (): number {
    return this.#opening?.size ?? 0
  }

  /** Whether any request waits for a stream. */
  get isBusy (): boolean {
    return this.waiting > 0 || this.opening > 0
  }

  /** Queues a request; false when the queue is full. */
  push (request: OutboundRequest<Stream>): boolean {
    this.#waiting ??= new BoundedQueue(this.#maxQueued)
    return this.#waiting.push(request)
  }

  /** Takes the oldest waiting request; the muxer is to be asked for a stream for it. */
  open (): StreamOpening | undefined {
    const request = this.#waiting?.shift()
    this.#trim()
    if (request === undefined) {
      return undefined
    }
    const opening = new Opening(request)
    this.#opening ??= new LinkedList()
    this.#opening.push(opening)
    return opening
  }

  /**
   * The muxer granted a stream.
   *
   * @param hasRoom - whether a request that was not asked for at the muxer yet may have it
   * @returns the request that it serves; undefined when nobody waits for such a stream
   */
  granted (opening: StreamOpening, hasRoom: boolean): GrantedRequest<Stream> | undefined {
    if (this.#opening?.has(opening) !== true) {
      return this.#areAlike && opening.options === undefined ? this.#takeOldest(hasRoom) : undefined
    }
    const isMovable = this.#areAlike && opening.request.requester.type === 'handler'
    const request = isMovable ? this.#moveUp(opening) : opening.request
    this.#opening.remove(opening)
    this.#trim()
    return { request, spare: undefined }
  }

  /** The muxer could not open a stream; returns the request that fails by it. */
  failed (opening: StreamOpening): OutboundRequest<Stream> | undefined {
    if (this.#opening?.has(opening) !== true) {
      return undefined
    }
    this.#opening.remove(opening)
    this.#trim()
    return opening.request
  }

  /**
   * Ends every request for which `matches` is true.
   *
   * @returns the ended requests, oldest first
   */
  end (matches: (request: OutboundRequest<Stream>) => boolean): Array<EndedRequest<Stream>> {
    const ended: Array<EndedRequest<Stream>> = []
    for (const opening of this.#opening ?? []) {
      const { request } = opening
      if (matches(request)) {
        this.#opening?.remove(opening)
        ended.push({ request, opening })
      }
    }
    this.#waiting?.remove(request => matches(request) && ended.push({ request, opening: undefined }) > 0)
    this.#trim()
    return ended
  }

  /** The earliest deadline of all requests here. */
  nextDeadline (): Instant {
    let next = NEVER
    for (const { request: { deadline } } of this.#opening ?? []) {
      next = earliest(next, deadline)
    }
    for (const { deadline } of this.#waiting ?? []) {
      next = earliest(next, deadline)
    }
    return next
  }

  #trim (): void {
    if (this.#waiting?.size === 0) {
      this.#waiting = undefined
    }
    if (this.#opening?.size === 0) {
      this.#opening = undefined
    }
  }

  /** Each request moves to the opening before its own, up to `opening`, which is free then; returns the oldest request, which has none. */
  #moveUp (opening: Opening<Stream>): OutboundRequest<Stream> {
    let oldest = opening.request
    let before: Opening<Stream> | undefined
    for (const next of this.#opening ?? []) {
      if (next.request.requester.type === 'host') {
        continue
      }
      if (before === undefined) {
        oldest = next.request
      } else {
        before.request = next.request
      }
      if (next === opening) {
        break
      }
      before = next
    }
    return oldest
  }

  /** The oldest request of a handler, opening or waiting; those of the host keep their place. */
  #takeOldest (hasRoom: boolean): GrantedRequest<Stream> | undefined {
    for (const opening of this.#opening ?? []) {
      const { request } = opening
      if (request.requester.type === 'handler') {
        this.#opening?.remove(opening)
        this.#trim()
        return { request, spare: opening }
      }
    }
    if (!hasRoom) {
      return undefined
    }
    let oldest: OutboundRequest<Stream> | undefined
    this.#waiting?.remove(request => {
      const isOldest = oldest === undefined && request.requester.type === 'handler'
      oldest = isOldest ? request : oldest
      return isOldest
    })
    this.#trim()
    return oldest === undefined ? undefined : { request: oldest, spare: undefined }
  }
}
