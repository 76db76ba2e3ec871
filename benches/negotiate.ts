import '../test/support/polyfill.ts'
import * as stock from '@libp2p/multistream-select'
import { handle, select } from 'libp2p-behaviours/negotiation'
import type { MessageStream } from '@libp2p/interface'

/** `select` and `handle` of this package, or those of `@libp2p/multistream-select`. */
export type Negotiator = 'ours' | 'stock'

interface Functions {
  select (stream: MessageStream, protocols: string[]): Promise<string>
  handle (stream: MessageStream, protocols: string[]): Promise<string>
}

const NEGOTIATORS: Record<Negotiator, Functions> = { ours: { select, handle }, stock }

/** What is negotiated: the last of `proposals`. */
export interface Exchange {
  readonly proposals: string[]
  /** Frozen, as any list that is used for more than one stream should be. */
  readonly listed: string[]
}

/** So many negotiations, one after the other; gives the number of ends that agreed on the last proposal. */
export type Negotiations = (iterations: number) => Promise<number>

/** Negotiations of both ends, all over the same two streams, so that no stream is made in the timed part. */
export function negotiations (negotiator: Negotiator, [outbound, inbound]: [MessageStream, MessageStream], exchange: Exchange): Negotiations {
  const { proposals, listed } = exchange
  const wanted = proposals.at(-1)
  const negotiate = NEGOTIATORS[negotiator]
  return async (iterations) => {
    let agreed = 0
    for (let left = iterations; left > 0; left--) {
      const dialer = negotiate.select(outbound, proposals)
      const listener = negotiate.handle(inbound, listed)
      agreed += Number(await listener === wanted) + Number(await dialer === wanted)
    }
    return agreed
  }
}

/** `count` names that differ near their end. */
export function namesOf (count: number): string[] {
  const names = Array.from({ length: count }, (_, index) => `/bench/${index}/1.0.0`)
  Object.freeze(names)
  return names
}
