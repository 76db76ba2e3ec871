import { isUint8ArrayList } from 'uint8arraylist'
import { allocUnsafe } from 'uint8arrays/alloc'
import { toError } from '../core/to-error.ts'
import { isOver } from './is-over.ts'
import type { AbortOptions, MessageStream, StreamMuxer } from '@libp2p/interface'
import type { Scheduler } from './scheduler.ts'

/** A chunk above that is written at once: beside its own cost, that of a write is small, and flow control wants it told in time. */
const SMALL_BYTES = 2048

/**
 * Microtasks that the first of them waits. A stream that closes is told so a few of them after its last frame, and who opens
 * one stream after the other then opens the next one: its first frames go with the last ones of that before it.
 */
const WAIT_MICROTASKS = 3

/** What waits at most, in bytes: hundreds of the frames that a short stream consists of. */
const JOINED_BYTES = 8192

/** What the first of them is copied into, in bytes; doubled as need be. */
const FIRST_BYTES = 128

type Chunk = Parameters<MessageStream['send']>[0]

/**
 * Joins the small chunks that a muxer sends in a row into one write of the wire. Each write costs an encryption and a call of
 * the system, which is most of what a short stream costs, and one message of the peer often leads to frames of many streams.
 *
 * - Nothing waits for longer than a few microtasks, nothing is reordered, and what waits is bounded.
 * - A chunk that is not small, and any chunk while the wire is full, is written at once, behind what waited: whoever sends much
 *   has the timing and the back-pressure of the bare wire.
 * - What waits is a copy, as a caller may use its buffer again once `send` has returned: an encrypting wire has read it by then.
 * - The wire has all that waited before it closes or is aborted.
 * - A write that fails ends muxer and wire with its error, and all streams: bytes of any of them may be lost.
 */
export class WireWriting {
  readonly #wire: MessageStream
  readonly #muxer: Pick<StreamMuxer, 'abort'>
  readonly #scheduler: Pick<Scheduler, 'soon'>
  readonly #send: MessageStream['send']
  #joined: Uint8Array | undefined
  #length = 0
  #microtasksLeft = 0
  readonly #onMicrotask = (): void => {
    this.#microtasksLeft--
    if (this.#microtasksLeft > 0) {
      this.#scheduler.soon(this.#onMicrotask)
    } else {
      this.flush()
    }
  }

  /**
   * Gives the wire another `send`, `close` and `abort`.
   *
   * @param wire - of one connection
   * @param muxer - sends to it
   * @param scheduler - of the node
   */
  constructor (wire: MessageStream, muxer: Pick<StreamMuxer, 'abort'>, scheduler: Pick<Scheduler, 'soon'>) {
    this.#wire = wire
    this.#muxer = muxer
    this.#scheduler = scheduler
    this.#send = wire.send.bind(wire)
    const close = wire.close.bind(wire)
    const abort = wire.abort.bind(wire)
    wire.send = (data) => this.#join(data)
    wire.close = async (options?: AbortOptions) => {
      this.flush()
      await close(options)
    }
    wire.abort = (error) => {
      this.flush()
      abort(error)
    }
  }

  /** Writes what waits. Never throws. */
  flush (): void {
    try {
      this.#write()
    } catch {
      // Muxer and wire have ended by this very error, and so do all streams.
    }
  }

  #join (data: Chunk): boolean {
    const { status, writableNeedsDrain } = this.#wire
    if (!isChunk(data) || data.byteLength > SMALL_BYTES || writableNeedsDrain || status !== 'open') {
      this.#write()
      return this.#send(data)
    }
    const isRoom = this.#length + data.byteLength <= JOINED_BYTES || this.#write()
    this.#append(data)
    return isRoom
  }

  #append (data: Chunk): void {
    const end = this.#length + data.byteLength
    if (this.#joined === undefined) {
      this.#joined = allocUnsafe(Math.max(end, FIRST_BYTES))
      this.#flushSoon()
    } else if (end > this.#joined.byteLength) {
      const joined = allocUnsafe(Math.max(end, 2 * this.#joined.byteLength))
      joined.set(this.#joined.subarray(0, this.#length))
      this.#joined = joined
    }
    this.#copy(data, this.#joined)
  }

  #flushSoon (): void {
    if (this.#microtasksLeft === 0) {
      this.#scheduler.soon(this.#onMicrotask)
    }
    this.#microtasksLeft = WAIT_MICROTASKS
  }

  /** A list piece by piece: as one array it would be copied twice. */
  #copy (data: Chunk, joined: Uint8Array): void {
    if (data instanceof Uint8Array) {
      joined.set(data, this.#length)
      this.#length += data.byteLength
      return
    }
    for (const piece of data) {
      joined.set(piece, this.#length)
      this.#length += piece.byteLength
    }
  }

  /** Returns whether the wire takes more. */
  #write (): boolean {
    const joined = this.#joined
    if (joined === undefined) {
      return true
    }
    const bytes = joined.subarray(0, this.#length)
    this.#joined = undefined
    this.#length = 0
    try {
      return this.#send(bytes)
    } catch (error) {
      this.#fail(toError(error))
      throw error
    }
  }

  /** A wire that is over has told its muxer so. */
  #fail (error: Error): void {
    if (!isOver(this.#wire)) {
      this.#muxer.abort(error)
      this.#wire.abort(error)
    }
  }
}

/** What else a muxer may send, such as an array of another realm, is for the wire to refuse, in the very call. */
function isChunk (data: unknown): data is Chunk {
  return data instanceof Uint8Array || isUint8ArrayList(data)
}
