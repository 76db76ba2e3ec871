/** Every stream that a peer opens for an accepted name is taken once, or reset; the queue keeps within its limits (S10.12). */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StreamAcceptors } from '../../src/behaviours/stream-acceptors.ts'
import { StreamAdapter } from '../../src/libp2p/stream-adapter.ts'
import { fakeStreams } from '../support/fake-stream.ts'
import { ALICE, BOB, CAROL, NEVER_ABORTED, NOBODY } from '../support/virtual-world.ts'
import type { PeerId } from '@libp2p/interface'
import type { NegotiatedStream } from '../../src/behaviour/negotiated-stream.ts'
import type { AcceptedStream } from '../../src/behaviours/accepted-streams.ts'
import type { FakeStream } from '../support/fake-stream.ts'

const PROTOCOL = '/p'

interface Offered {
  readonly peer: PeerId
  readonly stream: NegotiatedStream
  readonly far: FakeStream
  isTaken: boolean
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('offer' as const), peer: fc.constantFrom(ALICE, BOB, CAROL) }) },
  { weight: 3, arbitrary: fc.constant({ type: 'take' as const }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('reset' as const), at: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('end-far' as const), at: fc.nat(20) }) }
)
const limits = fc.record({ maxWaiting: fc.integer({ min: 1, max: 5 }), maxWaitingPerPeer: fc.integer({ min: 1, max: 4 }) })

const isAlive = ({ stream }: Offered): boolean => stream.status !== 'reset' && stream.status !== 'aborted'

describe('streams that wait to be taken', () => {
  it('are taken in order, reset only for want of room, and never lost', { timeout: 60_000 }, async () => {
    await fc.assert(fc.asyncProperty(limits, fc.array(step, { maxLength: 60, size: 'max' }), async (limits, steps) => {
      const acceptors = new StreamAcceptors()
      const told: AcceptedStream[] = []
      const queue = acceptors.accept(PROTOCOL, limits, undefined, (accepted) => { told.push(accepted) })
      const all: Offered[] = []
      const taken: NegotiatedStream[] = []
      let consumers = 0
      let rejected = 0
      const waiting = (): Offered[] => all.filter((offered) => !offered.isTaken && isAlive(offered))
      for (const next of steps) {
        switch (next.type) {
          case 'offer': {
            const before = waiting()
            const hasRoom = before.length < limits.maxWaiting && before.filter(({ peer }) => peer === next.peer).length < limits.maxWaitingPerPeer
            const [far, near] = fakeStreams((deliver) => { deliver() })
            const port = new StreamAdapter(near, NOBODY)
            port.accept(PROTOCOL)
            const offered: Offered = { peer: next.peer, stream: port.stream, far, isTaken: consumers > 0 }
            all.push(offered)
            void acceptors.take(port.stream, { peer: next.peer, connection: 'c', protocol: PROTOCOL, signal: NEVER_ABORTED })
            expect(isAlive(offered)).toBe(consumers > 0 || hasRoom)
            rejected += isAlive(offered) ? 0 : 1
            consumers = Math.max(0, consumers - 1)
            break
          }
          case 'take': {
            const [oldest] = waiting()
            if (oldest === undefined) {
              consumers++
            } else {
              oldest.isTaken = true
            }
            void queue.next().then(({ value }) => { taken.push(...value === undefined ? [] : [value.stream]) })
            break
          }
          case 'reset':
            all[next.at]?.far.abort(new Error('gone'))
            break
          case 'end-far':
            void all[next.at]?.far.close()
        }
        await Promise.resolve()
        expect(queue.rejected).toBe(rejected)
        expect(waiting().length).toBeLessThanOrEqual(limits.maxWaiting)
      }
      const left = waiting()
      await queue.return()
      expect(taken.map((stream) => all.findIndex((offered) => offered.stream === stream))).toEqual(all.flatMap(({ isTaken }, at) => isTaken ? [at] : []))
      expect(left.every((offered) => !isAlive(offered))).toBe(true)
      expect(told.length).toBeLessThanOrEqual(rejected)
      expect(told.length > 0).toBe(rejected > 0)
      expect(acceptors.names.snapshot).toEqual([])
    }), { numRuns: 300 })
  })
})
