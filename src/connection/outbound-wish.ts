import { addDuration } from '../core/instant.ts'
import { DialerNegotiation } from '../negotiation/dialer-negotiation.ts'
import type { Instant } from '../core/instant.ts'
import type { NegotiationLimits } from '../negotiation/outcome.ts'
import type { RemoteProtocols } from '../protocols/remote-protocols.ts'
import type { OutboundRequest, Requester } from './requested-streams.ts'

/** A stream that the host wants for one of its own services. */
export interface HostStreamRequest {
  readonly protocols: readonly string[]
  /** Milliseconds until it fails. Default: the option `outboundTimeoutMs`. */
  readonly timeoutMs?: number | undefined
  /** As in an `outbound-stream-request`. */
  readonly lazy?: boolean | undefined
  /** Passed on to the muxer. */
  readonly options?: unknown
  /** Comes back with the outcome, and names the request for `cancelHostStream`. */
  readonly token: unknown
}

/** What a request asks for. */
export type Wish = Pick<HostStreamRequest, 'protocols' | 'timeoutMs' | 'lazy'>

/**
 * Checks a wish, and makes it a request with a deadline.
 *
 * @param requester - who asks
 * @param wish - what for
 * @param defaultTimeoutMs - the option `outboundTimeoutMs`
 * @param limits - of the negotiation
 * @param now - when it was asked
 * @throws TypeError or RangeError for names or a time that are none; nothing is opened for such a request (S2.18)
 */
export function toRequest<Stream> (
  requester: Requester<Stream>, { protocols, timeoutMs, lazy }: Wish, defaultTimeoutMs: number, limits: NegotiationLimits, now: Instant
): OutboundRequest<Stream> {
  const durationMs = timeoutMs ?? defaultTimeoutMs
  if (!(durationMs >= 0)) {
    throw new RangeError(`timeoutMs must be milliseconds of at least 0, received ${durationMs}`)
  }
  const machine = new DialerNegotiation(protocols, limits)
  const lazyName = lazy === true && protocols.length === 1 ? protocols[0] : undefined
  return { requester, machine, lazyName, startedAt: now, deadline: addDuration(now, durationMs) }
}

/** How the stream of a request is negotiated is decided when it is there: by what the peer has announced then (S2.24). */
export function machineFor ({ machine, lazyName }: Pick<OutboundRequest<unknown>, 'machine' | 'lazyName'>, remote: RemoteProtocols, limits: NegotiationLimits): DialerNegotiation {
  if (lazyName === undefined || !remote.has(lazyName)) {
    return machine
  }
  // Its two frames are no work to be shared out, and bytes cannot be put back into a stream that is in use.
  return new DialerNegotiation([lazyName], { ...limits, maxFramesPerTurn: Infinity }, { lazy: true })
}
