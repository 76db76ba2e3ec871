/**
 * The clock and the timers: the one file that has them. Everything else is told the time, or asks here to be called later.
 */

import { NEVER } from '../core/instant.ts'
import type { Instant } from '../core/instant.ts'

/** The longest delay that hosts measure; above it `setTimeout` fires after 1 ms, with a warning. */
const MAX_DELAY_MS = 2_147_483_647

const SETTLED = Promise.resolve()

/** When things run. Tests put their own in its place. */
export interface Scheduler {
  /** Monotonic milliseconds. */
  now (): Instant
  /** Runs `task` in a microtask: before timers and sockets are served. */
  soon (task: () => void): void
  /** Runs `task` in a macrotask: after timers and sockets have had their turn. */
  later (task: () => void): void
  /** Makes a timer, not armed yet, that calls `task` whenever a deadline has passed. */
  timer (task: () => void): Timer
}

/** One deadline at a time. */
export interface Timer {
  /** Replaces the deadline; `Infinity` means none. */
  arm (deadline: Instant): void
  /** Gives the host's timer back. The timer may be armed again. */
  clear (): void
}

/**
 * The scheduler of the host that we run in.
 *
 * @param init - `keepProcessAlive`: true lets an armed timer keep a Node process alive
 */
export function hostScheduler (init: { readonly keepProcessAlive: boolean }): Scheduler {
  return {
    now: () => performance.now(),
    soon,
    later: macrotask(),
    timer: (task) => new HostTimer(task, init.keepProcessAlive)
  }
}

/** Runs `task` in a microtask. Not by `queueMicrotask`, for which Node makes an async resource each time, at three times the price. */
export function soon (task: () => void): void {
  void SETTLED.then(task)
}

/** Node has `setImmediate`; in browsers a message channel is the macrotask without the delay of `setTimeout`. */
function macrotask (): (task: () => void) => void {
  if (typeof setImmediate === 'function') {
    return (task) => { setImmediate(task) }
  }
  const { port1, port2 } = new MessageChannel()
  const tasks: Array<() => void> = []
  port1.onmessage = () => { tasks.shift()?.() }
  return (task) => {
    tasks.push(task)
    port2.postMessage(undefined)
  }
}

/**
 * A deadline that is moved for every stream, over a host timer that is hardly ever touched: one that fires too early, as
 * the deadline moved away since, is armed again for the rest.
 */
class HostTimer implements Timer {
  readonly #task: () => void
  readonly #keepProcessAlive: boolean
  #deadline: Instant = NEVER
  #handle: ReturnType<typeof setTimeout> | undefined
  /** The deadline that the host's timer was set for. */
  #firesAt: Instant = NEVER

  constructor (task: () => void, keepProcessAlive: boolean) {
    this.#task = task
    this.#keepProcessAlive = keepProcessAlive
  }

  arm (deadline: Instant): void {
    this.#deadline = deadline
    if (deadline < this.#firesAt) {
      this.#stop()
      this.#start()
    }
  }

  clear (): void {
    this.#deadline = NEVER
    this.#stop()
  }

  /** The host's timer fired. */
  fired (): void {
    this.#forget()
    if (performance.now() < this.#deadline) {
      this.#start()
    } else {
      this.#deadline = NEVER
      this.#task()
    }
  }

  #start (): void {
    if (this.#deadline === NEVER) {
      return
    }
    const now = performance.now()
    const delay = Math.min(Math.max(Math.ceil(this.#deadline - now), 0), MAX_DELAY_MS)
    // Not when it really fires, which is rounded up to a millisecond: the same deadline again must not look like an earlier one.
    this.#firesAt = Math.min(this.#deadline, now + MAX_DELAY_MS)
    this.#handle = setTimeout(fire, delay, this)
    if (!this.#keepProcessAlive) {
      unref(this.#handle)
    }
  }

  #stop (): void {
    if (this.#handle !== undefined) {
      clearTimeout(this.#handle)
      this.#forget()
    }
  }

  #forget (): void {
    this.#handle = undefined
    this.#firesAt = NEVER
  }
}

/** One function for all timers: every connection has one of them. */
function fire (timer: HostTimer): void {
  timer.fired()
}

/** In a browser a timer is a number, and holds nothing alive. */
function unref (handle: object | number): void {
  if (isUnrefable(handle)) {
    handle.unref()
  }
}

function isUnrefable (handle: object | number): handle is { unref (): void } {
  return typeof handle === 'object' && 'unref' in handle && typeof handle.unref === 'function'
}
