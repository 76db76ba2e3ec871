import { MAX_LENGTH } from './varint.ts'
import type { FrameFault, FrameRead } from './frame-decoder.ts'

/** Bounds of one negotiation, the same for both roles. */
export interface NegotiationLimits {
  /** Largest body of a frame in bytes, newline included, 20 to 16 383; above it the outcome is `too-long`. */
  readonly maxFrameLength: number
  /** Most answers of the listener, at least 1; then the outcome is `failed` with detail `rounds`. */
  readonly maxRounds: number
  /**
   * Most frames that are read in one turn, at least 1; the rest waits until `handleTurn` (S2.34).
   *
   * @default Infinity
   */
  readonly maxFramesPerTurn?: number | undefined
  /**
   * Whether a listener answers the first `ls` with the list of its names; otherwise, and from the second on, with `na`.
   *
   * @default true
   */
  readonly ls?: boolean | undefined
}

/** The limits of a negotiation that is given none: `maxFrameLength` 1024, `maxRounds` 64, turns without end, `ls` answered. */
export const DEFAULT_LIMITS: NegotiationLimits = Object.freeze({ maxFrameLength: 1024, maxRounds: 64 })

/** The header is 19 bytes long, and a frame of 20 leaves room to tell it from a longer one. */
const MIN_FRAME_LENGTH = 20

/** @throws RangeError when a limit is out of its range */
export function checkLimits ({ maxFrameLength, maxRounds, maxFramesPerTurn = Infinity }: NegotiationLimits): void {
  if (!Number.isInteger(maxFrameLength) || maxFrameLength < MIN_FRAME_LENGTH || maxFrameLength > MAX_LENGTH) {
    throw new RangeError(`Cannot negotiate: maxFrameLength must be a whole number from ${MIN_FRAME_LENGTH} to ${MAX_LENGTH}, received ${maxFrameLength}`)
  }
  if (!Number.isInteger(maxRounds) || maxRounds < 1) {
    throw new RangeError(`Cannot negotiate: maxRounds must be a whole number of at least 1, received ${maxRounds}`)
  }
  if (!(maxFramesPerTurn >= 1)) {
    throw new RangeError(`Cannot negotiate: maxFramesPerTurn must be at least 1, received ${maxFramesPerTurn}`)
  }
}

/** A protocol was agreed. */
export interface Agreed<Match> {
  readonly type: 'ok'
  readonly protocol: string
  /** Listener: what the look-up gave for the name. Dialer: undefined. */
  readonly match: Match
  /** What came behind the negotiation: the first bytes of the application, to be read before anything else. */
  readonly rest: Uint8Array | undefined
}

/**
 * No protocol was agreed: a normal result.
 *
 * - `refused`: the listener has none of the dialer's names
 * - `rounds`: the dialer went on proposing after `maxRounds` answers
 * - `early-data`: what came after a refusal was no proposal, but data of a dialer that did not wait (S2.16)
 * - `fin`: the other side ended the stream between two messages
 * - `not-offered`: the host agreed on a name that this connection does not offer (hosted mode)
 */
export interface NotAgreed {
  readonly type: 'failed'
  readonly detail: 'refused' | 'rounds' | 'early-data' | 'fin' | 'not-offered'
}

/** The other side broke the protocol. */
export interface Violated {
  readonly type: 'invalid' | 'too-long'
  /** What was wrong in one clause; text of the peer is escaped and cut. */
  readonly detail: string
}

/** The input ended inside a frame (`eof`), or the stream was reset or could not be written to (`reset`). */
export interface Interrupted {
  readonly type: 'eof' | 'reset'
}

/** How a negotiation ended. Deadlines and cancellation belong to whoever runs it. */
export type NegotiationOutcome<Match = undefined> = Agreed<Match> | NotAgreed | Violated | Interrupted

/** The stream was reset, or could not be written to. */
export const RESET: Interrupted = Object.freeze({ type: 'reset' })

/** The input ended inside a frame (S2.5). */
const ENDED_INSIDE_FRAME: Interrupted = Object.freeze({ type: 'eof' })

/** The input ended between two frames (S2.5). */
const ENDED_BETWEEN_FRAMES: NotAgreed = Object.freeze({ type: 'failed', detail: 'fin' })

/** The listener refused the last name (S2.21). */
export const REFUSED: NotAgreed = Object.freeze({ type: 'failed', detail: 'refused' })

/** The dialer proposed once more than it may (S2.15). */
export const TOO_MANY_ROUNDS: NotAgreed = Object.freeze({ type: 'failed', detail: 'rounds' })

/** The host agreed on a name that is not offered on this connection (S1.5). */
export const NOT_OFFERED: NotAgreed = Object.freeze({ type: 'failed', detail: 'not-offered' })

/** Something else than a proposal came after a refusal (S2.16). */
export const EARLY_DATA: NotAgreed = Object.freeze({ type: 'failed', detail: 'early-data' })

/** The outcome when, in place of a message, the input brings this. */
export function interruptedBy (read: Exclude<FrameRead, 'frame' | 'nothing'>): NotAgreed | Interrupted | FrameFault {
  if (read === 'fin') {
    return ENDED_BETWEEN_FRAMES
  }
  if (read === 'cut') {
    return ENDED_INSIDE_FRAME
  }
  return read === 'reset' ? RESET : read
}
