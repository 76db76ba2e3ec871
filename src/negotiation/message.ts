/**
 * The messages of multistream-select 1.0.0 as bytes (S2.1). Each is a frame: length prefix, body, and the body ends in a
 * newline. Bytes that these functions give are shared between streams and must not be written to.
 */

import { prefixSize, writePrefix } from './varint.ts'

const NEWLINE = '\n'
const ENCODER = new TextEncoder()
/** Never throws: what is no UTF-8 decodes to something whose bytes differ, and names are compared by bytes. */
const DECODER = new TextDecoder('utf-8', { ignoreBOM: true })

/** The first frame of either side. */
export const HEADER: Uint8Array = encodeFrame('/multistream/1.0.0')

/** The listener's answer to a name that it does not have. */
export const REFUSAL: Uint8Array = encodeFrame('na')

/** Openings that are kept for names that were dialled: some hundred KB, for more names than a node dials in its life. */
const MAX_KNOWN_OPENINGS = 1024
const knownOpenings = new Map<string, Uint8Array>()

/** `name` as a frame. */
export function encodeFrame (name: string): Uint8Array {
  const body = ENCODER.encode(name + NEWLINE)
  const frame = new Uint8Array(prefixSize(body.length) + body.length)
  frame.set(body, writePrefix(body.length, frame, 0))
  return frame
}

/**
 * The header and the frame of `name` in one piece: how a dialer opens, and how a listener answers that agrees at once.
 * {@link frameOf} is the second part alone.
 */
export function encodeOpening (name: string): Uint8Array {
  return concat([HEADER, encodeFrame(name)])
}

/**
 * The same from a cache of the names dialled last, for valid names of this node only: nothing that a peer sent may get in.
 *
 * @param name - a local name
 * @param onMiss - asked before a name gets into the cache, with the name; throws when it is not valid
 */
export function knownOpening (name: string, onMiss: (name: string) => unknown): Uint8Array {
  const known = knownOpenings.get(name)
  if (known !== undefined) {
    return known
  }
  onMiss(name)
  const opening = encodeOpening(name)
  if (knownOpenings.size >= MAX_KNOWN_OPENINGS) {
    for (const oldest of knownOpenings.keys()) {
      knownOpenings.delete(oldest)
      break
    }
  }
  knownOpenings.set(name, opening)
  return opening
}

/** The frame in an opening, without the header. */
export function frameOf (opening: Uint8Array): Uint8Array {
  return opening.subarray(HEADER.length)
}

/**
 * Whether the body from `start` to `end`, newline included, is the body of the frame that begins at `frameStart` and fills
 * the rest of `bytes`.
 */
export function isBodyOf (bytes: Uint8Array, frameStart: number, body: Uint8Array, start: number, end: number): boolean {
  const length = end - start
  const shift = bytes.length - length - start
  if (start + shift !== frameStart + prefixSize(length)) {
    return false
  }
  for (let at = start; at < end; at++) {
    if (bytes[at + shift] !== body[at]) {
      return false
    }
  }
  return true
}

/** The name in the body from `start` to `end`, newline included. Not exact for bytes that are no UTF-8. */
export function decodeName (body: Uint8Array, start: number, end: number): string {
  return DECODER.decode(body.subarray(start, end - NEWLINE.length))
}

/** `parts` in one piece. */
export function concat (parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
