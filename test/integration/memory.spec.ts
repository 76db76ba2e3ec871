import { describe, expect, it } from 'vitest'
import { standingPairs } from '../../benches/memory/connections.ts'
import { bytesOfPolls } from '../../benches/memory/idle-poll.ts'

// The long form, with connections of js-libp2p as well, is benches/memory/main.ts.

describe('memory', () => {
  it('polling a connection where nothing woke allocates nothing (S10.9)', () => {
    // Less than a byte for each hundred polls: one object a poll would be a thousand times as much.
    expect(bytesOfPolls(200_000).idle).toBeLessThan(2000)
  })

  it('a thousand pairs stand in one process', () => {
    expect(standingPairs(1000).standing).toBe(1000)
  })
})
