import { StreamAbortedError, StreamResetError } from '@libp2p/interface'
import { OwnListener } from './own-listener.ts'
import type { Stream, StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import type { Uint8ArrayList } from 'uint8arraylist'

type Chunk = Uint8Array | Uint8ArrayList

/** A reader that falls behind pauses the stream here: one flow-control window. */
export const PAUSE_ABOVE_BYTES: number = 262_144

/**
 * What may still come after a pause: all that the peer was allowed to send before it. Muxers widen that window for fast
 * links, yamux up to 16 MiB, far above the 4 MiB at which the host resets a stream that is paused.
 */
const PAUSED_BUFFER_BYTES = 16_777_216 + PAUSE_ABOVE_BYTES

/** How a stream ended, latched from its birth on. */
export interface StreamEnd {
  /** Whether the remote has ended its side: what tells an orderly end from a lost connection, which look alike afterwards. */
  readonly remoteEnded: boolean
  /** What the stream closed with, if it was not in order. */
  readonly failure?: Error | undefined
  /** Told that the reader was given something that it asked for. */
  readerTook? (): void
  /** Told that the reader left, or takes so little that the stream was paused. */
  readerStopped? (): void
}

/**
 * Iterates over the chunks of a stream so that S2.31 holds, which the host's own iterator does not: all bytes, then the
 * end, however late the iteration began; or all bytes received before a reset, then an error. A lost connection is an
 * error too. Leaving the loop early gives back what was read ahead.
 *
 * @param stream - the host's stream
 * @param end - latched from the birth of the stream on
 * @param pauseAbove - bytes read ahead above which the stream is paused
 */
export async function * chunksOf (stream: Stream, end: StreamEnd, pauseAbove: number = PAUSE_ABOVE_BYTES): AsyncGenerator<Chunk, void, undefined> {
  const reader = new ReadAhead(stream, pauseAbove, end)
  try {
    for (;;) {
      const next = reader.take()
      if (next !== undefined) {
        end.readerTook?.()
        yield next
      } else if (reader.mayGetMore()) {
        await reader.change()
      } else {
        throwUnlessEnded(stream, end, reader.failure ?? end.failure)
        return
      }
    }
  } finally {
    reader.detach()
    end.readerStopped?.()
  }
}

/**
 * What arrived and was not asked for yet; one listener object for all events of the stream.
 *
 * What arrives in a pause is in the buffer of the host, who drops it when the connection is lost: a stream that is paused, and
 * no other, is therefore emptied before it is aborted.
 */
class ReadAhead extends OwnListener {
  readonly #stream: Stream
  readonly #pauseAbove: number
  readonly #end: StreamEnd
  readonly #queue: Chunk[] = []
  #queuedBytes = 0
  #hasPaused = false
  /** The host's, while a pause has it wait for what is buffered. */
  #abort: Stream['abort'] | undefined
  #wake: (() => void) | undefined
  /** The error that the stream closed with. */
  failure: Error | undefined

  constructor (stream: Stream, pauseAbove: number, end: StreamEnd) {
    super()
    this.#stream = stream
    this.#end = end
    this.#pauseAbove = pauseAbove
    stream.addEventListener('message', this)
    stream.addEventListener('end', this)
    stream.addEventListener('close', this)
  }

  override handleEvent (event: StreamMessageEvent | StreamCloseEvent | Event): void {
    if ('data' in event) {
      this.#queue.push(event.data)
      this.#queuedBytes += event.data.byteLength
      this.#pauseIfFull()
    } else if ('error' in event) {
      this.failure = event.error
    }
    this.#wake?.()
  }

  take (): Chunk | undefined {
    if (this.#queue.length === 0 && this.#hasPaused) {
      this.#resume()
    }
    const chunk = this.#queue.shift()
    this.#queuedBytes -= chunk?.byteLength ?? 0
    return chunk
  }

  /** What is buffered is delivered in a microtask, even after a reset. */
  mayGetMore (): boolean {
    const { readBufferLength, readableEnded, status } = this.#stream
    return readBufferLength > 0 || (!readableEnded && status !== 'reset' && status !== 'aborted')
  }

  async change (): Promise<void> {
    await new Promise<void>((resolve) => { this.#wake = resolve })
  }

  detach (): void {
    const stream = this.#stream
    stream.removeEventListener('message', this)
    stream.removeEventListener('end', this)
    stream.removeEventListener('close', this)
    if (stream.readStatus === 'readable' || stream.readStatus === 'paused') {
      for (let chunk = this.#queue.pop(); chunk !== undefined; chunk = this.#queue.pop()) {
        stream.unshift(chunk)
      }
    }
    this.#queuedBytes = 0
    this.#resume()
    if (this.#abort !== undefined) {
      stream.abort = this.#abort
      this.#abort = undefined
    }
  }

  #pauseIfFull (): void {
    const stream = this.#stream
    if (this.#queuedBytes > this.#pauseAbove && !this.#hasPaused && stream.readStatus === 'readable') {
      this.#hasPaused = true
      stream.maxReadBufferLength = Math.max(stream.maxReadBufferLength, PAUSED_BUFFER_BYTES)
      stream.pause()
      this.#emptyBeforeAbort()
      this.#end.readerStopped?.()
    }
  }

  #emptyBeforeAbort (): void {
    if (this.#abort === undefined) {
      const stream = this.#stream
      const abort = stream.abort.bind(stream)
      this.#abort = abort
      stream.abort = (error) => {
        this.#takeRest()
        abort(error)
      }
    }
  }

  /** Without another pause: that one is not over for us. */
  #takeRest (): void {
    if (this.#stream.readStatus === 'paused') {
      try {
        this.#stream.resume()
      } catch {
        // It tells the peer as well, who may be gone; what was buffered came before that.
      }
    }
  }

  #resume (): void {
    if (this.#hasPaused && this.#stream.readStatus === 'paused') {
      // Delivers what is buffered from inside; a pause made there would be undone at the end of the call.
      this.#stream.resume()
    }
    this.#hasPaused = false
    this.#pauseIfFull()
  }
}

function throwUnlessEnded (stream: Stream, end: StreamEnd, failure: Error | undefined): void {
  switch (stream.status) {
    case 'reset':
      throw failure ?? new StreamResetError()
    case 'aborted':
      throw failure ?? new StreamAbortedError()
    case 'closed':
      if (!end.remoteEnded) {
        throw failure ?? new StreamResetError('The connection was lost before the stream ended')
      }
      return
    case 'open':
    case 'closing':
      // The remote ended its side, or `closeRead()` ended ours.
  }
}
