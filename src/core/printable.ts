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
  const left = isText ? byteLength(text, at) : text.length - at
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

/** UTF-8 bytes of `text` from the unit at `from` on, counted without encoding it. */
function byteLength (text: string, from: number): number {
  let bytes = 0
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : isSurrogate(unit) ? 2 : 3
  }
  return bytes
}

function isSurrogate (unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}
