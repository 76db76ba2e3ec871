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
 * Cuts chunks of any size into the frames of S2.1. A frame that lies in one chunk is read in place; one that does not is
 * collected, and never more is allocated for it than arrived. After a fault the input is out of step, and the decoder must
 * not be asked again.
 *
 * `push` one chunk, then `next` until it answers `'incomplete'`; then the decoder has kept all that it needs of the chunk.
 */
export class FrameDecoder {
  readonly #maxLength: number
  /** The current chunk, and the first byte of it that was not read. */
  #chunk: Uint8Array = NOTHING
  #at = 0
  /** The first bytes of a frame that began in an earlier chunk. */
  #collected: Uint8Array = NOTHING
  #held = 0
  /** Where the body of the last frame lies. */
  #body: Uint8Array = NOTHING
  #start = 0
  #end = 0

  /** @param maxLength - largest body in bytes, newline included */
  constructor (maxLength: number) {
    this.#maxLength = maxLength
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

  /** Whether the input stopped inside a frame, half a prefix included. */
  get isInsideFrame (): boolean {
    return this.#held > 0
  }

  /** What came behind the last frame; undefined when nothing did. It shares the memory of the chunk. */
  get rest (): Uint8Array | undefined {
    return this.#at < this.#chunk.length ? this.#chunk.subarray(this.#at) : undefined
  }

  /** Takes the next bytes. They are read until `next` answers `'incomplete'`, and must not change until then. */
  push (chunk: Uint8Array): void {
    this.#chunk = chunk
    this.#at = 0
  }

  /**
   * The quick way for what is expected: steps over the next bytes of the chunk if they are `frames`, byte by byte. False
   * when they are not, or when a frame is half collected; then nothing has happened.
   */
  skip (frames: Uint8Array): boolean {
    const chunk = this.#chunk
    const from = this.#at
    if (this.#held > 0 || chunk.length - from < frames.length) {
      return false
    }
    for (let at = 0; at < frames.length; at++) {
      if (chunk[from + at] !== frames[at]) {
        return false
      }
    }
    this.#at = from + frames.length
    return true
  }

  /** Moves on to the next frame. Its body is at {@link body} until the next call. */
  next (): 'frame' | 'incomplete' | FrameFault {
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
  #collect (): 'frame' | 'incomplete' | FrameFault {
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

  /** Lets the chunk go: it may be large, and the rest of the frame may be long in coming. */
  #pause (): 'incomplete' {
    this.push(NOTHING)
    this.#body = NOTHING
    return 'incomplete'
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
