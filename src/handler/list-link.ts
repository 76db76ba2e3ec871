import { isProtocolList } from '../protocols/protocol-list.ts'
import type { Waker } from '../core/poll.ts'
import type { ProtocolList, ProtocolListing } from '../protocols/protocol-list.ts'

/** Lets the `ProtocolList` that a handler returned at its last listing wake that handler, and no other one (S3.16). */
export class ListLink {
  readonly #waker: Waker
  #list: ProtocolList | undefined

  constructor (waker: Waker) {
    this.#waker = waker
  }

  /** The handler lists `listing` now. */
  follow (listing: ProtocolListing): void {
    this.#attach(isProtocolList(listing) ? listing : undefined)
  }

  /** The handler has ended: no list wakes it any more. */
  release (): void {
    this.#attach(undefined)
  }

  #attach (list: ProtocolList | undefined): void {
    if (list === this.#list) {
      return
    }
    this.#list?.detach(this.#waker)
    this.#list = undefined
    // Not by `?.`: what is neither a list nor an array has to throw here, inside the handler's own call.
    if (list !== undefined) {
      list.attach(this.#waker)
      this.#list = list
    }
  }
}
