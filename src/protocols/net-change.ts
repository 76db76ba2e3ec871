/** Which way a name went. */
export type ChangeType = 'added' | 'removed'

/** What many changes of one set come to: a name that came and went, or went and came, is as it was. */
export class NetChange {
  readonly #changes = new Map<string, ChangeType>()

  /** One change more. */
  note (type: ChangeType, names: Iterable<string>): void {
    for (const name of names) {
      const before = this.#changes.get(name)
      if (before === undefined) {
        this.#changes.set(name, type)
      } else if (before !== type) {
        this.#changes.delete(name)
      }
    }
  }

  /** The names that went this way, in the order in which they did. */
  of (type: ChangeType): string[] {
    return [...this.#changes].flatMap(([name, change]) => change === type ? [name] : [])
  }

  /** Whether all is as it was. */
  get isEmpty (): boolean {
    return this.#changes.size === 0
  }
}
