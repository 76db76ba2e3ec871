/**
 * The test kit: what tests of protocols need, in virtual time and without randomness.
 *
 * @module testing
 */

export { chunksOf, everySplit, randomSplits } from './chunks.ts'
export { NegotiationPair } from './negotiation-pair.ts'
export { seededRandom } from './seeded-random.ts'
export type { NegotiationPairInit } from './negotiation-pair.ts'
