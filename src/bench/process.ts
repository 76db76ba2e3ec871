import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { failureOf } from './task.ts'
import type { ChildProcess } from 'node:child_process'
import type { Outcome, Task } from './task.ts'

/** Something that measures one task after the other under one hash seed. */
export interface Lane {
  /** Never rejects. */
  measure (task: Task): Promise<Outcome>
  /** Stops at once; what is being measured becomes aborted. */
  end (): void
}

/** Starts a lane. */
export type LaneStart = (seed: number) => Lane

/** How processes are started. */
export interface ForkOptions {
  /** Further flags of V8. */
  readonly nodeFlags: readonly string[]
  /** When a cell is given up, in one round. */
  readonly cellTimeoutMs: number
}

/**
 * Starts a process with a string-hash seed of its own. Seeds are paired between runs and variants, as the layout of hash
 * tables moves figures by half.
 *
 * A process that dies fails the cell it was measuring; another one takes over with the next.
 *
 * @param entry - the module of the process, which answers each task with its outcome
 */
export function forkLane (entry: URL, seed: number, { nodeFlags, cellTimeoutMs }: ForkOptions): Lane {
  const execArgv = [`--hash-seed=${seed}`, ...nodeFlags]
  let child: ChildProcess | undefined
  let isEnded = false
  return {
    async measure (task) {
      child ??= fork(fileURLToPath(entry), [], {
        execArgv, serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc']
      })
      const current = child
      const outcome = await exchange(current, { task, timeoutMs: cellTimeoutMs })
      if (typeof outcome !== 'string') {
        return outcome
      }
      child = undefined
      return failureOf(isEnded ? 'aborted' : 'run', new Error(isEnded ? 'interrupted' : outcome))
    },
    end () {
      isEnded = true
      child?.kill('SIGKILL')
    }
  }
}

/** The answer of a process, or in words how it ended. */
async function exchange (child: ChildProcess, message: object): Promise<Outcome | string> {
  return new Promise((resolve) => {
    const settle = (result: Outcome | string): void => {
      child.removeAllListeners()
      resolve(result)
    }
    child.once('message', (outcome) => { settle(outcome as Outcome) })
    child.once('error', (error) => { settle(error.message) })
    child.once('exit', (code, signal) => { settle(`the process ended with ${signal ?? `exit code ${code ?? 0}`}`) })
    child.send(message)
  })
}
