/**
 * An executor whose turns are asked of the host.
 *
 * ```
 *            schedule, execute: asks for a microtask        budget spent, or a task that wants another turn:
 *                                                           asks for a macrotask
 *  (resting) ----------------------------------------> turn ------------------------------------------------> turn ...
 * ```
 *
 * 1. One turn runs all that is queued, in order, and what comes up meanwhile with it: no hop when already on turn.
 * 2. A task is queued once, however often it is scheduled. One that schedules itself while it runs, or is deferred, waits for
 *    the next macrotask.
 * 3. Turns in microtasks have a budget together. It is given anew in each macrotask, so timers and sockets are served however
 *    the jobs come up, be it by a promise each.
 */

import { BoundedQueue } from '../core/bounded-queue.ts'
import { duration, parseOptions } from '../core/options.ts'
import type { OptionTable } from '../core/options.ts'
import type { Executor } from './executor.ts'

/** What the executor needs of its host. */
export interface CoalescingExecutorComponents {
  /** Monotonic milliseconds. */
  now (): number
  /** Runs `turn` in a microtask. */
  soon (turn: () => void): void
  /** Runs `turn` in a macrotask: after timers and sockets have had theirs. */
  later (turn: () => void): void
  /** Told what a job threw. Must not throw. */
  onError (cause: unknown): void
}

/** Tuning of a {@link CoalescingExecutor}. */
export interface CoalescingExecutorInit {
  /**
   * Milliseconds of work before timers and sockets get their turn; the job that exceeds them is not cut short.
   *
   * @default 5
   */
  readonly turnBudgetMs?: number | undefined
}

/** One source of jobs: made once, scheduled often, and nothing is allocated for that. */
export interface Task {
  /** Asks for a run in this turn, or soon; no more than one comes of any number of calls before it. */
  schedule (): void
  /** Asks for a run in the next macrotask, unless one comes sooner. */
  defer (): void
}

/** A look at the clock costs as much as a small job (47 ns, measured), so that cheap jobs share one. */
const MAX_STRIDE = 16

/** Jobs are cheap as long as those between two looks take less than this part of the budget. */
const CHEAP_RATIO = 64

/** Runs tasks and jobs in turns: many with one microtask, and no more than a budget of work between two macrotasks. */
export class CoalescingExecutor implements Executor {
  readonly #components: CoalescingExecutorComponents
  readonly #turnBudgetMs: number
  /** Not bounded: a task is in it once, and how many jobs there are is up to those who hand them in. */
  readonly #queue = new BoundedQueue<QueuedTask | (() => void)>(Infinity)
  /** For the next macrotask; each task once. */
  readonly #deferred = new BoundedQueue<QueuedTask>(Infinity)
  #isOnTurn = false
  #isAskedSoon = false
  #isAskedLater = false
  /** Jobs between two looks at the clock. */
  #stride = 1
  /** What is left of the budget, in milliseconds; may be negative. */
  #leftMs: number

  /**
   * @param components - the host
   * @param init - the budget
   * @throws TypeError for an unknown option, or one that is no number
   * @throws RangeError for a negative budget
   */
  constructor (components: CoalescingExecutorComponents, init: CoalescingExecutorInit = {}) {
    this.#components = components
    this.#turnBudgetMs = parseOptions(OPTIONS, init, 'Cannot make an executor').turnBudgetMs
    this.#leftMs = this.#turnBudgetMs
  }

  /** Whether a turn is running: what is scheduled now needs no hop. */
  get isOnTurn (): boolean {
    return this.#isOnTurn
  }

  /** Makes a task that calls `run`; what that throws is reported. */
  task (run: () => void): Task {
    return new QueuedTask(run, this.#queues)
  }

  /** Runs `job` at once when on turn, else in the next turn; what it throws is reported. */
  execute (job: () => void): void {
    if (this.#isOnTurn) {
      this.#run(job)
    } else {
      this.#enqueue(job)
    }
  }

  readonly #queues: TaskQueues = {
    enqueue: (task) => { this.#enqueue(task) },
    postpone: (task) => {
      this.#deferred.push(task)
      this.#askLater()
    }
  }

  readonly #soonTurn = (): void => {
    this.#isAskedSoon = false
    this.#turn()
  }

  readonly #laterTurn = (): void => {
    this.#isAskedLater = false
    this.#leftMs = this.#turnBudgetMs
    this.#isOnTurn = true
    for (let task = this.#deferred.shift(); task !== undefined; task = this.#deferred.shift()) {
      task.unlist()
    }
    this.#turn()
  }

  #enqueue (job: QueuedTask | (() => void)): void {
    this.#queue.push(job)
    if (this.#isOnTurn || this.#isAskedSoon) {
      return
    }
    if (this.#leftMs > 0) {
      this.#isAskedSoon = true
      this.#components.soon(this.#soonTurn)
    } else {
      this.#askLater()
    }
  }

  #askLater (): void {
    if (!this.#isAskedLater) {
      this.#isAskedLater = true
      this.#components.later(this.#laterTurn)
    }
  }

  #turn (): void {
    this.#isOnTurn = true
    let now = this.#components.now()
    do {
      const begun = now
      this.#runSome()
      now = this.#components.now()
      this.#leftMs -= now - begun
      const areCheap = (now - begun) * CHEAP_RATIO < this.#turnBudgetMs
      this.#stride = areCheap ? Math.min(this.#stride * 2, MAX_STRIDE) : 1
    } while (this.#queue.size > 0 && this.#leftMs > 0)
    this.#isOnTurn = false
    if (this.#queue.size > 0) {
      this.#askLater()
    }
  }

  /** As many jobs as are run without a look at the clock. */
  #runSome (): void {
    for (let left = this.#stride; left > 0; left--) {
      const job = this.#queue.shift()
      if (job === undefined) {
        return
      }
      this.#run(job)
    }
  }

  #run (job: QueuedTask | (() => void)): void {
    try {
      if (typeof job === 'function') {
        job()
      } else {
        job.run()
      }
    } catch (cause) {
      this.#components.onError(cause)
    }
  }
}

interface Config {
  readonly turnBudgetMs: number
}

const OPTIONS: OptionTable<Config> = { turnBudgetMs: duration(5) }

/** Where tasks wait. */
interface TaskQueues {
  enqueue (task: QueuedTask): void
  postpone (task: QueuedTask): void
}

class QueuedTask implements Task {
  readonly #job: () => void
  readonly #queues: TaskQueues
  #state: 'resting' | 'deferred' | 'queued' = 'resting'
  #isRunning = false
  /** Whether it is listed for the next macrotask; it may have come to a run since. */
  #isListed = false

  constructor (job: () => void, queues: TaskQueues) {
    this.#job = job
    this.#queues = queues
  }

  schedule (): void {
    if (this.#isRunning) {
      this.defer()
    } else if (this.#state !== 'queued') {
      this.#state = 'queued'
      this.#queues.enqueue(this)
    }
  }

  defer (): void {
    if (this.#state === 'resting') {
      this.#state = 'deferred'
      if (!this.#isListed) {
        this.#isListed = true
        this.#queues.postpone(this)
      }
    }
  }

  /** The macrotask is here. */
  unlist (): void {
    this.#isListed = false
    if (this.#state === 'deferred') {
      this.#state = 'queued'
      this.#queues.enqueue(this)
    }
  }

  run (): void {
    this.#state = 'resting'
    this.#isRunning = true
    try {
      this.#job()
    } finally {
      this.#isRunning = false
    }
  }
}
