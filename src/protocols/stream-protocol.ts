import { show } from '../core/printable.ts'
import { utf8Length } from '../core/utf8.ts'

declare const streamProtocolBrand: unique symbol

/** A protocol name that passed {@link streamProtocol}. Two names are equal when their bytes are: `===` on the strings. */
export type StreamProtocol = string & { readonly [streamProtocolBrand]: true }

/** Bytes of the longest name that a frame can carry: its prefix counts to 16 383, and a newline follows the name. */
export const MAX_PROTOCOL_BYTES = 16_382

/** Opens every negotiation, so it can never be proposed. */
const NEGOTIATION_HEADER = '/multistream/1.0.0'

/** With the `u` flag a surrogate matches only where it is half a pair. */
const HALF_PAIR = /\p{Surrogate}/u

/**
 * Parses a protocol name (S3.1).
 *
 * @param text - the name as it goes over the wire
 * @param maxBytes - longest name in UTF-8 bytes; on a connection `maxFrameLength` - 1. Default 16 382
 * @throws TypeError when `text` is no protocol name; the message shows it and the rule it breaks
 * @throws RangeError when it is longer than `maxBytes`
 */
export function streamProtocol (text: string, maxBytes: number = MAX_PROTOCOL_BYTES): StreamProtocol {
  const form = brokenForm(text)
  if (form !== undefined) {
    throw new TypeError(`Cannot use protocol name: it ${form}, received ${typeof text === 'string' ? `"${show(text)}"` : typeof text}`)
  }
  const length = brokenLength(text, maxBytes)
  if (length !== undefined) {
    throw new RangeError(`Cannot use protocol name: it ${length}, received "${show(text)}"`)
  }
  return text as StreamProtocol
}

/**
 * The rule of S3.1 that `name` breaks, such as `must start with "/"`; undefined when it breaks none. For listings and
 * reports, where a broken name is left out and nothing is thrown.
 *
 * @param name - whatever was listed
 * @param maxBytes - longest name in UTF-8 bytes
 */
export function brokenProtocolRule (name: unknown, maxBytes: number): string | undefined {
  return brokenForm(name) ?? brokenLength(String(name), maxBytes)
}

function brokenForm (name: unknown): string | undefined {
  if (typeof name !== 'string') {
    return 'must be a string'
  }
  if (!name.startsWith('/')) {
    return 'must start with "/"'
  }
  if (name.includes('\n')) {
    return 'must not contain a newline'
  }
  if (HALF_PAIR.test(name)) {
    return 'must be well-formed Unicode'
  }
  return name === NEGOTIATION_HEADER ? `must not be "${NEGOTIATION_HEADER}"` : undefined
}

function brokenLength (name: string, maxBytes: number): string | undefined {
  return utf8Length(name) > maxBytes ? `must have at most ${maxBytes} bytes` : undefined
}
