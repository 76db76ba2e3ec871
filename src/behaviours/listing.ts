import { isProtocolList } from '../protocols/protocol-list.ts'
import { streamProtocol } from '../protocols/stream-protocol.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'

/** A handler that accepts nothing. */
export const NO_PROTOCOLS: readonly string[] = Object.freeze([])

/**
 * What an option `protocols` means: a frozen array, or the list itself.
 *
 * @throws TypeError or RangeError for a name that is none (S3.1)
 */
export function parseListing (protocols: string | ProtocolListing): ProtocolListing {
  if (typeof protocols === 'string') {
    return Object.freeze([streamProtocol(protocols)])
  }
  return isProtocolList(protocols) ? protocols : Object.freeze(protocols.map(name => streamProtocol(name)))
}

/** The names of a listing now. */
export function namesOf (listing: ProtocolListing): readonly string[] {
  return isProtocolList(listing) ? listing.snapshot : listing
}
