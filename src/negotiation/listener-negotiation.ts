/**
 * The listener of one negotiation: bytes in, bytes out (S2.9 to S2.17).
 *
 * ```
 *   header ──header──▶ proposal ──unlisted name, another ls / na──▶ refused ──the same / na──▶ refused
 *                         │                                            │
 *                         └────────────── listed name ─────────────────┴──▶ ok
 *
 *   proposal or refused ──the first ls / list──▶ proposal
 * ```
 *
 * What else ends it:
 *
 * | input                        | header    | proposal        | refused             |
 * |------------------------------|-----------|-----------------|---------------------|
 * | any other frame              | invalid   |                 |                     |
 * | a header                     |           | invalid         | failed (early-data) |
 * | malformed or too long frame  | that      | that            | failed (early-data) |
 * | request after the last round |           | failed (rounds) | failed (rounds)     |
 * | end between frames           | failed    | failed          | failed (fin)        |
 * | end inside a frame           | eof       | eof             | failed (early-data) |
 * | reset, or a failed write     | reset     | reset           | reset               |
 *
 * Rules: the header is answered at once and never before; an outcome is final; bytes that were due before it are still
 * given out, unless they cannot be written any more.
 */

import { show } from '../core/printable.ts'
import { PENDING } from '../core/poll.ts'
import { FrameDecoder } from './frame-decoder.ts'
import { answerToLs } from './list.ts'
import { HEADER, LIST_REQUEST, REFUSAL, concat, decodeName, encodeOpening, frameOf, isMessage } from './message.ts'
import { DEFAULT_LIMITS, EARLY_DATA, RESET, TOO_MANY_ROUNDS, checkLimits, interruptedBy } from './outcome.ts'
import type { FrameRead } from './frame-decoder.ts'
import type { NegotiationLimits, NegotiationOutcome } from './outcome.ts'
import type { Poll } from '../core/poll.ts'

/** A name that a listener accepts. */
export interface ProtocolEntry {
  /** A valid name (S3.1). */
  readonly name: string
  /** The negotiation keeps the answer that it encoded for the name here, unless the entry is frozen. Undefined to begin with. */
  frame: Uint8Array | undefined
}

/** The names that a listener accepts, fixed for the whole negotiation (S2.11). */
export interface ProtocolIndex<Entry extends ProtocolEntry = ProtocolEntry> {
  /** What `ls` is answered with: distinct valid names, in order. A frozen array is encoded once. Without it the answer is `na`. */
  readonly names?: readonly string[] | undefined
  /** The entry of `name`; undefined when it is not accepted. Names of the peer come here as they are. */
  find (name: string): Entry | undefined
  /**
   * Give it, with undefined, where `find` answers the same for ever: the negotiation keeps the entry that it found last here,
   * as the next proposal is mostly the same, and is then known by its bytes, without making a text of them. Without this
   * property, or if it cannot be written, `find` is asked each time.
   */
  latest?: Entry | undefined
}

/**
 * Feed it what the dialer sent, then send what {@link takeOutput} gives and ask {@link pollOutcome}. Nothing is copied from
 * the list of names, and a proposal costs one look-up whatever their number.
 */
export class ListenerNegotiation<Entry extends ProtocolEntry = ProtocolEntry> {
  readonly #protocols: ProtocolIndex<Entry>
  readonly #fallback: ((name: string) => Entry | undefined) | undefined
  readonly #maxRounds: number
  readonly #answersLs: boolean
  readonly #decoder: FrameDecoder
  #state: 'header' | 'proposal' | 'refused' = 'header'
  #outcome: Poll<NegotiationOutcome<Entry>> = PENDING
  #rounds = 0
  #lastProposed: string | undefined
  #wasListed = false
  /** Output that waits to be taken, always in this order. The confirmation is given as an opening. */
  #owesHeader = false
  #owedAnswers: Uint8Array[] | undefined
  #owedConfirmation: Uint8Array | undefined
  #isWritable = true

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
    this.#answersLs = limits.ls !== false
    this.#decoder = new FrameDecoder(limits.maxFrameLength, limits.maxFramesPerTurn)
  }

  /** How far the negotiation came: what was awaited last. */
  get phase (): 'header' | 'proposal' {
    return this.#state === 'header' ? 'header' : 'proposal'
  }

  /** The name that the peer proposed last, safe to log; undefined before the first. */
  get lastProposed (): string | undefined {
    return this.#lastProposed === undefined ? undefined : show(this.#lastProposed)
  }

  /** Whether input was kept for another turn: the turn had its `maxFramesPerTurn`. Then call {@link handleTurn} in the next. */
  get wantsTurn (): boolean {
    return this.#outcome === PENDING && this.#decoder.wantsTurn
  }

  /** The next bytes of the dialer, in pieces of any size. They may be reused after the call, but for the `rest` of an outcome. */
  handleData (bytes: Uint8Array): void {
    if (this.#outcome !== PENDING) {
      return
    }
    this.#decoder.push(bytes)
    if (this.#state === 'header' && this.#decoder.skip(HEADER, 1)) {
      this.#onHeader()
    }
    this.#read()
  }

  /**
   * In place of {@link handleTurn}: gives the kept input up, to be fed again in another turn in front of everything else.
   * For streams that take bytes back and so keep their end behind them. Undefined when none was kept.
   */
  takeKept (): Uint8Array | undefined {
    return this.wantsTurn ? this.#decoder.takeKept() : undefined
  }

  /** Another turn began: reads on, if {@link wantsTurn}. */
  handleTurn (): void {
    this.#decoder.startTurn()
    this.#read()
  }

  /** The dialer ended its side of the stream, after the last byte that `handleData` was given. */
  handleFin (): void {
    this.#decoder.close('fin')
    this.#read()
  }

  /** The stream was reset, after the last byte that `handleData` was given. */
  handleReset (): void {
    this.#isWritable = false
    this.#decoder.close('reset')
    this.#read()
  }

  /** Output could not be written: nothing more is given out, and what was agreed stays agreed (S2.17). */
  handleWriteFailed (): void {
    this.#isWritable = false
    if (this.#outcome === PENDING) {
      this.#outcome = RESET
    }
  }

  /**
   * All bytes that are due now, in one piece; undefined when there are none. Each byte is given out once. The array may be
   * shared with other streams: it must not be written to.
   */
  takeOutput (): Uint8Array | undefined {
    if (!this.#isWritable) {
      return undefined
    }
    const header = this.#owesHeader
    const answers = this.#owedAnswers
    const confirmation = this.#owedConfirmation
    this.#owesHeader = false
    this.#owedAnswers = undefined
    this.#owedConfirmation = undefined
    if (answers === undefined) {
      if (confirmation !== undefined) {
        return header ? confirmation : frameOf(confirmation)
      }
      return header ? HEADER : undefined
    }
    if (header) {
      answers.unshift(HEADER)
    }
    if (confirmation !== undefined) {
      answers.push(frameOf(confirmation))
    }
    return answers.length === 1 ? answers[0] : concat(answers)
  }

  /** The outcome once there is one, the same at each call. */
  pollOutcome (): Poll<NegotiationOutcome<Entry>> {
    return this.#outcome
  }

  /** Takes from the input what it has for this turn. */
  #read (): void {
    while (this.#outcome === PENDING) {
      const read = this.#decoder.next()
      if (read === 'nothing') {
        return
      }
      if (read === 'frame') {
        this.#onFrame()
      } else {
        this.#onInterruption(read)
      }
    }
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
          this.#onRequest(body, start, end)
        }
        return
      case 'refused':
        if (isHeader) {
          this.#outcome = EARLY_DATA
        } else {
          this.#onRequest(body, start, end)
        }
    }
  }

  #onHeader (): void {
    this.#state = 'proposal'
    this.#owesHeader = true
  }

  #onRequest (body: Uint8Array, start: number, end: number): void {
    if (this.#rounds >= this.#maxRounds) {
      this.#outcome = TOO_MANY_ROUNDS
      return
    }
    this.#rounds++
    if (isMessage(body, start, end, LIST_REQUEST, 0)) {
      this.#onListRequest()
    } else {
      this.#onProposal(body, start, end)
    }
  }

  #onListRequest (): void {
    const list = this.#answersLs && !this.#wasListed ? answerToLs(this.#protocols.names) : undefined
    this.#wasListed = true
    if (list === undefined) {
      this.#refuse()
    } else {
      this.#answer(list)
      this.#state = 'proposal'
    }
  }

  #onProposal (body: Uint8Array, start: number, end: number): void {
    const { latest } = this.#protocols
    if (latest?.frame !== undefined && isMessage(body, start, end, latest.frame, HEADER.length)) {
      this.#lastProposed = latest.name
      this.#agree(latest, latest.frame)
      return
    }
    const name = decodeName(body, start, end)
    this.#lastProposed = name
    const listed = this.#protocols.find(name)
    const entry = listed ?? this.#fallback?.(name)
    if (entry !== undefined) {
      const opening = entry.frame ?? encodeFor(entry)
      if (isMessage(body, start, end, opening, HEADER.length)) {
        if (listed !== undefined && 'latest' in this.#protocols) {
          Reflect.set(this.#protocols, 'latest', listed)
        }
        this.#agree(entry, opening)
        return
      }
    }
    this.#refuse()
  }

  #agree (entry: Entry, opening: Uint8Array): void {
    this.#owedConfirmation = opening
    this.#outcome = { type: 'ok', protocol: entry.name, match: entry, rest: this.#decoder.rest }
  }

  #refuse (): void {
    this.#answer(REFUSAL)
    this.#state = 'refused'
  }

  #answer (frame: Uint8Array): void {
    this.#owedAnswers ??= []
    this.#owedAnswers.push(frame)
  }

  #onInterruption (read: Exclude<FrameRead, 'frame' | 'nothing'>): void {
    const isEarlyData = this.#state === 'refused' && read !== 'fin' && read !== 'reset'
    this.#outcome = isEarlyData ? EARLY_DATA : interruptedBy(read)
  }
}

/** Entries are their owner's, who may have frozen them: nothing is kept there then. */
function encodeFor (entry: ProtocolEntry): Uint8Array {
  const opening = encodeOpening(entry.name)
  Reflect.set(entry, 'frame', opening)
  return opening
}
