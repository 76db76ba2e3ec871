/**
 * Room for about a hundred first writes. An engine keeps arrays of up to 64 bytes beside their objects; for longer ones it
 * asks for memory of their own, which takes several times as long as a whole negotiation: so pieces are cut from a larger one.
 */
const SLAB_BYTES = 8192
/** Longer data has memory of its own: its copy costs more than its room, and nobody holds a slab for the sake of it. */
const MAX_SHARED_BYTES = 1024

/** Never written to again where a piece was cut from it. */
let slab = new Uint8Array(0)
let used = 0

/** `first` and `second` in one piece. Short pieces lie side by side in one memory, each byte in one piece only. */
export function joined (first: Uint8Array, second: Uint8Array): Uint8Array {
  const length = first.length + second.length
  const piece = length > MAX_SHARED_BYTES ? new Uint8Array(length) : cut(length)
  piece.set(first, 0)
  piece.set(second, first.length)
  return piece
}

/** A slab whose memory somebody transferred to another realm has length 0, and is left as a full one is. */
function cut (length: number): Uint8Array {
  if (used + length > slab.length) {
    slab = new Uint8Array(SLAB_BYTES)
    used = 0
  }
  return slab.subarray(used, used += length)
}
