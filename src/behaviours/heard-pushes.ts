import { NEVER } from '../core/instant.ts'
import { saidAfter } from './identify-message.ts'
import { Paced } from './paced.ts'
import type { Connection as HostConnection } from '@libp2p/interface'
import type { Instant } from '../core/instant.ts'
import type { IdentifyMessage } from './identify-message.ts'

/** Pushes of a peer that are taken in at once, and milliseconds until one more may be: an honest peer is slower. */
const BURST = 10
const INTERVAL_MS = 1000

/** What a peer said in pushes, and where. */
export interface Heard {
  readonly message: IdentifyMessage
  readonly connection: HostConnection | undefined
}

/** Pushes that were read, and not taken in yet, as one: a peer that pushes in a loop costs no more than its bytes. */
export class HeardPushes {
  readonly #pace = new Paced(BURST, INTERVAL_MS)
  #heard: Heard | undefined

  /** When they may be taken in; never, if there are none. */
  get nextAt (): Instant {
    return this.#heard === undefined ? NEVER : this.#pace.nextAt
  }

  /** One more was read: what it leaves out is as the ones before it said. */
  add ({ message, connection }: Heard): void {
    const before = this.#heard
    this.#heard = {
      message: before === undefined ? message : saidAfter(before.message, message),
      connection: connection ?? before?.connection
    }
  }

  /** The peer has said all of itself, and later. */
  clear (): void {
    this.#heard = undefined
  }

  /** Takes them out, if it is time. */
  take (now: Instant): Heard | undefined {
    const heard = this.#heard
    if (heard === undefined || this.#pace.nextAt > now) {
      return undefined
    }
    this.#heard = undefined
    this.#pace.take(now)
    return heard
  }
}
