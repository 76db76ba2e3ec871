import { PENDING } from '../core/poll.ts'
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
   * Whether the dialer's application may write before the listener agreed (V1Lazy).
   *
   * @default false
   */
  readonly lazy?: boolean | undefined
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
 * time passes but that which bytes spend on the link. Their applications may write at any time; what they write waits until
 * the negotiation lets it through.
 */
export class NegotiationPair {
  /** The dialer's machine; ask it for its outcome, and feed it nothing. */
  readonly dialer: DialerNegotiation
  /** The listener's machine; ask it for its outcome, and feed it nothing. */
  readonly listener: ListenerNegotiation<ListedProtocol>
  readonly #dialing: Side
  readonly #listening: Side
  #now = 0

  /** @throws TypeError or RangeError when the dialer's names, the limits or a chunk size are not valid */
  constructor (init: NegotiationPairInit) {
    const { dialer, listener, lazy = false, limits = DEFAULT_LIMITS, chunkSizes = [Infinity], latencyMs = 1 } = init
    const local = new LocalProtocols({ maxProtocols: Infinity, maxNameBytes: limits.maxFrameLength - 1 })
    local.update(listener, [])
    const dialing = new DialerNegotiation(dialer, limits, { lazy })
    const listening = new ListenerNegotiation(local.snapshot(), limits)
    this.dialer = dialing
    this.listener = listening
    this.#dialing = new Side(dialing, data => dialing.write(data), new Link(chunkSizes, latencyMs))
    this.#listening = new Side(listening, data => isAgreed(listening) ? data : undefined, new Link(chunkSizes, latencyMs))
    this.#dialing.send(this.#now)
  }

  /** Milliseconds since the dialer began. */
  get now (): number {
    return this.#now
  }

  /** Chunks that the dialer's end wrote, as they left it. */
  get dialerWrites (): readonly Uint8Array[] {
    return this.#dialing.link.written
  }

  /** Chunks that the listener's end wrote, as they left it. */
  get listenerWrites (): readonly Uint8Array[] {
    return this.#listening.link.written
  }

  /** What the dialer's application received, chunk by chunk. */
  get dialerReceived (): readonly Uint8Array[] {
    return this.#dialing.received
  }

  /** What the listener's application received, chunk by chunk. */
  get listenerReceived (): readonly Uint8Array[] {
    return this.#listening.received
  }

  /** The dialer's application writes. */
  writeToListener (data: Uint8Array): void {
    this.#dialing.write(data, this.#now)
  }

  /** The listener's application writes. */
  writeToDialer (data: Uint8Array): void {
    this.#listening.write(data, this.#now)
  }

  /** Delivers the chunk that arrives next, and moves the time on to its arrival; false when nothing is on the way. */
  step (): boolean {
    this.#dialing.send(this.#now)
    const isListenerNext = this.#dialing.link.nextArrival <= this.#listening.link.nextArrival
    const [from, to] = isListenerNext ? [this.#dialing, this.#listening] : [this.#listening, this.#dialing]
    const arrival = from.link.deliver()
    if (arrival === undefined) {
      return false
    }
    this.#now = arrival.at
    to.receive(arrival.chunk, this.#now)
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

function isAgreed (machine: Machine): boolean {
  const outcome = machine.pollOutcome()
  return outcome !== PENDING && outcome.type === 'ok'
}

type Machine = DialerNegotiation | ListenerNegotiation<ListedProtocol>

/** One end: its machine, its application, and the link that it writes to. */
class Side {
  readonly link: Link
  readonly received: Uint8Array[] = []
  readonly #machine: Machine
  /** What may be sent for data of the application; undefined while it must wait. */
  readonly #lettingThrough: (data: Uint8Array) => Uint8Array | undefined
  #waiting: Uint8Array[] = []

  constructor (machine: Machine, lettingThrough: (data: Uint8Array) => Uint8Array | undefined, link: Link) {
    this.#machine = machine
    this.#lettingThrough = lettingThrough
    this.link = link
  }

  write (data: Uint8Array, now: number): void {
    this.#waiting.push(data)
    this.send(now)
  }

  receive (chunk: Uint8Array, now: number): void {
    if (this.#machine.pollOutcome() !== PENDING) {
      this.#take(chunk)
      return
    }
    this.#machine.handleData(chunk)
    this.send(now)
    while (this.#machine.wantsTurn) {
      this.#machine.handleTurn()
      this.send(now)
    }
    const outcome = this.#machine.pollOutcome()
    if (outcome !== PENDING && outcome.type === 'ok' && outcome.rest !== undefined) {
      this.#take(outcome.rest)
    }
  }

  /** Sends what is due: of the negotiation first. */
  send (now: number): void {
    this.link.write(this.#machine.takeOutput(), now)
    this.#waiting = this.#waiting.filter(data => {
      const bytes = this.#lettingThrough(data)
      this.link.write(bytes, now)
      return bytes === undefined
    })
  }

  #take (bytes: Uint8Array): void {
    if (isAgreed(this.#machine)) {
      this.received.push(bytes)
    }
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
