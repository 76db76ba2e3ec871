import { utf8Length } from './utf8.ts'

/** Characters of a peer's text that are shown; enough for any real protocol name, too few to flood a log. */
const MAX_SHOWN = 80

/**
 * Text that came from a peer, made safe for logs, error messages and labels (S2.37): printable ASCII only, everything else
 * escaped, cut at 80 characters and followed by `...(+N bytes)`. The result has at most 120 characters.
 *
 * @param text - a string, or bytes as they came from the wire
 */
export function show (text: string | Uint8Array): string {
  const isText = typeof text === 'string'
  let shown = ''
  let at = 0
  for (; at < text.length; at++) {
    const piece = escapeUnit(isText ? text.charCodeAt(at) : text[at] ?? 0)
    if (shown.length + piece.length > MAX_SHOWN) {
      break
    }
    shown += piece
  }
  const left = isText ? utf8Length(text, at) : text.length - at
  return left === 0 ? shown : `${shown}...(+${left} bytes)`
}

function escapeUnit (unit: number): string {
  if (unit === 0x0a) {
    return '\\n'
  }
  if (unit === 0x5c) {
    return '\\\\'
  }
  if (unit >= 0x20 && unit < 0x7f) {
    return String.fromCharCode(unit)
  }
  return unit > 0xff
    ? `\\u${unit.toString(16).padStart(4, '0')}`
    : `\\x${unit.toString(16).padStart(2, '0')}`
}
