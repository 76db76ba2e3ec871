/**
 * The messages of multistream-select 1.0.0 as bytes (S2.1). Each is a frame: a length prefix, and a body that ends in a
 * newline. An *opening* is the header and the frame of a name in one piece: how a dialer begins, and how a listener answers
 * that agrees at once. All bytes made here are shared between streams and are never written to.
 */

import { prefixSize, writePrefix } from './varint.ts'

const ENCODER = new TextEncoder()
/** Never throws: what is not UTF-8 becomes a text whose bytes are others, and names are compared by their bytes. */
const DECODER = new TextDecoder('utf-8', { ignoreBOM: true })

/** The first frame of either side. */
export const HEADER: Uint8Array = encodeFrame('/multistream/1.0.0')

/** The listener's answer to a name that it does not have. */
export const REFUSAL: Uint8Array = encodeFrame('na')

/** The dialer's request for the list of names. */
export const LIST_REQUEST: Uint8Array = encodeFrame('ls')

/** `name` as a frame. */
export function encodeFrame (name: string): Uint8Array {
  const body = ENCODER.encode(`${name}\n`)
  const frame = new Uint8Array(prefixSize(body.length) + body.length)
  frame.set(body, writePrefix(body.length, frame, 0))
  return frame
}

/** The header and the frame of `name` in one piece. */
export function encodeOpening (name: string): Uint8Array {
  return concat([HEADER, encodeFrame(name)])
}

/** The frame in an opening, without the header. */
export function frameOf (opening: Uint8Array): Uint8Array {
  return opening.subarray(HEADER.length)
}

/**
 * Whether a message equals a known one, byte by byte.
 *
 * @param bytes - hold the body of the message, its newline included, from `start` to before `end`
 * @param start - see `bytes`
 * @param end - see `bytes`
 * @param known - ends in the frame to compare with
 * @param at - where that frame begins
 */
export function isMessage (bytes: Uint8Array, start: number, end: number, known: Uint8Array, at: number): boolean {
  const shift = at + prefixSize(end - start) - start
  if (end + shift !== known.length) {
    return false
  }
  for (let index = start; index < end; index++) {
    if (bytes[index] !== known[index + shift]) {
      return false
    }
  }
  return true
}

/** The name in the body from `start` to before `end`, its newline left out. Not exact for bytes that are not UTF-8. */
export function decodeName (bytes: Uint8Array, start: number, end: number): string {
  return DECODER.decode(bytes.subarray(start, end - 1))
}

/** `parts` in one piece. */
export function concat (parts: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const part of parts) {
    length += part.length
  }
  const whole = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
