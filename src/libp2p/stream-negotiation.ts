import { PENDING } from '../core/poll.ts'
import { cancellationError, negotiationError } from './negotiation-errors.ts'
import { hostScheduler } from './scheduler.ts'
import type { MessageStream, StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import type { Uint8ArrayList } from 'uint8arraylist'
import type { Instant } from '../core/instant.ts'
import type { Poll } from '../core/poll.ts'
import type { StreamFailure, StreamPhase } from '../errors.ts'
import type { NegotiationOutcome } from '../negotiation/outcome.ts'
import type { Scheduler } from './scheduler.ts'

/** A machine of either role, as one that runs it over a stream sees it. */
export interface Negotiation {
  readonly phase: StreamPhase
  readonly tried?: readonly string[]
  handleData (bytes: Uint8Array): void
  handleFin (): void
  handleReset (): void
  handleWriteFailed (): void
  takeKept (): Uint8Array | undefined
  takeOutput (): Uint8Array | undefined
  pollOutcome (): Poll<NegotiationOutcome<unknown>>
}

/**
 * Runs `negotiation` over a stream of the host, to the agreed name. Everything else resets the stream, once. No listener is
 * left at the end, and what came behind the negotiation is left to whoever reads next.
 *
 * @returns rejects with an error by the host's name (S2.39)
 */
export function negotiate (stream: MessageStream, negotiation: Negotiation, signal: AbortSignal | undefined): Promise<string> {
  return new Promise((resolve, reject) => {
    new StreamNegotiation(stream, negotiation, signal, resolve, reject).start()
  })
}

/** One negotiation over one stream: the only object made for it, and the listener of all events. */
class StreamNegotiation {
  readonly #stream: MessageStream
  readonly #negotiation: Negotiation
  readonly #signal: AbortSignal | undefined
  readonly #resolve: (protocol: string) => void
  readonly #reject: (error: Error) => void
  #startedAt: Instant = 0
  #isWatching = false
  /** What the stream closed with. */
  #cause: unknown
  isDone = false

  constructor (
    stream: MessageStream, negotiation: Negotiation, signal: AbortSignal | undefined,
    resolve: (protocol: string) => void, reject: (error: Error) => void
  ) {
    this.#stream = stream
    this.#negotiation = negotiation
    this.#signal = signal
    this.#resolve = resolve
    this.#reject = reject
  }

  start (): void {
    if (this.#signal?.aborted === true) {
      this.#cancel(this.#signal)
      return
    }
    this.#signal?.addEventListener('abort', this)
    this.#startedAt = unwatched().add(this)
    this.listen()
    this.#drain()
  }

  /** What has arrived already follows in a microtask. */
  listen (): void {
    this.#stream.addEventListener('message', this)
  }

  /** From now on the end of the stream is heard, and one that has come already is seen. */
  watch (): void {
    this.#isWatching = true
    this.#stream.addEventListener('end', this)
    this.#stream.addEventListener('close', this)
    this.#checkEnd()
  }

  /** Listener of the stream and of the signal. */
  handleEvent (event: StreamMessageEvent | StreamCloseEvent | Event): void {
    if ('data' in event) {
      this.#negotiation.handleData(bytesOf(event.data))
      if (isOver(this.#stream)) {
        this.#negotiation.handleReset()
      }
      this.#drain()
    } else if (this.#signal?.aborted === true) {
      this.#cancel(this.#signal)
    } else if ('error' in event) {
      this.#cause = event.error
      this.#checkEnd()
    } else if (!isOver(this.#stream)) {
      // Of a reset the end is told too, but the error follows with `close`.
      this.#checkEnd()
    }
  }

  /** The end comes after all bytes, which may still be in the stream's own buffer. */
  #checkEnd (): void {
    if (this.#stream.readBufferLength > 0 && !isPaused(this.#stream)) {
      return
    }
    if (isOver(this.#stream)) {
      this.#negotiation.handleReset()
      this.#drain()
    } else if (this.#stream.readableEnded) {
      this.#negotiation.handleFin()
      this.#drain()
    }
  }

  #drain (): void {
    const output = this.#negotiation.takeOutput()
    if (output !== undefined) {
      this.#send(output)
    }
    const outcome = this.#negotiation.pollOutcome()
    if (outcome === PENDING) {
      this.#waitForTurn(this.#negotiation.takeKept())
    } else if (outcome.type === 'ok') {
      this.#leave()
      this.#giveBack(outcome.rest)
      this.#resolve(outcome.protocol)
    } else {
      this.#fail(negotiationError(outcome, this.#failure(), this.#cause))
    }
  }

  #send (output: Uint8Array): void {
    try {
      this.#stream.send(output)
    } catch (thrown) {
      this.#cause = thrown
      this.#negotiation.handleWriteFailed()
    }
  }

  /** The turn has read its share: the rest waits in the stream, where its end cannot overtake it. */
  #waitForTurn (kept: Uint8Array | undefined): void {
    if (kept !== undefined) {
      this.#stream.removeEventListener('message', this)
      this.#giveBack(kept)
      unheard().add(this)
    }
  }

  /** Puts bytes in front of what the stream delivers next. Inside its event only: at its end it takes nothing back. */
  #giveBack (bytes: Uint8Array | undefined): void {
    if (bytes !== undefined) {
      this.#stream.unshift(bytes)
    }
  }

  #cancel ({ reason }: AbortSignal): void {
    this.#fail(cancellationError(reason, this.#failure()))
  }

  #fail (error: Error): void {
    this.#leave()
    this.#stream.abort(error)
    this.#reject(error)
  }

  #leave (): void {
    this.isDone = true
    this.#stream.removeEventListener('message', this)
    if (this.#isWatching) {
      this.#stream.removeEventListener('end', this)
      this.#stream.removeEventListener('close', this)
    }
    this.#signal?.removeEventListener('abort', this)
  }

  #failure (): StreamFailure {
    const { phase, tried = [] } = this.#negotiation
    const { direction } = this.#stream
    const peer = 'remoteAddr' in this.#stream ? this.#stream.remoteAddr : 'unknown'
    return { phase, tried, direction, peer, connectionId: '', elapsedMs: unwatched().now() - this.#startedAt }
  }
}

/** Calls negotiations in the next macrotask, all of them in one, unless they are done by then. */
class NextTurn {
  readonly #scheduler: Scheduler = hostScheduler({ keepProcessAlive: false })
  readonly #call: (negotiation: StreamNegotiation) => void
  #waiting: StreamNegotiation[] = []
  #isScheduled = false
  #now: Instant = 0

  constructor (call: (negotiation: StreamNegotiation) => void) {
    this.#call = call
  }

  /** Returns an instant of this turn of the event loop: the clock is read once for all that wait. */
  add (negotiation: StreamNegotiation): Instant {
    if (!this.#isScheduled) {
      this.#isScheduled = true
      this.#now = this.#scheduler.now()
      this.#scheduler.later(() => { this.#run() })
    }
    while (this.#waiting.at(-1)?.isDone === true) {
      this.#waiting.pop()
    }
    this.#waiting.push(negotiation)
    return this.#now
  }

  now (): Instant {
    return this.#scheduler.now()
  }

  #run (): void {
    this.#isScheduled = false
    const due = this.#waiting
    this.#waiting = []
    for (const negotiation of due) {
      if (!negotiation.isDone) {
        this.#call(negotiation)
      }
    }
  }
}

/** Whether nothing can be sent or received any more, but what the stream has buffered. */
function isOver ({ status }: MessageStream): boolean {
  return status === 'closed' || status === 'aborted' || status === 'reset'
}

/** What a paused stream has buffered is not coming. */
function isPaused (stream: MessageStream): boolean {
  return 'readStatus' in stream && stream.readStatus === 'paused'
}

function bytesOf (data: Uint8Array | Uint8ArrayList): Uint8Array {
  return data instanceof Uint8Array ? data : data.subarray()
}

let u: NextTurn | undefined
const unwatched = (): NextTurn => u ??= new NextTurn(n => { n.watch() })
let h: NextTurn | undefined
const unheard = (): NextTurn => h ??= new NextTurn(n => { n.listen() })
