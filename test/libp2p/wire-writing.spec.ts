import '../support/polyfill.ts'
import { describe, expect, it } from 'vitest'
import { WireWriting } from '../../src/libp2p/wire-writing.ts'
import { fakeStreams } from '../support/fake-stream.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'

/** A wire of the host whose writes are joined, and what arrives at its other end. */
function writing () {
  const [wire, remote] = fakeStreams((deliver) => { deliver() })
  const scheduler = new ManualScheduler()
  const writes: number[][] = []
  remote.addEventListener('message', ({ data }) => { writes.push([...data.subarray()]) })
  const writer = new WireWriting(wire, scheduler)
  const settle = () => { scheduler.run(scheduler.microtasks) }
  return { wire, remote, scheduler, writes, writer, settle }
}

/** As {@link writing}, from the beginning. */
function following () {
  const ends = writing()
  ends.writer.follow()
  return ends
}

describe('WireWriting', () => {
  it('leaves the wire alone before the connection is known', () => {
    const { wire, writes, scheduler } = writing()
    wire.send(Uint8Array.of(1))
    expect([writes, scheduler.microtasks]).toEqual([[[1]], []])
  })

  it('sends what came in a row at once, in order, after a microtask', () => {
    const { wire, writes, settle, scheduler } = following()
    expect([1, 2, 3].map((byte) => wire.send(Uint8Array.of(byte)))).toEqual([true, true, true])
    expect([writes.length, scheduler.microtasks.length]).toEqual([0, 1])
    settle()
    wire.send(Uint8Array.of(4))
    settle()
    expect(writes).toEqual([[1, 2, 3], [4]])
  })

  it('sends much at once, behind what waits', () => {
    const { wire, writes, settle } = following()
    wire.send(new Uint8Array(16_385))
    wire.send(Uint8Array.of(1))
    wire.send(new Uint8Array(16_384))
    expect(writes.map((bytes) => bytes.length)).toEqual([16_385, 16_385])
    settle()
    expect(writes).toHaveLength(2)
  })

  it('tells as ever that the wire is full', async () => {
    const { wire, writes, settle } = following()
    wire.isClogged = true
    expect(wire.send(Uint8Array.of(1))).toBe(true)
    settle()
    expect(wire.send(Uint8Array.of(2))).toBe(false)
    expect(wire.send(Uint8Array.of(3))).toBe(false)
    wire.unclog()
    await Promise.resolve()
    expect(writes.flat()).toEqual([1, 2, 3])
  })

  it('tells of a wire that has become full while something waited', async () => {
    const { wire, writes } = following()
    wire.send(Uint8Array.of(1))
    wire.isClogged = true
    wire.onMuxerNeedsDrain()
    expect(wire.send(Uint8Array.of(2))).toBe(false)
    wire.unclog()
    await Promise.resolve()
    expect(writes.flat()).toEqual([1, 2])
  })

  it('sends what waits before the wire closes, and closes with the options that it is given', async () => {
    const { wire, writes, settle } = following()
    wire.send(Uint8Array.of(1))
    const closed = wire.close({ signal: AbortSignal.abort(new Error('no time')) })
    expect(writes).toEqual([[1]])
    await closed.catch(() => {})
    settle()
    expect(writes).toEqual([[1]])
  })

  it.each<[string, (ends: ReturnType<typeof following>) => void]>([
    ['aborted', ({ wire }) => { wire.abort(new Error('enough')) }],
    ['lost', ({ wire }) => { wire.onTransportClosed() }]
  ])('drops what waits when the wire is %s, and is refused from then on', (_, end) => {
    const ends = following()
    ends.wire.send(Uint8Array.of(1))
    end(ends)
    ends.wire.send(Uint8Array.of(2))
    expect(ends.settle).not.toThrow()
    expect(ends.writes).toEqual([])
    expect(() => ends.wire.send(Uint8Array.of(3))).toThrow('closed')
  })
})
