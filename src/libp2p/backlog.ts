import { hostScheduler } from './scheduler.ts'
import type { Scheduler } from './scheduler.ts'

/** Limits of a {@link Backlog}: the options of these names. */
export interface BacklogLimits {
  readonly maxUnflushedBytesPerStream: number
  readonly maxUnflushedBytes: number
}

/** A stream that waits until its connection may hold more. */
export interface BacklogMember {
  /** There is room, for now. */
  onRoom (): void
}

/** How many bytes the streams of one connection hold that its muxer does not take yet, and who waits for it to be fewer (S5.12). */
export class Backlog {
  readonly #limits: BacklogLimits
  readonly #waiting = new Set<BacklogMember>()
  readonly #scheduler: Pick<Scheduler, 'soon'>
  #bytes = 0

  /**
   * @param limits - the options
   * @param scheduler - runs what streams have to do when they have drained
   */
  constructor (limits: BacklogLimits, scheduler: Pick<Scheduler, 'soon'> = hostScheduler({ keepProcessAlive: false })) {
    this.#limits = limits
    this.#scheduler = scheduler
  }

  /** How many bytes a stream may add that holds `own` already; 0 at either limit. */
  roomFor (own: number): number {
    const { maxUnflushedBytesPerStream, maxUnflushedBytes } = this.#limits
    return Math.max(0, Math.min(maxUnflushedBytesPerStream - own, maxUnflushedBytes - this.#bytes))
  }

  /** A stream holds more or less than before; what it gives free goes to those that wait, oldest first. */
  changed (difference: number): void {
    this.#bytes += difference
    if (difference >= 0) {
      return
    }
    for (const member of this.#waiting) {
      if (this.roomFor(0) === 0) {
        return
      }
      this.#waiting.delete(member)
      member.onRoom()
    }
  }

  /** `member` is told once there is room. */
  wait (member: BacklogMember): void {
    this.#waiting.add(member)
  }

  /** Runs `task` in a microtask. */
  soon (task: () => void): void {
    this.#scheduler.soon(task)
  }

  /** `member` waits no longer. */
  forget (member: BacklogMember): void {
    this.#waiting.delete(member)
  }
}
