import { describe, expect, it } from 'vitest'
import { standingPairs } from '../../benches/memory/connections.ts'
import { bytesOfPolls } from '../../benches/memory/idle-poll.ts'

// The long form, with connections of js-libp2p as well, is benches/memory/main.ts.

describe('memory', () => {
  it('polling a connection where nothing woke allocates nothing (S10.9)', () => {
    const polls = 200_000
    // An object a poll is 12 bytes at least. What the compiler leaves on the heap meanwhile is some ten thousand bytes in all.
    expect(bytesOfPolls(polls).idle / polls).toBeLessThan(0.5)
  })

  it('a thousand pairs stand in one process', () => {
    expect(standingPairs(1000).standing).toBe(1000)
  })
})
