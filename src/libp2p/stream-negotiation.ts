import { PENDING } from '../core/poll.ts'
import { toError } from '../core/to-error.ts'
import { isOver } from './is-over.ts'
import { cancellationError, negotiationError } from './negotiation-errors.ts'
import { NextTurn, Waiting } from './next-turn.ts'
import { hostScheduler } from './scheduler.ts'
import type { MessageStream, StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import type { Uint8ArrayList } from 'uint8arraylist'
import type { Instant } from '../core/instant.ts'
import type { Poll } from '../core/poll.ts'
import type { StreamFailure, StreamPhase } from '../errors.ts'
import type { NegotiationOutcome } from '../negotiation/outcome.ts'
import type { Scheduler } from './scheduler.ts'

/** A machine of either role, as those see it that run it. */
export interface Negotiation {
  readonly phase: StreamPhase
  readonly tried?: readonly string[]
  readonly wantsTurn: boolean
  handleData (bytes: Uint8Array): void
  handleTurn (): void
  handleFin (): void
  handleReset (): void
  handleWriteFailed (): void
  takeKept (): Uint8Array | undefined
  takeOutput (): Uint8Array | undefined
  pollOutcome (): Poll<NegotiationOutcome<unknown>>
}

/** What all negotiations share, made when the first one begins: importing this has no effect. */
interface Loop {
  readonly scheduler: Scheduler
  /**
   * Negotiations that do not listen for the end of their stream yet. Most have their outcome before the event loop turns, as
   * the proposal came with the stream. An end that comes meanwhile is seen then: streams remember it.
   */
  readonly unwatched: NextTurn<StreamNegotiation>
  /** Negotiations that have read their share of frames for this turn. */
  readonly paused: NextTurn<StreamNegotiation>
}

let shared: Loop | undefined

function loop (): Loop {
  if (shared === undefined) {
    const scheduler = hostScheduler({ keepProcessAlive: false })
    shared = {
      scheduler,
      unwatched: new NextTurn(negotiation => { negotiation.watch() }, scheduler),
      paused: new NextTurn(negotiation => { negotiation.listen() }, scheduler)
    }
  }
  return shared
}

/**
 * Runs `negotiation` over a stream of the host, to the agreed name; anything else resets the stream. At the end no listener
 * is left, and what came behind the negotiation is in the stream for whoever reads next.
 *
 * @returns rejects with a `MultistreamSelectError`
 */
export function negotiateStream (stream: MessageStream, negotiation: Negotiation, signal: AbortSignal | undefined): Promise<string> {
  return new Promise((resolve, reject) => {
    new StreamNegotiation(stream, negotiation, signal, { resolve, reject }).start()
  })
}

interface Settle {
  resolve (protocol: string): void
  reject (error: Error): void
}

/** One negotiation over one stream: the only object made for it, and the one listener of all events. */
class StreamNegotiation {
  readonly #stream: MessageStream
  readonly #negotiation: Negotiation
  readonly #signal: AbortSignal | undefined
  readonly #settle: Settle
  readonly #unwatched = new Waiting<StreamNegotiation>(this)
  #paused: Waiting<StreamNegotiation> | undefined
  #startedAt: Instant = 0
  #isWatching = false
  /** The outcome was told. A stream may deliver inside `send`, and then that happens in the middle of something. */
  #isDone = false
  /** What the stream closed with, or what writing to it threw. */
  #cause: unknown

  constructor (stream: MessageStream, negotiation: Negotiation, signal: AbortSignal | undefined, settle: Settle) {
    this.#stream = stream
    this.#negotiation = negotiation
    this.#signal = signal
    this.#settle = settle
  }

  start (): void {
    this.#startedAt = loop().unwatched.add(this.#unwatched)
    if (this.#signal?.aborted === true) {
      this.#cancel(this.#signal)
      return
    }
    this.#signal?.addEventListener('abort', this)
    this.listen()
    this.#drain()
  }

  /** What has arrived already follows in a microtask. */
  listen (): void {
    try {
      this.#stream.addEventListener('message', this)
    } catch (thrown) {
      this.#fail(toError(thrown))
    }
  }

  /** From now on the end of the stream is heard; one that has come already is seen. */
  watch (): void {
    this.#isWatching = true
    try {
      this.#stream.addEventListener('end', this)
      this.#stream.addEventListener('close', this)
      this.#checkEnd()
    } catch (thrown) {
      this.#fail(toError(thrown))
    }
  }

  /** Listener of the stream and of the signal. */
  handleEvent (event: StreamMessageEvent | StreamCloseEvent | Event): void {
    if (!this.#isDone) {
      try {
        this.#onEvent(event)
      } catch (thrown) {
        // Left to the event loop it would end the process, and who waits would wait for ever.
        this.#fail(toError(thrown))
      }
    }
  }

  #onEvent (event: StreamMessageEvent | StreamCloseEvent | Event): void {
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
      // A reset brings an end too, but `close` follows with the error.
      this.#checkEnd()
    }
  }

  /** The end comes behind all bytes, and they may still be in the stream's own buffer. */
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
      if (this.#isDone) {
        return
      }
    }
    const outcome = this.#negotiation.pollOutcome()
    if (outcome === PENDING) {
      this.#pause(this.#negotiation.takeKept())
    } else if (outcome.type === 'ok') {
      this.#leave()
      this.#settle.resolve(outcome.protocol)
      // If it takes nothing back any more, the next one to read sees why.
      this.#giveBack(outcome.rest)
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

  /** The turn has read its share: the rest waits in the stream, which keeps its end behind it. */
  #pause (kept: Uint8Array | undefined): void {
    if (kept === undefined) {
      return
    }
    this.#stream.removeEventListener('message', this)
    if (this.#giveBack(kept)) {
      this.#paused ??= new Waiting(this)
      loop().paused.add(this.#paused)
    } else {
      this.#negotiation.handleReset()
      this.#drain()
    }
  }

  /**
   * Puts bytes in front of what the stream delivers next. In its own event only: once it has ended it takes nothing back.
   * Inside `send` it may have ended all the same: then false.
   */
  #giveBack (bytes: Uint8Array | undefined): boolean {
    try {
      if (bytes !== undefined) {
        this.#stream.unshift(bytes)
      }
      return true
    } catch (thrown) {
      this.#cause ??= thrown
      return false
    }
  }

  #cancel ({ reason }: AbortSignal): void {
    this.#fail(cancellationError(reason, this.#failure()))
  }

  #fail (error: Error): void {
    if (this.#isDone) {
      return
    }
    this.#leave()
    this.#settle.reject(error)
    try {
      this.#stream.abort(error)
    } catch {
      // Whoever waits has the error that matters.
    }
  }

  #leave (): void {
    this.#isDone = true
    const { unwatched, paused } = loop()
    unwatched.remove(this.#unwatched)
    if (this.#paused !== undefined) {
      paused.remove(this.#paused)
    }
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
    return { phase, tried, direction, peer, connectionId: '', elapsedMs: loop().scheduler.now() - this.#startedAt }
  }
}

function bytesOf (data: Uint8Array | Uint8ArrayList): Uint8Array {
  return data instanceof Uint8Array ? data : data.subarray()
}

/** What a paused stream has buffered does not come. */
function isPaused (stream: MessageStream): boolean {
  return 'readStatus' in stream && stream.readStatus === 'paused'
}
