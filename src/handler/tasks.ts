import { HandlerFault } from './handler-fault.ts'

/** The task of one part, whose failure tells which part it was. */
export function taskOf (key: string, task: PromiseLike<void>): PromiseLike<void> {
  return {
    then: (onFulfilled, onRejected) =>
      task.then(onFulfilled, onRejected == null ? onRejected : reason => onRejected(HandlerFault.of(reason, 'onConnectionEvent', key)))
  }
}

/**
 * Several tasks as one: it fails with each of theirs, and is fulfilled by none, since nobody waits for the end of a task.
 * Made by hand, as promises have no place below the driver.
 */
export function joinTasks (tasks: ReadonlyArray<PromiseLike<void>>): PromiseLike<void> | undefined {
  if (tasks.length < 2) {
    return tasks[0]
  }
  const joined = {
    then (_onFulfilled?: unknown, onRejected?: ((reason: unknown) => unknown) | null): PromiseLike<never> {
      for (const task of tasks) {
        task.then(undefined, onRejected)
      }
      return joined as unknown as PromiseLike<never>
    }
  }
  return joined as unknown as PromiseLike<void>
}
