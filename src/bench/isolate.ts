import { Worker } from 'node:worker_threads'
import { failureOf } from './task.ts'
import type { MatrixDescription } from './description.ts'
import type { Outcome, Task } from './task.ts'

/** What a fresh isolate is asked: which matrices a file has, or to measure a cell. */
export type Request =
  | { readonly type: 'describe', readonly file: string }
  | { readonly type: 'measure', readonly task: Task }

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

class IsolateTimeout extends Error {
  override readonly name = 'TimeoutError'
}

/** The first message of a worker. It is ended before the answer is given, so that two cells never run at once. */
async function ask<Answer> (entry: URL, request: Request, patience?: Patience): Promise<Answer> {
  // No flags are inherited: those of tsx break a worker, which registers it itself.
  const worker = new Worker(entry, { workerData: request, execArgv: [], stdout: true })
  worker.stdout.resume()
  let cancel: (() => void) | undefined
  try {
    return await new Promise<Answer>((resolve, reject) => {
      cancel = patience?.timer(patience.timeoutMs, () => { reject(new IsolateTimeout(`not done after ${patience.timeoutMs / 1000} s`)) })
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', (code) => { reject(new Error(`the worker ended without a result, exit code ${code}`)) })
    })
  } finally {
    cancel?.()
    await worker.terminate()
  }
}
