import '../support/polyfill.ts'
import { describe, expect, it } from 'vitest'
import { Backlog } from '../../src/libp2p/backlog.ts'
import { StreamWriter } from '../../src/libp2p/stream-writer.ts'
import { fakeStreams } from '../support/fake-stream.ts'
import type { FakeStream } from '../support/fake-stream.ts'

const LIMITS = { maxUnflushedBytesPerStream: 10, maxUnflushedBytes: 25 }
const tick = async () => new Promise((resolve) => setImmediate(resolve))

/** A stream with a writer, and what came of each write. */
function open (backlog: Backlog = new Backlog(LIMITS)) {
  const [stream, remote] = fakeStreams((deliver) => { deliver() })
  const received: number[] = []
  remote.addEventListener('message', ({ data }) => { received.push(...data.subarray()) })
  const writer = new StreamWriter(stream, backlog)
  const outcomes: string[] = []
  const write = (...bytes: number[]) => {
    const name = `${bytes.length} bytes from ${bytes[0] ?? 'none'}`
    writer.write(Uint8Array.from(bytes)).then(() => { outcomes.push(name) }, (error: unknown) => { outcomes.push(`${name}: ${(error as Error).name}`) })
  }
  return { stream, remote, writer, received, outcomes, write }
}

const range = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index)
const heldBy = (streams: FakeStream[]) => streams.reduce((sum, { writeBufferLength }) => sum + writeBufferLength, 0)

describe('StreamWriter (S5.12)', () => {
  it('sends at once what the muxer takes, whatever its length', async () => {
    const { write, received, outcomes } = open()
    write(...range(200))
    write()
    await tick()
    expect([received, outcomes]).toEqual([range(200), ['200 bytes from 0', '0 bytes from none']])
  })

  it('at the limit of the stream a write pends until it drains, and not a byte is lost or out of order', async () => {
    const { stream, write, received, outcomes } = open()
    stream.isClogged = true
    write(...range(4))
    write(...range(30, 4))
    write(...range(3, 34))
    await tick()
    expect([stream.writeBufferLength, outcomes]).toEqual([10, ['4 bytes from 0']])
    stream.unclog()
    await tick()
    expect([received, outcomes]).toEqual([range(37), ['4 bytes from 0', '30 bytes from 4', '3 bytes from 34']])
  })

  it('waits every time, not only the first', async () => {
    const { stream, write, outcomes } = open()
    for (let round = 0; round < 3; round++) {
      stream.isClogged = true
      write(...range(15, round))
      await tick()
      expect([outcomes.length, stream.writeBufferLength]).toEqual([round, 10])
      stream.unclog()
      await tick()
    }
    expect(outcomes).toHaveLength(3)
  })

  it('at the limit of the connection writes pend on all its streams, and the oldest goes on first', async () => {
    const backlog = new Backlog(LIMITS)
    const all = range(4).map(() => open(backlog))
    for (const { stream, write } of all) {
      stream.isClogged = true
      write(...range(10))
    }
    await tick()
    expect([heldBy(all.map(({ stream }) => stream)), all.map(({ outcomes }) => outcomes.length)]).toEqual([25, [1, 1, 0, 0]])
    all[0]?.stream.unclog()
    await tick()
    expect([heldBy(all.map(({ stream }) => stream)), all.map(({ outcomes }) => outcomes.length)]).toEqual([25, [1, 1, 1, 0]])
    for (const { stream } of all) {
      stream.unclog()
      await tick()
    }
    expect(all.map(({ received }) => received)).toEqual(range(4).map(() => range(10)))
  })

  it('a stream that ends gives back what it held', async () => {
    const backlog = new Backlog(LIMITS)
    const all = range(3).map(() => open(backlog))
    for (const { stream, write } of all) {
      stream.isClogged = true
      write(...range(10))
    }
    all[0]?.stream.abort(new Error('gone'))
    await tick()
    expect(all.map(({ outcomes }) => outcomes)).toEqual([['10 bytes from 0'], ['10 bytes from 0'], ['10 bytes from 0']])
    expect(backlog.roomFor(0)).toBe(5)
  })

  it.each<[string, (stream: FakeStream, remote: FakeStream) => void, string]>([
    ['is reset', (_, remote) => { remote.abort(new Error('gone')) }, 'StreamResetError'],
    ['is aborted', stream => { stream.abort(new RangeError('mine')) }, 'RangeError'],
    ['loses its transport', stream => { stream.onTransportClosed() }, 'StreamResetError']
  ])('a write that pends rejects once when the stream %s, and later ones at once', async (_, end, name) => {
    const { stream, remote, write, outcomes } = open()
    stream.isClogged = true
    write(...range(20))
    write(...range(5))
    await tick()
    end(stream, remote)
    await tick()
    write(1)
    await tick()
    expect(outcomes).toEqual([`20 bytes from 0: ${name}`, `5 bytes from 0: ${name}`, '1 bytes from 1: StreamStateError'])
    expect(stream.status).not.toBe('open')
  })

  it('a signal ends a write that waits, of which nothing is sent then; the others go on (S8.20)', async () => {
    const { stream, writer, received, write, outcomes } = open()
    const controller = new AbortController()
    await expect(writer.write(Uint8Array.of(99), AbortSignal.abort('no'))).rejects.toMatchObject({ name: 'AbortError', cause: 'no' })
    stream.isClogged = true
    write(...range(10))
    const aborted = expect(writer.write(Uint8Array.of(99), controller.signal)).rejects.toMatchObject({ name: 'AbortError', cause: 'enough' })
    write(...range(5, 10))
    await tick()
    controller.abort('enough')
    await aborted
    stream.unclog()
    await tick()
    expect([received, outcomes]).toEqual([range(15), ['10 bytes from 0', '5 bytes from 10']])
    const done = new AbortController()
    await writer.write(Uint8Array.of(15), done.signal)
    done.abort()
    expect([stream.status, received.at(-1)]).toEqual(['open', 15])
  })

  it('a signal aborts the stream when a part of the write has been sent (S8.20)', async () => {
    const { stream, writer } = open()
    const controller = new AbortController()
    stream.isClogged = true
    const aborted = expect(writer.write(Uint8Array.from(range(30)), controller.signal)).rejects.toMatchObject({ name: 'AbortError' })
    await tick()
    controller.abort()
    await aborted
    expect(stream.status).toBe('aborted')
  })

  it('leaves no listener behind', async () => {
    const { stream, write } = open()
    const count = () => ['drain', 'idle', 'close'].map((type) => stream.listenerCount(type))
    const before = count()
    stream.isClogged = true
    write(...range(20))
    await tick()
    stream.unclog()
    await tick()
    expect(count()).toEqual(before)
  })

  it('holds no more than its limits under any order of writes and drains', async () => {
    const backlog = new Backlog(LIMITS)
    const all = range(5).map(() => open(backlog))
    const sent = all.map((): number[] => [])
    for (let step = 0; step < 300; step++) {
      const index = step * 7 % 5
      const { stream, write } = all[index] as ReturnType<typeof open>
      if (step % 3 === 0) {
        stream.isClogged = step % 2 === 0
        stream.onMuxerDrain()
      } else {
        const bytes = range(step % 13, step % 200)
        sent[index]?.push(...bytes)
        write(...bytes)
      }
      await tick()
      expect(heldBy(all.map((one) => one.stream))).toBeLessThanOrEqual(25)
      expect(Math.max(...all.map((one) => one.stream.writeBufferLength))).toBeLessThanOrEqual(10)
    }
    for (let rounds = 0; rounds < 100; rounds++) {
      for (const { stream } of all) {
        stream.unclog()
      }
      await tick()
    }
    expect(all.map(({ received }) => received)).toEqual(sent)
    expect(backlog.roomFor(0)).toBe(10)
  })
})
