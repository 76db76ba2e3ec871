import { PENDING } from '../core/poll.ts'
import { show } from '../core/printable.ts'
import { asTask, dropTasks } from './tasks.ts'
import type { Poll } from '../core/poll.ts'
import type { HandlerOutput } from './connection-handler.ts'

type AnyOutput = HandlerOutput<unknown, unknown, unknown>

const HANDLER_OUTPUTS: Readonly<Record<AnyOutput['type'], true>> = {
  'notify-behaviour': true, 'outbound-stream-request': true, 'cancel-outbound-request': true, 'report-remote-protocols': true
}

/**
 * What `poll` of a handler returned, if it may.
 *
 * @throws TypeError as {@link checkPolled} does
 */
export function checkOutput<Output extends Poll<AnyOutput>> (output: Output): Output {
  return output === PENDING ? output : checkPolled(output, HANDLER_OUTPUTS)
}

/**
 * What a method `poll` returned, if it may.
 *
 * @param types - the types of its outputs
 * @throws TypeError for what is neither an output nor PENDING, such as the promise of an async method (S4.15)
 */
export function checkPolled<Output> (output: Output, types: Readonly<Record<string, true>>): Output {
  if (output !== PENDING && !isOutput(output, types)) {
    refuse(output)
  }
  return output
}

/**
 * What `pollClose` of a handler returned, if it may.
 *
 * @throws TypeError for the promise of an async method (S4.15): nobody would wait for it, and it would be taken for an event
 */
export function checkLast (event: unknown): unknown {
  const task = asTask(event)
  if (task !== undefined) {
    dropTasks([task])
    throw new TypeError('pollClose must return an event, undefined or PENDING, received a promise: it must not be async')
  }
  return event
}

function isOutput (value: unknown, types: Readonly<Record<string, true>>): boolean {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string' && Object.hasOwn(types, value.type)
}

function refuse (value: unknown): never {
  const task = asTask(value)
  if (task !== undefined) {
    dropTasks([task])
    throw new TypeError('poll must return an output or PENDING, received a promise: it must not be async')
  }
  throw new TypeError(`poll must return an output or PENDING, received ${shapeOf(value)}`)
}

function shapeOf (value: unknown): string {
  if (typeof value !== 'object' || value === null) {
    return value === null ? 'null' : typeof value
  }
  return 'type' in value && typeof value.type === 'string' ? `an object of type "${show(value.type)}"` : 'an object without a type'
}
