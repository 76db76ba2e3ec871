import { show } from '../core/printable.ts'
import { streamProtocol } from './stream-protocol.ts'
import type { Waker } from '../core/poll.ts'

/** What a handler accepts: a frozen array (compared by identity), any other array, or a live {@link ProtocolList}. */
export type ProtocolListing = readonly string[] | ProtocolList

/** Tells the two forms of a listing apart, also when the list comes from another copy of this package. */
export function isProtocolList (listing: ProtocolListing): listing is ProtocolList {
  return !Array.isArray(listing)
}

/**
 * A list of protocol names that may change while handlers offer it (S3.16). Return it from `listenProtocols()`: each real
 * change wakes the handlers that returned it, on every connection, and an unchanged list costs nothing to look at.
 *
 * One list may serve many handlers and connections. Names are distinct and keep the order in which they were added. Names
 * longer than `maxFrameLength` - 1 of a connection are left out there, with a warning.
 *
 * @example
 * const protocols = new ProtocolList(['/chat/1.0.0'])
 * protocols.add('/chat/2.0.0') // true: peers are told
 */
export class ProtocolList {
  #names: Set<string>
  #version = 0
  #snapshot: readonly string[] | undefined
  readonly #wakers = new Set<Waker>()

  /**
   * @param names - what the list holds at first. Default none
   * @throws TypeError or RangeError as {@link streamProtocol} does
   */
  constructor (names: Iterable<string> = []) {
    this.#names = parseNames(names)
  }

  /** Grows with every real change, and only then. */
  get version (): number {
    return this.#version
  }

  /** The names as a frozen array: the same one until the next real change. */
  get snapshot (): readonly string[] {
    this.#snapshot ??= Object.freeze([...this.#names])
    return this.#snapshot
  }

  /**
   * Appends those of `names` that are missing; true if there were any.
   *
   * @throws TypeError or RangeError as {@link streamProtocol} does; then nothing has changed
   */
  add (...names: readonly string[]): boolean {
    const before = this.#names.size
    for (const name of parseNames(names)) {
      this.#names.add(name)
    }
    return this.#changed(this.#names.size > before)
  }

  /**
   * Takes `names` out; true if any of them was there.
   *
   * @throws TypeError or RangeError as {@link streamProtocol} does; then nothing has changed
   */
  delete (...names: readonly string[]): boolean {
    const before = this.#names.size
    for (const name of parseNames(names)) {
      this.#names.delete(name)
    }
    return this.#changed(this.#names.size < before)
  }

  /**
   * Makes `names` the whole list; true if that changed the set. The same names in another order change nothing.
   *
   * @throws TypeError or RangeError as {@link streamProtocol} does; then nothing has changed
   */
  replace (names: Iterable<string>): boolean {
    const next = parseNames(names)
    if (next.size === this.#names.size && [...next].every(name => this.#names.has(name))) {
      return false
    }
    this.#names = next
    return this.#changed(true)
  }

  /**
   * From now on every real change wakes `waker`; attaching it twice is as good as once.
   *
   * @internal
   */
  attach (waker: Waker): void {
    this.#wakers.add(waker)
  }

  /**
   * Forgets `waker`: its handler closed, or returns something else now.
   *
   * @internal
   */
  detach (waker: Waker): void {
    this.#wakers.delete(waker)
  }

  #changed (isChanged: boolean): boolean {
    if (isChanged) {
      this.#version++
      this.#snapshot = undefined
      for (const waker of this.#wakers) {
        waker.wake()
      }
    }
    return isChanged
  }
}

/** Checks all names before the first one is used. */
function parseNames (names: Iterable<string>): Set<string> {
  if (typeof names === 'string') {
    throw new TypeError(`Cannot make a list of protocols of a string: give an array of names, such as ["${show(names)}"]`)
  }
  const parsed = new Set<string>()
  for (const name of names) {
    parsed.add(streamProtocol(name))
  }
  return parsed
}
