import { NEVER, checkInstant, earliest } from './instant.ts'
import type { Instant } from './instant.ts'
import type { PollContext } from './poll.ts'

/** Who polls many machines as one. */
export interface WokenPartsOwner<Part> {
  /** `part` woke, or is to be polled again. */
  partTouched (part: Part): void
  /** All of its machines; asked when a deadline has come. */
  members (): Iterable<Part>
}

/**
 * One of many machines that are polled as one, as the context of its polls: with its deadline, and with its place in one of
 * the two queues of {@link WokenParts}, so that queueing allocates nothing.
 */
export abstract class WokenPart<Self extends WokenPart<Self>> implements PollContext {
  now: Instant = 0
  wakeInstant: Instant = NEVER
  queue: PartQueue<Self> | undefined
  before: Self | undefined
  behind: Self | undefined

  /** See {@link PollContext}. */
  abstract wake (): void

  /** See {@link PollContext}. */
  wakeAt (instant: Instant): void {
    this.wakeInstant = checkInstant(instant)
    this.deadlineMoved()
  }

  /** `wakeInstant` has another value. */
  protected abstract deadlineMoved (): void
}

/**
 * A queue that a part is in once, and can leave from any place. Not a `LinkedList`: its count and its check of membership
 * would cost a twelfth of a turn in which one part woke.
 */
class PartQueue<Part extends WokenPart<Part>> {
  first: Part | undefined
  last: Part | undefined

  push (part: Part): void {
    const { last } = this
    if (last === undefined) {
      this.first = part
    } else {
      last.behind = part
    }
    part.before = last
    part.queue = this
    this.last = part
  }

  remove (part: Part): void {
    const { before, behind } = part
    if (before === undefined) {
      this.first = behind
    } else {
      before.behind = behind
    }
    if (behind === undefined) {
      this.last = before
    } else {
      behind.before = before
    }
    part.before = undefined
    part.behind = undefined
    part.queue = undefined
  }
}

/**
 * Which of many machines are to be polled, oldest wake first (S4.8, S4.13). One that gave a value goes to the end of the
 * queue, so it delays another by at most one value; one that woke itself during its own poll and then had nothing to say
 * waits for the next turn, unless somebody else wakes it in this one.
 */
export class WokenParts<Part extends WokenPart<Part>> {
  readonly #owner: WokenPartsOwner<Part>
  #cx: PollContext | undefined
  #ready: PartQueue<Part> = new PartQueue()
  /** Made for the first one that waits. */
  #later: PartQueue<Part> | undefined
  #polled: Part | undefined
  #hasWokenItself = false
  /** No part's deadline is earlier than this. */
  #nextDeadline: Instant = NEVER

  /**
   * @param owner - hears of each part that is queued
   */
  constructor (owner: WokenPartsOwner<Part>) {
    this.#owner = owner
  }

  /** Queues `part` for this turn. */
  touch (part: Part): void {
    this.#owner.partTouched(part)
    if (part.queue !== this.#ready) {
      part.queue?.remove(part)
      this.#ready.push(part)
    }
  }

  /** `part` is not to be polled. */
  remove (part: Part): void {
    part.queue?.remove(part)
  }

  /** Who is woken; undefined before the first poll, or {@link attach}. */
  get cx (): PollContext | undefined {
    return this.#cx
  }

  /** `part` asks for a poll. */
  woke (part: Part): void {
    if (part === this.#polled) {
      this.#hasWokenItself = true
    } else {
      this.rouse(part)
    }
  }

  /** Somebody else wants `part` polled. The poll of a part that is running comes by it, or asks for another turn. */
  rouse (part: Part): void {
    this.touch(part)
    if (this.#polled === undefined) {
      this.#cx?.wake()
    }
  }

  /** `part` asks for a poll at another instant than before. */
  wakesAt (part: Part): void {
    if (part === this.#polled && part.wakeInstant <= part.now) {
      part.wakeInstant = NEVER
      this.#hasWokenItself = true
    } else if (part.wakeInstant < this.#nextDeadline) {
      this.#nextDeadline = part.wakeInstant
      this.#cx?.wakeAt(part.wakeInstant)
    }
  }

  /** A poll begins: follows its context, and queues the parts that are due. */
  begin (cx: PollContext): void {
    if (this.#cx !== cx) {
      this.attach(cx)
    }
    if (cx.now >= this.#nextDeadline) {
      this.#wakeDue(cx)
    }
  }

  /** From now on `cx` is who is woken. */
  attach (cx: PollContext): void {
    if (this.#cx !== cx) {
      this.#cx = cx
      if (this.#nextDeadline !== NEVER) {
        cx.wakeAt(this.#nextDeadline)
      }
    }
  }

  /** Takes out the part that is to be polled now; {@link polled} is to follow. */
  take (): Part | undefined {
    const part = this.#ready.first
    if (part !== undefined) {
      this.#ready.remove(part)
      this.#polled = part
      this.#hasWokenItself = false
    }
    return part
  }

  /**
   * The poll of `part` is over.
   *
   * @param isMore - whether it gave a value, after which it is polled again in this turn
   */
  polled (part: Part, isMore: boolean): void {
    this.#polled = undefined
    if (isMore) {
      this.touch(part)
    } else if (this.#hasWokenItself) {
      this.#later ??= new PartQueue()
      this.#later.push(part)
    }
  }

  /** Nobody has anything to say, or enough was said: asks for another turn for those that are left, or wait for it. */
  endTurn (cx: PollContext): void {
    if (this.#later !== undefined) {
      this.#queueLater(this.#later)
    }
    if (this.#ready.first !== undefined) {
      cx.wake()
    }
  }

  #queueLater (later: PartQueue<Part>): void {
    if (this.#ready.first === undefined) {
      const none = this.#ready
      this.#ready = later
      this.#later = none
    } else {
      for (let part = later.first; part !== undefined; part = later.first) {
        this.touch(part)
      }
    }
  }

  #wakeDue (cx: PollContext): void {
    this.#nextDeadline = NEVER
    for (const part of this.#owner.members()) {
      if (part.wakeInstant <= cx.now) {
        part.wakeInstant = NEVER
        this.touch(part)
      }
      this.#nextDeadline = earliest(this.#nextDeadline, part.wakeInstant)
    }
    cx.wakeAt(this.#nextDeadline)
  }
}
