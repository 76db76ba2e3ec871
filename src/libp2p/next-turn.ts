import { Linked, LinkedList } from '../core/linked-list.ts'
import { hostScheduler } from './scheduler.ts'
import type { Instant } from '../core/instant.ts'
import type { Scheduler } from './scheduler.ts'

/** One who waits, or does not. */
export class Waiting<Member> extends Linked<Waiting<Member>> {
  readonly member: Member

  constructor (member: Member) {
    super()
    this.member = member
  }
}

/**
 * Calls what waits back in the next macrotask, all of it in one. Who has nothing to wait for any more is to be taken out: a
 * long row of microtasks may come before that, and what piles up in it is copied by every collection of young objects.
 */
export class NextTurn<Member> {
  readonly #scheduler: Scheduler
  readonly #call: (member: Member) => void
  #waiting = new LinkedList<Waiting<Member>>()
  /** Those that are being called. */
  #due = new LinkedList<Waiting<Member>>()
  #isScheduled = false
  #now: Instant = 0

  constructor (call: (member: Member) => void, scheduler: Scheduler = hostScheduler({ keepProcessAlive: false })) {
    this.#call = call
    this.#scheduler = scheduler
  }

  /** Returns an instant of this turn: the clock is read once for all that wait. */
  add (waiting: Waiting<Member>): Instant {
    if (!this.#isScheduled) {
      this.#isScheduled = true
      this.#now = this.#scheduler.now()
      this.#scheduler.later(() => { this.#run() })
    }
    if (waiting.list === undefined) {
      this.#waiting.push(waiting)
    }
    return this.#now
  }

  /** Takes out one that need not be called any more; one that does not wait is left alone. */
  remove (waiting: Waiting<Member>): void {
    if (!this.#waiting.remove(waiting)) {
      this.#due.remove(waiting)
    }
  }

  #run (): void {
    this.#isScheduled = false
    const due = this.#waiting
    this.#waiting = this.#due
    this.#due = due
    for (let next = due.shift(); next !== undefined; next = due.shift()) {
      this.#call(next.member)
    }
  }
}
