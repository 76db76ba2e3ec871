import { InvalidStateError } from '../errors.ts'

/** Names of one change, on a buffer that the connection reuses: valid during the callback only (S3.11). */
export interface ProtocolsView extends Iterable<string> {
  /** Names in the change, at least 1. */
  readonly size: number
  /** Looks through the names one by one. */
  has (protocol: string): boolean
  /** A frozen copy that stays valid; made once, however many handlers ask. */
  toArray (): readonly string[]
}

/**
 * Names that came or went (S3.9). When handlers hear of it the new set is in force already. Any use of `protocols` after
 * the callback throws `InvalidStateError`.
 */
export interface ProtocolsChange {
  readonly type: 'added' | 'removed'
  readonly protocols: ProtocolsView
}

/**
 * The connection's end of one {@link ProtocolsChange}: it lends a buffer to the callbacks and takes it back. One notice
 * serves all handlers; no name is copied unless somebody asks.
 *
 * @example
 * const notice = new ProtocolsNotice('added', local.added)
 * handler.onConnectionEvent({ type: 'local-protocols-change', change: notice.change })
 * notice.end()
 */
export class ProtocolsNotice {
  /** What the handlers are given. */
  readonly change: ProtocolsChange
  #names: readonly string[] | undefined

  /**
   * @param type - whether the names came or went
   * @param names - not copied: must not change before {@link end}
   */
  constructor (type: ProtocolsChange['type'], names: readonly string[]) {
    this.#names = names
    this.change = Object.freeze({ type, protocols: new LentNames(this) })
  }

  /**
   * The names, while they are lent.
   *
   * @throws InvalidStateError after {@link end}
   */
  get names (): readonly string[] {
    if (this.#names === undefined) {
      throw new InvalidStateError('Cannot read protocols of a change: they are valid during its callback only, keep what toArray() gives')
    }
    return this.#names
  }

  /** All callbacks have returned: every later use of the change throws. */
  end (): void {
    this.#names = undefined
  }
}

/** Goes through the notice for every name, so that an iterator that outlives the callback throws as well. */
class LentNames implements ProtocolsView {
  readonly #notice: ProtocolsNotice
  #copy: readonly string[] | undefined

  constructor (notice: ProtocolsNotice) {
    this.#notice = notice
  }

  get size (): number {
    return this.#notice.names.length
  }

  has (protocol: string): boolean {
    return this.#notice.names.includes(protocol)
  }

  toArray (): readonly string[] {
    const { names } = this.#notice
    this.#copy ??= Object.freeze([...names])
    return this.#copy
  }

  * [Symbol.iterator] (): Iterator<string> {
    for (let at = 0; at < this.size; at++) {
      yield this.#notice.names[at] as string
    }
  }
}
