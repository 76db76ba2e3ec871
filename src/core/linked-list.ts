/**
 * What can be in a {@link LinkedList}: in one at a time. The links are the list's; a member that was taken out has none, so
 * that one which is garbage holds no other back.
 */
export class Linked<Self> {
  declare list: object | undefined
  declare before: Self | undefined
  declare after: Self | undefined

  /** Assigned and not defined: with as many subclasses as this has, defining fields takes ten times as long. */
  constructor () {
    this.list = undefined
    this.before = undefined
    this.after = undefined
  }
}

/**
 * Members in the order in which they came, each of which can be found and taken out at once, as the links are its own.
 *
 * For what comes and goes at a high rate, in place of a `Map` or `Set`: those get a new table after so many changes, the old
 * one goes on holding what was in it, and once a table has grown old, everything that it holds outlives every collection of
 * young objects. That costs several times what hashing does.
 */
export class LinkedList<Member extends Linked<Member>> implements Iterable<Member> {
  #first: Member | undefined
  #last: Member | undefined
  #size = 0

  /** Members. */
  get size (): number {
    return this.#size
  }

  /** Whether something is in this list. */
  has (member: unknown): member is Member {
    return member instanceof Linked && member.list === this
  }

  /** Puts `member`, which is in no list, at the end. */
  push (member: Member): void {
    member.list = this
    member.before = this.#last
    if (this.#last === undefined) {
      this.#first = member
    } else {
      this.#last.after = member
    }
    this.#last = member
    this.#size++
  }

  /** Takes `member` out; false, and nothing happens, if it is not in here. */
  remove (member: Member): boolean {
    if (member.list !== this) {
      return false
    }
    const { before, after } = member
    if (before === undefined) {
      this.#first = after
    } else {
      before.after = after
    }
    if (after === undefined) {
      this.#last = before
    } else {
      after.before = before
    }
    member.list = undefined
    member.before = undefined
    member.after = undefined
    this.#size--
    return true
  }

  /** Takes the oldest out; undefined when empty. */
  shift (): Member | undefined {
    const first = this.#first
    if (first !== undefined) {
      this.remove(first)
    }
    return first
  }

  /** Takes all out. */
  clear (): void {
    while (this.shift() !== undefined) {
      // One by one, as each has to lose its links.
    }
  }

  /** Oldest first; the one that was given last may be taken out meanwhile, and any may be added. */
  * [Symbol.iterator] (): Iterator<Member> {
    for (let member = this.#first; member !== undefined;) {
      const { after } = member
      yield member
      member = member.list === this ? member.after : after
    }
  }
}
