import type { Poll, PollContext } from '../core/poll.ts'

/**
 * What a negotiated stream is turned into before its handler gets it. A value from `poll` is the `output` of the event; a
 * throw resets the stream and is reported with kind `apply`. The deadline of the negotiation covers the upgrade too.
 */
export interface StreamUpgrade<Output> {
  /** Asked when the stream was agreed, and again whenever it woke, until it gives a value or throws. */
  poll (cx: PollContext): Poll<Output>
  /**
   * The stream ended without a value of `poll`: its deadline passed, it was reset or cancelled, or the connection closes. Called
   * once, and `poll` is not called after it. What it throws is reported.
   */
  end? (reason: unknown): void
}
