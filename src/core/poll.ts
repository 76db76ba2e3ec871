/** A machine's answer when it cannot move now. */
export const PENDING: unique symbol = Symbol('pending')

/** What polling gives: a value, or {@link PENDING}. */
export type Poll<Value> = Value | typeof PENDING

/**
 * All that a machine may learn from outside while it is polled. There is one object per machine, valid for the whole
 * life of the machine.
 */
export interface PollContext {
  /** The instant of this drain, in monotonic milliseconds. Meaningful inside `poll*` only. */
  readonly now: number
  /**
   * Asks for another poll. May be called at any time from anywhere; any number of calls counts as one, and after the end
   * of the machine it has no effect. It never calls user code.
   */
  wake (): void
  /**
   * Asks for a poll at `instant`. One deadline is kept: a later call replaces it, `Infinity` clears it.
   *
   * @param instant - monotonic milliseconds, on the scale of `now`
   */
  wakeAt (instant: number): void
}

/** Somebody who can be woken: the part of a {@link PollContext} that queues and lists need. */
export interface Waker {
  wake (): void
}
