import type { Scheduler, Timer } from '../../src/libp2p/scheduler.ts'

/** A scheduler that the test turns by hand: nothing runs by itself. */
export class ManualScheduler implements Scheduler {
  /** What `soon` was asked for, oldest first. */
  readonly microtasks: Array<() => void> = []
  /** What `later` was asked for, oldest first. */
  readonly macrotasks: Array<() => void> = []
  readonly timers: ManualTimer[] = []
  /** Milliseconds that pass with every look at the clock. */
  tickMs = 0
  #now = 0

  now (): number {
    this.#now += this.tickMs
    return this.#now
  }

  soon (task: () => void): void {
    this.microtasks.push(task)
  }

  later (task: () => void): void {
    this.macrotasks.push(task)
  }

  timer (task: () => void): Timer {
    const timer = new ManualTimer(task)
    this.timers.push(timer)
    return timer
  }

  /** Runs what waits in `tasks` now; what that asks for waits. */
  run (tasks: Array<() => void>): void {
    for (const task of tasks.splice(0)) {
      task()
    }
  }

  /** Moves the clock, and fires what is due. */
  advance (milliseconds: number): void {
    this.#now += milliseconds
    for (const timer of this.timers) {
      timer.fireIfDue(this.#now)
    }
  }
}

/** See {@link ManualScheduler}. */
export class ManualTimer implements Timer {
  deadline = Infinity
  readonly #task: () => void

  constructor (task: () => void) {
    this.#task = task
  }

  arm (deadline: number): void {
    this.deadline = deadline
  }

  clear (): void {
    this.deadline = Infinity
  }

  fireIfDue (now: number): void {
    if (this.deadline <= now) {
      this.deadline = Infinity
      this.#task()
    }
  }
}
