import '../support/polyfill.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TurnBudget } from '../../src/libp2p/turn-budget.ts'
import { WireReading } from '../../src/libp2p/wire-reading.ts'
import { fakeStreams } from '../support/fake-stream.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'
import type { StreamMuxer } from '@libp2p/interface'

/** A wire of the host, and a muxer that takes `costMs` for each byte. */
function reading (costMs: number, budgetMs = 5) {
  const [wire, remote] = fakeStreams((deliver) => { deliver() })
  const scheduler = new ManualScheduler()
  const pieces: number[] = []
  const bytes: number[] = []
  let onBytes = () => {}
  const through = new WireReading(wire)
  const muxer = {} as StreamMuxer
  const made = through.attach(() => {
    wire.addEventListener('message', ({ data }) => {
      pieces.push(data.byteLength)
      bytes.push(...data.subarray())
      scheduler.advance(costMs * data.byteLength)
      onBytes()
    })
    wire.addEventListener('close', () => { bytes.push(-1) })
    return muxer
  })
  const follow = () => { through.follow(new TurnBudget(scheduler, budgetMs)) }
  const turn = () => {
    scheduler.run(scheduler.macrotasks)
    while (scheduler.microtasks.length > 0) {
      scheduler.run(scheduler.microtasks)
    }
  }
  const rest = () => {
    let turns = 0
    for (; scheduler.macrotasks.length > 0; turns++) {
      turn()
    }
    return turns
  }
  return { wire, remote, scheduler, pieces, bytes, made, muxer, follow, turn, rest, whenBytes: (task: () => void) => { onBytes = task } }
}

const range = (count: number) => Array.from({ length: count }, (_, index) => index % 251)

describe('WireReading (S10.23)', () => {
  it('gives the muxer the wire itself, unchanged but for the listeners that it added', () => {
    const { wire, made, muxer } = reading(0)
    expect(made).toBe(muxer)
    expect(Object.hasOwn(wire, 'addEventListener')).toBe(false)
  })

  it('lets everything through as it comes, before the connection is known', () => {
    const { remote, pieces } = reading(1)
    remote.send(new Uint8Array(100_000))
    expect(pieces).toEqual([100_000])
  })

  it('hands small pieces on as they are, while there is time', () => {
    const { remote, follow, pieces, scheduler } = reading(0)
    follow()
    remote.send(new Uint8Array(2048))
    remote.send(new Uint8Array(10))
    expect([pieces, scheduler.macrotasks]).toEqual([[2048, 10], []])
  })

  it('leaves the rest to the next turn once the time is spent, with the wire paused meanwhile', () => {
    const { wire, remote, follow, pieces, bytes, turn, rest } = reading(0.002)
    follow()
    remote.send(Uint8Array.from(range(10_000)))
    expect([pieces, wire.readStatus]).toEqual([[2048, 2048], 'paused'])
    remote.send(Uint8Array.from(range(3000)))
    turn()
    expect([pieces.length, wire.readStatus]).toEqual([4, 'paused'])
    rest()
    expect([bytes, wire.readStatus]).toEqual([[...range(10_000), ...range(3000)], 'readable'])
    expect(Math.max(...pieces)).toBe(2048)
  })

  it.each<[string, (ends: ReturnType<typeof reading>) => void]>([
    ['in order', ({ wire }) => { wire.onTransportClosed() }],
    ['with an error', ({ wire }) => { wire.onTransportClosed(new Error('lost')) }]
  ])('when the wire closes %s, what was read before comes before it, and a muxer may answer into the void', (how, close) => {
    const ends = reading(1)
    ends.follow()
    ends.whenBytes(() => { ends.wire.send(Uint8Array.of(1)) })
    ends.remote.send(Uint8Array.from(range(5000)))
    ends.remote.send(Uint8Array.from(range(10)))
    expect(ends.bytes).toHaveLength(2048)
    close(ends)
    expect(ends.bytes).toEqual([...range(5000), ...how === 'in order' ? range(10) : [], -1])
    expect(() => ends.wire.send(Uint8Array.of(1))).toThrow('closed')
    expect([ends.rest(), ends.bytes.at(-1)]).toEqual([1, -1])
  })

  it('gets on even when there is no time at all', () => {
    const { remote, scheduler, follow, bytes, rest } = reading(0, 0)
    scheduler.tickMs = 1
    follow()
    remote.send(Uint8Array.from(range(10_000)))
    expect([rest(), bytes.length]).toEqual([5, 10_000])
  })

  it('loses nothing and keeps the order, whatever comes when and costs what', () => {
    const [send, work] = [fc.record({ send: fc.integer({ min: 0, max: 9000 }) }), fc.record({ work: fc.integer({ min: 0, max: 10 }) })]
    const step = fc.oneof(send, work, fc.constant({ turn: true }))
    fc.assert(fc.property(fc.constantFrom(0, 0.0001, 0.003, 1), fc.array(step, { maxLength: 12 }), (cost, steps) => {
      const { remote, follow, bytes, turn, rest, scheduler, wire } = reading(cost)
      follow()
      const sent: number[] = []
      for (const one of steps) {
        if ('send' in one) {
          sent.push(...range(one.send))
          remote.send(Uint8Array.from(range(one.send)))
        } else if ('turn' in one) {
          turn()
        } else {
          scheduler.advance(one.work)
        }
      }
      rest()
      expect(bytes).toEqual(sent)
      expect(wire.readStatus).toBe('readable')
    }), { numRuns: 60 })
  })
})
