/** Bytes of `text` in UTF-8 from the unit at `from` on, counted without encoding it; half a surrogate pair counts as 2. */
export function utf8Length (text: string, from: number = 0): number {
  let bytes = 0
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    bytes += unit < 0x80 ? 1 : unit < 0x800 || isSurrogate(unit) ? 2 : 3
  }
  return bytes
}

function isSurrogate (unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}
