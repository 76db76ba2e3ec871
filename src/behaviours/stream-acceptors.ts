import { AbortError, DuplicateProtocolError, InvalidStateError } from '../errors.ts'
import { ProtocolList } from '../protocols/protocol-list.ts'
import { streamProtocol } from '../protocols/stream-protocol.ts'
import { StreamQueue } from './accepted-streams.ts'
import { StreamServing } from './stream-serving.ts'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { AcceptLimits, AcceptedStream } from './accepted-streams.ts'
import type { StreamCallback, StreamContext } from './stream-callback.ts'

type Take = StreamCallback<never, StreamContext>

/** Who takes the streams of which name, and the list of those names, which connections follow. */
export class StreamAcceptors {
  /** The names that somebody takes. */
  readonly names: ProtocolList = new ProtocolList()
  readonly #byName = new Map<string, Take>()
  readonly #queues = new Set<StreamQueue>()
  #hasStopped = false

  /** Gives a stream to whoever takes those of its name; the last one may have gone while it was negotiated. */
  take (stream: NegotiatedStream, context: StreamContext): ReturnType<Take> {
    const take = this.#byName.get(context.protocol)
    if (take !== undefined) {
      return take(stream, context)
    }
    stream.abort(new AbortError(`Streams of "${context.protocol}" are accepted no more`))
    return undefined
  }

  /**
   * Has the streams of `protocol` wait in a queue.
   *
   * @param onRejected - there was no room for one: once per peer until one is taken
   * @throws DuplicateProtocolError when somebody takes them already
   * @throws InvalidStateError when the node has stopped: the iteration would never end
   * @throws TypeError or RangeError for a name that is none
   */
  accept (protocol: string, limits: AcceptLimits, signal: AbortSignal | undefined, onRejected: (accepted: AcceptedStream) => void): StreamQueue {
    const name = this.#free(protocol)
    if (this.#hasStopped) {
      throw new InvalidStateError(`Cannot accept streams of "${name}": the node has stopped`)
    }
    const take: Take = (stream, context) => {
      // Made for this stream; a copy would make its signal.
      const accepted: AcceptedStream = Object.assign(context, { stream })
      if (queue.offer(accepted)) {
        onRejected(accepted)
      }
    }
    const queue = new StreamQueue({
      protocol: name,
      limits,
      signal,
      onEnd: () => {
        this.#queues.delete(queue)
        this.#release(name, take)
      }
    })
    if (signal?.aborted === true) {
      queue.end()
    } else {
      this.#queues.add(queue)
      this.#offer(name, take)
    }
    return queue
  }

  /**
   * Has the streams of `protocol` served by `callback`.
   *
   * @throws DuplicateProtocolError when somebody takes them already
   * @throws TypeError or RangeError for a name that is none
   */
  serve (protocol: string, callback: Take, signal: AbortSignal | undefined): StreamServing {
    const name = this.#free(protocol)
    const take: Take = (stream, context) => callback(stream, context)
    const serving = new StreamServing(name, signal, () => { this.#release(name, take) })
    if (signal?.aborted === true) {
      serving.end()
    } else {
      this.#offer(name, take)
    }
    return serving
  }

  /** The node has started again. */
  restart (): void {
    this.#hasStopped = false
  }

  /** Nothing comes any more: whoever waits is told. */
  stop (): void {
    this.#hasStopped = true
    for (const queue of this.#queues) {
      queue.end()
    }
  }

  #free (protocol: string): string {
    const name = streamProtocol(protocol)
    if (this.#byName.has(name)) {
      throw new DuplicateProtocolError(`Cannot accept streams of "${name}": they are accepted already, end that first`)
    }
    return name
  }

  #offer (name: string, take: Take): void {
    this.#byName.set(name, take)
    this.names.add(name)
  }

  #release (name: string, take: Take): void {
    if (this.#byName.get(name) === take) {
      this.#byName.delete(name)
      this.names.delete(name)
    }
  }
}
