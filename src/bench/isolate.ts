import { Worker } from 'node:worker_threads'
import { failureOf } from './task.ts'
import type { MatrixDescription } from './description.ts'
import type { Outcome, Task } from './task.ts'

/** What a fresh isolate is asked: which matrices a file has, to measure a cell, or to check the cells that it will be sent. */
export type Request =
  | { readonly type: 'describe', readonly file: string }
  | { readonly type: 'measure', readonly task: Task }
  | { readonly type: 'check' }

/** What it answers to `describe`. */
export type Description =
  | { readonly type: 'described', readonly matrices: readonly MatrixDescription[] }
  | { readonly type: 'refused', readonly message: string }

/** Does something later, unless the function it returns is called before. */
export type Timer = (delayMs: number, act: () => void) => () => void

/**
 * The matrices of a bench file, read in an isolate that ends with it.
 *
 * @param entry - the module of the isolate, which answers a {@link Request}
 * @param file - a URL
 * @throws Error with one line for the user
 */
export async function describeFile (entry: URL, file: string): Promise<readonly MatrixDescription[]> {
  const description = await ask<Description>(entry, { type: 'describe', file })
  if (description.type === 'refused') {
    throw new Error(description.message)
  }
  return description.matrices
}

/** When an isolate is given up. */
export interface Patience {
  readonly timeoutMs: number
  readonly timer: Timer
}

/** Measures one cell in an isolate of its own, which is ended when it takes too long. Never rejects. */
export async function measureApart (entry: URL, task: Task, patience: Patience): Promise<Outcome> {
  try {
    return await ask<Outcome>(entry, { type: 'measure', task }, patience)
  } catch (error) {
    return failureOf(error instanceof IsolateTimeout ? 'timeout' : 'run', error)
  }
}

interface Standing {
  readonly worker: Worker
  /** The file, and the build. */
  readonly of: string
  hasChecked: boolean
}

/**
 * Has cells prove their work, one after the other. Nothing is timed, so those of one file share an isolate, which spares most
 * of the time that a check takes.
 */
export class CheckingIsolate {
  readonly #entry: URL
  readonly #patience: Patience
  #standing: Standing | undefined

  constructor (entry: URL, patience: Patience) {
    this.#entry = entry
    this.#patience = patience
  }

  /** Never rejects. A cell that ends a shared isolate may not be to blame, so it has another chance in one of its own. */
  async check (task: Task): Promise<Outcome> {
    const of = JSON.stringify([task.file, task.against])
    if (this.#standing?.of !== of) {
      await this.end()
    }
    const standing = this.#standing ??= this.#start(of)
    try {
      standing.worker.postMessage(task)
      const outcome = await answer<Outcome>(standing.worker, this.#patience)
      standing.hasChecked = true
      return outcome
    } catch (error) {
      await this.end()
      const isTimeout = error instanceof IsolateTimeout
      return standing.hasChecked && !isTimeout ? await this.check(task) : failureOf(isTimeout ? 'timeout' : 'run', error)
    }
  }

  #start (of: string): Standing {
    const standing = { worker: start(this.#entry, { type: 'check' }), of, hasChecked: false }
    // What a cell left behind may end it between two checks.
    standing.worker.on('error', () => {}).on('exit', () => {
      if (this.#standing === standing) {
        this.#standing = undefined
      }
    })
    return standing
  }

  /** Ends the isolate; another check makes a new one. */
  async end (): Promise<void> {
    const worker = this.#standing?.worker
    this.#standing = undefined
    await worker?.terminate()
  }
}

class IsolateTimeout extends Error {
  override readonly name = 'TimeoutError'
}

/** The first message of a worker. It is ended before the answer is given, so that two cells never run at once. */
async function ask<Answer> (entry: URL, request: Request, patience?: Patience): Promise<Answer> {
  const worker = start(entry, request)
  try {
    return await answer<Answer>(worker, patience)
  } finally {
    await worker.terminate()
  }
}

function start (entry: URL, request: Request): Worker {
  // No flags are inherited: those of tsx break a worker, which registers it itself.
  const worker = new Worker(entry, { workerData: request, execArgv: [], stdout: true })
  worker.stdout.resume()
  return worker
}

/** The next message of a worker. */
async function answer<Answer> (worker: Worker, patience?: Patience): Promise<Answer> {
  let forget = (): void => {}
  try {
    return await new Promise<Answer>((resolve, reject) => {
      const onExit = (code: number): void => { reject(new Error(`the worker ended without a result, exit code ${code}`)) }
      worker.on('message', resolve).on('error', reject).on('exit', onExit)
      const cancel = patience?.timer(patience.timeoutMs, () => { reject(new IsolateTimeout(`not done after ${patience.timeoutMs / 1000} s`)) })
      forget = () => {
        cancel?.()
        worker.off('message', resolve).off('error', reject).off('exit', onExit)
      }
    })
  } finally {
    forget()
  }
}
