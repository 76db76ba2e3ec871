/**
 * multistream-select 1.0.0 as two machines without I/O: bytes in, bytes out, one outcome.
 *
 * @module negotiation
 */

export { PENDING } from '../core/poll.ts'
export { DialerNegotiation } from './dialer-negotiation.ts'
export { decodeList } from './list.ts'
export { ListenerNegotiation } from './listener-negotiation.ts'
export { DEFAULT_LIMITS } from './outcome.ts'
export type { Poll } from '../core/poll.ts'
export type { DialerOptions } from './dialer-negotiation.ts'
export type { ProtocolEntry, ProtocolIndex } from './listener-negotiation.ts'
export type { Agreed, Interrupted, NegotiationLimits, NegotiationOutcome, NotAgreed, Violated } from './outcome.ts'
