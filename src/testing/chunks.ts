/**
 * Ways in which a byte stream may arrive in pieces. A machine that reads bytes must do the same for all of them. Pieces
 * share the memory of what they are cut from.
 */

import { seededRandom } from '../core/seeded-random.ts'

/**
 * `bytes` in pieces of the given sizes, in turn and from the first size again; the last piece may be shorter. No bytes give
 * no piece.
 *
 * @param bytes - what is cut
 * @param sizes - bytes of each piece, at least 1; `Infinity` takes all that is left
 * @throws RangeError when there is no size, or one is below 1
 */
export function chunksOf (bytes: Uint8Array, ...sizes: number[]): Uint8Array[] {
  if (sizes.length === 0 || !sizes.every(size => size >= 1)) {
    throw new RangeError(`Cannot cut bytes: sizes must be at least 1, received ${sizes.join() || 'none'}`)
  }
  const chunks: Uint8Array[] = []
  for (let at = 0; at < bytes.length;) {
    for (const size of sizes) {
      chunks.push(bytes.subarray(at, at + size))
      at += size
      if (at >= bytes.length) {
        break
      }
    }
  }
  return chunks
}

/**
 * Every split that says something about a single boundary: `bytes` whole, cut in two at each inner place, and in single
 * bytes. That is n + 1 splits of n bytes; all 2^(n - 1) of them are for {@link randomSplits} to sample.
 */
export function * everySplit (bytes: Uint8Array): Generator<Uint8Array[]> {
  yield [bytes]
  for (let at = 1; at < bytes.length; at++) {
    yield [bytes.subarray(0, at), bytes.subarray(at)]
  }
  yield chunksOf(bytes, 1)
}

/**
 * `count` splits of `bytes`, the same ones for the same seed: from mostly whole to mostly single bytes, with empty pieces
 * here and there.
 */
export function * randomSplits (bytes: Uint8Array, count: number, seed: number): Generator<Uint8Array[]> {
  const random = seededRandom(seed)
  for (let split = 0; split < count; split++) {
    yield randomSplit(bytes, random)
  }
}

function randomSplit (bytes: Uint8Array, random: () => number): Uint8Array[] {
  const cutting = random()
  const chunks: Uint8Array[] = []
  let from = 0
  for (let at = 0; at < bytes.length; at++) {
    while (random() < cutting / 2) {
      chunks.push(bytes.subarray(from, at))
      from = at
    }
  }
  chunks.push(bytes.subarray(from))
  return chunks
}
