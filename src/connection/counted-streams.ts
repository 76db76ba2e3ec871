import { NEVER, addDuration, earliest } from '../core/instant.ts'
import { emptyMap, ownMap } from '../core/own-map.ts'
import type { Instant } from '../core/instant.ts'
import type { StreamPort } from './muxer-port.ts'

interface Entry {
  /** Whether it holds the connection open. */
  isCounted: boolean
  /** When it is reset because the peer does not end it; never, before the local close. */
  resetAt: Instant
}

/** Names of the host's services that it opens by itself: if they counted, no connection would ever be idle (HOST.md 13). */
const HOUSEKEEPING = /^\/[^/]+\/(?:id|id\/push|ping)\/1\.0\.0$/

/** Whether streams of this protocol hold the connection open when the host has them, and requests for them always (S6.3). */
export function isCountedProtocol (protocol: string): boolean {
  return !HOUSEKEEPING.test(protocol)
}

/** Negotiated streams until both their directions are closed, and which of them hold the connection open (S6.3). */
export class CountedStreams<Stream> {
  #entries: Map<StreamPort<Stream>, Entry> = emptyMap()
  readonly #closeTimeoutMs: number
  #counted = 0
  #hasHeld = false

  constructor (closeTimeoutMs: number) {
    this.#closeTimeoutMs = closeTimeoutMs
  }

  /**
   * Whether anything that holds the connection open was there since the last call. What does not, such as a negotiation
   * that came to nothing or a ping, must not begin the idle time anew.
   */
  takeHeld (): boolean {
    const hasHeld = this.#hasHeld || this.#counted > 0
    this.#hasHeld = false
    return hasHeld
  }

  /** A request for a stream that will be counted. */
  held (): void {
    this.#hasHeld = true
  }

  /** Streams that hold the connection open. */
  get size (): number {
    return this.#counted
  }

  /** Whether it is negotiated and not ended, counted or not. */
  has (port: StreamPort<Stream>): boolean {
    return this.#entries.has(port)
  }

  /** The stream was negotiated. */
  add (port: StreamPort<Stream>, isCounted: boolean): void {
    if (!this.#entries.has(port)) {
      this.#entries = ownMap(this.#entries).set(port, { isCounted, resetAt: NEVER })
      this.#counted += isCounted ? 1 : 0
    }
  }

  /** Takes the stream out of the count; idempotent, and it is still watched. */
  ignore (port: StreamPort<Stream>): void {
    const entry = this.#entries.get(port)
    if (entry?.isCounted === true) {
      entry.isCounted = false
      this.#counted--
    }
  }

  /**
   * This side closed the stream: the peer has a limited time to end its own. The host's `close` ends one direction only, so
   * the stream counts until then. Returns when that time ends.
   */
  closing (port: StreamPort<Stream>, now: Instant): Instant {
    const entry = this.#entries.get(port)
    if (entry === undefined || entry.resetAt !== NEVER) {
      return NEVER
    }
    entry.resetAt = addDuration(now, this.#closeTimeoutMs)
    return entry.resetAt
  }

  /** Both directions are closed, or the stream was reset; false if it was not here. */
  remove (port: StreamPort<Stream>): boolean {
    this.#hasHeld ||= this.#entries.get(port)?.isCounted === true
    this.ignore(port)
    return this.#entries.delete(port)
  }

  /** Takes out the streams whose peer did not end them in time, but for those that wait for an answer of the peer. */
  expire (now: Instant): Array<StreamPort<Stream>> {
    const expired: Array<StreamPort<Stream>> = []
    for (const [port, entry] of this.#entries) {
      if (entry.resetAt > now) {
        continue
      }
      if (port.isRead === true) {
        entry.resetAt = NEVER
      } else {
        expired.push(port)
      }
    }
    for (const port of expired) {
      this.remove(port)
    }
    return expired
  }

  /** The earliest instant at which a stream is to be reset. */
  nextDeadline (): Instant {
    let next = NEVER
    for (const { resetAt } of this.#entries.values()) {
      next = earliest(next, resetAt)
    }
    return next
  }

  /** Streams that hold the connection open, oldest first. */
  * counted (): Iterable<StreamPort<Stream>> {
    for (const [port, { isCounted }] of this.#entries) {
      if (isCounted) {
        yield port
      }
    }
  }

  /** Forgets all of them: the connection has ended. */
  clear (): void {
    this.#entries.clear()
    this.#counted = 0
  }
}
