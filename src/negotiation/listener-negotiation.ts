/**
 * The listener of one negotiation: bytes in, bytes out (S2.9 to S2.17).
 *
 * ```
 *   header ──header──▶ proposal ──unlisted name / na──▶ refused ──unlisted name / na──▶ refused
 *                         │                               │
 *                         └──────── listed name ──────────┴──▶ ok
 * ```
 *
 * What else ends it:
 *
 * | input                        | header    | proposal  | refused             |
 * |------------------------------|-----------|-----------|---------------------|
 * | any other frame              | invalid   |           |                     |
 * | a header                     |           | invalid   | failed (early-data) |
 * | malformed or too long frame  | that      | that      | failed (early-data) |
 * | name after the last round    |           |           | failed (rounds)     |
 * | end between frames           | failed    | failed    | failed (fin)        |
 * | end inside a frame           | eof       | eof       | failed (early-data) |
 * | reset, or a failed write     | reset     | reset     | reset               |
 *
 * Rules: the header is answered at once and never before; an outcome is final; bytes that were due before it are still
 * given out, unless they cannot be written any more.
 */

import { show } from '../core/printable.ts'
import { PENDING } from '../core/poll.ts'
import { FrameDecoder } from './frame-decoder.ts'
import { HEADER, REFUSAL, concat, decodeName, encodeOpening, frameOf, isMessage } from './message.ts'
import { DEFAULT_LIMITS, EARLY_DATA, ENDED_BETWEEN_FRAMES, ENDED_INSIDE_FRAME, RESET, TOO_MANY_ROUNDS, checkLimits } from './outcome.ts'
import type { FrameFault } from './frame-decoder.ts'
import type { NegotiationLimits, NegotiationOutcome } from './outcome.ts'
import type { Poll } from '../core/poll.ts'

/** A name that a listener accepts. */
export interface ProtocolEntry {
  /** A valid name (S3.1). */
  readonly name: string
  /** Belongs to the negotiation, which keeps the answer that it encoded for the name here. Undefined to begin with. */
  frame: Uint8Array | undefined
}

/** The names that a listener accepts, fixed for the whole negotiation (S2.11). */
export interface ProtocolIndex<Entry extends ProtocolEntry = ProtocolEntry> {
  /** The entry of `name`; undefined when it is not accepted. Names of the peer come here as they are. */
  find (name: string): Entry | undefined
}

/**
 * Feed it what the dialer sent, then send what {@link takeOutput} gives and ask {@link pollOutcome}. Nothing is copied from
 * the list of names, and a proposal costs one look-up whatever their number.
 */
export class ListenerNegotiation<Entry extends ProtocolEntry = ProtocolEntry> {
  readonly #protocols: ProtocolIndex<Entry>
  readonly #fallback: ((name: string) => Entry | undefined) | undefined
  readonly #maxRounds: number
  readonly #decoder: FrameDecoder
  #state: 'header' | 'proposal' | 'refused' = 'header'
  #outcome: Poll<NegotiationOutcome<Entry>> = PENDING
  #rounds = 0
  #lastProposed: string | undefined
  /** Output that waits to be taken, always in this order: header, refusals, confirmation. */
  #owesHeader = false
  #owedRefusals = 0
  #owedConfirmation: Uint8Array | undefined

  /**
   * @param protocols - the names in force when the stream was accepted
   * @param limits - see {@link NegotiationLimits}
   * @param fallback - asked for a name that `protocols` does not have; must not throw
   * @throws RangeError when a limit is out of its range
   */
  constructor (protocols: ProtocolIndex<Entry>, limits: NegotiationLimits = DEFAULT_LIMITS, fallback?: (name: string) => Entry | undefined) {
    checkLimits(limits)
    this.#protocols = protocols
    this.#fallback = fallback
    this.#maxRounds = limits.maxRounds
    this.#decoder = new FrameDecoder(limits.maxFrameLength)
  }

  /** How far the negotiation came: what was awaited last. */
  get phase (): 'header' | 'proposal' {
    return this.#state === 'header' ? 'header' : 'proposal'
  }

  /** The name that the peer proposed last, safe to log; undefined before the first. */
  get lastProposed (): string | undefined {
    return this.#lastProposed === undefined ? undefined : show(this.#lastProposed)
  }

  /** The next bytes of the dialer, in pieces of any size. They may be reused after the call, but for the `rest` of an outcome. */
  handleData (bytes: Uint8Array): void {
    if (this.#outcome !== PENDING) {
      return
    }
    this.#decoder.push(bytes)
    if (this.#state === 'header' && this.#decoder.skip(HEADER)) {
      this.#onHeader()
    }
    while (this.#outcome === PENDING) {
      const read = this.#decoder.next()
      if (read === 'incomplete') {
        return
      }
      if (read === 'frame') {
        this.#onFrame()
      } else {
        this.#onFault(read)
      }
    }
  }

  /** The dialer ended its side of the stream, after the last byte that `handleData` was given. */
  handleFin (): void {
    if (this.#outcome !== PENDING) {
      return
    }
    if (!this.#decoder.isInsideFrame) {
      this.#outcome = ENDED_BETWEEN_FRAMES
    } else {
      this.#outcome = this.#state === 'refused' ? EARLY_DATA : ENDED_INSIDE_FRAME
    }
  }

  /** The stream was reset, after the last byte that `handleData` was given. */
  handleReset (): void {
    this.#owesHeader = false
    this.#owedRefusals = 0
    this.#owedConfirmation = undefined
    if (this.#outcome === PENDING) {
      this.#outcome = RESET
    }
  }

  /** Output could not be written: nothing more is given out, and what was agreed stays agreed (S2.17). */
  handleWriteFailed (): void {
    this.handleReset()
  }

  /**
   * All bytes that are due now, in one piece; undefined when there are none. Each byte is given out once. The array may be
   * shared with other streams: it must not be written to.
   */
  takeOutput (): Uint8Array | undefined {
    const header = this.#owesHeader
    const refusals = this.#owedRefusals
    const confirmation = this.#owedConfirmation
    this.#owesHeader = false
    this.#owedRefusals = 0
    this.#owedConfirmation = undefined
    if (refusals === 0) {
      if (confirmation !== undefined) {
        return header ? confirmation : frameOf(confirmation)
      }
      return header ? HEADER : undefined
    }
    if (refusals === 1 && !header && confirmation === undefined) {
      return REFUSAL
    }
    const parts = new Array<Uint8Array>(refusals).fill(REFUSAL)
    if (header) {
      parts.unshift(HEADER)
    }
    if (confirmation !== undefined) {
      parts.push(frameOf(confirmation))
    }
    return concat(parts)
  }

  /** The outcome once there is one, the same at each call. */
  pollOutcome (): Poll<NegotiationOutcome<Entry>> {
    return this.#outcome
  }

  #onFrame (): void {
    const { body, start, end } = this.#decoder
    const isHeader = isMessage(body, start, end, HEADER, 0)
    switch (this.#state) {
      case 'header':
        if (isHeader) {
          this.#onHeader()
        } else {
          this.#outcome = { type: 'invalid', detail: `expected the multistream header, received "${show(decodeName(body, start, end))}"` }
        }
        return
      case 'proposal':
        if (isHeader) {
          this.#outcome = { type: 'invalid', detail: 'a second multistream header' }
        } else {
          this.#onProposal(body, start, end)
        }
        return
      case 'refused':
        if (isHeader) {
          this.#outcome = EARLY_DATA
        } else if (this.#rounds >= this.#maxRounds) {
          this.#outcome = TOO_MANY_ROUNDS
        } else {
          this.#onProposal(body, start, end)
        }
    }
  }

  #onHeader (): void {
    this.#state = 'proposal'
    this.#owesHeader = true
  }

  #onProposal (body: Uint8Array, start: number, end: number): void {
    const name = decodeName(body, start, end)
    this.#lastProposed = name
    this.#rounds++
    const entry = this.#protocols.find(name) ?? this.#fallback?.(name)
    if (entry !== undefined) {
      const opening = entry.frame ??= encodeOpening(entry.name)
      if (isMessage(body, start, end, opening, HEADER.length)) {
        this.#owedConfirmation = opening
        this.#outcome = { type: 'ok', protocol: entry.name, match: entry, rest: this.#decoder.rest }
        return
      }
    }
    this.#owedRefusals++
    this.#state = 'refused'
  }

  #onFault (fault: FrameFault): void {
    this.#outcome = this.#state === 'refused' ? EARLY_DATA : fault
  }
}
