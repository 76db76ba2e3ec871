import { CoalescingExecutor } from '../concurrency/coalescing-executor.ts'
import { BoundedQueue } from '../core/bounded-queue.ts'
import { PENDING } from '../core/poll.ts'
import { Swarm } from '../swarm/swarm.ts'
import type { KeyedEvent } from '../behaviour/inference.ts'
import type { NetworkBehaviour } from '../behaviour/network-behaviour.ts'
import type { Task } from '../concurrency/coalescing-executor.ts'
import type { PooledConnection } from '../swarm/pooled-connection.ts'
import type { SwarmEvent } from '../swarm/swarm-event.ts'
import type { CountUndelivered } from '../swarm/wishes.ts'
import type { Scheduler, Timer } from './scheduler.ts'

/** The events of a swarm whose root is a composition. */
export type DrivenEvent = SwarmEvent<KeyedEvent<string, unknown>>

/** A connection that tells whether it was polled to the end. */
export interface DrainedConnection extends PooledConnection {
  /** Whether it has answered PENDING since its last input. */
  readonly isDrained: boolean
}

/** The part of a {@link SwarmDriver} that drivers of connections need. */
export interface Turns {
  /** True during a drain: no input may be given to any machine of the swarm. */
  readonly isBusy: boolean
  /** Runs `task` as soon as no drain is running: at once, or when the present one is over. */
  whenIdle (task: () => void): void
  /** Gives an input, if there is one, and drains; later, if a drain is running. */
  turn (input?: () => void, connection?: DrainedConnection): void
  /** For inputs that come for every stream: `turn` without a closure. To be called while not busy. */
  beginInput (): void
  /**
   * Drains after an input.
   *
   * @param connection - the connection whose input it was: it is drained whatever the time, as what a negotiation leaves
   *   over can be handed back to a stream inside the host's event only
   */
  endInput (connection?: DrainedConnection): void
}

/** Who a {@link SwarmDriver} works for. */
export interface SwarmDriverComponents {
  readonly root: NetworkBehaviour<KeyedEvent<string, unknown>, unknown, unknown, Error>
  readonly scheduler: Scheduler
  readonly turnBudgetMs: number
  /** Acts on one event; called inside a drain. */
  onEvent (event: DrivenEvent): void
  /** Told when the time of a drain was up before its work was done. Must not throw. */
  readonly onYield?: (() => void) | undefined
  /** Counts messages that never reached their handler. Must not throw. */
  readonly onUndelivered?: CountUndelivered | undefined
  /** A drain ended, and nothing that came up meanwhile waits. */
  onIdle (): void
  /** Told what should never have been thrown. Must not throw. */
  onError (cause: unknown): void
}

/**
 * Owns the swarm machine of a node, and is the only one who polls it (S5.3).
 *
 * One input, one drain: an input is drained inside the host event that brought it. What comes up meanwhile waits in a
 * queue until the drain is over. A wake from outside drains in a microtask; whoever wants yet another turn, and what is
 * left when the time of a drain is up, goes on in a macrotask, so that sockets and timers are never starved.
 */
export class SwarmDriver<Driven extends DrainedConnection> implements Turns {
  /** The machine. Polled by this driver alone. */
  readonly swarm: Swarm<KeyedEvent<string, unknown>, Driven>
  readonly #components: SwarmDriverComponents
  /** Deadlines of behaviours; connections have timers of their own. */
  readonly #timer: Timer
  /** Not bounded: filled by what one drain causes inside the host, and emptied right after it. */
  readonly #waiting: BoundedQueue<() => void> = new BoundedQueue(Infinity)
  /** The one job of this driver, made once: any number of wakes is one run of it (S10.20). */
  readonly #task: Task
  #isBusy = false
  #isEmptying = false

  constructor (components: SwarmDriverComponents) {
    this.#components = components
    this.swarm = new Swarm(components.root, () => { this.#wake() }, components.onUndelivered)
    const { scheduler, turnBudgetMs } = components
    const executor = new CoalescingExecutor({
      now: () => scheduler.now(),
      soon: (turn) => { scheduler.soon(turn) },
      later: (turn) => { scheduler.later(turn) },
      onError: (cause) => { components.onError(cause) }
    }, { turnBudgetMs })
    this.#task = executor.task(() => { this.turn() })
    this.#timer = components.scheduler.timer(() => { this.turn() })
  }

  /** See {@link Turns}. */
  get isBusy (): boolean {
    return this.#isBusy
  }

  /** See {@link Turns}. */
  whenIdle (task: () => void): void {
    if (this.#isBusy) {
      this.#waiting.push(task)
    } else {
      task()
    }
  }

  /** See {@link Turns}. */
  turn (input?: () => void, connection?: DrainedConnection): void {
    if (this.#isBusy) {
      this.#waiting.push(() => { this.turn(input, connection) })
      return
    }
    this.beginInput()
    try {
      input?.()
    } catch (cause) {
      this.#components.onError(cause)
    }
    this.endInput(connection)
  }

  /**
   * Gives an input that has an answer, and drains. The answer comes at once, unless a drain is running: then when that is
   * over.
   */
  ask<Answer> (input: () => Answer): Answer | Promise<Answer> {
    if (this.#isBusy) {
      return new Promise((resolve, reject) => {
        this.#waiting.push(() => {
          try {
            resolve(this.ask(input))
          } catch (thrown) {
            reject(thrown)
          }
        })
      })
    }
    this.beginInput()
    try {
      return input()
    } finally {
      this.endInput()
    }
  }

  /** See {@link Turns}. */
  beginInput (): void {
    this.#isBusy = true
  }

  /** See {@link Turns}. */
  endInput (connection?: DrainedConnection): void {
    try {
      this.#drain(connection)
    } catch (cause) {
      this.#components.onError(cause)
    }
    this.#isBusy = false
    this.#empty()
  }

  #drain (connection: DrainedConnection | undefined): void {
    const { scheduler, turnBudgetMs } = this.#components
    const begun = scheduler.now()
    let now = begun
    let isSpent = false
    while (!isSpent) {
      const event = this.swarm.poll(now)
      if (event === PENDING) {
        break
      }
      this.#act(event)
      now = scheduler.now()
      isSpent = now - begun > turnBudgetMs && connection?.isDrained !== false
    }
    if (isSpent) {
      this.#components.onYield?.()
    }
    this.#timer.arm(this.swarm.pollTimeout())
    if (isSpent || this.swarm.wantsTurn) {
      this.#task.defer()
    }
  }

  #act (event: DrivenEvent): void {
    try {
      this.#components.onEvent(event)
    } catch (cause) {
      this.#components.onError(cause)
    }
  }

  /** What came up during a drain, in order. A task that drains by itself does not come in here again. */
  #empty (): void {
    if (this.#isEmptying) {
      return
    }
    this.#isEmptying = true
    for (let task = this.#waiting.shift(); task !== undefined; task = this.#waiting.shift()) {
      try {
        task()
      } catch (cause) {
        this.#components.onError(cause)
      }
    }
    this.#isEmptying = false
    this.#components.onIdle()
  }

  /** From outside a drain. What wakes by a promise each time spends the executor's budget, and then waits as well. */
  #wake (): void {
    if (!this.#isBusy) {
      this.#task.schedule()
    }
  }
}
