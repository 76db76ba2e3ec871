import { DialerNegotiation } from '../negotiation/dialer-negotiation.ts'
import { ListenerNegotiation } from '../negotiation/listener-negotiation.ts'
import { DEFAULT_LIMITS } from '../negotiation/outcome.ts'
import { indexOf } from './named-protocols.ts'
import { negotiate } from './stream-negotiation.ts'
import type { AbortOptions, MessageStream } from '@libp2p/interface'
import type { ProtocolIndex } from '../negotiation/listener-negotiation.ts'
import type { NegotiationLimits } from '../negotiation/outcome.ts'

export interface MultistreamSelectInit extends AbortOptions {
  limits?: NegotiationLimits
}
const LIMITS: NegotiationLimits = Object.freeze({ ...DEFAULT_LIMITS, maxFramesPerTurn: 8 })

export function select (stream: MessageStream, protocols: string | readonly string[], options: MultistreamSelectInit = {}): Promise<string> {
  try {
    const names = typeof protocols === 'string' ? [protocols] : protocols
    return negotiate(stream, new DialerNegotiation(names, options.limits ?? LIMITS), options.signal)
  } catch (error) {
    return Promise.reject(error)
  }
}

export function handle (stream: MessageStream, protocols: string | readonly string[], options: MultistreamSelectInit = {}): Promise<string> {
  return negotiate(stream, new ListenerNegotiation(indexOf(protocols), options.limits ?? LIMITS), options.signal)
}
