import { kindOf } from '../core/options.ts'
import { isProtocolList } from '../protocols/protocol-list.ts'
import { streamProtocol } from '../protocols/stream-protocol.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'

/** A handler that accepts nothing. */
export const NO_PROTOCOLS: readonly string[] = Object.freeze([])

/**
 * What an option `protocols` means: a frozen array, or the list itself.
 *
 * @param action - what the caller was doing, for the message
 * @throws TypeError when it is no listing at all
 * @throws TypeError or RangeError for a name that is none (S3.1)
 */
export function parseListing (protocols: string | ProtocolListing, action: string): ProtocolListing {
  if (typeof protocols === 'string') {
    return Object.freeze([streamProtocol(protocols)])
  }
  if (!isListing(protocols)) {
    throw new TypeError(`${action}: protocols must be a name, an array of names or a ProtocolList, received ${kindOf(protocols)}`)
  }
  return isProtocolList(protocols) ? protocols : Object.freeze(protocols.map(name => streamProtocol(name)))
}

function isListing (value: unknown): boolean {
  return Array.isArray(value) || (typeof value === 'object' && value !== null && 'snapshot' in value)
}

/** The names of a listing now. */
export function namesOf (listing: ProtocolListing): readonly string[] {
  return isProtocolList(listing) ? listing.snapshot : listing
}
