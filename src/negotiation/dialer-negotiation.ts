/**
 * The dialer of one negotiation: bytes in, bytes out (S2.18 to S2.22).
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
 */

import { show } from '../core/printable.ts'
import { PENDING } from '../core/poll.ts'
import { streamProtocol } from '../protocols/stream-protocol.ts'
import { FrameDecoder } from './frame-decoder.ts'
import { HEADER, REFUSAL, concat, decodeName, frameOf, isMessage } from './message.ts'
import { openingOf } from './known-openings.ts'
import { DEFAULT_LIMITS, ENDED_BETWEEN_FRAMES, ENDED_INSIDE_FRAME, REFUSED, RESET, checkLimits } from './outcome.ts'
import { prefixSize } from './varint.ts'
import type { NegotiationLimits, NegotiationOutcome } from './outcome.ts'
import type { Poll } from '../core/poll.ts'

/** Feed it what the listener sent, then send what {@link takeOutput} gives and ask {@link pollOutcome}. */
export class DialerNegotiation {
  readonly #names: readonly string[]
  readonly #decoder: FrameDecoder
  #state: 'header' | 'confirmation' = 'header'
  #outcome: Poll<NegotiationOutcome> = PENDING
  /** The name whose answer is awaited: its place in the list, itself, and the header with its frame. */
  #proposed = 0
  #name: string
  #opening: Uint8Array
  /** The first name that was not given out yet. */
  #unsent = 0

  /**
   * @param protocols - the names to propose, in this order; copied
   * @param limits - see {@link NegotiationLimits}
   * @throws TypeError when `protocols` is empty, or a name in it is not valid (S3.1)
   * @throws RangeError when there are more names than `maxRounds`, a name does not fit a frame, or a limit is out of its range
   */
  constructor (protocols: readonly string[], limits: NegotiationLimits = DEFAULT_LIMITS) {
    checkLimits(limits)
    this.#names = [...protocols]
    this.#name = checkNames(this.#names, limits)
    this.#opening = openingOf(this.#name)
    this.#decoder = new FrameDecoder(limits.maxFrameLength)
  }

  /** How far the negotiation came: what was awaited last. */
  get phase (): 'header' | 'confirmation' {
    return this.#state
  }

  /** The names proposed so far, in order. */
  get tried (): readonly string[] {
    return this.#names.slice(0, this.#proposed + 1)
  }

  /** The next bytes of the listener, in pieces of any size. They may be reused after the call, but for the `rest` of an outcome. */
  handleData (bytes: Uint8Array): void {
    if (this.#outcome !== PENDING) {
      return
    }
    this.#decoder.push(bytes)
    // An answer that agrees has the very bytes of the opening, most often in one chunk.
    if (this.#state === 'header' && this.#decoder.skip(this.#opening)) {
      this.#state = 'confirmation'
      this.#agree()
    }
    while (this.#outcome === PENDING) {
      const read = this.#decoder.next()
      if (read === 'incomplete') {
        return
      }
      if (read === 'frame') {
        this.#onFrame()
      } else {
        this.#outcome = read
      }
    }
  }

  /** The listener ended its side of the stream, after the last byte that `handleData` was given. */
  handleFin (): void {
    if (this.#outcome === PENDING) {
      this.#outcome = this.#decoder.isInsideFrame ? ENDED_INSIDE_FRAME : ENDED_BETWEEN_FRAMES
    }
  }

  /** The stream was reset, after the last byte that `handleData` was given. */
  handleReset (): void {
    this.#unsent = this.#names.length
    if (this.#outcome === PENDING) {
      this.#outcome = RESET
    }
  }

  /** Output could not be written: nothing more is given out, and what was agreed stays agreed. */
  handleWriteFailed (): void {
    this.handleReset()
  }

  /**
   * All bytes that are due now, in one piece; undefined when there are none. Each byte is given out once. The array may be
   * shared with other streams: it must not be written to.
   */
  takeOutput (): Uint8Array | undefined {
    const from = this.#unsent
    if (from > this.#proposed) {
      return undefined
    }
    this.#unsent = this.#proposed + 1
    if (from === this.#proposed) {
      return from === 0 ? this.#opening : frameOf(this.#opening)
    }
    const parts = this.#names.slice(from, this.#unsent).map(name => frameOf(openingOf(name)))
    return concat(from === 0 ? [HEADER, ...parts] : parts)
  }

  /** The outcome once there is one, the same at each call. */
  pollOutcome (): Poll<NegotiationOutcome> {
    return this.#outcome
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

/** Checks all names before any byte is sent (S2.18); returns the first one. */
function checkNames (names: readonly string[], { maxFrameLength, maxRounds }: NegotiationLimits): string {
  const [first] = names
  if (first === undefined) {
    throw new TypeError('Cannot negotiate: there must be at least one protocol, received none')
  }
  if (names.length > maxRounds) {
    throw new RangeError(`Cannot negotiate: there must be at most ${maxRounds} protocols, received ${names.length}`)
  }
  const longestOpening = HEADER.length + prefixSize(maxFrameLength) + maxFrameLength
  for (const name of names) {
    if (openingOf(name).length > longestOpening) {
      streamProtocol(name, maxFrameLength - 1)
    }
  }
  return first
}
