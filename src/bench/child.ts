/**
 * One process of a run, with its own string-hash seed: takes one task after the other from its parent and has each of them
 * measured in a fresh isolate, or only checked in one that is shared. It holds no code under test itself.
 */

import { CheckingIsolate, measureApart } from './isolate.ts'
import type { Timer } from './isolate.ts'
import type { Task } from './task.ts'

/** What the parent sends. */
export interface Assignment {
  readonly task: Task
  readonly timeoutMs: number
}

const WORKER = new URL('./worker.js', import.meta.url)

const timer: Timer = (delayMs, act) => {
  const timeout = setTimeout(act, delayMs)
  return () => { clearTimeout(timeout) }
}

let checking: CheckingIsolate | undefined

process.on('message', (assignment: Assignment) => {
  const { task, timeoutMs } = assignment
  const outcome = task.sampling === undefined
    ? (checking ??= new CheckingIsolate(WORKER, { timeoutMs, timer })).check(task)
    : measureApart(WORKER, task, { timeoutMs, timer })
  void outcome.then(told => process.send?.(told))
})
// Ctrl-C reaches the whole group; the parent says when to stop.
process.on('SIGINT', () => {})
process.on('disconnect', () => { process.exit() })
