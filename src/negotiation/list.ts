/** The answer to `ls`: one frame whose body is the frame of each name, and a newline behind them (S2.14, S2.38). */

import { concat, decodeName, encodeFrame } from './message.ts'
import { INCOMPLETE, MAX_LENGTH, prefixSize, readPrefix, writePrefix } from './varint.ts'
import type { Violated } from './outcome.ts'

const NEWLINE = 0x0a
const SLASH = 0x2f

/** By frozen list of names: its answer, or that it is too long for one. */
const known = new WeakMap<readonly string[], { readonly answer: Uint8Array | undefined }>()

/** The frame that answers `ls`, shared if `names` is frozen; undefined when it would be too long, or nobody knows the names. */
export function answerToLs (names: readonly string[] | undefined): Uint8Array | undefined {
  if (names === undefined) {
    return undefined
  }
  if (!Object.isFrozen(names)) {
    return encodeList(names)
  }
  let entry = known.get(names)
  if (entry === undefined) {
    entry = { answer: encodeList(names) }
    known.set(names, entry)
  }
  return entry.answer
}

/** Stops at the first name too many, so a long list costs no more than the longest answer. */
function encodeList (names: readonly string[]): Uint8Array | undefined {
  const frames: Uint8Array[] = []
  let length = 1
  for (const name of names) {
    const frame = encodeFrame(name)
    length += frame.length
    if (length > MAX_LENGTH) {
      return undefined
    }
    frames.push(frame)
  }
  const prefix = new Uint8Array(prefixSize(length))
  writePrefix(length, prefix, 0)
  return concat([prefix, ...frames, Uint8Array.of(NEWLINE)])
}

/**
 * Reads the answer to an `ls`. A body that is a single name is no list, even where it could be read as one.
 *
 * @param body - of the frame, without its length prefix, with the final newline
 * @returns the names in order, or what is wrong. They are the peer's: any text, to be escaped before it is shown.
 */
export function decodeList (body: Uint8Array): string[] | Violated {
  const closing = body.length - 1
  if (body[closing] !== NEWLINE) {
    return { type: 'invalid', detail: 'a list that does not end in a newline' }
  }
  if (body[0] === SLASH && body.indexOf(NEWLINE) === closing) {
    return { type: 'invalid', detail: 'a name instead of a list' }
  }
  const names: string[] = []
  for (let at = 0; at < closing;) {
    const length = readPrefix(body, at, closing)
    const start = at + prefixSize(length)
    const end = start + length
    if (length <= INCOMPLETE || end > closing) {
      return { type: 'invalid', detail: 'a list with a length that does not fit' }
    }
    if (body.indexOf(NEWLINE, start) !== end - 1) {
      return { type: 'invalid', detail: 'a list with a name that does not end in its one newline' }
    }
    names.push(decodeName(body, start, end))
    at = end
  }
  return names
}
