import { InvalidStateError } from '../errors.ts'
import type { Waker } from '../core/poll.ts'

/**
 * ```
 *  resting ──poll──▶ in a turn, polling ◀──value, poll──▶ in a turn
 *     ▲                     │
 *     └───────PENDING───────┘
 * ```
 * When a connection is polled, and asking for it: once per turn at most, and not at all in a turn, as its loop comes by
 * everything before it ends. Only what a command leaves behind while a poll is running may lie behind the loop already.
 */
export class Turn implements Waker {
  /**
   * More happened than that the handler woke, since a whole pass found nothing to do. Every input, every command and every
   * stream that can go on comes by {@link wake}, so without it no queue but the handler's own can have anything in it.
   */
  isStirred = true
  readonly #owner: Waker
  #isPolling = false
  #isRunning = false
  #isAsked = false
  /** Somebody wants another turn after this one. */
  #isContinued = false
  #isOver = false

  /**
   * @param owner - is asked for a poll
   */
  constructor (owner: Waker) {
    this.#owner = owner
  }

  /** Nobody asked for a poll since the last turn ended. */
  get isResting (): boolean {
    return !this.#isRunning && !this.#isAsked
  }

  /** A poll begins, and with it a turn, unless one is running. */
  enter (): void {
    this.refuse()
    this.#isPolling = true
    this.#isRunning = true
  }

  /** The poll has its answer. */
  leave (): void {
    this.#isPolling = false
  }

  /**
   * The answer is PENDING, so the turn is over.
   *
   * @param isMoreLeft - whether another one is to be asked for
   */
  end (isMoreLeft: boolean): void {
    this.#isRunning = false
    this.#isAsked = false
    if (isMoreLeft || this.#isContinued) {
      this.#isContinued = false
      this.wakeForHandler()
    }
  }

  /** @throws InvalidStateError inside a poll: what calls in from there is a mistake of the driver (S1.3) */
  refuse (): void {
    if (this.#isPolling) {
      throw new InvalidStateError('Cannot call this from inside a poll of the connection: queue it until the drain is over')
    }
  }

  /** Asks for a turn, unless one is running or asked for. */
  wake (): void {
    this.isStirred = true
    this.wakeForHandler()
  }

  /** As {@link wake}, when only the handler is to be polled. */
  wakeForHandler (): void {
    if (!this.#isRunning && !this.#isAsked && !this.#isOver) {
      this.#isAsked = true
      this.#owner.wake()
    }
  }

  /** Asks for a turn for a command, which may come from inside a poll. */
  wakeForCommand (): void {
    this.#isContinued ||= this.#isPolling
    this.wake()
  }

  /** The connection has closed: nothing asks for a turn any more. */
  close (): void {
    this.#isOver = true
  }
}
