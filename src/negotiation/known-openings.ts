import { streamProtocol } from '../protocols/stream-protocol.ts'
import { encodeOpening } from './message.ts'

/** More names than a node dials; at the default frame limit they take 1 MB at most. */
const MAX_KNOWN = 1024

/** By name, the one known longest first. Names of this node only: nothing that a peer sent gets in. */
const known = new Map<string, Uint8Array>()

/**
 * The opening of a name to be dialled, encoded and checked once for as long as it is known.
 *
 * @param name - a protocol name of this node
 * @throws TypeError or RangeError when it is not valid (S3.1)
 */
export function openingOf (name: string): Uint8Array {
  let opening = known.get(name)
  if (opening === undefined) {
    opening = encodeOpening(streamProtocol(name))
    forgetOldest()
    known.set(name, opening)
  }
  return opening
}

function forgetOldest (): void {
  const [oldest] = known.size < MAX_KNOWN ? [] : known.keys()
  if (oldest !== undefined) {
    known.delete(oldest)
  }
}
