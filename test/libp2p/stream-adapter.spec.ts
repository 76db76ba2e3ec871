import '../support/polyfill.ts'
import { describe, expect, it } from 'vitest'
import { StreamAdapter } from '../../src/libp2p/stream-adapter.ts'
import { fakeStreams } from '../support/fake-stream.ts'
import type { StreamSink } from '../../src/libp2p/stream-adapter.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)
const textOf = (bytes: { subarray (): Uint8Array }) => new TextDecoder().decode(bytes.subarray())
const tick = async () => new Promise((resolve) => setImmediate(resolve))

/** Writes down what it is told; busy for as long as the test wants. */
class RecordingSink implements StreamSink {
  readonly told: string[] = []
  isBusy = false
  onData: ((port: StreamAdapter, text: string) => void) | undefined
  readonly #waiting: Array<() => void> = []

  whenIdle (task: () => void): void {
    if (this.isBusy) {
      this.#waiting.push(task)
    } else {
      task()
    }
  }

  nextTurn (task: () => void): void {
    setImmediate(task)
  }

  /** The drain is over. */
  rest (): void {
    this.isBusy = false
    for (const task of this.#waiting.splice(0)) {
      task()
    }
  }

  streamData (port: StreamAdapter, bytes: Uint8Array): void {
    this.#tell(`data ${textOf(bytes)}`)
    this.onData?.(port, textOf(bytes))
  }

  streamEnded (): void { this.#tell('end') }
  streamClosed (): void { this.#tell('closed') }
  streamReset (_port: StreamAdapter, error: Error): void { this.#tell(`reset ${error.name}`) }
  streamClosing (): void { this.#tell('closing') }
  ignoreForKeepAlive (): void { this.told.push('ignore') }

  /** Nothing but a command may come during a drain. */
  #tell (what: string): void {
    expect(this.isBusy).toBe(false)
    this.told.push(what)
  }
}

/** An adapter over a stream of the host, whose remote end the test plays. */
function adopted () {
  const [stream, remote] = fakeStreams((deliver) => { deliver() })
  const sink = new RecordingSink()
  const port = new StreamAdapter(stream, sink)
  return { stream, remote, sink, port, told: sink.told }
}

describe('a stream that is negotiated', () => {
  it('gives its bytes once it is asked for them, then its end', async () => {
    const { remote, port, told } = adopted()
    remote.send(bytesOf('early'))
    await tick()
    expect(told).toEqual([])
    port.start()
    await tick()
    remote.send(bytesOf('late'))
    await remote.close()
    expect(told).toEqual(['data early', 'data late', 'end'])
  })

  it('tells the end once, after the last byte, when both came before it was asked for (S2.5)', async () => {
    const { remote, port, told } = adopted()
    remote.send(bytesOf('all'))
    await remote.close()
    port.start()
    await tick()
    expect(told).toEqual(['data all', 'end'])
  })

  it('tells a reset after the bytes before it (S2.6), and nothing more', async () => {
    const { stream, remote, sink, port, told } = adopted()
    port.start()
    sink.isBusy = true
    remote.send(bytesOf('all'))
    remote.abort(new Error('gone'))
    sink.rest()
    await tick()
    stream.abort(new Error('too late'))
    expect(told).toEqual(['data all', 'reset StreamResetError'])
  })

  it('tells a reset that comes while it waits for a slot, which it then needs no more', async () => {
    const { remote, port, told } = adopted()
    remote.send(bytesOf('all'))
    remote.abort(new Error('gone'))
    port.start()
    await tick()
    expect(told).toEqual(['reset StreamResetError'])
  })

  it('tells a stream that was lost with its connection as reset', () => {
    const { stream, port, told } = adopted()
    port.start()
    stream.onTransportClosed()
    expect(told).toEqual(['reset StreamResetError'])
  })

  it('keeps bytes, end and reset in order while a drain is running', async () => {
    const { remote, sink, port, told } = adopted()
    port.start()
    sink.isBusy = true
    remote.send(bytesOf('one '))
    remote.send(bytesOf('two'))
    await remote.close()
    remote.abort(new Error('gone'))
    await tick()
    expect(told).toEqual([])
    sink.rest()
    await tick()
    expect(told).toEqual(['data one two', 'end', 'reset StreamResetError'])
  })

  it('is started inside a drain, with everything there already', async () => {
    const { remote, sink, port, told } = adopted()
    remote.send(bytesOf('all'))
    await remote.close()
    sink.isBusy = true
    port.start()
    sink.rest()
    await tick()
    expect(told).toEqual(['data all', 'end'])
  })

  it('is reset without being told of it, and forgets what waited (C23)', async () => {
    const { stream, remote, sink, port, told } = adopted()
    port.start()
    sink.isBusy = true
    remote.send(bytesOf('unread'))
    port.reset(new Error('refused'))
    sink.rest()
    await tick()
    expect(told).toEqual([])
    expect([stream.status, remote.status]).toEqual(['aborted', 'reset'])
  })

  it('writes, and throws when it cannot', async () => {
    const { stream, remote, port } = adopted()
    const received: string[] = []
    remote.addEventListener('message', ({ data }) => { received.push(textOf(data)) })
    port.write(bytesOf('hello'))
    expect(received).toEqual(['hello'])
    stream.abort(new Error('gone'))
    expect(() => { port.write(bytesOf('more')) }).toThrow(/Cannot write/)
  })
})

describe('a stream that is accepted', () => {
  it('bears its protocol, and its bytes are its user\'s', async () => {
    const { stream, remote, port, told } = adopted()
    port.start()
    port.accept('/a')
    const received: string[] = []
    stream.addEventListener('message', ({ data }) => { received.push(textOf(data)) })
    remote.send(bytesOf('application'))
    expect(stream.protocol).toBe('/a')
    expect(received).toEqual(['application'])
    expect(told).toEqual([])
  })

  it.each([
    { name: 'to one that reads already, in front of what comes next', isReading: true },
    { name: 'to one that reads later', isReading: false }
  ])('gives bytes that came behind the negotiation $name (S2.30)', async ({ isReading }) => {
    const { stream, remote, sink, port } = adopted()
    const received: string[] = []
    const read = () => { stream.addEventListener('message', ({ data }) => { received.push(textOf(data)) }) }
    sink.onData = () => {
      port.accept('/a')
      if (isReading) {
        read()
      }
      port.unread(bytesOf('ab'))
    }
    port.start()
    remote.send(bytesOf('negotiation, then ab'))
    remote.send(bytesOf('cd'))
    if (!isReading) {
      read()
    }
    await tick()
    expect(received.join('')).toBe('abcd')
  })

  it('gives them although the end came with them (N27)', async () => {
    const { stream, remote, sink, port } = adopted()
    sink.onData = () => {
      port.accept('/a')
      port.unread(bytesOf('rest'))
    }
    remote.send(bytesOf('negotiation, then rest'))
    await remote.close()
    port.start()
    await tick()
    let text = ''
    for await (const chunk of stream) {
      text += textOf(chunk)
    }
    expect(text).toBe('rest')
  })

  it('drops them when its user has aborted it', () => {
    const { stream, port } = adopted()
    port.start()
    port.accept('/a')
    stream.abort(new Error('no'))
    port.unread(bytesOf('rest'))
    expect(stream.readBufferLength).toBe(0)
  })

  it('tells when both directions are closed, whichever was first', async () => {
    for (const first of ['stream', 'remote'] as const) {
      const ends = adopted()
      ends.port.start()
      ends.port.accept('/a')
      ends.stream.addEventListener('message', () => {})
      await ends[first].close()
      expect(ends.told).toEqual([])
      await ends[first === 'stream' ? 'remote' : 'stream'].close()
      expect(ends.told).toEqual(['closed'])
    }
  })

  it('tells that this side closed it, once, unless somebody reads (S6.3)', async () => {
    const left = adopted()
    left.port.accept('/a')
    await Promise.all([left.stream.close(), left.stream.close()])
    expect(left.told).toEqual(['closing'])

    const read = adopted()
    read.port.accept('/a')
    read.stream.addEventListener('message', () => {})
    await read.stream.close()
    expect(read.told).toEqual([])
  })

  it('tells it after the drain in which it was closed', async () => {
    const { stream, sink, port, told } = adopted()
    port.accept('/a')
    sink.isBusy = true
    const closed = stream.close()
    expect(told).toEqual([])
    sink.rest()
    await closed
    expect(told).toEqual(['closing'])
  })

  it('tells a reset, an abort and a lost connection as such', () => {
    const ends: Record<string, (stream: ReturnType<typeof adopted>) => void> = {
      'reset StreamResetError': ({ remote }) => { remote.abort(new Error('gone')) },
      'reset RangeError': ({ stream }) => { stream.abort(new RangeError('no')) }
    }
    for (const [told, end] of Object.entries(ends)) {
      const one = adopted()
      one.port.accept('/a')
      end(one)
      expect(one.told).toEqual([told])
    }
    const lost = adopted()
    lost.port.accept('/a')
    lost.stream.onTransportClosed()
    expect(lost.told).toEqual(['reset StreamResetError'])
  })

  it('hands ignoreForKeepAlive on, at any time', () => {
    const { sink, port, told } = adopted()
    port.accept('/a')
    sink.isBusy = true
    port.stream.ignoreForKeepAlive()
    expect(told).toEqual(['ignore'])
  })
})

describe('a stream of the host', () => {
  it('is only watched: closing it says nothing, its end is told', async () => {
    const { stream, remote, port, told } = adopted()
    port.giveToHost(true)
    stream.addEventListener('message', () => {})
    await stream.close()
    expect(told).toEqual([])
    await remote.close()
    expect(told).toEqual(['closed'])
  })

  it.each([true, false])('has the iterator that ends: %s', (isCorrected) => {
    const { stream, port } = adopted()
    port.giveToHost(isCorrected)
    expect(Object.hasOwn(stream, Symbol.asyncIterator)).toBe(isCorrected)
  })
})
