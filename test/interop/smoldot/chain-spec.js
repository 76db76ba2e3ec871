/**
 * A chain that does not exist, described as far as a light client wants to know before it dials: a name, where its peers are, and one
 * finalised block. Written from the byte layout; every hash, key and signature in it is made up.
 */

const hex = (bytes) => `0x${Buffer.from(bytes).toString('hex')}`
const u8 = (value) => Uint8Array.of(value)
const u32 = (value) => new Uint8Array(new Uint32Array([value]).buffer)
const u64 = (value) => new Uint8Array(new BigUint64Array([BigInt(value)]).buffer)
/** Lengths and numbers below 16384. */
const compact = (value) => value < 64 ? u8(value << 2) : Uint8Array.of((value << 2 | 1) & 0xff, value >> 6)
const ascii = (text) => new TextEncoder().encode(text)
/** So many bytes that mean nothing. */
const noise = (length, fill) => new Uint8Array(length).fill(fill)
const hash = (fill) => noise(32, fill)
const join = (...parts) => Buffer.concat(parts)

const BLOCK_NUMBER = 5
const SLOT = 1010
const NOTHING = compact(0)
const NONE = u8(0)

const header = join(
  hash(0x11), compact(BLOCK_NUMBER), hash(0x12), hash(0x13),
  // The digest: who made the block and when, and the seal.
  compact(2),
  u8(6), ascii('BABE'), compact(13), u8(2), u32(0), u64(SLOT),
  u8(5), ascii('BABE'), compact(64), noise(64, 0x14)
)

const authority = (fill) => join(compact(1), hash(fill), u64(1))

/** The epoch in which the block was made, or the next one. */
const epoch = (block, index, startSlot) => join(
  hash(0x20 + block), u32(block), u8(1),
  u64(index), u64(startSlot), u64(100), authority(0x30), hash(0x31), u64(1), u64(4), u8(1)
)

const epochChanges = join(NOTHING, NONE, compact(2), epoch(1, 1, 1000), epoch(2, 2, 1100))

const grandpa = join(authority(0x40), u64(0), NOTHING, NONE, NOTHING, NOTHING)

/** The spec as text; its genesis hash, which stands in the names of its protocols, does not depend on `bootNodes`. */
export function chainSpec (bootNodes) {
  return JSON.stringify({
    name: 'Nowhere',
    id: 'nowhere',
    chainType: 'Live',
    bootNodes,
    properties: null,
    forkBlocks: null,
    badBlocks: null,
    consensusEngine: null,
    genesis: { stateRootHash: hex(hash(0x50)) },
    lightSyncState: {
      finalizedBlockHeader: hex(header),
      babeEpochChanges: hex(epochChanges),
      babeFinalizedBlockWeight: 1,
      grandpaAuthoritySet: hex(grandpa)
    }
  })
}
