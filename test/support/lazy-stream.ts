import { PENDING } from '../../src/core/poll.ts'
import { toHex } from './wire.ts'
import type { DialerNegotiation, NegotiationOutcome } from '../../src/negotiation/index.ts'
import type { Input } from './wire.ts'

/**
 * A stream that was opened with V1Lazy, as its application has it: writing and reading from the first moment on, in front of
 * a machine and behind a network that the test plays.
 */
export class LazyStream {
  /** What went to the network: each write as hex, `FIN`, `RESET`. */
  readonly sent: string[] = []
  readonly #machine: DialerNegotiation
  readonly #received: Uint8Array[] = []
  #isEnded = false

  constructor (machine: DialerNegotiation) {
    this.#machine = machine
  }

  /** @throws the outcome of a failed negotiation */
  write (data: Uint8Array): void {
    const output = this.#machine.write(data)
    if (output === undefined) {
      throw new LazyStreamError(this.#machine.pollOutcome())
    }
    this.sent.push(toHex(output))
  }

  flush (): void {
    this.#machine.flush()
    this.#drain()
  }

  closeWrite (): void {
    this.flush()
    if (this.sent.at(-1) !== 'RESET') {
      this.sent.push('FIN')
    }
  }

  /**
   * The next bytes as hex; `nothing` has come yet; the `end`.
   *
   * @throws the outcome of a failed negotiation
   */
  read (): string {
    this.flush()
    const outcome = this.#machine.pollOutcome()
    if (outcome === PENDING) {
      return 'nothing'
    }
    if (outcome.type !== 'ok') {
      throw new LazyStreamError(outcome)
    }
    const chunk = this.#received.shift()
    return chunk !== undefined ? toHex(chunk) : this.#isEnded ? 'end' : 'nothing'
  }

  /** Something came from the network. */
  feed (...inputs: Input[]): void {
    for (const input of inputs) {
      this.#take(input)
      this.#drain()
    }
  }

  #take (input: Input): void {
    const isPending = this.#machine.pollOutcome() === PENDING
    if (input === 'FIN') {
      this.#isEnded = true
      this.#machine.handleFin()
    } else if (input === 'RESET') {
      this.#machine.handleReset()
    } else if (!isPending) {
      this.#received.push(input)
    } else {
      this.#machine.handleData(input)
    }
    const outcome = this.#machine.pollOutcome()
    if (!isPending || outcome === PENDING) {
      return
    }
    if (outcome.type !== 'ok') {
      this.sent.push('RESET')
    } else if (outcome.rest !== undefined) {
      this.#received.push(outcome.rest)
    }
  }

  #drain (): void {
    const output = this.#machine.takeOutput()
    if (output !== undefined) {
      this.sent.push(toHex(output))
    }
  }
}

/** What every use of a stream gives whose negotiation failed. */
export class LazyStreamError extends Error {
  readonly outcome: NegotiationOutcome | typeof PENDING

  constructor (outcome: NegotiationOutcome | typeof PENDING) {
    super('the negotiation failed')
    this.outcome = outcome
  }
}
