import { PENDING } from '../core/poll.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { StreamUpgrade } from '../handler/stream-upgrade.ts'

/**
 * A `StreamUpgrade` from an async function (S4.4): what it resolves with is the `output` of the event, and a rejection or a
 * throw resets the stream with kind `apply`.
 *
 * @param run - called once, when the upgrade is due. Its signal aborts when the stream ends before the promise does: at the
 * deadline, by a reset or a cancel, or because the connection closes; what the promise does after that is ignored
 *
 * @example
 * inboundUpgrade: stream => asyncUpgrade(signal => readHeader(stream, { signal }))
 */
export function asyncUpgrade<Output> (run: (signal: AbortSignal) => PromiseLike<Output>): StreamUpgrade<Output> {
  return new AsyncUpgrade(run)
}

type Result<Output> =
  | { readonly type: 'resolved', readonly output: Output }
  | { readonly type: 'rejected', readonly reason: unknown }

class AsyncUpgrade<Output> implements StreamUpgrade<Output> {
  readonly #run: (signal: AbortSignal) => PromiseLike<Output>
  readonly #controller = new AbortController()
  #isRunning = false
  #result: Result<Output> | undefined

  constructor (run: (signal: AbortSignal) => PromiseLike<Output>) {
    this.#run = run
  }

  poll (cx: PollContext): Poll<Output> {
    if (!this.#isRunning) {
      this.#isRunning = true
      this.#start(cx)
    }
    switch (this.#result?.type) {
      case undefined:
        return PENDING
      case 'resolved':
        return this.#result.output
      case 'rejected':
        throw this.#result.reason
    }
  }

  end (reason: unknown): void {
    this.#controller.abort(reason)
  }

  #start (cx: PollContext): void {
    const settled = (result: Result<Output>): void => {
      this.#result = result
      cx.wake()
    }
    this.#run(this.#controller.signal).then(
      output => { settled({ type: 'resolved', output }) },
      (reason: unknown) => { settled({ type: 'rejected', reason }) }
    )
  }
}
