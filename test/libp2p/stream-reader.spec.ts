import '../support/polyfill.ts'
import { byteStream } from '@libp2p/utils'
import { describe, expect, it } from 'vitest'
import { chunksOf } from '../../src/libp2p/stream-reader.ts'
import { fakeStreams } from '../support/fake-stream.ts'
import type { FakeStream } from '../support/fake-stream.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)
const textOf = (chunk: { subarray (): Uint8Array }) => new TextDecoder().decode(chunk.subarray())

/** A stream whose remote end the test plays, and the latch of its end. */
function pair () {
  const [stream, remote] = fakeStreams((deliver) => { deliver() })
  const end = { remoteEnded: false }
  stream.addEventListener('remoteCloseWrite', () => { end.remoteEnded = true })
  return { stream, remote, end }
}

async function read (stream: FakeStream, end: { remoteEnded: boolean }): Promise<string> {
  let text = ''
  for await (const chunk of chunksOf(stream, end)) {
    text += textOf(chunk)
  }
  return text
}

const tick = async () => new Promise((resolve) => setImmediate(resolve))

describe('chunksOf (S2.31)', () => {
  it.each(['before', 'after'] as const)('gives all bytes, then the end, when the iteration began %s they came', async (when) => {
    const { stream, remote, end } = pair()
    const reading = when === 'before' ? read(stream, end) : undefined
    await tick()
    remote.send(bytesOf('one '))
    remote.send(bytesOf('two'))
    await remote.close()
    expect(await (reading ?? read(stream, end))).toBe('one two')
  })

  it('gives the end again on every later iteration', async () => {
    const { stream, remote, end } = pair()
    remote.send(bytesOf('text'))
    await remote.close()
    expect([await read(stream, end), await read(stream, end), await read(stream, end)]).toEqual(['text', '', ''])
  })

  it.each(['before', 'after'] as const)('gives the bytes before a reset, then throws it, when the iteration began %s it', async (when) => {
    const { stream, remote, end } = pair()
    const chunks: string[] = []
    const reading = async () => {
      for await (const chunk of chunksOf(stream, end)) {
        chunks.push(textOf(chunk))
      }
    }
    const early = when === 'before' ? expect(reading()).rejects.toMatchObject({ name: 'StreamResetError' }) : undefined
    await tick()
    remote.send(bytesOf('half'))
    remote.abort(new Error('gone'))
    await (early ?? expect(reading()).rejects.toMatchObject({ name: 'StreamResetError' }))
    expect(chunks).toEqual(['half'])
  })

  it('throws what the stream was aborted with, and another error when the iteration begins later', async () => {
    const { stream, end } = pair()
    const error = new Error('enough')
    const reading = expect(read(stream, end)).rejects.toBe(error)
    await tick()
    stream.abort(error)
    await reading
    await expect(read(stream, end)).rejects.toMatchObject({ name: 'StreamAbortedError' })
  })

  it.each(['lost with an error', 'aborted here'] as const)('gives all that was received before a paused stream was %s, then the error', async (how) => {
    const { stream, remote, end } = pair()
    const chunks = chunksOf(stream, end, 1000)
    const first = chunks.next()
    for (let at = 0; at < 8; at++) {
      remote.send(new Uint8Array(400))
    }
    await first
    await tick()
    expect([stream.readStatus, stream.readBufferLength > 0]).toEqual(['paused', true])
    if (how === 'aborted here') {
      stream.abort(new Error('cut'))
    } else {
      stream.onTransportClosed(new Error('cut'))
    }
    let bytes = 400
    await expect((async () => {
      for await (const chunk of { [Symbol.asyncIterator]: () => chunks }) {
        bytes += chunk.byteLength
      }
    })()).rejects.toThrow('cut')
    expect(bytes).toBe(3200)
  })

  it('throws when the connection is lost, which looks like an end', async () => {
    const { stream, end } = pair()
    const reading = expect(read(stream, end)).rejects.toMatchObject({ name: 'StreamResetError' })
    await tick()
    stream.onTransportClosed()
    await reading
    expect(stream.readableEnded).toBe(true)
    await expect(read(stream, end)).rejects.toMatchObject({ name: 'StreamResetError' })
  })

  it('ends when this side closes its reading, whatever the remote does', async () => {
    const { stream, end } = pair()
    const reading = read(stream, end)
    await tick()
    await stream.closeRead()
    expect(await reading).toBe('')
  })

  it('reads on after this side closed its writing', async () => {
    const { stream, remote, end } = pair()
    await stream.close()
    const reading = read(stream, end)
    remote.send(bytesOf('answer'))
    await remote.close()
    expect(await reading).toBe('answer')
  })

  it('gives back what it read ahead when the loop is left early', async () => {
    const { stream, remote, end } = pair()
    const chunks = chunksOf(stream, end)
    const first = chunks.next()
    remote.send(bytesOf('one'))
    await first
    remote.send(bytesOf('two'))
    remote.send(bytesOf('three'))
    await chunks.return()
    expect(textOf(await byteStream(stream).read({ bytes: 8 }))).toBe('twothree')
  })

  it('pauses the stream while its consumer is behind, and loses nothing', async () => {
    const { stream, remote, end } = pair()
    const chunk = new Uint8Array(100_000)
    const chunks = chunksOf(stream, end)
    const first = chunks.next()
    let sent = 0
    const send = () => { remote.send(chunk); sent += chunk.byteLength }
    send()
    await first
    while (stream.readStatus === 'readable') {
      send()
    }
    for (let more = 0; more < 10; more++) {
      send()
    }
    expect(stream.readBufferLength).toBe(1_000_000)
    await remote.close()
    let received = chunk.byteLength
    for await (const { byteLength } of chunks) {
      received += byteLength
    }
    expect(received).toBe(sent)
  })

  it('loses nothing of a window of 16 MiB that was open before it paused', async () => {
    const { stream, remote, end } = pair()
    const chunks = chunksOf(stream, end)
    const first = chunks.next()
    remote.send(new Uint8Array(1))
    await first
    for (let sent = 0; sent < 64; sent++) {
      remote.send(new Uint8Array(262_144))
    }
    await remote.close()
    let received = 0
    for await (const { byteLength } of chunks) {
      received += byteLength
    }
    expect(received).toBe(16_777_216)
  })

  it('lets go of the pause when the loop is left early', async () => {
    const { stream, remote, end } = pair()
    const chunks = chunksOf(stream, end)
    const first = chunks.next()
    remote.send(new Uint8Array(1))
    await first
    remote.send(new Uint8Array(300_000))
    expect(stream.readStatus).toBe('paused')
    await chunks.return()
    expect(stream.readStatus).toBe('readable')
    expect(stream.readBufferLength).toBe(300_000)
  })

  it('leaves no listener behind', async () => {
    const { stream, remote, end } = pair()
    const count = () => ['message', 'end', 'close'].map((type) => stream.listenerCount(type))
    const before = count()
    remote.send(bytesOf('text'))
    await remote.close()
    await read(stream, end)
    expect(count()).toEqual(before)
  })
})
