import { BoundedQueue } from '../core/bounded-queue.ts'
import type { ConnectionReport, ProtocolsReport } from './connection-output.ts'

/** Reports that wait for a reader. */
const MAX_REPORTS = 1024

/** What has become of each name since the last change that is in the queue; bounded by the names of the two sets between. */
type NetChange = Map<string, 'added' | 'removed'>

/**
 * Reports that wait for a reader. When there are too many, changes of protocol sets are folded into one per side behind the
 * others, so that who adds them up comes to the right sets however late he reads; other reports are counted, and the number
 * is told behind everything else (S9.1).
 */
export class Reports {
  readonly #queue: BoundedQueue<ConnectionReport> = new BoundedQueue(MAX_REPORTS)
  /** Made when a change finds no room: most readers are never late. */
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
    const net: NetChange = this.#folded.get(side) ?? new Map<string, 'added' | 'removed'>()
    this.#folded.set(side, net)
    note(net, added, 'added')
    note(net, removed, 'removed')
  }

  #shiftFolded (): ProtocolsReport | undefined {
    for (const [side, net] of this.#folded ?? []) {
      this.#folded?.delete(side)
      if (net.size > 0) {
        return { type: 'protocols-change', side, added: namesWith(net, 'added'), removed: namesWith(net, 'removed') }
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

/** A name that comes and goes, or goes and comes, is as it was. */
function note (net: NetChange, names: readonly string[], change: 'added' | 'removed'): void {
  for (const name of names) {
    const before = net.get(name)
    if (before === undefined) {
      net.set(name, change)
    } else if (before !== change) {
      net.delete(name)
    }
  }
}

function namesWith (net: NetChange, change: 'added' | 'removed'): readonly string[] {
  return Object.freeze([...net].flatMap(([name, is]) => is === change ? [name] : []))
}
