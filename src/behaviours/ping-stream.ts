import { toError } from '../core/to-error.ts'
import { RemoteProtocolError, StreamResetError, UnexpectedEOFError } from '../errors.ts'
import type { StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'

/**
 * Our end of an outbound ping stream: sends payloads, and compares what comes back byte by byte, so that nothing is held
 * and the instant of the last byte is not blurred by promises. Bytes that nobody asked for break the protocol.
 */
export class PingStream implements EventListenerObject {
  readonly #stream: NegotiatedStream
  readonly #onChange: () => void
  #expected: Uint8Array | undefined
  #matched = 0
  #error: Error | undefined
  #hasPeerEnded = false

  /**
   * @param stream - negotiated; does not count for keep-alive from now on
   * @param onChange - an answer is complete, or the stream is of no use any more
   */
  constructor (stream: NegotiatedStream, onChange: () => void) {
    this.#stream = stream
    this.#onChange = onChange
    stream.ignoreForKeepAlive()
    stream.addEventListener('message', this)
    stream.addEventListener('end', this)
    stream.addEventListener('close', this)
    if (stream.status !== 'open' || stream.readableEnded) {
      this.#fail(new StreamResetError('The ping stream ended before it was used'))
    }
  }

  /** Why the stream is of no use any more; undefined while it is. */
  get error (): Error | undefined {
    return this.#error
  }

  /** Whether the last payload came back in full. */
  get isAnswered (): boolean {
    return this.#expected !== undefined && this.#matched === this.#expected.length
  }

  /** Sends `payload`; look at {@link isAnswered} and {@link error} after each change. */
  send (payload: Uint8Array): void {
    this.#expected = payload
    this.#matched = 0
    try {
      this.#stream.send(payload)
    } catch (thrown) {
      this.#fail(toError(thrown))
    }
  }

  /** Ends the stream. A peer that has not ended its side may never do so: the stream is reset then. */
  drop (error: Error): void {
    this.#detach()
    if (this.#hasPeerEnded) {
      this.#stream.close().catch(() => {})
    } else {
      this.#stream.abort(error)
    }
  }

  /** Listener of the stream. */
  handleEvent (event: StreamMessageEvent | StreamCloseEvent | Event): void {
    if ('data' in event) {
      this.#compare(event.data.subarray())
    } else if (event.type === 'end') {
      this.#hasPeerEnded = true
      this.#fail(new UnexpectedEOFError('The peer ended the ping stream'))
    } else {
      const error: Error | undefined = 'error' in event ? event.error : undefined
      this.#fail(error ?? new StreamResetError('The ping stream was lost with its connection'))
    }
  }

  #compare (bytes: Uint8Array): void {
    for (const byte of bytes) {
      if (byte !== this.#expected?.[this.#matched]) {
        this.#fail(new RemoteProtocolError('The peer answered a ping with other bytes', 'invalid'))
        return
      }
      this.#matched++
    }
    if (this.isAnswered) {
      this.#onChange()
    }
  }

  #fail (error: Error): void {
    this.#error = error
    this.#detach()
    this.#onChange()
  }

  #detach (): void {
    this.#stream.removeEventListener('message', this)
    this.#stream.removeEventListener('end', this)
    this.#stream.removeEventListener('close', this)
  }
}
