import { concat } from './message.ts'
import { INCOMPLETE, MALFORMED, prefixSize, readPrefix } from './varint.ts'

const NEWLINE = 0x0a
const NOTHING = new Uint8Array(0)
/** Room for the header and most names, so that a frame which comes byte by byte is collected in one allocation. */
const FIRST_CAPACITY = 64

/** What is wrong with a frame, and whose words to use for it. */
export interface FrameFault {
  readonly type: 'invalid' | 'too-long'
  /** One clause, without text from the peer. */
  readonly detail: string
}

const BAD_PREFIX: FrameFault = { type: 'invalid', detail: 'a length prefix that is 0 or not in its shortest form' }
const NO_NEWLINE: FrameFault = { type: 'invalid', detail: 'a message that does not end in a newline' }
const INNER_NEWLINE: FrameFault = { type: 'invalid', detail: 'a message with a newline inside' }

/**
 * What comes next of an input: a frame, its end between two frames (`fin`) or inside one (`cut`), a reset, a fault, or
 * nothing for now: the input is used up, or the turn is over.
 */
export type FrameRead = 'frame' | 'nothing' | 'fin' | 'cut' | 'reset' | FrameFault

/**
 * Cuts chunks of any size into the frames of S2.1, in turns of at most so many frames (S2.34), and puts the end of the input
 * behind them. A frame that lies in one chunk is read in place; one that does not is collected, and never more is allocated
 * for it than arrived. After a fault the input is out of step, and the decoder must not be asked again.
 *
 * `push` one chunk, or `startTurn`; then `next` until it answers `'nothing'`. Then the decoder has copied all that it needs
 * of the chunk.
 */
export class FrameDecoder {
  readonly #maxLength: number
  readonly #maxFramesPerTurn: number
  #framesInTurn = 0
  #ending: 'none' | 'fin' | 'reset' = 'none'
  /** The current chunk, and the first byte of it that was not read. */
  #chunk: Uint8Array = NOTHING
  #at = 0
  /** Whether the chunk is a copy of ours. */
  #isKept = false
  /** The first bytes of a frame that began in an earlier chunk. */
  #collected: Uint8Array = NOTHING
  #held = 0
  /** Where the body of the last frame lies. */
  #body: Uint8Array = NOTHING
  #start = 0
  #end = 0

  /**
   * @param maxLength - largest body in bytes, newline included
   * @param maxFramesPerTurn - most frames between one `push` or `startTurn` and the next
   */
  constructor (maxLength: number, maxFramesPerTurn: number = Infinity) {
    this.#maxLength = maxLength
    this.#maxFramesPerTurn = maxFramesPerTurn
  }

  /** The bytes that hold the body of the last frame, from `start` to before `end`, newline included. */
  get body (): Uint8Array {
    return this.#body
  }

  /** See {@link body}. */
  get start (): number {
    return this.#start
  }

  /** See {@link body}. */
  get end (): number {
    return this.#end
  }

  /** Whether the turn is over and input was kept: {@link startTurn} goes on with it. */
  get wantsTurn (): boolean {
    return this.#framesInTurn >= this.#maxFramesPerTurn && this.#at < this.#chunk.length
  }

  /** What came behind the last frame; undefined when nothing did. It shares the memory of the chunk. */
  get rest (): Uint8Array | undefined {
    return this.#at < this.#chunk.length ? this.#chunk.subarray(this.#at) : undefined
  }

  /** Takes the next bytes, behind those that were kept, in a new turn. They must not change until `next` answers `'nothing'`. */
  push (chunk: Uint8Array): void {
    const { rest } = this
    this.#isKept = rest !== undefined
    this.#chunk = rest === undefined ? chunk : concat([rest, chunk])
    this.#at = 0
    this.#framesInTurn = 0
  }

  /** Gives up what was kept, in memory of its own; undefined when nothing was. */
  takeKept (): Uint8Array | undefined {
    const { rest } = this
    this.#chunk = NOTHING
    this.#at = 0
    return rest
  }

  /** Goes on with what was kept. */
  startTurn (): void {
    this.#framesInTurn = 0
  }

  /** The input ends, or is cut off, behind all that was pushed. Only the first end counts. */
  close (ending: 'fin' | 'reset'): void {
    if (this.#ending === 'none') {
      this.#ending = ending
    }
  }

  /**
   * The quick way for what is expected: steps over the next bytes of the chunk if they are `frames`, byte by byte. False
   * when they are not, when a frame is half collected, or when the turn has no room for them; then nothing has happened.
   *
   * @param frames - whole frames
   * @param count - how many they are
   */
  skip (frames: Uint8Array, count: number): boolean {
    const chunk = this.#chunk
    const from = this.#at
    if (this.#held > 0 || chunk.length - from < frames.length || this.#framesInTurn + count > this.#maxFramesPerTurn) {
      return false
    }
    for (let at = 0; at < frames.length; at++) {
      if (chunk[from + at] !== frames[at]) {
        return false
      }
    }
    this.#at = from + frames.length
    this.#framesInTurn += count
    return true
  }

  /** Moves on to the next frame, or to what is behind the last one. The body of a frame is at {@link body} until the next call. */
  next (): FrameRead {
    if (this.wantsTurn) {
      this.#keep()
      return 'nothing'
    }
    if (this.#held > 0) {
      return this.#collect()
    }
    const chunk = this.#chunk
    const length = readPrefix(chunk, this.#at, chunk.length)
    if (length < INCOMPLETE || length > this.#maxLength) {
      return this.#prefixFault(length)
    }
    const start = this.#at + prefixSize(length)
    const end = start + length
    if (length === INCOMPLETE || end > chunk.length) {
      this.#hold(chunk.length - this.#at)
      return this.#pause()
    }
    this.#at = end
    return this.#finish(chunk, start, end)
  }

  /** Goes on with a frame that began in an earlier chunk: byte by byte through its prefix, then all of its body at once. */
  #collect (): FrameRead {
    for (;;) {
      const length = readPrefix(this.#collected, 0, this.#held)
      if (length < INCOMPLETE || length > this.#maxLength) {
        return this.#prefixFault(length)
      }
      const size = length === INCOMPLETE ? this.#held + 1 : prefixSize(length) + length
      const missing = size - this.#held
      if (missing === 0) {
        this.#held = 0
        return this.#finish(this.#collected, size - length, size)
      }
      const left = this.#chunk.length - this.#at
      this.#hold(Math.min(missing, left))
      if (left < missing) {
        return this.#pause()
      }
    }
  }

  /** The chunk is read. Lets it go: it may be large, and the rest of the frame may be long in coming. */
  #pause (): FrameRead {
    this.#chunk = NOTHING
    this.#at = 0
    this.#body = NOTHING
    switch (this.#ending) {
      case 'none': return 'nothing'
      case 'fin': return this.#held > 0 ? 'cut' : 'fin'
      case 'reset': return 'reset'
    }
  }

  /** The turn is over: copies what was not read, as the chunk belongs to whoever pushed it. */
  #keep (): void {
    if (!this.#isKept) {
      this.#isKept = true
      this.#chunk = this.#chunk.slice(this.#at)
      this.#at = 0
    }
  }

  /** Copies the next `count` bytes of the chunk. */
  #hold (count: number): void {
    const size = this.#held + count
    if (size > this.#collected.length) {
      const larger = new Uint8Array(Math.max(FIRST_CAPACITY, 2 * size))
      larger.set(this.#collected.subarray(0, this.#held))
      this.#collected = larger
    }
    for (let left = count; left > 0; left--) {
      this.#collected[this.#held++] = this.#chunk[this.#at++] as number
    }
  }

  #finish (body: Uint8Array, start: number, end: number): 'frame' | FrameFault {
    this.#framesInTurn++
    this.#body = body
    this.#start = start
    this.#end = end
    const last = end - 1
    if (body[last] !== NEWLINE) {
      return NO_NEWLINE
    }
    for (let at = start; at < last; at++) {
      if (body[at] === NEWLINE) {
        return INNER_NEWLINE
      }
    }
    return 'frame'
  }

  #prefixFault (length: number): FrameFault {
    return length === MALFORMED ? BAD_PREFIX : { type: 'too-long', detail: `a message longer than ${this.#maxLength} bytes` }
  }
}
