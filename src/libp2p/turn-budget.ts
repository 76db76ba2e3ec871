import type { Instant } from '../core/instant.ts'
import type { Scheduler } from './scheduler.ts'

/** Something that waits for its share of a turn of the event loop. */
type Task = () => void

/**
 * What streams have left over for another turn, in order. Whatever they do with it, all of a node together take about
 * `turnBudgetMs` of each turn, so that timers, and the sockets of everybody else, get theirs (S5.3, S10.23).
 */
export class TurnBudget {
  readonly #scheduler: Scheduler
  readonly #budgetMs: number
  #waiting: Task[] = []
  #isScheduled = false

  /**
   * @param scheduler - the clock, and macrotasks
   * @param budgetMs - the option `turnBudgetMs`
   */
  constructor (scheduler: Scheduler, budgetMs: number) {
    this.#scheduler = scheduler
    this.#budgetMs = budgetMs
  }

  /** Runs `task` in a macrotask, as soon as there is time for it. */
  later (task: Task): void {
    this.#waiting.push(task)
    this.#schedule()
  }

  #schedule (): void {
    if (!this.#isScheduled) {
      this.#isScheduled = true
      this.#scheduler.later(() => { this.#run() })
    }
  }

  #run (): void {
    this.#isScheduled = false
    const due = this.#waiting
    this.#waiting = []
    this.#runNext(due, 0, this.#scheduler.now())
  }

  /** One at least, and as many as there is time for. What a task leads to in microtasks is done, and counted, before the next one. */
  #runNext (due: Task[], at: number, begunAt: Instant): void {
    const task = due[at]
    if (task === undefined) {
      return
    }
    if (at > 0 && this.#scheduler.now() - begunAt > this.#budgetMs) {
      // What came up meanwhile is for later.
      this.#waiting = [...due.slice(at), ...this.#waiting]
      this.#schedule()
      return
    }
    try {
      task()
    } finally {
      if (at + 1 < due.length) {
        this.#scheduler.soon(() => { this.#runNext(due, at + 1, begunAt) })
      }
    }
  }
}
