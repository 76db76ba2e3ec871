import { HandlerFault } from './handler-fault.ts'
import { dropTasks, joinTasks } from './tasks.ts'

/**
 * Calls each of `parts`, also when an earlier one throws; the first throw is passed on at the end.
 *
 * @param call - gives the task that it began, if any
 * @returns all tasks as one
 * @throws HandlerFault
 */
export function joinCalls<Part> (parts: Iterable<Part>, call: (part: Part) => PromiseLike<void> | undefined): PromiseLike<void> | undefined {
  let fault: HandlerFault | undefined
  const tasks: Array<PromiseLike<void>> = []
  for (const part of parts) {
    try {
      const task = call(part)
      if (task !== undefined) {
        tasks.push(task)
      }
    } catch (thrown) {
      fault ??= HandlerFault.of(thrown, 'onConnectionEvent')
    }
  }
  if (fault !== undefined) {
    dropTasks(tasks)
    throw fault
  }
  return joinTasks(tasks)
}
