import '../support/polyfill.ts'
import { StreamMessageEvent } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { Backlog } from '../../src/libp2p/backlog.ts'
import { StreamAdapter } from '../../src/libp2p/stream-adapter.ts'
import { fakeStreams } from '../support/fake-stream.ts'
import type { Waiting } from '../../src/libp2p/next-turn.ts'
import type { StreamSink } from '../../src/libp2p/stream-adapter.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)
const textOf = (bytes: { subarray (): Uint8Array }) => new TextDecoder().decode(bytes.subarray())
const tick = async () => new Promise((resolve) => setImmediate(resolve))

/** Writes down what it is told; busy for as long as the test wants. */
class RecordingSink implements StreamSink {
  readonly told: string[] = []
  isBusy = false
  readonly backlog = new Backlog({ maxUnflushedBytesPerStream: 8, maxUnflushedBytes: 12 })
  onData: ((port: StreamAdapter, text: string) => void) | undefined
  readonly #waiting: Array<() => void> = []

  whenIdle (task: () => void): void {
    if (this.isBusy) {
      this.#waiting.push(task)
    } else {
      task()
    }
  }

  /** Tasks that were put off. */
  turns = 0

  nextTurn (task: () => void): void {
    this.turns++
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
  tellClosingLater ({ member }: Waiting<StreamAdapter>): void { setImmediate(() => { member.tellClosing() }) }
  tellClosingNever (): void {}
  streamClosing (): void { this.#tell('closing') }
  ignoreForKeepAlive (): void { this.told.push('ignore') }
  listenerThrew (_port: StreamAdapter, type: string, cause: unknown): void { this.told.push(`${type}: ${String(cause)}`) }

  /** Nothing but a command may come during a drain. */
  #tell (what: string): void {
    expect(this.isBusy).toBe(false)
    this.told.push(what)
  }
}

/** Closed on this side, while somebody waits for what comes. */
async function closedWhileRead () {
  const { stream, remote, port, told } = adopted()
  port.accept('/a')
  const chunks = port.stream[Symbol.asyncIterator]()
  const first = chunks.next()
  await stream.close()
  await tick()
  return { stream, remote, port, told, chunks, first }
}

/** An adapter over a stream of the host, whose remote end the test plays; one with a protocol was negotiated by the host. */
function adopted (protocol = '') {
  const [stream, remote] = fakeStreams((deliver) => { deliver() })
  stream.protocol = protocol
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

  it('knows of an end before the listeners of the stream, and tells it after them, as the muxer counts by one', async () => {
    const { stream, remote, port, told } = adopted()
    port.accept('/a')
    stream.addEventListener('remoteCloseWrite', () => { told.push(`heard, ended ${port.remoteEnded}`) })
    stream.addEventListener('close', () => { told.push(`heard, failure ${port.failure?.name}`) })
    await remote.close()
    remote.abort(new Error('gone'))
    expect(told).toEqual(['heard, ended true', 'heard, failure StreamResetError', 'reset StreamResetError'])
  })

  it('leaves the dispatch of the host in place that was there before', () => {
    const [stream] = fakeStreams((deliver) => { deliver() })
    const types: string[] = []
    const dispatch = stream.dispatchEvent.bind(stream)
    stream.dispatchEvent = (event) => {
      types.push(event.type)
      return dispatch(event)
    }
    const sink = new RecordingSink()
    new StreamAdapter(stream, sink).start()
    stream.onData(bytesOf('all'))
    stream.onRemoteReset()
    expect(types).toEqual(['message', 'end', 'close'])
    expect(sink.told).toEqual(['data all', 'reset StreamResetError'])
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

  it('gives nothing when it is reset after the peer has reset it, whatever it has buffered', async () => {
    const { remote, port, told } = adopted()
    remote.send(bytesOf('early'))
    port.start()
    remote.abort(new Error('gone'))
    port.reset(new Error('no'))
    await tick()
    expect(told).toEqual([])
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

  it('tells that this side closed it, once, and whether somebody reads (S6.3)', async () => {
    const left = adopted()
    left.port.accept('/a')
    await Promise.all([left.stream.close(), left.stream.close()])
    await tick()
    expect([left.told, left.port.reading()]).toEqual([['closing'], 'no'])

    const read = adopted()
    read.port.accept('/a')
    read.stream.addEventListener('message', () => {})
    await read.stream.close()
    await tick()
    expect([read.told, read.port.reading()]).toEqual([['closing'], 'waits'])
    read.remote.send(bytesOf('some'))
    expect([read.port.reading(), read.port.reading()]).toEqual(['takes', 'waits'])
  })

  it('takes no options of a write that make no sense (S8.20)', async () => {
    const { port, told } = adopted()
    port.accept('/a')
    await expect(port.stream.write(bytesOf('x'), { signal: 1 } as never)).rejects.toThrow('Cannot write: signal must be an AbortSignal, received number')
    await expect(port.stream.write(bytesOf('x'), { timeoutMs: 1 } as never)).rejects.toThrow(TypeError)
    await expect(port.stream.write(bytesOf('x'), { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
    expect(told).toEqual([])
  })

  it('tells it when the reader leaves (S6.3)', async () => {
    const { remote, port, told, chunks, first } = await closedWhileRead()
    expect(told).toEqual(['closing'])
    remote.send(bytesOf('some'))
    await first
    await chunks.return?.()
    await tick()
    expect(told).toEqual(['closing', 'closing'])
    expect(port.reading()).toBe('no')
  })

  it('tells it when the reader has so much that the stream was paused, and whether it takes anything (S6.3)', async () => {
    const { stream, remote, port, told, chunks, first } = await closedWhileRead()
    for (let left = 3; left > 0; left--) {
      remote.send(new Uint8Array(200_000))
    }
    await first
    await tick()
    expect([stream.readStatus, told]).toEqual(['paused', ['closing', 'closing']])
    expect([port.reading(), port.reading()]).toEqual(['takes', 'no'])
    await chunks.next()
    expect([stream.readStatus, port.reading(), port.reading()]).toEqual(['paused', 'takes', 'no'])
  })

  it('leaves whoever awaits the close the time to begin to read', async () => {
    const { stream, remote, port, told } = adopted()
    port.accept('/a')
    await stream.close()
    const reading = (async () => {
      let text = ''
      for await (const chunk of port.stream) {
        text += textOf(chunk)
      }
      return text
    })()
    await tick()
    expect([told, port.reading()]).toEqual([['closing'], 'waits'])
    remote.send(bytesOf('late'))
    await remote.close()
    expect(await reading).toBe('late')
  })

  it('does not hurry what was written and has not left yet', async () => {
    const { stream, port, told } = adopted()
    port.accept('/a')
    stream.isClogged = true
    stream.send(bytesOf('much'))
    const closed = stream.close()
    await tick()
    expect(told).toEqual([])
    stream.isClogged = false
    stream.onMuxerDrain()
    await closed
    await tick()
    expect(told).toEqual(['closing'])
  })

  it('tells it of a stream that has a listener, once this side reads no more', async () => {
    const { stream, port, told } = adopted()
    port.accept('/a')
    stream.addEventListener('message', () => {})
    await stream.close()
    await stream.closeRead()
    await tick()
    expect(told).toEqual(['closing'])
  })

  it('tells it after the drain in which it is due', async () => {
    const { stream, sink, port, told } = adopted()
    port.accept('/a')
    await stream.close()
    sink.isBusy = true
    await tick()
    expect(told).toEqual([])
    sink.rest()
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

  it('takes an end of both sides at once for a loss, where the host negotiated: WebRTC tells it so (S2.31)', async () => {
    const lost = adopted('/a')
    lost.port.accept('/a')
    lost.remote.send(bytesOf('half'))
    lost.stream.onRemoteCloseWrite()
    lost.stream.onTransportClosed()
    expect(lost.told).toEqual(['reset StreamResetError'])
    const chunks = lost.port.stream[Symbol.asyncIterator]()
    expect(textOf((await chunks.next()).value as Uint8Array)).toBe('half')
    await expect(chunks.next()).rejects.toMatchObject({ name: 'StreamResetError', message: 'The stream was lost with its connection' })
  })

  it('takes it for an end where this side had closed, or was closed because of it, or the remote ended earlier', async () => {
    const answered = adopted('/a')
    answered.port.accept('/a')
    answered.stream.addEventListener('remoteCloseWrite', () => { void answered.stream.close() })
    answered.stream.onRemoteCloseWrite()
    await tick()
    expect(answered.told).toEqual(['closed'])
    const inTurn = adopted('/a')
    inTurn.port.accept('/a')
    inTurn.stream.addEventListener('message', () => { void inTurn.stream.close() })
    inTurn.stream.onData(bytesOf('all'))
    inTurn.stream.onRemoteCloseWrite()
    await tick()
    expect(inTurn.told).toEqual(['closed'])
    const later = adopted('/a')
    later.port.accept('/a')
    later.stream.onRemoteCloseWrite()
    await tick()
    later.stream.onTransportClosed()
    expect(later.told).toEqual(['closed'])
  })

  it('hands ignoreForKeepAlive on, at any time', () => {
    const { sink, port, told } = adopted()
    port.accept('/a')
    sink.isBusy = true
    port.stream.ignoreForKeepAlive()
    expect(told).toEqual(['ignore'])
  })
})

describe('the listeners of the user of a stream (S4.15, S10.18)', () => {
  const fail = (): never => { throw new RangeError('mine') }

  it.each<[how: string, listener: unknown]>([
    ['is a function that throws', fail],
    ['is an async function that rejects', async () => fail()],
    ['is an object that throws', { handleEvent: fail }],
    ['is an object that rejects', { handleEvent: async () => fail() }],
    ['is an object whose getter throws', { get handleEvent () { return fail() } }],
    ['returns something that throws when it is looked at', () => ({ get then () { return fail() } })]
  ])('tell of it when one %s, and the others hear the event', async (_, listener) => {
    const { stream, port, told } = adopted()
    const heard: string[] = []
    port.accept('/a')
    for (const type of ['message', 'remoteCloseWrite', 'idle', 'drain', 'end', 'close'] as const) {
      port.stream.addEventListener(type, listener as () => void)
      port.stream.addEventListener(type, () => { heard.push(type) })
      stream.dispatchEvent(new Event(type))
    }
    await tick()
    expect(heard).toEqual(['message', 'remoteCloseWrite', 'idle', 'drain', 'end', 'close'])
    expect(told).toEqual(heard.map((type) => `${type}: RangeError: mine`))
  })

  it('are added once per type, removed, and honour once and signal', () => {
    const { stream, port } = adopted()
    const heard: string[] = []
    const [on, once, until] = ['on', 'once', 'until'].map((name) => ({ handleEvent: ({ type }: Event) => { heard.push(`${name} ${type}`) } }))
    const abort = new AbortController()
    port.accept('/a')
    for (let left = 2; left > 0; left--) {
      port.stream.addEventListener('idle', on!)
      port.stream.addEventListener('drain', on!)
      port.stream.addEventListener('idle', once!, { once: true })
      port.stream.addEventListener('idle', until!, { signal: abort.signal })
    }
    port.stream.addEventListener('idle', null)
    expect(stream.listenerCount('idle')).toBe(3)
    stream.dispatchEvent(new Event('idle'))
    abort.abort()
    stream.dispatchEvent(new Event('idle'))
    port.stream.removeEventListener('idle', on)
    port.stream.removeEventListener('idle', once)
    port.stream.removeEventListener('idle')
    stream.dispatchEvent(new Event('idle'))
    stream.dispatchEvent(new Event('drain'))
    expect(heard).toEqual(['on idle', 'once idle', 'until idle', 'on idle', 'on drain'])
    expect(stream.listenerCount('idle')).toBe(0)
  })

  it('are removed each by itself when one captures, and the same one does not', () => {
    const { stream, port } = adopted()
    let heard = 0
    const listener = () => { heard++ }
    port.accept('/a')
    port.stream.addEventListener('idle', listener, { capture: true })
    port.stream.addEventListener('idle', listener)
    stream.dispatchEvent(new Event('idle'))
    port.stream.removeEventListener('idle', listener, { capture: true })
    stream.dispatchEvent(new Event('idle'))
    port.stream.removeEventListener('idle', listener)
    stream.dispatchEvent(new Event('idle'))
    expect([heard, stream.listenerCount('idle')]).toEqual([3, 0])
  })

  it('are added as they are to a stream of the host', () => {
    const { stream, port } = adopted()
    const added: unknown[] = []
    port.giveToHost(false)
    const listener = { handleEvent: ({ currentTarget }: Event) => { added.push(currentTarget) } }
    port.stream.addEventListener('idle', listener)
    stream.dispatchEvent(new Event('idle'))
    port.stream.removeEventListener('idle', listener)
    stream.dispatchEvent(new Event('idle'))
    expect(added).toEqual([stream])
  })
})

describe('a stream that has given its share for this turn (S2.34)', () => {
  it('gives the rest in another turn of the event loop, then its end, after others had theirs', async () => {
    const { remote, sink, port, told } = adopted()
    sink.onData = (_port, text) => {
      if (text.length > 2) {
        port.readLater(bytesOf(text.slice(2)))
      }
    }
    port.start()
    remote.send(bytesOf('aabbc'))
    await remote.close()
    await Promise.resolve()
    expect(told).toEqual(['data aabbc'])
    for (let turns = 0; turns < 3; turns++) {
      await tick()
    }
    expect(told).toEqual(['data aabbc', 'data bbc', 'data c', 'end'])
  })

  it('is given 16 KiB at a time of what has come, and its user all that is behind the negotiation, in order', async () => {
    const { remote, sink, port, stream } = adopted()
    const shares: number[] = []
    let turns = 0
    sink.onData = (_port, text) => {
      shares.push(text.length)
      if (text.endsWith('a')) {
        port.accept('/a')
        port.unread(bytesOf('a'))
      }
    }
    port.start()
    remote.send(bytesOf(`${'.'.repeat(2 * 16_384 - 1)}${'a'.repeat(16_384)}`))
    await remote.close()
    while (shares.length < 2) {
      await tick()
      turns++
    }
    expect([shares, turns]).toEqual([[16_384, 16_384], 1])
    let text = ''
    for await (const chunk of stream) {
      text += textOf(chunk)
    }
    expect(text).toBe('a'.repeat(16_385 - 1))
  })

  it('gives nothing more once it was reset', async () => {
    const { remote, sink, port, told } = adopted()
    sink.onData = () => {
      port.readLater(bytesOf('rest'))
      port.reset(new Error('no'))
    }
    port.start()
    remote.send(bytesOf('all'))
    await tick()
    expect(told).toEqual(['data all'])
  })
})

describe('a stream whose answers are not taken (S5.12)', () => {
  /** Each frame of the peer is answered with 5 bytes. */
  function answered () {
    const all = adopted()
    all.sink.onData = port => {
      try {
        port.write(bytesOf('12345'))
      } catch {
        // It has ended by then, as the machine learns in the same way.
      }
    }
    all.port.start()
    all.stream.isClogged = true
    return all
  }

  it('is not read once it holds as much as it may, and again when it has drained', async () => {
    const { stream, remote, told } = answered()
    for (const frame of ['a', 'b', 'c', 'd']) {
      remote.send(bytesOf(frame))
      await tick()
    }
    expect([told, stream.writeBufferLength, stream.readStatus]).toEqual([['data a', 'data b'], 10, 'paused'])
    stream.unclog()
    await tick()
    expect([told, stream.readStatus]).toEqual([['data a', 'data b', 'data cd'], 'readable'])
    remote.send(bytesOf('e'))
    await tick()
    expect(told.at(-1)).toBe('data e')
  })

  it('is not read either when all streams of the connection hold as much as they may', async () => {
    const one = answered()
    const [other, remote] = fakeStreams((deliver) => { deliver() })
    other.isClogged = true
    const port = new StreamAdapter(other, one.sink)
    void port.stream.write(new Uint8Array(8)).catch(() => {})
    one.remote.send(bytesOf('a'))
    await tick()
    one.remote.send(bytesOf('b'))
    await tick()
    expect(one.told).toEqual(['data a'])
    expect(remote.status).toBe('open')
    other.unclog()
    await tick()
    expect(one.told).toEqual(['data a', 'data b'])
  })

  it('ends by its deadline all the same, and tells of its own end', async () => {
    const { port, stream, remote, told } = answered()
    remote.send(bytesOf('a'))
    remote.send(bytesOf('b'))
    remote.send(bytesOf('c'))
    port.reset(new Error('too late'))
    await tick()
    expect([stream.status, told]).toEqual(['aborted', ['data a', 'data b']])
    const lost = answered()
    lost.remote.send(bytesOf('a'))
    lost.remote.send(bytesOf('b'))
    lost.remote.send(bytesOf('c'))
    lost.remote.abort(new Error('gone'))
    await tick()
    expect(lost.told.slice(-1)).toEqual(['reset StreamResetError'])
  })

  it('is its user\'s with what came meanwhile, if it was agreed by then', async () => {
    const { port, stream, remote, sink } = answered()
    sink.onData = (to, text) => {
      to.write(bytesOf('1234567890'))
      if (text === 'agree') {
        to.accept('/a')
        to.unread(bytesOf('rest '))
      }
    }
    remote.send(bytesOf('agree'))
    remote.send(bytesOf('more'))
    const received: string[] = []
    port.stream.addEventListener('message', ({ data }) => { received.push(textOf(data)) })
    await tick()
    expect([received.join(''), stream.readStatus]).toEqual(['rest more', 'readable'])
  })
})

describe('a stream that was opened lazily', () => {
  /** Handed over, while the peer has yet to agree. */
  function assumed () {
    const all = adopted()
    const sent: string[] = []
    all.remote.addEventListener('message', ({ data }) => { sent.push(textOf(data)) })
    all.port.start()
    all.port.assume('/a', bytesOf('opening '))
    /** What came of the negotiation ends with `!`, and the rest is the application's. */
    const agreeOn = (text: string) => {
      all.sink.onData = (_port, data) => {
        if (data.startsWith(text)) {
          all.port.accept('/a')
          if (data.length > text.length) {
            all.port.unread(bytesOf(data.slice(text.length)))
          }
        }
      }
    }
    const refuse = () => {
      const error = new RangeError('refused')
      all.port.reset(error)
      return error
    }
    return { ...all, sent, agreeOn, refuse }
  }

  it('bears its protocol, and sends the opening with the first bytes, in one write', async () => {
    const { stream, sent } = assumed()
    expect([stream.protocol, sent]).toEqual(['/a', []])
    stream.send(bytesOf('one'))
    stream.send(bytesOf('two'))
    await tick()
    expect(sent).toEqual(['opening one', 'two'])
  })

  it('keeps the opening for the first bytes that it can send, when it was given something else before', async () => {
    const { stream, sent } = assumed()
    expect(() => stream.send('one' as unknown as Uint8Array)).toThrow('Could not append value')
    stream.send(bytesOf('two'))
    await tick()
    expect(sent).toEqual(['opening two'])
  })

  it('sends the opening alone when the turn is over, so that a peer which speaks first is not waited for (S2.28)', async () => {
    const { sent } = assumed()
    await Promise.resolve()
    expect(sent).toEqual([])
    await tick()
    expect(sent).toEqual(['opening '])
  })

  it('asks for no turn when it was written to in the drain that handed it over', () => {
    const { stream, sink, port } = adopted()
    port.start()
    sink.isBusy = true
    port.assume('/a', bytesOf('opening '))
    stream.send(bytesOf('one'))
    sink.rest()
    expect(sink.turns).toBe(0)
  })

  it('listens for no end while it closes, once the peer agreed', async () => {
    const { stream, port } = assumed()
    stream.send(bytesOf('one'))
    port.accept('/a')
    const before = stream.listenerCount('close')
    const closed = stream.close()
    expect(stream.listenerCount('close')).toBe(before)
    await closed
  })

  it('sends the opening, then the end, without waiting for the peer (S2.27, N22)', async () => {
    const { stream, remote, sent, told } = assumed()
    await stream.close()
    expect([sent, remote.remoteWriteStatus]).toEqual([['opening '], 'closed'])
    await tick()
    expect(told).toEqual(['closing'])
  })

  it('never sends the opening when it was aborted before', async () => {
    const { stream, sent, told } = assumed()
    stream.abort(new RangeError('no'))
    await tick()
    expect([sent, told]).toEqual([[], ['reset RangeError']])
  })

  it('is aborted by the host when the opening cannot be sent, and that is what its user gets', async () => {
    const { stream, told } = assumed()
    stream.sendData = () => { throw new RangeError('no link') }
    await tick()
    expect(told).toEqual(['reset RangeError'])
    expect(() => stream.send(bytesOf('x'))).toThrow('no link')
  })

  describe.each(['before', 'after'])('whose reader attaches %s the answer', (when) => {
    const reading = (stream: ReturnType<typeof assumed>['stream']) => {
      const received: string[] = []
      const read = () => {
        stream.addEventListener('message', ({ data }) => { received.push(textOf(data)) })
        stream.addEventListener('end', () => { received.push('end') })
      }
      return { received, read }
    }

    it('delivers what came behind the answer, and nothing of it, in order, then the end (S2.25, N20, N25)', async () => {
      const { stream, remote, agreeOn } = assumed()
      const { received, read } = reading(stream)
      if (when === 'before') {
        read()
      }
      remote.send(bytesOf('HD'))
      agreeOn('R!')
      remote.send(bytesOf('R!ab'))
      remote.send(bytesOf('cd'))
      await remote.close()
      if (when === 'after') {
        read()
      }
      await tick()
      expect(received.join(' ')).toBe(when === 'before' ? 'ab cd end' : 'abcd end')
    })

    it('delivers it although a drain was running when it came', async () => {
      const { stream, remote, sink, agreeOn, told } = assumed()
      const { received, read } = reading(stream)
      if (when === 'before') {
        read()
      }
      agreeOn('HDR!')
      sink.isBusy = true
      remote.send(bytesOf('HDR!'))
      remote.send(bytesOf('ab'))
      await remote.close()
      await tick()
      expect([received, told]).toEqual([[], []])
      sink.rest()
      if (when === 'after') {
        read()
      }
      await tick()
      expect(received.join(' ')).toBe('ab end')
    })
  })

  it('takes no turn of its own when its user resumes it first', async () => {
    const { remote, sink, stream, agreeOn, told } = assumed()
    agreeOn('HDR!')
    sink.isBusy = true
    remote.send(bytesOf('HDR!'))
    sink.isBusy = false
    stream.resume()
    sink.rest()
    await tick()
    expect([told, stream.readStatus]).toEqual([['data HDR!'], 'readable'])
  })

  it('reads the answer while its user has it paused, and nothing behind it (S2.28)', async () => {
    const { remote, stream, agreeOn, told } = assumed()
    const received: string[] = []
    stream.addEventListener('message', ({ data }) => { received.push(textOf(data)) })
    stream.pause()
    expect(stream.readStatus).toBe('paused')
    agreeOn('HDR!')
    remote.send(bytesOf('HDR!ab'))
    remote.send(bytesOf('cd'))
    await tick()
    expect([told, received, stream.readStatus]).toEqual([['data HDR!ab'], [], 'paused'])
    stream.resume()
    stream.pause()
    stream.resume()
    await tick()
    expect([received.join(''), stream.readStatus]).toEqual(['abcd', 'readable'])
  })

  it('is shown as paused while a drain holds the answer up, and as over when it is (S2.26)', async () => {
    const { remote, stream, sink, agreeOn, told } = assumed()
    stream.pause()
    sink.isBusy = true
    remote.send(bytesOf('HD'))
    agreeOn('HDR!')
    remote.send(bytesOf('R!ab'))
    await tick()
    expect([told, stream.readStatus]).toEqual([[], 'paused'])
    sink.rest()
    await tick()
    expect([told.join(' '), stream.readStatus, stream.readBufferLength]).toEqual(['data HDR!ab', 'paused', 2])
    const refused = assumed()
    refused.stream.pause()
    refused.remote.abort(new Error('no'))
    expect(refused.stream.readStatus).toBe('closed')
  })

  it('of a make that delivers in its own way is shown as it is until the peer agreed', async () => {
    const { remote, stream, agreeOn, told } = assumed()
    Object.assign(stream, { dispatchReadBuffer: undefined, onData: (data: Uint8Array) => { stream.dispatchEvent(new StreamMessageEvent(data)) } })
    stream.pause()
    expect(stream.readStatus).toBe('readable')
    agreeOn('HDR!')
    remote.send(bytesOf('HDR!'))
    await tick()
    expect([told, stream.readStatus]).toEqual([['data HDR!'], 'paused'])
  })

  it('is not paused by the answer when its user has resumed it, and says so itself when it is over', async () => {
    const { remote, stream, agreeOn } = assumed()
    stream.pause()
    stream.pause()
    stream.resume()
    expect(stream.readStatus).toBe('readable')
    agreeOn('HDR!')
    remote.send(bytesOf('HDR!'))
    await tick()
    expect(stream.readStatus).toBe('readable')
    const over = assumed()
    over.stream.abort(new Error('enough'))
    expect(() => { over.stream.pause() }).toThrow('closing/closed')
    expect(() => { over.stream.resume() }).toThrow('closing/closed')
  })

  it('fails with the error of the negotiation whatever its user does, now and later; only closing does not (S2.26)', async () => {
    const { stream, remote, refuse } = assumed()
    const iterator = stream[Symbol.asyncIterator]()
    const reading = iterator.next()
    stream.send(bytesOf('ping'))
    const error = refuse()
    await expect(reading).rejects.toBe(error)
    for (let times = 0; times < 2; times++) {
      await expect(stream[Symbol.asyncIterator]().next()).rejects.toBe(error)
      expect(() => stream.send(bytesOf('ping'))).toThrow(error)
      await stream.close()
    }
    expect(remote.status).toBe('reset')
  })

  it('does not fail a close that waits for the link', async () => {
    const { stream, refuse } = assumed()
    stream.isClogged = true
    stream.send(bytesOf('ping'))
    const closed = stream.close()
    refuse()
    await closed
  })

  it('rejects a close that fails for another reason', async () => {
    const { stream } = assumed()
    stream.isClogged = true
    stream.send(bytesOf('ping'))
    await expect(stream.close({ signal: AbortSignal.abort() })).rejects.toThrow()
  })

  it('tells an end in place of the answer, and that it was lost', () => {
    const ended = assumed()
    ended.remote.onRemoteCloseRead()
    ended.stream.onRemoteCloseWrite()
    expect(ended.told).toEqual(['end'])
    const lost = assumed()
    lost.stream.onTransportClosed()
    expect(lost.told).toEqual(['reset StreamResetError'])
    expect(() => lost.stream.send(bytesOf('x'))).toThrow('lost with its connection')
  })

  it('ends reading for its user once the peer agreed, which could not be seen otherwise', async () => {
    const { stream, remote, agreeOn } = assumed()
    await stream.closeRead()
    expect(stream.readStatus).toBe('readable')
    agreeOn('HDR!')
    remote.send(bytesOf('HDR!unread'))
    await tick()
    expect([stream.readStatus, stream.readBufferLength]).toEqual(['closed', 0])

    const failing = assumed()
    failing.stream.sendCloseRead = async () => Promise.reject(new Error('no link'))
    await failing.stream.closeRead()
    failing.port.accept('/a')
    await tick()
    expect(failing.stream.readStatus).toBe('closing')

    const later = assumed()
    later.port.accept('/a')
    await later.stream.closeRead()
    expect(later.stream.readStatus).toBe('closed')
  })

  it('says that it is read as long as somebody reads, the negotiation aside (S6.3)', async () => {
    const { stream, port, told } = assumed()
    stream.addEventListener('message', () => {})
    await stream.close()
    await tick()
    expect([told, port.reading()]).toEqual([['closing'], 'waits'])
  })

  it('of the host keeps the iterator that gives its error', () => {
    const { stream, port } = assumed()
    port.giveToHost(false)
    expect(Object.hasOwn(stream, Symbol.asyncIterator)).toBe(true)
  })
})

describe('a stream of the host', () => {
  it('is only watched: closing it says nothing, its end is told', async () => {
    const { stream, remote, port, told } = adopted()
    port.giveToHost(true)
    await stream.close()
    await tick()
    expect(told).toEqual([])
    await remote.close()
    expect(told).toEqual(['closed'])
  })

  it('is not paused by its iterator, as the host does not, for muxers that cannot pause (mplex)', async () => {
    const { stream, remote, port } = adopted()
    port.giveToHost(true)
    const chunks = port.stream[Symbol.asyncIterator]()
    const first = chunks.next()
    remote.send(new Uint8Array(1_000_000))
    await first
    remote.send(new Uint8Array(1_000_000))
    expect(stream.readStatus).toBe('readable')
  })

  it.each([true, false])('has the iterator that ends: %s', (isCorrected) => {
    const { stream, port } = adopted()
    port.giveToHost(isCorrected)
    expect(Object.hasOwn(stream, Symbol.asyncIterator)).toBe(isCorrected)
  })
})
