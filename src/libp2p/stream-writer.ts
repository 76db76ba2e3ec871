import { StreamResetError } from '@libp2p/interface'
import { AbortError } from '../errors.ts'
import { OwnListener } from './own-listener.ts'
import type { Stream, StreamCloseEvent } from '@libp2p/interface'
import type { Backlog, BacklogMember } from './backlog.ts'

/** Bytes on their way into the stream. */
interface Write {
  readonly bytes: Uint8Array
  at: number
  resolve (): void
  reject (error: unknown): void
}

/**
 * Writes to a stream no faster than its peer takes it: what the stream and its connection hold is bounded (S5.12). The host's
 * `send` takes everything, and its `onDrain` waits for the first time only, so this goes by how much the stream holds. Made
 * for a stream when it is written to in this way, or holds something.
 */
export class StreamWriter extends OwnListener implements BacklogMember {
  readonly #stream: Stream
  readonly #backlog: Backlog
  readonly #writes: Write[] = []
  /** What the stream held when it was looked at last. */
  #held = 0
  #isWatching = false
  #isAsked = false
  #isSending = false
  #whenRoom: (() => void) | undefined

  constructor (stream: Stream, backlog: Backlog) {
    super()
    this.#stream = stream
    this.#backlog = backlog
  }

  /** Whether nothing may be added now. */
  get isFull (): boolean {
    return this.#held > 0 && this.#backlog.roomFor(this.#held) === 0
  }

  /**
   * Sends `bytes` as room is made; resolves when the stream has all of them, and rejects as the stream ends.
   *
   * @param signal - ends the wait with `AbortError`: before the first byte nothing of it is sent, after it the stream is aborted,
   * as nobody could make sense of what follows
   */
  async write (bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) {
      throw abortedWrite(signal)
    }
    let abort = (): void => {}
    try {
      await new Promise<void>((resolve, reject) => {
        const write = { bytes, at: 0, resolve, reject }
        if (signal !== undefined) {
          abort = () => { this.#abandon(write, abortedWrite(signal)) }
          signal.addEventListener('abort', abort)
        }
        this.#writes.push(write)
        this.#advance()
      })
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  /** Something was sent in another way. */
  sent (): void {
    this.#measure()
  }

  /** Calls `task` when the stream is not full any more, or has ended; nothing waits if it is undefined. */
  whenRoom (task: (() => void) | undefined): void {
    this.#whenRoom = task
    if (task !== undefined) {
      this.#backlog.wait(this)
    }
  }

  /** See {@link BacklogMember}. */
  onRoom (): void {
    this.#goOnLater()
  }

  /** Listener of the stream, while it holds something. */
  override handleEvent (event: StreamCloseEvent | Event): void {
    if (event.type === 'close') {
      this.#end('error' in event ? event.error : undefined)
    } else {
      this.#goOnLater()
    }
  }

  /** The host sends what it holds in a microtask of its own, after this event; and nothing that is added inside of it. */
  #goOnLater (): void {
    if (!this.#isAsked) {
      this.#isAsked = true
      this.#backlog.soon(() => {
        this.#isAsked = false
        this.#measure()
        this.#advance()
      })
    }
  }

  #advance (): void {
    if (this.#isSending) {
      return
    }
    this.#isSending = true
    while (this.#writes.length > 0 && this.#sendNext()) {
      // one piece after the other, as far as there is room
    }
    this.#isSending = false
    if (this.#whenRoom !== undefined) {
      this.#tellRoom()
    }
  }

  /** One piece of the oldest write; false when it has to wait. */
  #sendNext (): boolean {
    const [write] = this.#writes
    if (write === undefined) {
      return false
    }
    const room = this.#backlog.roomFor(this.#held)
    if (room === 0 && write.at < write.bytes.byteLength && this.#stream.writeStatus === 'writable') {
      this.#watch()
      this.#backlog.wait(this)
      return false
    }
    try {
      this.#stream.send(write.bytes.subarray(write.at, write.at + room))
    } catch (error) {
      this.#writes.shift()
      write.reject(error)
      return true
    }
    write.at += room
    this.#measure()
    if (write.at >= write.bytes.byteLength) {
      this.#writes.shift()
      write.resolve()
    }
    return true
  }

  #abandon (write: Write, error: AbortError): void {
    const at = this.#writes.indexOf(write)
    if (at < 0) {
      return
    }
    if (write.at > 0) {
      this.#stream.abort(error)
      return
    }
    this.#writes.splice(at, 1)
    write.reject(error)
    this.#measure()
  }

  #tellRoom (): void {
    if (this.isFull) {
      this.#backlog.wait(this)
      return
    }
    const task = this.#whenRoom
    this.#whenRoom = undefined
    task?.()
  }

  #measure (): void {
    const held = this.#stream.writeStatus === 'closed' ? 0 : this.#stream.writeBufferLength
    const difference = held - this.#held
    this.#held = held
    if (held > 0) {
      this.#watch()
    } else if (this.#writes.length === 0) {
      this.#unwatch()
    }
    this.#backlog.changed(difference)
  }

  #watch (): void {
    if (!this.#isWatching) {
      this.#isWatching = true
      this.#stream.addEventListener('drain', this)
      this.#stream.addEventListener('idle', this)
      this.#stream.addEventListener('close', this)
    }
  }

  #unwatch (): void {
    this.#isWatching = false
    this.#stream.removeEventListener('drain', this)
    this.#stream.removeEventListener('idle', this)
    this.#stream.removeEventListener('close', this)
  }

  /** Nothing that waits can be sent any more. */
  #end (error: Error = lossOfStream()): void {
    this.#unwatch()
    this.#backlog.forget(this)
    const held = this.#held
    this.#held = 0
    this.#backlog.changed(-held)
    for (const write of this.#writes.splice(0)) {
      write.reject(error)
    }
    const task = this.#whenRoom
    this.#whenRoom = undefined
    task?.()
  }
}

/** How a stream ended of which nobody said a word. */
export function lossOfStream (): StreamResetError {
  return new StreamResetError('The stream was lost with its connection')
}

function abortedWrite ({ reason }: AbortSignal): AbortError {
  return new AbortError('Cannot write: the signal aborted', undefined, { cause: reason })
}
