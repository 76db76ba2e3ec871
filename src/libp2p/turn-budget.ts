import type { Instant } from '../core/instant.ts'
import type { Scheduler } from './scheduler.ts'

/** Something that waits for its share of a turn of the event loop. */
type Task = () => void

/**
 * How long all connections of a node may work before timers, and the sockets of everybody else, get their turn (S5.3, S10.23).
 * Work is counted as it is done, and once it comes to `turnBudgetMs` what follows waits for the next macrotask, in order. Less
 * than that is not given back: a node that does little is put off for one turn of an idle event loop now and then, and what
 * a turn has used needs no timer of its own to be forgotten.
 */
export class TurnBudget {
  readonly #scheduler: Scheduler
  readonly #budgetMs: number
  #waiting: Task[] = []
  #spentMs = 0
  #depth = 0
  #begunAt: Instant = 0
  #isScheduled = false

  /**
   * @param scheduler - the clock, and macrotasks
   * @param budgetMs - the option `turnBudgetMs`
   */
  constructor (scheduler: Scheduler, budgetMs: number) {
    this.#scheduler = scheduler
    this.#budgetMs = budgetMs
  }

  /** Whether everything that can wait is to wait. */
  get isSpent (): boolean {
    const running = this.#depth === 0 ? 0 : this.#scheduler.now() - this.#begunAt
    return this.#spentMs + running > this.#budgetMs
  }

  /** Work begins; some of it may begin and end inside. */
  begin (): void {
    if (this.#depth === 0) {
      this.#begunAt = this.#scheduler.now()
    }
    this.#depth++
  }

  /** The work that was begun is done. */
  end (): void {
    this.#depth--
    if (this.#depth === 0) {
      this.#spentMs += this.#scheduler.now() - this.#begunAt
      if (this.isSpent) {
        this.#schedule()
      }
    }
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
    this.#spentMs = 0
    const due = this.#waiting
    this.#waiting = []
    this.#runNext(due, 0)
  }

  /** One at least, and as many as there is time for. What a task leads to in microtasks is done, and counted, before the next one. */
  #runNext (due: Task[], at: number): void {
    const task = due[at]
    if (task === undefined) {
      return
    }
    if (at > 0 && this.isSpent) {
      // What came up meanwhile is for later.
      this.#waiting = [...due.slice(at), ...this.#waiting]
      this.#schedule()
      return
    }
    this.begin()
    try {
      task()
    } finally {
      this.end()
      if (at + 1 < due.length) {
        this.#scheduler.soon(() => { this.#runNext(due, at + 1) })
      }
    }
  }
}
