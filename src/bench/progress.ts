import { formatTime } from './format.ts'
import type { Host } from './host.ts'
import type { Progress } from './session.ts'

/** Tells how far a run is, on the standard error: one line that is overwritten on a terminal, elsewhere a line a round. */
export class ProgressLine {
  readonly #host: Host
  readonly #start: number
  #told = ''

  constructor (host: Host) {
    this.#host = host
    this.#start = host.now()
  }

  /** Before each cell. */
  show (progress: Progress, estimateMs: number): void {
    const { process, round, done, total, cell } = progress
    const stage = `process ${process}, round ${round}`
    const text = `${stage}, cell ${done + 1} of ${total}, about ${formatTime(this.#left(done, total, estimateMs))} left`
    if (this.#host.stderr.isTerminal) {
      this.#host.stderr.write(`\r\u001b[2K${text}: ${cell}`)
    } else if (stage !== this.#told) {
      this.#told = stage
      this.#host.stderr.write(`${text}\n`)
    }
  }

  /** Leaves an empty line on a terminal. */
  end (): void {
    if (this.#host.stderr.isTerminal) {
      this.#host.stderr.write('\r\u001b[2K')
    }
  }

  /** By the pace so far, and before the first cell by the estimate. */
  #left (done: number, total: number, estimateMs: number): number {
    return done === 0 ? estimateMs : (this.#host.now() - this.#start) / done * (total - done)
  }
}
