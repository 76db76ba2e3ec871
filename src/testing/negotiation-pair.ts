import { DialerNegotiation } from '../negotiation/dialer-negotiation.ts'
import { ListenerNegotiation } from '../negotiation/listener-negotiation.ts'
import { DEFAULT_LIMITS } from '../negotiation/outcome.ts'
import { LocalProtocols } from '../protocols/local-protocols.ts'
import { chunksOf } from './chunks.ts'
import type { NegotiationLimits } from '../negotiation/outcome.ts'
import type { ListedProtocol } from '../protocols/listing-snapshot.ts'

/** What is negotiated, and over what kind of link. */
export interface NegotiationPairInit {
  /** Names that the dialer proposes, in order. */
  readonly dialer: readonly string[]
  /** Names that the listener has; invalid ones are left out, as by a connection. */
  readonly listener: readonly string[]
  /**
   * The limits of both ends.
   *
   * @default DEFAULT_LIMITS
   */
  readonly limits?: NegotiationLimits | undefined
  /**
   * How the link cuts what was written at once: the sizes that `chunksOf` takes.
   *
   * @default [Infinity]
   */
  readonly chunkSizes?: readonly number[] | undefined
  /**
   * Milliseconds from a write to the arrival of its bytes.
   *
   * @default 1
   */
  readonly latencyMs?: number | undefined
}

/**
 * A dialer and a listener at the two ends of a link, in virtual time: nothing happens but in `step` and `drive`, and no
 * time passes but that which bytes spend on the link.
 */
export class NegotiationPair {
  /** The dialer's machine; ask it for its outcome, and feed it nothing. */
  readonly dialer: DialerNegotiation
  /** The listener's machine; ask it for its outcome, and feed it nothing. */
  readonly listener: ListenerNegotiation<ListedProtocol>
  readonly #toListener: Link
  readonly #toDialer: Link
  #now = 0

  /** @throws TypeError or RangeError when the dialer's names, the limits or a chunk size are not valid */
  constructor (init: NegotiationPairInit) {
    const { dialer, listener, limits = DEFAULT_LIMITS, chunkSizes = [Infinity], latencyMs = 1 } = init
    const local = new LocalProtocols({ maxProtocols: Infinity, maxNameBytes: limits.maxFrameLength - 1 })
    local.update(listener, [])
    this.dialer = new DialerNegotiation(dialer, limits)
    this.listener = new ListenerNegotiation(local.snapshot(), limits)
    this.#toListener = new Link(chunkSizes, latencyMs)
    this.#toDialer = new Link(chunkSizes, latencyMs)
    this.#toListener.write(this.dialer.takeOutput(), this.#now)
  }

  /** Milliseconds since the dialer began. */
  get now (): number {
    return this.#now
  }

  /** Chunks that the dialer wrote, as they left it. */
  get dialerWrites (): readonly Uint8Array[] {
    return this.#toListener.written
  }

  /** Chunks that the listener wrote, as they left it. */
  get listenerWrites (): readonly Uint8Array[] {
    return this.#toDialer.written
  }

  /** Delivers the chunk that arrives next, and moves the time on to its arrival; false when nothing is on the way. */
  step (): boolean {
    const isListenerNext = this.#toListener.nextArrival <= this.#toDialer.nextArrival
    const arrival = isListenerNext ? this.#toListener.deliver() : this.#toDialer.deliver()
    if (arrival === undefined) {
      return false
    }
    this.#now = arrival.at
    if (isListenerNext) {
      this.listener.handleData(arrival.chunk)
      this.#toDialer.write(this.listener.takeOutput(), this.#now)
    } else {
      this.dialer.handleData(arrival.chunk)
      this.#toListener.write(this.dialer.takeOutput(), this.#now)
    }
    return true
  }

  /** Steps until nothing is on the way; returns the number of chunks delivered. */
  drive (): number {
    let steps = 0
    while (this.step()) {
      steps++
    }
    return steps
  }
}

interface Arrival {
  readonly at: number
  readonly chunk: Uint8Array
}

/** One direction: bytes arrive in the order in which they were written, all after the same delay. */
class Link {
  readonly written: Uint8Array[] = []
  readonly #chunkSizes: readonly number[]
  readonly #latencyMs: number
  readonly #arrivals: Arrival[] = []

  constructor (chunkSizes: readonly number[], latencyMs: number) {
    this.#chunkSizes = chunkSizes
    this.#latencyMs = latencyMs
  }

  get nextArrival (): number {
    return this.#arrivals[0]?.at ?? Infinity
  }

  write (bytes: Uint8Array | undefined, now: number): void {
    if (bytes !== undefined) {
      this.written.push(bytes)
      this.#arrivals.push(...chunksOf(bytes, ...this.#chunkSizes).map(chunk => ({ at: now + this.#latencyMs, chunk })))
    }
  }

  deliver (): Arrival | undefined {
    return this.#arrivals.shift()
  }
}
