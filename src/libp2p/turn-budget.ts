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
    return this.#spentMs > this.#budgetMs
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

  /** What comes up meanwhile is for the next turn. */
  #run (): void {
    this.#isScheduled = false
    this.#spentMs = 0
    const due = this.#waiting
    this.#waiting = []
    let at = 0
    for (; at < due.length && !this.isSpent; at++) {
      this.begin()
      try {
        due[at]?.()
      } finally {
        this.end()
      }
    }
    if (at < due.length) {
      this.#waiting = [...due.slice(at), ...this.#waiting]
      this.#schedule()
    }
  }
}
