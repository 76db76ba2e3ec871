import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** How late the event loop was at worst, in milliseconds. */
export interface Lateness {
  /** By the clock, and in 99 of 100 turns. */
  readonly worst: number
  readonly p99: number
  /** Without the time in which the system had given the core to others; undefined where it does not tell. */
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

/** The longest time between two turns, but for what this thread waited for a core in it: on a busy machine that is most of it. */
function watchHeld (): () => number | undefined {
  let longest = 0
  let waitedBefore = waitedMs()
  let before = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    const waited = waitedMs()
    longest = Math.max(longest, now - before - ((waited ?? 0) - (waitedBefore ?? 0)))
    before = now
    waitedBefore = waited
  }, 1)
  return () => {
    clearInterval(timer)
    return waitedBefore === undefined ? undefined : longest
  }
}

/** Milliseconds that this thread has waited for a core so far: Linux counts them. */
function waitedMs (): number | undefined {
  try {
    const [, nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')
    return Number(nanoseconds) / 1e6
  } catch {
    return undefined
  }
}
