/**
 * Hosted mode (S1.5): the host negotiates the streams of a connection whose muxer is not wrapped, and its `Connection` stands
 * where the muxer stands in native mode. Streams that peers open come by our entries in the registrar, see `HostLink`.
 */

import { ConnectionClosedError } from '@libp2p/interface'
import { isCountedProtocol } from '../connection/counted-streams.ts'
import { isError } from '../core/to-error.ts'
import { REFUSED, RESET } from '../negotiation/outcome.ts'
import { isAdopted } from './adopted-stream.ts'
import type { AbortOptions, Connection as HostConnection, Stream } from '@libp2p/interface'
import type { StreamOpening } from '../connection/muxer-port.ts'
import type { OpeningFailure } from '../connection/request-outcomes.ts'
import type { MuxerOwner } from './negotiated-muxer.ts'
import type { StreamSource } from './stream-source.ts'

/** Who drives the connection. */
export type HostedOwner = Pick<MuxerOwner, 'isOpen' | 'passedThrough' | 'closeMuxer' | 'abortMuxer'>

/**
 * The host's connection as a source of streams. Its `close` and `abort` lead through the machine from now on, so that handlers
 * have their last word before the streams end, whoever begins; and the streams that other services open hold it open.
 */
export class HostedMuxer implements StreamSource {
  readonly negotiates = true
  readonly #host: HostConnection
  readonly #newStream: HostConnection['newStream']
  readonly #close: HostConnection['close']
  readonly #abort: HostConnection['abort']
  readonly #openings = new Map<StreamOpening, AbortController>()

  constructor (host: HostConnection, owner: HostedOwner) {
    this.#host = host
    this.#newStream = host.newStream.bind(host)
    this.#close = host.close.bind(host)
    this.#abort = host.abort.bind(host)
    host.newStream = async (protocols, options) => {
      if (!owner.isOpen) {
        throw new ConnectionClosedError('Cannot open a stream: the connection closes')
      }
      const stream = await this.#newStream(protocols, options)
      if (isCountedProtocol(stream.protocol) && !isAdopted(stream)) {
        owner.passedThrough(stream)
      }
      return stream
    }
    host.close = async (options = {}) => { await owner.closeMuxer(options) }
    host.abort = (error) => { owner.abortMuxer(error) }
  }

  /** See {@link StreamSource}. */
  get streams (): readonly Stream[] {
    return this.#host.streams
  }

  /** See {@link StreamSource}. The limits of the host are for its own services; the deadline is the machine's. */
  async open (opening: StreamOpening): Promise<Stream> {
    const abort = new AbortController()
    this.#openings.set(opening, abort)
    try {
      return await this.#newStream([...opening.protocols], {
        signal: abort.signal, maxOutboundStreams: Infinity, runOnLimitedConnection: true
      })
    } finally {
      this.#openings.delete(opening)
    }
  }

  /** See {@link StreamSource}. */
  cancel (opening: StreamOpening): void {
    this.#openings.get(opening)?.abort()
  }

  /** See {@link StreamSource}. */
  async close (options: AbortOptions): Promise<void> {
    await this.#close(options)
  }

  /** See {@link StreamSource}. */
  abort (error: Error): void {
    this.#abort(error)
  }
}

const FAILURES: ReadonlyMap<string, OpeningFailure> = new Map<string, OpeningFailure>([
  ['UnsupportedProtocolError', REFUSED],
  ['InvalidMessageError', { type: 'invalid', detail: 'the host could not read the answer' }],
  ['InvalidDataLengthError', { type: 'too-long', detail: 'the answer is longer than the host reads' }],
  ['UnexpectedEOFError', { type: 'eof' }],
  ['TooManyOutboundProtocolStreamsError', { type: 'limit' }]
])

/** What a rejection of the host's `newStream` means, by its name; the rejection itself is the cause. */
export function failureOf (error: unknown): OpeningFailure {
  return (isError(error) ? FAILURES.get(error.name) : undefined) ?? RESET
}
