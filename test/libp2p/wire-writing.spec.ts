import '../support/polyfill.ts'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { Uint8ArrayList } from 'uint8arraylist'
import { WireWriting } from '../../src/libp2p/wire-writing.ts'
import { fakeStreams } from '../support/fake-stream.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'
import type { FakeStream } from '../support/fake-stream.ts'

/** A wire of the host whose writes are joined, and what arrives at its other end. */
function joining (prepare: (wire: FakeStream) => void = () => {}) {
  const [wire, remote] = fakeStreams((deliver) => { deliver() })
  const scheduler = new ManualScheduler()
  const writes: Uint8Array[] = []
  const aborts: string[] = []
  remote.addEventListener('message', ({ data }) => { writes.push(data.subarray()) })
  prepare(wire)
  const writer = new WireWriting(wire, { abort: ({ message }) => { aborts.push(message) } }, scheduler)
  const microtask = () => { scheduler.run(scheduler.microtasks) }
  const settle = () => {
    while (scheduler.microtasks.length > 0) {
      microtask()
    }
  }
  return {
    wire, remote, scheduler, writer, microtask, settle, aborts,
    /** Bytes of each write. */
    get writes () { return writes.map((bytes) => [...bytes]) },
    get lengths () { return writes.map(({ byteLength }) => byteLength) }
  }
}

/** A chunk of so many bytes. */
const chunk = (length: number, byte = 0) => new Uint8Array(length).fill(byte)

describe('WireWriting: order and limits', () => {
  it('sends small chunks that came in a row at once, in order, after some microtasks', () => {
    const ends = joining()
    expect([1, 2, 3].map((byte) => ends.wire.send(Uint8Array.of(byte)))).toEqual([true, true, true])
    expect([ends.writes.length, ends.scheduler.microtasks.length]).toEqual([0, 1])
    ends.settle()
    ends.wire.send(new Uint8ArrayList(Uint8Array.of(4), Uint8Array.of(5)))
    ends.settle()
    expect(ends.writes).toEqual([[1, 2, 3], [4, 5]])
  })

  it('has the wire refuse at once what is no chunk to it, and sends what was given before and after', () => {
    const ends = joining()
    ends.wire.send(Uint8Array.of(1))
    const foreign = runInNewContext('Uint8Array.of(2)') as Uint8Array
    expect(() => ends.wire.send(foreign)).toThrow('Could not append value')
    expect(() => ends.wire.send('two' as unknown as Uint8Array)).toThrow('Could not append value')
    ends.wire.send(Uint8Array.of(3))
    ends.settle()
    expect([ends.writes, ends.aborts, ends.wire.status]).toEqual([[[1], [3]], [], 'open'])
  })

  it('waits three microtasks from the first chunk on, however many come meanwhile', () => {
    const ends = joining()
    for (const byte of [1, 2, 3]) {
      ends.wire.send(Uint8Array.of(byte))
      expect(ends.writes).toEqual([])
      ends.microtask()
    }
    expect(ends.writes).toEqual([[1, 2, 3]])
    expect(ends.scheduler.microtasks).toEqual([])
  })

  it('waits as long for what comes after a write that was made early', () => {
    const ends = joining()
    ends.wire.send(Uint8Array.of(1))
    ends.microtask()
    ends.wire.send(chunk(2049))
    ends.wire.send(Uint8Array.of(2))
    ends.microtask()
    ends.wire.send(Uint8Array.of(3))
    ends.microtask()
    expect(ends.lengths).toEqual([1, 2049])
    ends.microtask()
    expect(ends.lengths).toEqual([1, 2049, 2])
  })

  it('copies what waits: the buffer is the caller\'s again', () => {
    const ends = joining()
    const bytes = Uint8Array.of(1, 2)
    ends.wire.send(bytes)
    bytes.fill(9)
    ends.settle()
    expect(ends.writes).toEqual([[1, 2]])
  })

  it('sends a chunk that is not small in the same call, as a write of its own behind what waited', () => {
    const ends = joining()
    ends.wire.send(Uint8Array.of(1))
    ends.wire.send(chunk(2049))
    expect(ends.lengths).toEqual([1, 2049])
    ends.wire.send(chunk(2048))
    expect(ends.lengths).toEqual([1, 2049])
    ends.settle()
    expect(ends.lengths).toEqual([1, 2049, 2048])
  })

  it('lets no more than 8 KiB wait, however much is sent in one turn', () => {
    const ends = joining()
    for (let sent = 0; sent < 1000; sent++) {
      ends.wire.send(chunk(1000, sent % 256))
    }
    ends.settle()
    expect(ends.lengths).toEqual(new Array(125).fill(8000))
    const bytes = ends.writes.flat()
    expect(bytes.every((byte, at) => byte === Math.floor(at / 1000) % 256)).toBe(true)
    expect(ends.scheduler.microtasks).toEqual([])
  })

  it('keeps the order of chunks of all sizes, with pauses anywhere', () => {
    const ends = joining()
    const sent: number[] = []
    for (let at = 0; at < 500; at++) {
      const bytes = chunk([1, 12, 300, 2048, 2049, 5000][(at * 7) % 6] ?? 1, at % 251)
      sent.push(...bytes)
      ends.wire.send(at % 2 === 0 ? bytes : new Uint8ArrayList(bytes.subarray(0, 1), bytes.subarray(1)))
      if (at % 11 === 0) {
        ends.settle()
      }
    }
    ends.settle()
    expect(Buffer.from(ends.writes.flat()).equals(Buffer.from(sent))).toBe(true)
  })

  it('keeps the order when a write leads to another one at once', () => {
    const ends = joining()
    let echoed = false
    ends.remote.addEventListener('message', () => {
      if (!echoed) {
        echoed = true
        ends.wire.send(Uint8Array.of(2))
        ends.wire.send(chunk(3000, 3))
      }
    })
    ends.wire.send(Uint8Array.of(1))
    ends.settle()
    ends.wire.send(Uint8Array.of(4))
    ends.settle()
    expect(ends.writes.flat().filter((byte, at, all) => byte !== all[at - 1])).toEqual([1, 2, 3, 4])
  })

  it('has nothing scheduled and nothing kept while nothing is sent', () => {
    const { scheduler, writer, writes } = joining()
    writer.flush()
    expect([writes, scheduler.microtasks]).toEqual([[], []])
  })
})

describe('WireWriting: a full wire', () => {
  it('tells as ever that the wire is full, and sends on when it is not any more', async () => {
    const ends = joining()
    ends.wire.isClogged = true
    expect(ends.wire.send(Uint8Array.of(1))).toBe(true)
    ends.settle()
    expect(ends.wire.send(Uint8Array.of(2))).toBe(false)
    expect(ends.wire.send(chunk(3000, 3))).toBe(false)
    expect(ends.scheduler.microtasks).toEqual([])
    ends.wire.unclog()
    await Promise.resolve()
    expect(ends.writes.flat()).toEqual([1, 2, ...chunk(3000, 3)])
  })

  it('tells of it in the call that finds no room for what waits', () => {
    const ends = joining()
    ends.wire.isClogged = true
    const answers = Array.from({ length: 6 }, () => ends.wire.send(chunk(2000)))
    expect(answers).toEqual([true, true, true, true, false, false])
  })

  it('tells of a wire that has become full while something waited', async () => {
    const ends = joining()
    ends.wire.send(Uint8Array.of(1))
    ends.wire.isClogged = true
    ends.wire.onMuxerNeedsDrain()
    expect(ends.wire.send(Uint8Array.of(2))).toBe(false)
    ends.wire.unclog()
    await Promise.resolve()
    expect(ends.writes.flat()).toEqual([1, 2])
  })

  it('answers a big chunk as the wire does', () => {
    const ends = joining()
    expect(ends.wire.send(chunk(100_000))).toBe(true)
    ends.wire.isClogged = true
    expect(ends.wire.send(chunk(100_000))).toBe(false)
  })
})

describe('WireWriting: the end of a wire', () => {
  it('sends what waits before the wire closes, and closes with the options that it is given', async () => {
    const ends = joining((wire) => { wire.close = async (options) => { options?.signal?.throwIfAborted() } })
    ends.wire.send(Uint8Array.of(1))
    const closed = ends.wire.close({ signal: AbortSignal.abort(new Error('no time')) })
    expect(ends.writes).toEqual([[1]])
    await expect(closed).rejects.toThrow('no time')
    ends.settle()
    expect(ends.writes).toEqual([[1]])
  })

  it('sends what waits before the wire is aborted', () => {
    const ends = joining()
    ends.wire.send(Uint8Array.of(1))
    ends.wire.abort(new Error('enough'))
    expect([ends.writes, ends.wire.status]).toEqual([[[1]], 'aborted'])
    expect(ends.settle).not.toThrow()
    expect(ends.aborts).toEqual([])
  })

  it('drops what waits when the wire is lost, and is refused from then on', () => {
    const ends = joining()
    ends.wire.send(Uint8Array.of(1))
    ends.wire.onTransportClosed()
    expect(() => ends.wire.send(Uint8Array.of(2))).toThrow('closed')
    expect(ends.settle).not.toThrow()
    expect([ends.writes, ends.aborts]).toEqual([[], []])
    expect(() => ends.wire.send(Uint8Array.of(3))).toThrow('closed')
    expect(() => ends.wire.send(chunk(3000))).toThrow('closed')
  })

  it('leaves it to a wire that ends by a failed write to tell its muxer', () => {
    const ends = joining((wire) => { wire.sendData = () => { throw new Error('cipher spent') } })
    const errors: unknown[] = []
    ends.wire.addEventListener('close', ({ error }) => { errors.push(error?.message) })
    ends.wire.send(Uint8Array.of(1))
    expect(ends.settle).not.toThrow()
    expect([errors, ends.aborts, ends.wire.status]).toEqual([['cipher spent'], [], 'aborted'])
  })

  it('ends muxer and wire with the error of a failed write if the wire goes on: some of the bytes are lost', () => {
    const ends = joining((wire) => { wire.send = () => { throw new Error('no memory') } })
    ends.wire.send(Uint8Array.of(1))
    expect(ends.settle).not.toThrow()
    expect([ends.aborts, ends.wire.status]).toEqual([['no memory'], 'aborted'])
  })

  it('throws the error of a failed write to whose call it happens in', () => {
    const ends = joining((wire) => { wire.send = () => { throw new Error('no memory') } })
    ends.wire.send(Uint8Array.of(1))
    expect(() => ends.wire.send(chunk(3000))).toThrow('no memory')
    expect([ends.aborts, ends.wire.status]).toEqual([['no memory'], 'aborted'])
  })

  it('ends once, even if the muxer says goodbye over the broken wire', () => {
    const ends = joining((wire) => { wire.send = () => { throw new Error('no memory') } })
    const said: string[] = []
    const muxer = {
      abort ({ message }: Error) {
        said.push(message)
        if (said.length < 5) {
          ends.wire.send(Uint8Array.of(9))
        }
      }
    }
    const writer = new WireWriting(ends.wire, muxer, ends.scheduler)
    ends.wire.send(Uint8Array.of(1))
    writer.flush()
    expect(ends.settle).not.toThrow()
    expect(ends.wire.status).toBe('aborted')
  })
})
