import { show } from '../core/printable.ts'
import type { StreamPhase } from '../errors.ts'
import type { NegotiationOutcome } from '../negotiation/outcome.ts'
import type { NegotiationMachine } from './negotiating-streams.ts'

/**
 * Stands where the machine of a negotiation stands, for a stream that the host has negotiated (hosted mode, S1.5): it arrives
 * with its name, and everything but the negotiation is the same. Neither reads nor writes.
 */
export class AgreedNegotiation<Match> implements NegotiationMachine<Match> {
  /** Only a refusal shows it: what failed then is the proposal of the peer. */
  readonly phase: StreamPhase = 'proposal'
  readonly assumed = undefined
  readonly #protocol: string
  readonly #conclude: () => NegotiationOutcome<Match>

  /**
   * @param protocol - the agreed name
   * @param conclude - asked when the stream has its turn: whether the name stands
   */
  constructor (protocol: string, conclude: () => NegotiationOutcome<Match>) {
    this.#protocol = protocol
    this.#conclude = conclude
  }

  /** See `DialerNegotiation`. */
  get tried (): readonly string[] {
    return [this.#protocol]
  }

  /** See `ListenerNegotiation`. */
  get lastProposed (): string {
    return show(this.#protocol)
  }

  handleData (): void {}
  handleFin (): void {}
  handleReset (): void {}
  handleWriteFailed (): void {}

  takeKept (): undefined {
    return undefined
  }

  takeOutput (): undefined {
    return undefined
  }

  /** See {@link NegotiationMachine}. */
  pollOutcome (): NegotiationOutcome<Match> {
    return this.#conclude()
  }
}
