/** Answer of {@link readPrefix}: the prefix goes on in the next byte. */
export const INCOMPLETE = 0
/** Answer of {@link readPrefix}: a frame of length 0, or a length that is not written in its shortest form. */
export const MALFORMED = -1
/** Answer of {@link readPrefix}: a prefix of more than two bytes. */
export const OVERLONG = -2

/** What two bytes can count to: the largest body that any frame may have. */
export const MAX_LENGTH = 16_383

/**
 * Reads the length prefix at `at`: an unsigned varint of one or two bytes, judged on its own bytes in the order of S2.2.
 *
 * @param bytes - holds the prefix, whole or in part
 * @param at - where the prefix begins
 * @param end - the first index that is not known yet; `at` when there is nothing
 * @returns the length, at least 1, or one of {@link INCOMPLETE}, {@link MALFORMED} and {@link OVERLONG}
 */
export function readPrefix (bytes: Uint8Array, at: number, end: number): number {
  if (at >= end) {
    return INCOMPLETE
  }
  const first = bytes[at] as number
  if (first < 0x80) {
    return first === 0 ? MALFORMED : first
  }
  if (at + 1 >= end) {
    return INCOMPLETE
  }
  const second = bytes[at + 1] as number
  if (second >= 0x80) {
    return OVERLONG
  }
  return second === 0 ? MALFORMED : (second << 7) | (first & 0x7f)
}

/** Bytes that the prefix of a body of `length` bytes takes. */
export function prefixSize (length: number): number {
  return length < 0x80 ? 1 : 2
}

/** Writes the prefix of a body of `length` bytes (1 to 16 383) at `at`; returns the index behind it. */
export function writePrefix (length: number, target: Uint8Array, at: number): number {
  if (length < 0x80) {
    target[at] = length
    return at + 1
  }
  target[at] = (length & 0x7f) | 0x80
  target[at + 1] = length >> 7
  return at + 2
}
