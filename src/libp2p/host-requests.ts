import { AbortError } from '@libp2p/interface'
import { toHostError } from './host-errors.ts'
import { Wait } from './wait.ts'
import type { CreateStreamOptions, Stream } from '@libp2p/interface'
import type { HostStreamRequest } from '../connection/outbound-wish.ts'
import type { StreamUpgradeError } from '../errors.ts'
import type { Scheduler } from './scheduler.ts'

/** Collaborators of a {@link HostRequests}. */
export interface HostRequestsComponents {
  readonly scheduler: Scheduler
  /** Asks the machine; it answers with `opened` or `failed`, and the token. */
  request (request: HostStreamRequest): void
  /** Nobody waits for the answer any more. */
  cancel (token: unknown): void
}

/** Streams that the host's services asked for and wait for, each with one answer. The token of a request is the wait itself. */
export class HostRequests {
  readonly #components: HostRequestsComponents

  constructor (components: HostRequestsComponents) {
    this.#components = components
  }

  /**
   * Resolves with a stream that speaks `protocol`. Rejects with the host's own errors, or with the reason of the caller's
   * signal, as the host does. With a signal the caller sets the time, without one it is the option `outboundTimeoutMs`; so it
   * is for a lazy stream, as the signal ends when the caller has the stream, and the peer may still have to agree.
   */
  async open (protocol: string, { lazy, ...options }: CreateStreamOptions): Promise<Stream> {
    const { signal } = options
    signal?.throwIfAborted()
    const wait = new Wait<Stream>({ scheduler: this.#components.scheduler, action: `Cannot open a stream for "${protocol}"` }, { signal })
    const timeoutMs = signal === undefined || lazy === true ? undefined : Infinity
    this.#components.request({ protocols: [protocol], timeoutMs, lazy, options, token: wait })
    try {
      return await wait.promise
    } catch (error) {
      this.#components.cancel(wait)
      signal?.throwIfAborted()
      throw error
    }
  }

  /** The machine has the stream. */
  opened (token: unknown, stream: Stream): void {
    if (!(token instanceof Wait && token.resolve(stream))) {
      stream.abort(new AbortError())
    }
  }

  /** The machine could not get it. */
  failed (token: unknown, error: StreamUpgradeError): void {
    if (token instanceof Wait) {
      token.reject(toHostError(error))
    }
  }
}
