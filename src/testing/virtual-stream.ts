import type { StreamPort } from '../connection/muxer-port.ts'

/** What the link between two ends does for a stream. */
export interface StreamLink {
  /** Sends bytes to the other end. */
  send (bytes: Uint8Array): void
  /** Ends this side. */
  end (): void
  /** Ends both sides at once. */
  reset (error: Error): void
}

/**
 * One end of a stream in virtual time, and what handlers of a {@link ConnectionPair} are given: bytes that arrive wait in
 * `received` until `read` takes them, and `onChange` is called whenever there is news.
 */
export class VirtualStream {
  /** The agreed name; empty before. */
  protocol = ''
  /** Bytes arrived, the end came, or the stream was reset. */
  onChange: (() => void) | undefined
  readonly #link: StreamLink
  #received: Uint8Array = new Uint8Array(0)
  #writable: 'open' | 'ended' = 'open'
  #readable: 'open' | 'ended' = 'open'
  #resetBy: Error | undefined

  constructor (link: StreamLink) {
    this.#link = link
  }

  /** Bytes that arrived and were not read. */
  get received (): Uint8Array {
    return this.#received
  }

  /** All bytes were read, and the other end sends no more. */
  get isEnded (): boolean {
    return this.#readable === 'ended' && this.#received.length === 0
  }

  /** Why the stream was reset, if it was. */
  get resetBy (): Error | undefined {
    return this.#resetBy
  }

  /** Both sides have ended in good order. */
  get isClosed (): boolean {
    return this.#writable === 'ended' && this.#readable === 'ended'
  }

  /** Takes what arrived. */
  read (): Uint8Array {
    const bytes = this.#received
    this.#received = new Uint8Array(0)
    return bytes
  }

  /**
   * Sends `bytes`.
   *
   * @throws Error when this side has ended, or the stream was reset
   */
  send (bytes: Uint8Array): void {
    if (this.#resetBy !== undefined) {
      throw this.#resetBy
    }
    if (this.#writable === 'ended') {
      throw new Error('Cannot send: this side of the stream has ended')
    }
    this.#link.send(bytes)
  }

  /** Ends this side: a half-close. */
  end (): void {
    if (this.#writable === 'open' && this.#resetBy === undefined) {
      this.#writable = 'ended'
      this.#link.end()
    }
  }

  /** Ends both sides at once. */
  reset (error: Error): void {
    if (this.#resetBy === undefined) {
      this.#resetBy = error
      this.#link.reset(error)
    }
  }

  /** @internal Bytes for the reader; in front of what waits already, if they were left over from the negotiation. */
  take (bytes: Uint8Array, isLeftOver: boolean): void {
    const parts = isLeftOver ? [bytes, this.#received] : [this.#received, bytes]
    this.#received = new Uint8Array(parts.flatMap(part => [...part]))
    this.onChange?.()
  }

  /** @internal The other end ended its side. */
  remoteEnded (): void {
    this.#readable = 'ended'
    this.onChange?.()
  }

  /** @internal The other end reset the stream, or it went down with its connection. */
  remoteReset (error: Error): void {
    this.#resetBy ??= error
    this.onChange?.()
  }
}

/** What the connection of one end is told of its stream. */
export interface VirtualPortEvents {
  /** Something comes: `deliver` runs between two drains, never inside one. */
  input (deliver: () => void): void
  /** Bytes came while the stream is negotiated. */
  data (port: VirtualPort, bytes: Uint8Array): void
  /** The other end has sent its last byte. */
  ended (port: VirtualPort): void
  /** The stream was reset, by either end. */
  reset (port: VirtualPort, error: Error): void
  /** Both directions have ended. */
  closed (port: VirtualPort): void
}

/** The connection's side of a {@link VirtualStream}: bytes go to the negotiation first, and to the reader once it is over. */
export class VirtualPort implements StreamPort<VirtualStream> {
  readonly stream: VirtualStream
  /** Whether the other end opened it. */
  readonly isInbound: boolean
  readonly #link: StreamLink
  readonly #events: VirtualPortEvents
  #phase: 'waiting' | 'paused' | 'negotiating' | 'assumed' | 'accepted' = 'waiting'
  /** Opened lazily: what the first bytes are to share their write with. */
  #opening: Uint8Array | undefined
  /** What came over the link and was not delivered yet. */
  readonly #arrivals: Array<() => void> = []

  constructor (link: StreamLink, events: VirtualPortEvents, isInbound: boolean = false) {
    this.#link = link
    this.#events = events
    this.isInbound = isInbound
    this.stream = new VirtualStream({
      send: bytes => { link.send(this.#withOpening(bytes)) },
      end: () => {
        this.#flush()
        link.end()
        this.#maybeClosed()
      },
      reset: error => {
        link.reset(error)
        events.reset(this, error)
      }
    })
  }

  /** How far the connection is with it; one that was reset is `ended`. */
  get phase (): 'waiting' | 'negotiating' | 'paused' | 'assumed' | 'accepted' | 'ended' {
    return this.stream.resetBy === undefined ? this.#phase : 'ended'
  }

  start (): void {
    this.#phase = 'negotiating'
    for (let left = this.#arrivals.length; left > 0; left--) {
      this.#deliverNext()
    }
  }

  write (bytes: Uint8Array): void {
    this.#link.send(bytes)
  }

  readLater (bytes: Uint8Array): void {
    this.#phase = 'paused'
    this.#arrivals.unshift(() => { this.#give(bytes) })
    this.#events.input(() => { this.start() })
  }

  assume (protocol: string, opening: Uint8Array): void {
    this.#phase = 'assumed'
    this.#opening = opening
    this.stream.protocol = protocol
    this.#events.input(() => { this.#flush() })
  }

  accept (protocol: string): void {
    this.#phase = 'accepted'
    this.stream.protocol = protocol
  }

  unread (bytes: Uint8Array): void {
    this.stream.take(bytes, true)
  }

  reset (error: Error): void {
    this.#opening = undefined
    this.stream.remoteReset(error)
    this.#link.reset(error)
  }

  /** Bytes came over the link. */
  arrive (bytes: Uint8Array): void {
    this.#arrived(() => { this.#give(bytes) })
  }

  /** The other end ended its side. */
  arriveEnd (): void {
    this.#arrived(() => {
      if (this.#phase === 'negotiating' || this.#phase === 'assumed') {
        this.#events.ended(this)
      }
      // An end in place of the answer is none that a user should see: it is the end of a negotiation.
      if (this.#phase !== 'assumed') {
        this.stream.remoteEnded()
        this.#maybeClosed()
      }
    })
  }

  /** The other end reset the stream; that a slot is waited for is of no use then. */
  arriveReset (error: Error): void {
    const reset = (): void => {
      this.stream.remoteReset(error)
      this.#events.reset(this, error)
    }
    if (this.#phase === 'waiting') {
      reset()
    } else {
      this.#arrived(reset)
    }
  }

  #arrived (deliver: () => void): void {
    this.#arrivals.push(deliver)
    this.#deliverNext()
  }

  /** One arrival is one input. */
  #deliverNext (): void {
    this.#events.input(() => {
      if (this.#phase !== 'waiting' && this.#phase !== 'paused') {
        this.#arrivals.shift()?.()
      }
    })
  }

  #give (bytes: Uint8Array): void {
    if (this.#phase === 'accepted') {
      this.stream.take(bytes, false)
    } else {
      this.#events.data(this, bytes)
    }
  }

  #withOpening (bytes: Uint8Array): Uint8Array {
    const opening = this.#opening
    this.#opening = undefined
    return opening === undefined ? bytes : new Uint8Array([...opening, ...bytes])
  }

  #flush (): void {
    if (this.#opening !== undefined && this.stream.resetBy === undefined) {
      this.#link.send(this.#withOpening(new Uint8Array(0)))
    }
  }

  #maybeClosed (): void {
    if (this.stream.isClosed) {
      this.#events.closed(this)
    }
  }
}
