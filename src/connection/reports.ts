import { BoundedQueue } from '../core/bounded-queue.ts'
import { NetChange } from '../protocols/net-change.ts'
import type { ConnectionReport, ProtocolsReport } from './connection-output.ts'

/** Reports that wait for a reader. */
const MAX_REPORTS = 1024

/**
 * Reports that wait for a reader. When there are too many, changes of protocol sets are folded into one per side behind the
 * others, so that who adds them up comes to the right sets however late he reads; other reports are counted, and the number
 * is told behind everything else (S9.1).
 */
export class Reports {
  readonly #queue: BoundedQueue<ConnectionReport> = new BoundedQueue(MAX_REPORTS)
  /**
   * Since the last change that is in the queue; bounded by the names of the two sets between. Made when a change finds no room:
   * most readers are never late.
   */
  #folded: Map<ProtocolsReport['side'], NetChange> | undefined
  #dropped = 0

  /** Whether none waits. */
  get isEmpty (): boolean {
    return this.#queue.size === 0 && this.#folded === undefined && this.#dropped === 0
  }

  /** Appends a report, or what is to be known of it if there is no room. */
  push (report: ConnectionReport): void {
    if (report.type === 'protocols-change') {
      // What follows a folded change must not overtake it.
      if (this.#folded?.has(report.side) === true || !this.#queue.push(report)) {
        this.#fold(report)
      }
    } else if (!this.#queue.push(report)) {
      this.#dropped++
    }
  }

  /** Takes the oldest out; undefined when none waits. */
  shift (): ConnectionReport | undefined {
    return this.#queue.shift() ?? this.#shiftFolded() ?? this.#shiftDropped()
  }

  #fold ({ side, added, removed }: ProtocolsReport): void {
    this.#folded ??= new Map<ProtocolsReport['side'], NetChange>()
    const net = this.#folded.get(side) ?? new NetChange()
    this.#folded.set(side, net)
    net.note('added', added)
    net.note('removed', removed)
  }

  #shiftFolded (): ProtocolsReport | undefined {
    for (const [side, net] of this.#folded ?? []) {
      this.#folded?.delete(side)
      if (!net.isEmpty) {
        return { type: 'protocols-change', side, added: Object.freeze(net.of('added')), removed: Object.freeze(net.of('removed')) }
      }
    }
    this.#folded = undefined
    return undefined
  }

  #shiftDropped (): ConnectionReport | undefined {
    const count = this.#dropped
    this.#dropped = 0
    return count === 0 ? undefined : { type: 'limit-reached', option: 'maxReports', limit: MAX_REPORTS, count }
  }
}
