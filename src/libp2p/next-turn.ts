import { hostScheduler } from './scheduler.ts'
import type { Instant } from '../core/instant.ts'
import type { Scheduler } from './scheduler.ts'

/** Something that waits for the event loop to turn, unless it is done by then. */
export interface Waiting {
  readonly isDone: boolean
}

/** Calls what waits back in the next macrotask, all of it in one. */
export class NextTurn<Member extends Waiting> {
  readonly #scheduler: Scheduler
  readonly #call: (member: Member) => void
  #waiting: Member[] = []
  #isScheduled = false
  #now: Instant = 0

  constructor (call: (member: Member) => void, scheduler: Scheduler = hostScheduler({ keepProcessAlive: false })) {
    this.#call = call
    this.#scheduler = scheduler
  }

  /** Returns an instant of this turn: the clock is read once for all that wait. */
  add (member: Member): Instant {
    if (!this.#isScheduled) {
      this.#isScheduled = true
      this.#now = this.#scheduler.now()
      this.#scheduler.later(() => { this.#run() })
    }
    // In a long row of microtasks those that are done must not pile up.
    while (this.#waiting.at(-1)?.isDone === true) {
      this.#waiting.pop()
    }
    this.#waiting.push(member)
    return this.#now
  }

  #run (): void {
    this.#isScheduled = false
    const due = this.#waiting
    this.#waiting = []
    for (const member of due) {
      if (!member.isDone) {
        this.#call(member)
      }
    }
  }
}
