import type { Instant } from '../core/instant.ts'

/** Somebody who waits for a signal. */
export interface Abortable {
  /**
   * The signal aborted. Must not throw.
   *
   * @param at - when, on the scale of `performance.now()`
   */
  aborted (reason: unknown, at: Instant): void
}

/**
 * One listener per signal, however many calls share it, and none when the last one has ended (C21): a signal that serves
 * hundreds of calls at a time is no leak, and should not look like one.
 */
export class SignalWatch {
  readonly #waiting = new Map<AbortSignal, Waiting>()

  /** Tells `abortable` once `signal` aborts. */
  add (signal: AbortSignal, abortable: Abortable): void {
    let waiting = this.#waiting.get(signal)
    if (waiting === undefined) {
      waiting = new Waiting(signal)
      this.#waiting.set(signal, waiting)
    }
    waiting.abortables.add(abortable)
  }

  /** Does not tell `abortable` any more. */
  delete (signal: AbortSignal, abortable: Abortable): void {
    const waiting = this.#waiting.get(signal)
    waiting?.abortables.delete(abortable)
    if (waiting?.abortables.size === 0) {
      waiting.release()
      this.#waiting.delete(signal)
    }
  }
}

class Waiting implements EventListenerObject {
  readonly abortables = new Set<Abortable>()
  readonly #signal: AbortSignal

  constructor (signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', this)
  }

  handleEvent ({ timeStamp }: { readonly timeStamp: number }): void {
    for (const abortable of [...this.abortables]) {
      abortable.aborted(this.#signal.reason, timeStamp)
    }
  }

  release (): void {
    this.#signal.removeEventListener('abort', this)
  }
}
