/**
 * multistream-select 1.0.0 as two machines without I/O: bytes in, bytes out, one outcome. `select` and `handle` run them
 * over streams of js-libp2p, in place of those of `@libp2p/multistream-select`.
 *
 * @module negotiation
 */

export { PENDING } from '../core/poll.ts'
export { handle, select } from '../libp2p/multistream-select.ts'
export { MultistreamSelectError } from '../libp2p/negotiation-errors.ts'
export { DialerNegotiation } from './dialer-negotiation.ts'
export { decodeList } from './list.ts'
export { ListenerNegotiation } from './listener-negotiation.ts'
export { DEFAULT_LIMITS } from './outcome.ts'
export type { Poll } from '../core/poll.ts'
export type { ByteDuplex, NegotiatedDuplex } from '../libp2p/duplex-negotiation.ts'
export type { MultistreamSelectInit } from '../libp2p/multistream-select.ts'
export type { DialerOptions } from './dialer-negotiation.ts'
export type { ProtocolEntry, ProtocolIndex } from './listener-negotiation.ts'
export type { Agreed, Interrupted, NegotiationLimits, NegotiationOutcome, NotAgreed, Violated } from './outcome.ts'
