/** Measured in every run beside the cells that are asked for. */

import { matrix } from './matrix.ts'
import type { Matrix } from './matrix.ts'

/** Bits that are mixed, so that the loop cannot be folded into a formula. */
const MULTIPLIER = 0x9e3779b1

/**
 * Two bodies that no change of any library touches. The empty one is the floor below which a figure says nothing. The fixed
 * one tells how fast the machine is today: NEVER EDIT IT, as saved baselines are compared through it.
 */
const controls: Matrix = matrix({
  name: 'control',
  axes: { variant: ['empty', 'fixed'] },
  setup: ({ variant }) => ({ variant, words: Uint32Array.from({ length: 256 }, (_, index) => Math.imul(index, MULTIPLIER)) }),
  run: ({ variant, words }, iterations) => variant === 'empty' ? empty(iterations) : fixed(words, iterations),
  verify: (_, { iterations, checksum }) => checksum >= iterations
})

export default controls

function empty (iterations: number): number {
  let sum = 0
  for (let left = iterations; left > 0; left--) {
    sum++
  }
  return sum
}

/** Always at least `iterations`, because each pass adds at least 1. */
function fixed (words: Uint32Array, iterations: number): number {
  let sum = 0
  let mixed = 1
  for (let left = iterations; left > 0; left--) {
    for (let index = 0; index < words.length; index++) {
      mixed = Math.imul(mixed ^ (words[index] ?? 0), MULTIPLIER) >>> 7
    }
    sum += 1 + (mixed & 1)
  }
  return sum
}
