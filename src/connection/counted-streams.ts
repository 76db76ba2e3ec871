import { NEVER, addDuration, earliest } from '../core/instant.ts'
import { Linked, LinkedList } from '../core/linked-list.ts'
import { placesOf } from './muxer-port.ts'
import type { Instant } from '../core/instant.ts'
import type { StreamPort } from './muxer-port.ts'
import type { ProtocolSlot } from './protocol-slots.ts'

/** What a negotiated stream counts as. */
export interface StreamCounts {
  /** Whether it holds the connection open. */
  readonly isCounted: boolean
  /** Whether the peer opened it. */
  readonly isInbound: boolean
  /** Its place among the streams of its protocol, if that has a limit. */
  readonly slot: ProtocolSlot | undefined
}

/**
 * Times the close timeout that a reader may wait in silence after this side has closed: two minutes by default, after which a
 * host calls a stream inactive. An answer may take its time, but a peer that sends neither bytes nor an end must not be able to
 * have streams kept for ever.
 */
const READER_PATIENCE = 24

class Entry<Stream> extends Linked<Entry<Stream>> {
  readonly port: StreamPort<Stream>
  /** Whether it holds the connection open. */
  isCounted: boolean
  readonly isInbound: boolean
  readonly slot: ProtocolSlot | undefined
  /** When it is reset because the peer does not end it; never, before the local close. */
  resetAt: Instant = NEVER
  /** It is the long time of a reader that runs. */
  isPatient = false

  constructor (port: StreamPort<Stream>, { isCounted, isInbound, slot }: StreamCounts) {
    super()
    this.port = port
    this.isCounted = isCounted
    this.isInbound = isInbound
    this.slot = slot
  }
}

/** Names of the host's services that it opens by itself: if they counted, no connection would ever be idle (HOST.md 13). */
const HOUSEKEEPING = /^\/[^/]+\/(?:id|id\/push|ping)\/1\.0\.0$/

/** Whether streams of this protocol hold the connection open when the host has them, and requests for them always (S6.3). */
export function isCountedProtocol (protocol: string): boolean {
  return !HOUSEKEEPING.test(protocol)
}

/** Negotiated streams until both their directions are closed, and which of them hold the connection open (S6.3). */
export class CountedStreams<Stream> {
  /** There while there are any. */
  #entries: LinkedList<Entry<Stream>> | undefined
  readonly #closeTimeoutMs: number
  #counted = 0
  #inbound = 0
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

  /** Streams that the peer opened, whether they hold the connection open or not. */
  get inbound (): number {
    return this.#inbound
  }

  /** Whether it is negotiated and not ended, counted or not. */
  has (port: StreamPort<Stream>): boolean {
    return this.#entryOf(port) !== undefined
  }

  /** The stream was negotiated. */
  add (port: StreamPort<Stream>, counts: StreamCounts): void {
    if (this.#entryOf(port) === undefined) {
      const { isCounted, isInbound } = counts
      const entry = new Entry(port, counts)
      this.#entries ??= new LinkedList()
      this.#entries.push(entry)
      placesOf(port).counted = entry
      this.#counted += isCounted ? 1 : 0
      this.#inbound += isInbound ? 1 : 0
    }
  }

  /** Takes the stream out of the count; idempotent, and it is still watched. */
  ignore (port: StreamPort<Stream>): void {
    this.#ignore(this.#entryOf(port))
  }

  /**
   * This side closed the stream, or reads it no longer: the peer has a limited time to end its own. The host's `close` ends
   * one direction only, so the stream counts until then. Returns when that time ends.
   */
  closing (port: StreamPort<Stream>, now: Instant): Instant {
    const entry = this.#entryOf(port)
    const isShort = entry !== undefined && entry.resetAt !== NEVER && !entry.isPatient
    return entry === undefined || isShort ? NEVER : this.#arm(entry, now, false)
  }

  /** Both directions are closed, or the stream was reset; false if it was not here. */
  remove (port: StreamPort<Stream>): boolean {
    const entry = this.#entryOf(port)
    if (entry === undefined) {
      return false
    }
    this.#hasHeld ||= entry.isCounted
    this.#ignore(entry)
    this.#inbound -= entry.isInbound ? 1 : 0
    entry.slot?.release()
    placesOf(port).counted = undefined
    this.#entries?.remove(entry)
    if (this.#entries?.size === 0) {
      this.#entries = undefined
    }
    return true
  }

  /**
   * Takes out the streams whose peer did not end them in time, but for those of which somebody reads: as long as bytes come
   * there is always more time, and {@link READER_PATIENCE} without any.
   */
  expire (now: Instant): Array<StreamPort<Stream>> {
    const expired: Array<StreamPort<Stream>> = []
    for (const entry of this.#entries ?? []) {
      if (entry.resetAt > now) {
        continue
      }
      const reading = entry.port.reading?.()
      if (reading === 'takes' || (reading === 'waits' && !entry.isPatient)) {
        this.#arm(entry, now, reading === 'waits')
      } else {
        expired.push(entry.port)
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
    for (const { resetAt } of this.#entries ?? []) {
      next = earliest(next, resetAt)
    }
    return next
  }

  /** Streams that hold the connection open, oldest first. */
  * counted (): Iterable<StreamPort<Stream>> {
    for (const { port, isCounted } of this.#entries ?? []) {
      if (isCounted) {
        yield port
      }
    }
  }

  /** All of them, counted or not, oldest first. */
  all (): Iterable<{ readonly port: StreamPort<Stream>, readonly isInbound: boolean }> {
    return this.#entries ?? []
  }

  /** Forgets all of them: the connection has ended. */
  clear (): void {
    this.#entries?.clear()
    this.#entries = undefined
    this.#counted = 0
    this.#inbound = 0
  }

  #arm (entry: Entry<Stream>, now: Instant, isPatient: boolean): Instant {
    entry.isPatient = isPatient
    entry.resetAt = addDuration(now, isPatient ? READER_PATIENCE * this.#closeTimeoutMs : this.#closeTimeoutMs)
    return entry.resetAt
  }

  #entryOf (port: StreamPort<Stream>): Entry<Stream> | undefined {
    const entry = port.places?.counted
    return this.#entries?.has(entry) === true ? entry : undefined
  }

  #ignore (entry: Entry<Stream> | undefined): void {
    if (entry?.isCounted === true) {
      entry.isCounted = false
      this.#counted--
    }
  }
}
