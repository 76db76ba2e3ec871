/** `select` and `handle` over streams of js-libp2p and over duplexes: what they take, leave behind, and throw (S2.39). */

import { StreamMessageEvent } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { pipe } from 'it-pipe'
import { handle, select } from 'libp2p-behaviours/negotiation'
import { Uint8ArrayList } from 'uint8arraylist'
import { describe, expect, it } from 'vitest'
import { fakeStreams } from '../support/fake-stream.ts'
import { observe, turns } from '../support/observed-negotiation.ts'
import { hex, toHex, wire } from '../support/wire.ts'
import type { ByteDuplex, MultistreamSelectError } from 'libp2p-behaviours/negotiation'
import type { FakeStream } from '../support/fake-stream.ts'

const EVENTS = ['message', 'end', 'close', 'drain', 'remoteCloseWrite', 'idle']
const listeners = (stream: FakeStream): number[] => EVENTS.map(type => stream.listenerCount(type))

/** The error that a negotiation ends with. */
async function failure (negotiated: Promise<unknown>): Promise<MultistreamSelectError> {
  return negotiated.then(() => { throw new Error('it agreed') }, (error: unknown) => error as MultistreamSelectError)
}

/** What a stream delivers, once somebody listens. */
async function received (stream: FakeStream): Promise<string> {
  let bytes = ''
  const listener = ({ data }: { data: { subarray (): Uint8Array } }): void => { bytes += toHex(data.subarray()) }
  stream.addEventListener('message', listener)
  await turns()
  stream.removeEventListener('message', listener)
  return bytes
}

describe('select and handle', () => {
  it('agree with each other, and leave no listener behind', async () => {
    const [outbound, inbound] = fakeStreams(queueMicrotask)
    const before = listeners(outbound)
    const signal = new AbortController().signal
    expect(await Promise.all([select(outbound, ['/b', '/a'], { signal }), handle(inbound, ['/c', '/a'], { signal })])).toEqual(['/a', '/a'])
    await turns()
    expect([listeners(outbound), listeners(inbound)]).toEqual([before, before])
  })

  it('take one name as a string', async () => {
    const [outbound, inbound] = fakeStreams(queueMicrotask)
    expect(await Promise.all([select(outbound, '/a'), handle(inbound, '/a')])).toEqual(['/a', '/a'])
  })

  it('N32: never write to the list or to the options, and never look at them again', async () => {
    const names = ['/b', '/a']
    const options = Object.freeze({ negotiateFully: false, maxDataLength: 1, lengthDecoder: () => 0 })
    const [outbound, inbound] = fakeStreams(queueMicrotask)
    const agreed = Promise.all([select(outbound, names, options), handle(inbound, Object.freeze(['/a']), options)])
    names.pop()
    expect(await agreed).toEqual(['/a', '/a'])
    expect(names).toEqual(['/b'])
  })

  it('S2.11: accept the names that were in the list at the start', async () => {
    const names = ['/a']
    const [outbound, inbound] = fakeStreams(queueMicrotask)
    const agreed = Promise.all([select(outbound, ['/b', '/a']), handle(inbound, names)])
    names[0] = '/b'
    expect(await agreed).toEqual(['/a', '/a'])
  })

  it('accept names of a frozen list, valid ones only, each time', async () => {
    const names = Object.freeze(['bad', '/a', '/b', '/a'])
    for (let times = 0; times < 2; times++) {
      expect(await observe(async stream => handle(stream, names), 'HDR LS 04 626164 0a B')).toMatchObject({
        result: '/b', sent: hex('HDR 09 A B 0a NA B')
      })
    }
  })

  it('hold to the limits that they are given', async () => {
    const limits = { maxFrameLength: 20, maxRounds: 1, ls: false }
    expect(await observe(async stream => handle(stream, '/a', { limits }), 'HDR LS A')).toMatchObject({ result: 'UnsupportedProtocolError', sent: hex('HDR NA') })
    expect(await failure(select(fakeStreams(queueMicrotask)[0], ['/a', '/b'], { limits }))).toBeInstanceOf(RangeError)
    expect(await failure(handle(fakeStreams(queueMicrotask)[0], ['/a'], { limits: { ...limits, maxRounds: 0 } }))).toBeInstanceOf(RangeError)
  })

  it('take bytes in one piece as well as in a list of pieces', async () => {
    const [outbound] = fakeStreams(queueMicrotask)
    const agreed = select(outbound, '/a')
    outbound.dispatchEvent(new StreamMessageEvent(wire('HDR')))
    outbound.dispatchEvent(new StreamMessageEvent(new Uint8ArrayList(wire('032f'), wire('610a pong'))))
    expect(await agreed).toBe('/a')
    expect(await received(outbound)).toBe(hex('pong'))
  })

  it('N24: take what the peer said before', async () => {
    const [outbound, inbound] = fakeStreams(queueMicrotask)
    inbound.send(wire('HDR A pong'))
    await inbound.close()
    await turns()
    expect(await select(outbound, '/a')).toBe('/a')
    expect(await received(outbound)).toBe(hex('pong'))
    expect(outbound.readableEnded).toBe(true)
  })

  it('N25: leave what came behind the negotiation in front of what comes later', async () => {
    const [outbound, inbound] = fakeStreams(queueMicrotask)
    outbound.send(wire('HDR A 61 62'))
    const agreed = handle(inbound, '/a')
    await agreed
    outbound.send(wire('63 64'))
    await turns()
    expect(await received(inbound)).toBe('61626364')
  })
})

describe('S2.39: a signal', () => {
  it('that is aborted ends them before any byte', async () => {
    for (const negotiate of [select, handle]) {
      const [stream, peer] = fakeStreams(queueMicrotask)
      const before = listeners(stream)
      const error = await failure(negotiate(stream, '/a', { signal: AbortSignal.abort(new Error('enough')) }))
      expect(error).toMatchObject({ name: 'AbortError', outcome: 'aborted', phase: 'header', cause: { cause: { message: 'enough' } } })
      expect(await received(peer)).toBe('')
      expect(stream.status).toBe('aborted')
      expect(listeners(stream)).toEqual(before)
    }
  })

  it('ends them whenever it aborts; nothing is sent after it', async () => {
    const [stream, peer] = fakeStreams(queueMicrotask)
    const before = listeners(stream)
    const controller = new AbortController()
    const failed = failure(select(stream, ['/a', '/b'], { signal: controller.signal }))
    peer.send(wire('HDR'))
    await turns()
    controller.abort()
    peer.send(wire('NA'))
    expect(await failed).toMatchObject({ name: 'AbortError', outcome: 'aborted', phase: 'confirmation', tried: ['/a'], direction: 'outbound' })
    expect(stream.status).toBe('aborted')
    expect(await received(peer)).toBe(hex('HDR A'))
    expect(listeners(stream)).toEqual(before)
  })

  it('of a deadline ends them with TimeoutError', async () => {
    const [stream] = fakeStreams(queueMicrotask)
    const error = await failure(handle(stream, '/a', { signal: AbortSignal.timeout(1) }))
    expect(error).toMatchObject({ name: 'TimeoutError', outcome: 'timeout' })
    expect(error.elapsedMs).toBeGreaterThan(0)
  })
})

describe('the end of a stream', () => {
  it('S2.32: is heard whenever it comes, and resets the stream once', async () => {
    for (const script of ['FIN', '| FIN', 'HDR | | FIN']) {
      expect(await observe(async stream => handle(stream, '/a'), script)).toMatchObject({ result: 'UnsupportedProtocolError', status: 'aborted' })
    }
  })

  it('S2.31: that came before anybody looked is seen', async () => {
    const [stream, peer] = fakeStreams(queueMicrotask)
    await peer.close()
    await turns()
    expect(stream.readableEnded).toBe(true)
    expect(await failure(handle(stream, '/a'))).toMatchObject({ name: 'UnsupportedProtocolError', outcome: 'failed' })
  })

  it('S2.6: by a reset comes behind what was received, with its error', async () => {
    const [stream, peer] = fakeStreams(queueMicrotask)
    const failed = failure(select(stream, '/a'))
    await turns()
    peer.abort(new Error('enough'))
    expect(await failed).toMatchObject({ name: 'StreamResetError', outcome: 'reset', cause: { name: 'StreamResetError', cause: { name: 'StreamResetError' } } })
    const [early, other] = fakeStreams(queueMicrotask)
    other.send(wire('HDR B A pong'))
    await turns()
    other.abort(new Error('enough'))
    await turns()
    expect(early.status).toBe('reset')
    expect(await handle(early, '/a')).toBe('/a')
    expect(await received(early)).toBe(hex('pong'))
  })

  it('S2.6: by a reset with an unfinished negotiation behind what was received', async () => {
    const [stream, peer] = fakeStreams(queueMicrotask)
    peer.send(wire('HDR B'))
    await turns()
    peer.abort(new Error('enough'))
    await turns()
    expect(await failure(handle(stream, '/a'))).toMatchObject({ name: 'StreamResetError', phase: 'proposal' })
  })

  it('that is over before the start is a reset', async () => {
    const [stream] = fakeStreams(queueMicrotask)
    stream.abort(new Error('gone'))
    for (const negotiate of [select, handle]) {
      expect(await failure(negotiate(stream, '/a'))).toMatchObject({ name: 'StreamResetError' })
    }
  })

  it('S2.7: is a reset when nothing can be written', async () => {
    const [stream, peer] = fakeStreams(queueMicrotask)
    await stream.close()
    peer.send(wire('HDR B'))
    expect(await failure(handle(stream, '/a'))).toMatchObject({ name: 'StreamResetError', cause: { cause: { name: 'StreamStateError' } } })
  })

  it('is heard on a stream that its owner paused', async () => {
    const [stream, peer] = fakeStreams(queueMicrotask)
    stream.pause()
    const failed = failure(handle(stream, '/a'))
    peer.send(wire('HDR B'))
    await turns()
    peer.abort(new Error('enough'))
    expect(await failed).toMatchObject({ name: 'StreamResetError' })
  })
})

describe('S2.34: a peer that has much to say', () => {
  const limits = { maxFrameLength: 1024, maxRounds: 64, maxFramesPerTurn: 4 }

  it('is answered a few frames at a time; the event loop turns in between', async () => {
    const [stream, peer] = fakeStreams(queueMicrotask)
    const answers: number[] = []
    peer.addEventListener('message', ({ data }) => { answers.push(data.byteLength) })
    peer.send(wire(`HDR ${'B '.repeat(10)} A pong`))
    const agreed = handle(stream, '/a', { limits })
    expect(await agreed).toBe('/a')
    await turns()
    expect(answers).toEqual([20 + 3 * 4, 4 * 4, 3 * 4 + 4])
    expect(await received(stream)).toBe(hex('pong'))
  })

  it('S2.31: keeps its end behind what it said', async () => {
    const [stream, peer] = fakeStreams(queueMicrotask)
    peer.send(wire(`HDR ${'B '.repeat(10)} A pong`))
    await peer.close()
    expect(await handle(stream, '/a', { limits })).toBe('/a')
    expect(stream.readableEnded).toBe(false)
    expect(await received(stream)).toBe(hex('pong'))
    expect(stream.readableEnded).toBe(true)
  })

  it('S2.6: is heard out after a reset', async () => {
    const [stream, peer] = fakeStreams(queueMicrotask)
    peer.send(wire(`HDR ${'B '.repeat(10)} A`))
    await turns()
    peer.abort(new Error('enough'))
    await turns()
    expect(await handle(stream, '/a', { limits })).toBe('/a')
    const [other, far] = fakeStreams(queueMicrotask)
    far.send(wire(`HDR ${'B '.repeat(10)}`))
    await turns()
    far.abort(new Error('enough'))
    await turns()
    expect(await failure(handle(other, '/a', { limits }))).toMatchObject({ name: 'StreamResetError' })
  })

  it('is not heard again after a signal aborted', async () => {
    const [stream, peer] = fakeStreams(queueMicrotask)
    const before = listeners(stream)
    const controller = new AbortController()
    peer.addEventListener('message', () => { controller.abort() })
    peer.send(wire(`HDR ${'B '.repeat(10)} A`))
    expect(await failure(handle(stream, '/a', { limits, signal: controller.signal }))).toMatchObject({ name: 'AbortError' })
    await turns()
    expect(listeners(stream)).toEqual(before)
  })
})

describe('S2.36: an error', () => {
  it('tells phase, names tried, direction and time, and has our own as its cause', async () => {
    const [stream, peer] = fakeStreams(queueMicrotask)
    const failed = failure(select(stream, ['/a', '/b']))
    await turns()
    peer.send(wire('HDR NA NA'))
    const error = await failed
    expect(error).toMatchObject({
      name: 'UnsupportedProtocolError', outcome: 'failed', phase: 'confirmation', tried: ['/a', '/b'], direction: 'outbound', connectionId: '',
      message: 'No protocol agreed: the peer has none of them (phase confirmation, peer unknown, tried /a, /b)',
      cause: { name: 'NegotiationError', outcome: 'failed' }
    })
    expect(error.elapsedMs).toBeGreaterThan(0)
  })

  it('tells the address of a connection', async () => {
    const [stream, peer] = fakeStreams(queueMicrotask)
    const remoteAddr = multiaddr('/ip4/127.0.0.1/tcp/1')
    const failed = failure(select(Object.assign(stream, { remoteAddr }), '/a'))
    peer.send(wire('HDR NA'))
    expect(await failed).toMatchObject({ peer: remoteAddr, message: expect.stringContaining('peer /ip4/127.0.0.1/tcp/1') as string })
  })

  it('S2.37: shows text of the peer escaped', async () => {
    const [stream, peer] = fakeStreams(queueMicrotask)
    const failed = failure(select(stream, '/a'))
    peer.send(wire('HDR 04 2f1b2f 0a'))
    expect(await failed).toMatchObject({ name: 'InvalidMessageError', message: expect.stringContaining('received "/\\x1b/"') as string })
  })
})

describe('select and handle on a duplex', () => {
  type Bytes = Uint8Array | Uint8ArrayList

  /** Two duplexes that are each other's remote end. */
  function duplexPair (): [ByteDuplex, ByteDuplex] {
    const [left, right] = [new Channel(), new Channel()]
    return [{ source: right, sink: async source => left.drink(source) }, { source: left, sink: async source => right.drink(source) }]
  }

  /** Bytes from one sink to one source. */
  class Channel implements AsyncIterable<Uint8Array> {
    readonly chunks: Uint8Array[] = []
    #end: { readonly error?: unknown } | undefined
    #wake = (): void => {}

    async drink (source: AsyncIterable<Bytes> | Iterable<Bytes>): Promise<void> {
      try {
        for await (const chunk of source) {
          this.chunks.push(chunk.subarray())
          this.#wake()
        }
        this.#end = {}
      } catch (error) {
        this.#end = { error }
      }
      this.#wake()
    }

    async * [Symbol.asyncIterator] (): AsyncGenerator<Uint8Array> {
      for (;;) {
        const chunk = this.chunks.shift()
        if (chunk !== undefined) {
          yield chunk
        } else if (this.#end === undefined) {
          await new Promise<void>((resolve) => { this.#wake = resolve })
        } else if ('error' in this.#end) {
          throw this.#end.error
        } else {
          return
        }
      }
    }
  }

  /** A duplex whose peer sends `chunks` and ends, and what it was sent. */
  function scripted (...chunks: string[]): { duplex: ByteDuplex, sent: string[], ended: Promise<unknown> } {
    const sent: string[] = []
    let end = (_error?: unknown): void => {}
    const ended = new Promise<unknown>((resolve) => { end = resolve })
    return {
      sent,
      ended,
      duplex: {
        source: (async function * () {
          for (const chunk of chunks) {
            await turns()
            if (chunk === 'throw') {
              throw new Error('the line is dead')
            }
            yield wire(chunk)
          }
        })(),
        sink: async (source) => {
          try {
            for await (const chunk of source) {
              sent.push(toHex(chunk.subarray()))
            }
            end()
          } catch (error) {
            end(error)
          }
        }
      }
    }
  }

  async function collect (source: AsyncIterable<Bytes>): Promise<string> {
    let bytes = ''
    for await (const chunk of source) {
      bytes += toHex(chunk.subarray())
    }
    return bytes
  }

  it('agree with each other; then data goes through it-pipe', async () => {
    const [left, right] = duplexPair()
    const [dialer, listener] = await Promise.all([select(left, ['/b', '/a']), handle(right, ['/a'])])
    expect([dialer.protocol, listener.protocol]).toEqual(['/a', '/a'])
    const echoed = pipe(listener.stream, listener.stream)
    const answer = await pipe([wire('ping'), wire('data')], dialer.stream, collect)
    expect(answer).toBe(hex('ping data'))
    await echoed
  })

  it('S2.30: give what came behind the negotiation to whoever reads', async () => {
    const { duplex, sent } = scripted('HDR', 'A pong', 'data')
    const { protocol, stream } = await select(duplex, '/a')
    expect(protocol).toBe('/a')
    expect(await collect(stream.source)).toBe(hex('pong data'))
    await stream.sink((async function * () { yield wire('ping') })())
    expect(sent).toEqual([hex('HDR A'), hex('ping')])
  })

  it('S2.32: end it without an agreement, by the host\'s names', async () => {
    for (const [chunks, name] of [
      [['HDR NA'], 'UnsupportedProtocolError'], [['HDR'], 'UnsupportedProtocolError'], [['A'], 'InvalidMessageError'],
      [['HDR 8108'], 'InvalidDataLengthError'], [['HDR 03'], 'UnexpectedEOFError'], [['HDR', 'throw'], 'StreamResetError']
    ] as const) {
      const { duplex, ended } = scripted(...chunks)
      const error = await failure(select(duplex, '/a'))
      expect(error).toMatchObject({ name, direction: 'outbound', peer: 'unknown', tried: ['/a'] })
      expect(await ended).toBe(error)
    }
  })

  it('S2.39: end with a signal, before any byte if it is aborted', async () => {
    const early = scripted('HDR A')
    const error = await failure(select(early.duplex, '/a', { signal: AbortSignal.abort() }))
    expect(error).toMatchObject({ name: 'AbortError', phase: 'header' })
    expect(await early.ended).toBe(error)
    expect(early.sent).toEqual([])
    const [left] = duplexPair()
    const controller = new AbortController()
    const failed = failure(handle(left, '/a', { signal: controller.signal }))
    await turns()
    controller.abort()
    expect(await failed).toMatchObject({ name: 'AbortError', direction: 'inbound', tried: [] })
  })

  it('S2.7: are reset when the sink fails, and only then', async () => {
    const { duplex } = scripted('HDR', 'A')
    const broken: ByteDuplex = { source: duplex.source, sink: async () => { throw new Error('the pipe is broken') } }
    expect(await failure(select(broken, '/a'))).toMatchObject({ name: 'StreamResetError', cause: { cause: { message: 'the pipe is broken' } } })
    const late = scripted('HDR A pong')
    let breakDown = (_error: Error): void => {}
    const sent = new Promise<void>((_resolve, reject) => { breakDown = reject })
    const { stream } = await select({ source: late.duplex.source, sink: async () => sent }, '/a')
    breakDown(new Error('the pipe is broken'))
    await expect(stream.sink((async function * () { yield wire('ping') })())).rejects.toThrow('the pipe is broken')
    expect(await collect(stream.source)).toBe(hex('pong'))
  })

  it('S2.34: read a few frames at a time', async () => {
    const { duplex, sent } = scripted(`HDR ${'B '.repeat(10)} A pong`)
    const { protocol, stream } = await handle(duplex, '/a', { limits: { maxFrameLength: 1024, maxRounds: 64, maxFramesPerTurn: 4 } })
    expect(protocol).toBe('/a')
    expect(await collect(stream.source)).toBe(hex('pong'))
    await turns()
    expect(sent.map(write => write.length / 2)).toEqual([20 + 3 * 4, 4 * 4, 3 * 4 + 4])
  })

  it('leave a source that can be left, also one that fails at it', async () => {
    let left = 0
    const source = (fails: boolean): AsyncIterable<Uint8Array> => ({
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false, value: wire('00') }),
        return: async () => {
          left++
          if (fails) {
            throw new Error('no')
          }
          return { done: true, value: undefined }
        }
      })
    })
    for (const fails of [false, true]) {
      expect(await failure(handle({ source: source(fails), sink: async () => {} }, '/a'))).toMatchObject({ name: 'InvalidMessageError' })
    }
    expect(left).toBe(2)
  })
})

describe('select and handle, given what is none of their arguments', () => {
  it.each<[string, unknown, unknown, object | undefined, string]>([
    ['no stream', {}, ['/a'], undefined, 'Cannot negotiate: stream must be a stream of js-libp2p, or a duplex with source and sink, received object'],
    ['nothing', undefined, ['/a'], undefined, 'Cannot negotiate: stream must be a stream of js-libp2p, or a duplex with source and sink, received undefined'],
    ['no names', 'a stream', undefined, undefined, 'Cannot negotiate: protocols must be a name or an array of names, received undefined'],
    ['a signal that is none', 'a stream', ['/a'], { signal: 'x' }, 'Cannot negotiate: signal must be an AbortSignal, received string']
  ])('reject for %s, and do nothing to the stream', async (_, stream, protocols, options, message) => {
    const [outbound] = fakeStreams((deliver) => { deliver() })
    const given = stream === 'a stream' ? outbound : stream
    for (const negotiate of [select, handle] as const) {
      await expect((negotiate as (...args: unknown[]) => Promise<unknown>)(given, protocols, options)).rejects.toMatchObject({ name: 'TypeError', message })
    }
    // What began would show when the event loop has turned.
    await new Promise((resolve) => { setImmediate(resolve) })
    expect(outbound.status).toBe('open')
  })

  it('take some of the limits, and the rest by default', async () => {
    const [outbound] = fakeStreams((deliver) => { deliver() })
    await expect(select(outbound, ['/a', '/b'], { limits: { maxRounds: 1 } })).rejects.toMatchObject({ name: 'RangeError' })
    await expect(select(outbound, `/${'x'.repeat(1023)}`, { limits: { maxRounds: 1 } })).rejects.toMatchObject({ name: 'RangeError' })
  })
})
