import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** How late the event loop was at worst, in milliseconds. */
export interface Lateness {
  /** By the clock, and in 99 of 100 turns. */
  readonly worst: number
  readonly p99: number
  /**
   * The most that this thread has worked between two turns, in milliseconds of processor time: neither the time in which the
   * system had given the core to others counts, nor that in which a collection of garbage waited for its helpers to get one.
   * Undefined where the system does not tell.
   */
  readonly held: number | undefined
}

/** Watches the event loop of this process from now on; the result ends it. */
export function watchLoop (): () => Lateness {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const watched = watchHeld()
  return () => {
    delay.disable()
    return { worst: delay.max / 1e6, p99: delay.percentile(99) / 1e6, held: watched() }
  }
}

/** The most processor time between two turns; on a busy machine it is a small part of the time by the clock. */
function watchHeld (): () => number | undefined {
  let most = 0
  let before = workedMs()
  const timer = setInterval(() => {
    const worked = workedMs()
    most = Math.max(most, (worked ?? 0) - (before ?? 0))
    before = worked
  }, 1)
  return () => {
    clearInterval(timer)
    return before === undefined ? undefined : most
  }
}

/** Milliseconds that this thread has had a core so far: Linux counts them. */
function workedMs (): number | undefined {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')
    return Number(nanoseconds) / 1e6
  } catch {
    return undefined
  }
}
