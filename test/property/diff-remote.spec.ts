import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RemoteProtocols } from '../../src/protocols/index.ts'
import { NaiveRemoteProtocols } from '../support/naive-protocols.ts'

const name = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('/a', '/b', '/c', '/d', '/é', '/😀', '/long/name', '/__proto__') },
  { weight: 1, arbitrary: fc.constantFrom('', 'a', '/a\n', '/\udc00', '/longer/than/12') }
)

const source = fc.constantFrom<unknown>('host', Object.freeze({ part: 1 }), Object.freeze({ part: 2 }))

const report = fc.record({
  source,
  change: fc.constantFrom('added' as const, 'removed' as const, 'replaced' as const, 'withdraw' as const),
  protocols: fc.array(name, { maxLength: 8 })
})
type Report = typeof report extends fc.Arbitrary<infer Value> ? Value : never

const limits = fc.record({
  maxNames: fc.constantFrom(1, 3, 1024),
  maxBytes: fc.constantFrom(4, 12, 65_536),
  maxNameBytes: fc.constant(12)
})

function apply<Result> (
  set: { apply (source: unknown, change: 'added' | 'removed' | 'replaced', protocols: readonly string[]): Result, withdraw (source: unknown): Result },
  { source, change, protocols }: Report
): Result {
  return change === 'withdraw' ? set.withdraw(source) : set.apply(source, change, protocols)
}

describe('the remote set (S10.8)', () => {
  it('folding its notices gives the union over the sources, in the order of its slow twin', () => {
    fc.assert(fc.property(fc.array(report, { maxLength: 30 }), limits, (reports, limits) => {
      const remote = new RemoteProtocols(limits)
      const twin = new NaiveRemoteProtocols(limits)
      const folded = new Set<string>()
      for (const report of reports) {
        const { added, removed } = apply(twin, report)
        const isChanged = apply(remote, report)
        expect({ isChanged, added: remote.added, removed: remote.removed })
          .toEqual({ isChanged: added.length + removed.length > 0, added, removed })
        for (const name of remote.added) {
          expect(folded.has(name)).toBe(false)
          folded.add(name)
        }
        for (const name of remote.removed) {
          expect(folded.delete(name)).toBe(true)
        }
        expect([...remote.names()]).toEqual([...twin.names])
        expect(folded).toEqual(new Set([...twin.sources.values()].flat()))
      }
    }), { numRuns: 1000 })
  })

  it('after any burst the final state equals the last full report of each source', () => {
    const burst = fc.array(fc.record({ source, protocols: fc.uniqueArray(fc.constantFrom('/a', '/b', '/c', '/d'), { maxLength: 4 }) }), { maxLength: 30 })
    fc.assert(fc.property(burst, reports => {
      const remote = new RemoteProtocols({ maxNames: 1024, maxBytes: 65_536, maxNameBytes: 1023 })
      for (const { source, protocols } of reports) {
        remote.apply(source, 'replaced', protocols)
      }
      const last = new Map(reports.map(({ source, protocols }) => [source, protocols]))
      expect(new Set(remote.toArray())).toEqual(new Set([...last.values()].flat()))
    }))
  })

  it('no source holds more than its limits, and what is left out of a report is told (S3.21)', () => {
    fc.assert(fc.property(fc.array(report, { maxLength: 30 }), limits, (reports, limits) => {
      const remote = new RemoteProtocols(limits)
      for (const report of reports) {
        apply(remote, report)
        if (remote.truncated !== undefined) {
          expect(remote.truncated.kept).toBeLessThanOrEqual(limits.maxNames)
          expect(remote.truncated.dropped).toBeGreaterThan(0)
          expect(remote.truncated.dropped).toBeLessThanOrEqual(report.protocols.length)
        } else if (report.change === 'replaced') {
          expect(report.protocols.every(name => remote.has(name))).toBe(true)
        }
        expect(remote.size).toBeLessThanOrEqual(3 * limits.maxNames)
        expect(Buffer.byteLength(remote.toArray().join(''))).toBeLessThanOrEqual(3 * limits.maxBytes)
      }
    }))
  })
})
