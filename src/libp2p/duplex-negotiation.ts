import { PENDING } from '../core/poll.ts'
import { cancellationError, negotiationError } from './negotiation-errors.ts'
import { hostScheduler } from './scheduler.ts'
import type { Uint8ArrayList } from 'uint8arraylist'
import type { Instant } from '../core/instant.ts'
import type { Direction } from '../core/ids.ts'
import type { StreamFailure } from '../errors.ts'
import type { Scheduler } from './scheduler.ts'
import type { Negotiation } from './stream-negotiation.ts'

type Chunk = Uint8Array | Uint8ArrayList

/** A stream of the `it-pipe` kind. */
export interface ByteDuplex {
  /** What the other side sends; may be read once. */
  readonly source: AsyncIterable<Chunk>
  /** Sends all of `source`, and ends this side where it ends; may be called once. */
  sink (source: AsyncIterable<Chunk> | Iterable<Chunk>): Promise<unknown>
}

/** A duplex whose negotiation agreed. */
export interface NegotiatedDuplex {
  /** To be used in place of the duplex: its source begins with what came behind the negotiation. */
  readonly stream: ByteDuplex
  readonly protocol: string
}

/**
 * Runs `negotiation` over a duplex. Without an agreement the duplex is ended: its sink is given the error, and its source is
 * left.
 *
 * @returns rejects with a `MultistreamSelectError`
 */
export function negotiateDuplex (
  duplex: ByteDuplex, direction: Direction, negotiation: Negotiation, signal: AbortSignal | undefined
): Promise<NegotiatedDuplex> {
  return new Promise((resolve, reject) => {
    new DuplexNegotiation(duplex, direction, negotiation, signal, { resolve, reject }).start()
  })
}

interface Settle {
  resolve (negotiated: NegotiatedDuplex): void
  reject (error: Error): void
}

class DuplexNegotiation {
  readonly #duplex: ByteDuplex
  readonly #direction: Direction
  readonly #negotiation: Negotiation
  readonly #signal: AbortSignal | undefined
  readonly #settle: Settle
  readonly #scheduler: Scheduler = hostScheduler({ keepProcessAlive: false })
  readonly #startedAt: Instant = this.#scheduler.now()
  readonly #reader: AsyncIterator<Chunk>
  readonly #writer = new Writer()
  #sent: Promise<unknown> = Promise.resolve()
  #isDone = false
  /** What reading or writing threw. */
  #cause: unknown

  constructor (duplex: ByteDuplex, direction: Direction, negotiation: Negotiation, signal: AbortSignal | undefined, settle: Settle) {
    this.#duplex = duplex
    this.#direction = direction
    this.#negotiation = negotiation
    this.#signal = signal
    this.#settle = settle
    this.#reader = duplex.source[Symbol.asyncIterator]()
  }

  start (): void {
    if (this.#signal?.aborted === true) {
      this.handleEvent()
      this.#startSink()
      return
    }
    this.#signal?.addEventListener('abort', this)
    this.#startSink()
    this.#advance()
  }

  /** Listener of the signal. */
  handleEvent (): void {
    this.#fail(cancellationError(this.#signal?.reason, this.#failure()))
  }

  #startSink (): void {
    this.#sent = this.#send()
    this.#sent.catch((thrown: unknown) => {
      this.#cause ??= thrown
      this.#negotiation.handleWriteFailed()
      this.#drain()
    })
  }

  /** Whatever the sink throws or returns, it is a promise. */
  async #send (): Promise<unknown> {
    return this.#duplex.sink(this.#writer)
  }

  /** Drains, then waits for what comes next: a turn if input is left, else input. */
  #advance (): void {
    this.#drain()
    if (this.#isDone) {
      return
    }
    if (this.#negotiation.wantsTurn) {
      this.#scheduler.later(() => {
        this.#negotiation.handleTurn()
        this.#advance()
      })
    } else {
      void this.#read()
    }
  }

  async #read (): Promise<void> {
    try {
      const next = await this.#reader.next()
      if (next.done === true) {
        this.#negotiation.handleFin()
      } else {
        this.#negotiation.handleData(next.value.subarray())
      }
    } catch (thrown) {
      this.#cause ??= thrown
      this.#negotiation.handleReset()
    }
    this.#advance()
  }

  #drain (): void {
    if (this.#isDone) {
      return
    }
    const output = this.#negotiation.takeOutput()
    if (output !== undefined) {
      this.#writer.write(output)
    }
    const outcome = this.#negotiation.pollOutcome()
    if (outcome === PENDING) {
      return
    }
    if (outcome.type === 'ok') {
      this.#leave()
      this.#settle.resolve({ protocol: outcome.protocol, stream: this.#handOver(outcome.rest) })
    } else {
      this.#fail(negotiationError(outcome, this.#failure(), this.#cause))
    }
  }

  #handOver (rest: Uint8Array | undefined): ByteDuplex {
    return {
      source: continued(rest, this.#reader),
      sink: async (source) => {
        this.#writer.continueWith(source)
        return this.#sent
      }
    }
  }

  #fail (error: Error): void {
    this.#leave()
    this.#writer.fail(error)
    this.#settle.reject(error)
    void this.#leaveSource()
  }

  async #leaveSource (): Promise<void> {
    try {
      await this.#reader.return?.()
    } catch {
      // It is left in any case.
    }
  }

  #leave (): void {
    this.#isDone = true
    this.#signal?.removeEventListener('abort', this)
  }

  #failure (): StreamFailure {
    const { phase, tried = [] } = this.#negotiation
    const elapsedMs = this.#scheduler.now() - this.#startedAt
    return { phase, tried, direction: this.#direction, peer: 'unknown', connectionId: '', elapsedMs }
  }
}

/** What the sink of the duplex reads: the bytes of the negotiation, then the source of the application. */
class Writer implements AsyncIterable<Chunk> {
  readonly #chunks: Uint8Array[] = []
  #source: AsyncIterable<Chunk> | Iterable<Chunk> | undefined
  #failure: { readonly error: Error } | undefined
  #wake: (() => void) | undefined

  write (bytes: Uint8Array): void {
    this.#chunks.push(bytes)
    this.#wake?.()
  }

  continueWith (source: AsyncIterable<Chunk> | Iterable<Chunk>): void {
    this.#source = source
    this.#wake?.()
  }

  fail (error: Error): void {
    this.#failure = { error }
    this.#wake?.()
  }

  async * [Symbol.asyncIterator] (): AsyncGenerator<Chunk, void, undefined> {
    for (;;) {
      if (this.#failure !== undefined) {
        throw this.#failure.error
      }
      const chunk = this.#chunks.shift()
      if (chunk !== undefined) {
        yield chunk
      } else if (this.#source !== undefined) {
        yield * this.#source
        return
      } else {
        await new Promise<void>((resolve) => { this.#wake = resolve })
      }
    }
  }
}

async function * continued (rest: Uint8Array | undefined, reader: AsyncIterator<Chunk>): AsyncGenerator<Chunk, void, undefined> {
  if (rest !== undefined) {
    yield rest
  }
  // A generator that is left leaves what it reads from.
  yield * { [Symbol.asyncIterator]: () => reader }
}
