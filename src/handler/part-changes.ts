/** How a part comes to a composition that is in use, and how it goes (S4.13). */

import { PENDING } from '../core/poll.ts'
import { ProtocolsNotice } from '../protocols/protocols-change.ts'
import { PART_LEFT } from './route.ts'
import { dropTasks } from './tasks.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { HandlerOutput } from './connection-handler.ts'
import type { Part } from './part.ts'
import type { BothSets } from './route.ts'

type Output = HandlerOutput<unknown, unknown, unknown>

/** Tells a new part what the others know, before it is told or asked anything else (S3.13). */
export function greet (part: Part, sets: BothSets | undefined): void {
  part.phase = 'in'
  greetWith(part, 'local-protocols-change', sets?.local.toArray() ?? [])
  greetWith(part, 'remote-protocols-change', sets?.remote.toArray() ?? [])
}

function greetWith (part: Part, type: 'local-protocols-change' | 'remote-protocols-change', names: readonly string[]): void {
  // A callback may have removed it.
  if (names.length === 0 || part.phase !== 'in') {
    return
  }
  const notice = new ProtocolsNotice('added', names)
  const task = part.tell({ type, change: notice.change }, true)
  notice.end()
  // It comes inside a poll, which has no place for a promise.
  dropTasks(task === undefined ? [] : [task])
}

/**
 * The parts of a composition that were removed and have not had their last word. First the connection hears of it, which
 * ends their requests; then they are drained as at the end of a connection (S4.11).
 */
export class Departures {
  /** Whether the connection is to hear of the part, by part. */
  readonly #leaving = new Map<Part, boolean>()

  /** Parts that have not had their last word, in the order in which they left. */
  get parts (): Iterable<Part> {
    return this.#leaving.keys()
  }

  /** How many those are. */
  get size (): number {
    return this.#leaving.size
  }

  /** `part` was removed. */
  add (part: Part): void {
    part.phase = 'leaving'
    this.#leaving.set(part, true)
  }

  /** The next output of a part that leaves. */
  poll (part: Part, cx: PollContext): Poll<Output> {
    if (this.#leaving.get(part) === true) {
      this.#leaving.set(part, false)
      return { type: 'cancel-outbound-request', token: PART_LEFT }
    }
    for (;;) {
      const output = part.pollLast(cx)
      if (output === PENDING) {
        return PENDING
      }
      if (output === undefined) {
        this.#end(part)
        return PENDING
      }
      if (output.type === 'outbound-stream-request') {
        // It comes too late: as soon as the connection has it, it ends as the others did.
        this.#leaving.set(part, true)
        return output
      }
      if (output.type === 'notify-behaviour') {
        return output
      }
    }
  }

  #end (part: Part): void {
    this.#leaving.delete(part)
    part.phase = 'gone'
    part.release()
  }
}
