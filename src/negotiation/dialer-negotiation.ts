/**
 * The dialer of one negotiation: bytes in, bytes out (S2.18 to S2.29).
 *
 * ```
 *   header ──header──▶ confirmation ──name proposed last──▶ ok
 *                        │      ▲
 *                        │      └── na, and a name is left: propose it
 *                        └── na after the last name ──▶ failed (refused)
 * ```
 *
 * What else ends it, in either state: any other frame is `invalid`; a malformed or too long frame is that; the end of the
 * input is `failed` (fin) between frames and `eof` inside one; a reset or a failed write is `reset`.
 *
 * Rules: the header goes out once, with the first name; the dialer does not wait for its own output to be written, so a
 * listener may speak first; an outcome is final; bytes that were due before it are still given out, unless they cannot be
 * written any more.
 *
 * V1Lazy, for one name only, changes nothing of that but the output, which waits for the application:
 *
 * ```
 *   held ──write: the opening and the bytes, in one piece──▶ open
 *     │  ──flush: the opening────────────────────────────────▲
 *     └──▶ failed, in whatever way: the opening is never sent
 * ```
 *
 * The application has the stream before the outcome. So it may read nothing before `ok`, and then `rest` first; and
 * anything else is the end of the stream for reading and writing.
 */

import { show } from '../core/printable.ts'
import { PENDING } from '../core/poll.ts'
import { streamProtocol } from '../protocols/stream-protocol.ts'
import { FrameDecoder } from './frame-decoder.ts'
import { joined } from './joined.ts'
import { HEADER, REFUSAL, concat, decodeName, frameOf, isMessage } from './message.ts'
import { openingOf } from './known-openings.ts'
import { DEFAULT_LIMITS, REFUSED, RESET, checkLimits, interruptedBy } from './outcome.ts'
import { prefixSize } from './varint.ts'
import type { NegotiationLimits, NegotiationOutcome } from './outcome.ts'
import type { Poll } from '../core/poll.ts'

/** How a dialer opens a stream. */
export interface DialerOptions {
  /**
   * Whether the application may write before the listener agreed (V1Lazy). It takes effect for a single name, and should be
   * asked for only when the peer has announced that name: a listener that does not have it takes what the application
   * wrote for proposals (S2.24, S2.29).
   *
   * @default false
   */
  readonly lazy?: boolean | undefined
}

/** Feed it what the listener sent, then send what {@link takeOutput} gives and ask {@link pollOutcome}. */
export class DialerNegotiation {
  readonly #names: readonly string[]
  readonly #isLazy: boolean
  readonly #decoder: FrameDecoder
  #state: 'header' | 'confirmation' = 'header'
  #outcome: Poll<NegotiationOutcome> = PENDING
  /** The name whose answer is awaited: its place in the list, itself, and the header with its frame. */
  #proposed = 0
  #name: string
  #opening: Uint8Array
  /** The first name that was not given out yet. */
  #unsent = 0
  /** V1Lazy: nothing may go out before the application says so. */
  #isHeld: boolean

  /**
   * @param protocols - the names to propose, in this order; copied
   * @param limits - see {@link NegotiationLimits}
   * @param options - see {@link DialerOptions}
   * @throws TypeError when `protocols` is empty, or a name in it is not valid (S3.1)
   * @throws RangeError when there are more names than `maxRounds`, a name does not fit a frame, or a limit is out of its range
   */
  constructor (protocols: readonly string[], limits: NegotiationLimits = DEFAULT_LIMITS, options: DialerOptions = {}) {
    checkLimits(limits)
    this.#names = protocols.slice()
    this.#opening = checkNames(this.#names, limits)
    this.#name = this.#names[0] as string
    this.#isLazy = options.lazy === true && this.#names.length === 1
    this.#isHeld = this.#isLazy
    this.#decoder = new FrameDecoder(limits.maxFrameLength, limits.maxFramesPerTurn)
  }

  /** How far the negotiation came: what was awaited last. */
  get phase (): 'header' | 'confirmation' {
    return this.#state
  }

  /** All names to propose, in order. */
  get protocols (): readonly string[] {
    return this.#names
  }

  /** The names proposed so far, in order. */
  get tried (): readonly string[] {
    return this.#names.slice(0, this.#proposed + 1)
  }

  /** V1Lazy: the name that the application may use before it is confirmed. Undefined: it must wait for the outcome. */
  get assumed (): string | undefined {
    return this.#isLazy ? this.#name : undefined
  }

  /** Whether input was kept for another turn: the turn had its `maxFramesPerTurn`. Then call {@link handleTurn} in the next. */
  get wantsTurn (): boolean {
    return this.#outcome === PENDING && this.#decoder.wantsTurn
  }

  /** The next bytes of the listener, in pieces of any size. They may be reused after the call, but for the `rest` of an outcome. */
  handleData (bytes: Uint8Array): void {
    if (this.#outcome !== PENDING) {
      return
    }
    this.#decoder.push(bytes)
    // An answer that agrees has the very bytes of the opening, most often in one chunk.
    if (this.#state === 'header' && this.#decoder.skip(this.#opening, 2)) {
      this.#state = 'confirmation'
      this.#agree()
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

  /** The listener ended its side of the stream, after the last byte that `handleData` was given. */
  handleFin (): void {
    this.#decoder.close('fin')
    this.#read()
  }

  /** The stream was reset, after the last byte that `handleData` was given. */
  handleReset (): void {
    this.#unsent = this.#names.length
    this.#decoder.close('reset')
    this.#read()
  }

  /** Output could not be written: nothing more is given out, and what was agreed stays agreed. */
  handleWriteFailed (): void {
    this.#unsent = this.#names.length
    if (this.#outcome === PENDING) {
      this.#outcome = RESET
    }
  }

  /**
   * All bytes that are due now, in one piece; undefined when there are none. Each byte is given out once. The array may be
   * shared with other streams: it must not be written to.
   */
  takeOutput (): Uint8Array | undefined {
    const from = this.#unsent
    if (from > this.#proposed || this.#isHeld) {
      return undefined
    }
    this.#unsent = this.#proposed + 1
    if (from === this.#proposed) {
      return from === 0 ? this.#opening : frameOf(this.#opening)
    }
    const parts = this.#names.slice(from, this.#unsent).map(name => frameOf(openingOf(name)))
    return concat(from === 0 ? [HEADER, ...parts] : parts)
  }

  /**
   * What to send when the application writes `data`: the bytes of the negotiation that wait, and `data`, in one piece.
   * Undefined when nothing of the application may go out: before an agreement, unless one is {@link assumed}, and after a
   * failure.
   */
  write (data: Uint8Array): Uint8Array | undefined {
    const mayWrite = this.#outcome === PENDING ? this.#isLazy : this.#outcome.type === 'ok'
    if (!mayWrite) {
      return undefined
    }
    this.flush()
    const output = this.takeOutput()
    return output === undefined ? data : joined(output, data)
  }

  /** V1Lazy: {@link takeOutput} need not wait for a write: the application reads, flushes or ends its side. */
  flush (): void {
    this.#isHeld &&= this.#outcome !== PENDING && this.#outcome.type !== 'ok'
  }

  /** The outcome once there is one, the same at each call. */
  pollOutcome (): Poll<NegotiationOutcome> {
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
        this.#outcome = interruptedBy(read)
      }
    }
  }

  #onFrame (): void {
    const { body, start, end } = this.#decoder
    switch (this.#state) {
      case 'header':
        if (isMessage(body, start, end, HEADER, 0)) {
          this.#state = 'confirmation'
        } else {
          this.#outcome = { type: 'invalid', detail: `expected the multistream header, received "${show(decodeName(body, start, end))}"` }
        }
        return
      case 'confirmation':
        if (isMessage(body, start, end, this.#opening, HEADER.length)) {
          this.#agree()
        } else if (isMessage(body, start, end, REFUSAL, 0)) {
          this.#onRefusal()
        } else {
          this.#outcome = { type: 'invalid', detail: `expected "${show(this.#name)}" or "na", received "${show(decodeName(body, start, end))}"` }
        }
    }
  }

  #agree (): void {
    this.#outcome = { type: 'ok', protocol: this.#name, match: undefined, rest: this.#decoder.rest }
  }

  #onRefusal (): void {
    const next = this.#names[this.#proposed + 1]
    if (next === undefined) {
      this.#outcome = REFUSED
    } else {
      this.#proposed++
      this.#name = next
      this.#opening = openingOf(next)
    }
  }
}

/** Checks all names before any byte is sent (S2.18); returns the opening with the first one. */
function checkNames (names: readonly string[], { maxFrameLength, maxRounds }: NegotiationLimits): Uint8Array {
  if (names.length > maxRounds) {
    throw new RangeError(`Cannot negotiate: there must be at most ${maxRounds} protocols, received ${names.length}`)
  }
  const longestOpening = HEADER.length + prefixSize(maxFrameLength) + maxFrameLength
  let first: Uint8Array | undefined
  for (const name of names) {
    const opening = openingOf(name)
    if (opening.length > longestOpening) {
      streamProtocol(name, maxFrameLength - 1)
    }
    first ??= opening
  }
  if (first === undefined) {
    throw new TypeError('Cannot negotiate: there must be at least one protocol, received none')
  }
  return first
}
