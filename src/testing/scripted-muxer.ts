import type { MuxerPort, StreamOpening, StreamPort } from '../connection/muxer-port.ts'

/** A raw stream that does nothing by itself: it writes down what the connection does with it. */
export class ScriptedStream implements StreamPort<ScriptedStream> {
  /** Handlers are given this very object. */
  readonly stream: ScriptedStream = this
  /** What was written, one array per write. */
  readonly writes: Uint8Array[] = []
  /** What was handed back for the reader. */
  readonly leftOver: Uint8Array[] = []
  /** The agreed name. */
  protocol: string | undefined
  /** What was left for another turn; to be fed again. */
  readonly kept: Uint8Array[] = []
  /** Of a stream that was opened lazily: what goes out with its first bytes. */
  opening: Uint8Array | undefined
  isStarted = false
  /** What it was reset with, once per call. */
  readonly resets: Error[] = []
  /** Thrown by the next writes, if set. */
  writeError: Error | undefined

  start (): void {
    this.isStarted = true
  }

  write (bytes: Uint8Array): void {
    if (this.writeError !== undefined) {
      throw this.writeError
    }
    this.writes.push(bytes.slice())
  }

  readLater (bytes: Uint8Array): void {
    this.kept.push(bytes)
  }

  assume (protocol: string, opening: Uint8Array): void {
    this.protocol = protocol
    this.opening = opening
  }

  accept (protocol: string): void {
    this.protocol = protocol
  }

  unread (bytes: Uint8Array): void {
    this.leftOver.push(bytes)
  }

  reset (error: Error): void {
    this.resets.push(error)
  }
}

/** A muxer that does what the test says: it writes down what is asked of it and answers nothing by itself. */
export class ScriptedMuxer implements MuxerPort {
  readonly negotiates: boolean
  /** Streams asked for and not answered by the test yet, oldest first. */
  readonly openings: StreamOpening[] = []
  /** Openings that nobody waits for any more. */
  readonly cancelled: StreamOpening[] = []
  /** Calls of `close`. */
  closes = 0
  /** What it was aborted with, once per call. */
  readonly aborts: Error[] = []

  /**
   * @param negotiates - whether the streams of the test come with their name (hosted mode). Default: false
   */
  constructor (negotiates: boolean = false) {
    this.negotiates = negotiates
  }

  openStream (opening: StreamOpening): void {
    this.openings.push(opening)
  }

  cancelOpening (opening: StreamOpening): void {
    this.cancelled.push(opening)
  }

  close (): void {
    this.closes++
  }

  abort (error: Error): void {
    this.aborts.push(error)
  }

  /**
   * The oldest opening that was not answered, which it now is.
   *
   * @throws RangeError when nothing was asked for
   */
  takeOpening (): StreamOpening {
    const opening = this.openings.shift()
    if (opening === undefined) {
      throw new RangeError('Cannot answer an opening: the connection asked for no stream')
    }
    return opening
  }
}

/** Makes a {@link ScriptedMuxer}. */
export function scriptedMuxer (): ScriptedMuxer {
  return new ScriptedMuxer()
}
