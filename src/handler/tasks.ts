import type { HandlerFault } from './handler-fault.ts'

type Rejected = ((reason: unknown) => unknown) | null | undefined

/** What a callback returned, if it is a thenable; everything else that it may return means nothing. */
export function asTask (returned: unknown): PromiseLike<void> | undefined {
  return isThenable(returned) ? returned : undefined
}

/** A task whose failure is turned into a fault that tells which part it was. */
export function taskOf (task: PromiseLike<void>, toFault: (reason: unknown) => HandlerFault): PromiseLike<void> {
  return {
    then: (onFulfilled, onRejected) =>
      task.then(onFulfilled, onRejected == null ? onRejected : (reason: unknown) => onRejected(toFault(reason)))
  }
}

/**
 * Several tasks as one: it fails with each of theirs, and is fulfilled by none, since nobody waits for the end of a task.
 * Made by hand, as promises have no place below the driver.
 */
export function joinTasks (tasks: ReadonlyArray<PromiseLike<void>>): PromiseLike<void> | undefined {
  return tasks.length < 2 ? tasks[0] : new JoinedTasks(tasks)
}

/** Nobody will hear how `tasks` end; that they fail must not be an unhandled rejection. */
export function dropTasks (tasks: ReadonlyArray<PromiseLike<unknown>>): void {
  for (const task of tasks) {
    try {
      task.then(undefined, () => undefined)
    } catch {
      // A thenable of its own make; what it throws is as little heard.
    }
  }
}

class JoinedTasks implements PromiseLike<never> {
  readonly #tasks: ReadonlyArray<PromiseLike<void>>

  constructor (tasks: ReadonlyArray<PromiseLike<void>>) {
    this.#tasks = tasks
  }

  then (_onFulfilled?: unknown, onRejected?: Rejected): PromiseLike<never> {
    for (const task of this.#tasks) {
      task.then(undefined, onRejected)
    }
    return this
  }
}

/** Whether `value` is a thenable. */
export function isThenable<Value = void> (value: unknown): value is PromiseLike<Value> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
