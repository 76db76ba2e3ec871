/** The place of one open stream among those of its protocol. */
export class ProtocolSlot {
  #slots: ProtocolSlots | undefined
  readonly #protocol: string

  constructor (slots: ProtocolSlots, protocol: string) {
    this.#slots = slots
    this.#protocol = protocol
  }

  /** The stream has ended; calling it again changes nothing. */
  release (): void {
    this.#slots?.released(this.#protocol)
    this.#slots = undefined
  }
}

/** How many streams of each protocol are open in one direction, and that they are not too many (S5.8). */
export class ProtocolSlots {
  /** Most open streams of one protocol. */
  readonly limit: number
  /** Made with the first stream: most connections have few. Only names that this side listed or asked for are in it. */
  #counts: Map<string, number> | undefined

  /**
   * @param limit - most open streams of one protocol; `Infinity` for no limit
   */
  constructor (limit: number) {
    this.limit = limit
  }

  /** A stream was agreed on `protocol`; undefined when there are too many. */
  take (protocol: string): ProtocolSlot | undefined {
    const counts = this.#counts ??= new Map<string, number>()
    const count = counts.get(protocol) ?? 0
    if (count >= this.limit) {
      return undefined
    }
    counts.set(protocol, count + 1)
    return new ProtocolSlot(this, protocol)
  }

  /** For {@link ProtocolSlot} alone. */
  released (protocol: string): void {
    const count = this.#counts?.get(protocol) ?? 0
    if (count > 1) {
      this.#counts?.set(protocol, count - 1)
    } else {
      this.#counts?.delete(protocol)
    }
  }
}
