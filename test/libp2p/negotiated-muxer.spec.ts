import '../support/polyfill.ts'
import { serviceCapabilities } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { muxerOf, negotiated } from '../../src/libp2p/negotiated-muxer.ts'
import { InnerMuxer } from '../../src/libp2p/stream-source.ts'
import { FakeMuxer } from '../support/fake-muxer.ts'
import { fakeStreams } from '../support/fake-stream.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'
import type { Connection, Stream, StreamMuxerFactory } from '@libp2p/interface'
import type { MuxerOwner, NegotiatedMuxer } from '../../src/libp2p/negotiated-muxer.ts'

function wrapped () {
  const inner = new FakeMuxer()
  const factory: StreamMuxerFactory = { protocol: inner.protocol, createStreamMuxer: () => inner }
  const [wire] = fakeStreams((deliver) => { deliver() })
  negotiated(() => factory)({}).createStreamMuxer(wire)
  return { inner, wire, muxer: muxerOf({ streams: inner.streams } as Connection)! }
}

/** An owner that writes down what it is given. */
function ownerOf (muxer: NegotiatedMuxer) {
  const told: unknown[] = []
  const stream = { name: 'negotiated' } as unknown as Stream
  const owner: MuxerOwner = {
    isOpen: true,
    inboundStream: (inbound) => { told.push(['inboundStream', inbound]) },
    openHostStream: async (options) => { told.push(['openHostStream', options]); return stream },
    passedThrough: (passed) => { told.push(['passedThrough', passed]) },
    isHidden: ({ protocol }) => protocol === '/hidden',
    closeMuxer: async (options) => { told.push(['closeMuxer', options]) },
    abortMuxer: (error) => { told.push(['abortMuxer', error.message]) },
    listenerThrew: (type, cause) => { told.push(['listenerThrew', type, cause]) }
  }
  muxer.owner = owner
  return { told, stream }
}

describe('negotiated', () => {
  it('changes nothing about the factory but its muxers: members with private state and life cycles work', () => {
    class Factory {
      readonly protocol = '/fake/1.0.0'
      readonly [serviceCapabilities] = ['@libp2p/stream-multiplexing']
      #starts = 0
      get [Symbol.toStringTag] () { return `factory started ${this.#starts} times` }
      start () { this.#starts++ }
      createStreamMuxer () { return new FakeMuxer() }
    }
    const components = { some: 'components' }
    let given: unknown
    const factory = negotiated((all: typeof components) => { given = all; return new Factory() })(components) as StreamMuxerFactory & {
      readonly [serviceCapabilities]: string[]
      readonly [Symbol.toStringTag]: string
      start (): void
    }
    factory.start()
    expect(given).toBe(components)
    expect(factory.protocol).toBe('/fake/1.0.0')
    expect(factory[serviceCapabilities]).toEqual(['@libp2p/stream-multiplexing'])
    expect(factory[Symbol.toStringTag]).toBe('factory started 1 times')
    expect(factory.createStreamMuxer(fakeStreams((deliver) => { deliver() })[0])).not.toBeInstanceOf(FakeMuxer)
  })

  it('finds the muxer of a connection by its streams, and none for a muxer that was not wrapped', () => {
    const { inner, muxer } = wrapped()
    expect(muxerOf({ streams: inner.streams } as Connection)).toBe(muxer)
    expect(muxerOf({ streams: new FakeMuxer().streams } as Connection)).toBe(undefined)
  })
})

describe('a wrapped muxer that no swarm took over', () => {
  it('writes what a listener throws into the log of its wire, which may throw as well', () => {
    const { inner, muxer, wire } = wrapped()
    const logged: unknown[] = []
    const log = Object.assign(() => {}, { error: (...line: unknown[]) => { logged.push(...line); throw new Error('no log') } })
    Object.assign(wire, { log })
    muxer.addEventListener('stream', () => { throw new RangeError('mine') })
    inner.open('/a')
    expect(logged).toEqual(['listener for %s threw - %e', 'stream', new RangeError('mine')])
  })

  it('does what the bare one does', async () => {
    const { inner, muxer } = wrapped()
    expect([muxer.protocol, muxer.status, muxer.streams]).toEqual([inner.protocol, 'open', inner.streams])
    expect(muxer.streams).toBe(inner.streams)
    const stream = await muxer.createStream({ protocol: '/a' })
    expect(inner.streams).toContain(stream)
    await muxer.close({})
    muxer.abort(new Error('enough'))
    expect(inner.asked).toEqual([['createStream', { protocol: '/a' }], ['close', {}], ['abort', 'enough']])
    expect(muxer.status).toBe('closed')
  })

  it('listens to the inner muxer at once, and passes streams on untouched', () => {
    const { inner, muxer } = wrapped()
    expect(inner.listenerCount('stream')).toBe(1)
    const seen: Stream[] = []
    muxer.addEventListener('stream', ({ detail }) => { seen.push(detail) })
    muxer.addEventListener('stream', () => {})
    expect(inner.listenerCount('stream')).toBe(1)
    const streams = [inner.open(), inner.open('/a')]
    expect(seen).toEqual(streams)
    expect(Object.hasOwn(streams[0]!, 'close')).toBe(false)
  })
})

describe('streams that come before the connection is upgraded', () => {
  it('go to the first listener in a microtask, in their order, and to the owner that is known by then', async () => {
    const { inner, muxer } = wrapped()
    const early = [...Array.from({ length: 20 }, () => inner.open()), inner.open('/a')]
    const seen: Stream[] = []
    muxer.addEventListener('stream', ({ detail }) => { seen.push(detail) })
    const { told } = ownerOf(muxer)
    const last = inner.open()
    expect([seen, told]).toEqual([[], []])
    await Promise.resolve()
    expect(seen).toEqual([early[20]])
    expect(told).toEqual([...early.slice(0, 20), last].map((stream) => ['inboundStream', stream]))
  })

  it('end muxer and wire when they are more than 384: a muxer that ends alone leaves a connection that looks open', () => {
    const { inner, wire, muxer } = wrapped()
    for (let left = 384; left > 0; left--) {
      inner.open()
    }
    expect([inner.status, wire.status]).toEqual(['open', 'open'])
    inner.open()
    expect([muxer.status, wire.status]).toEqual(['closed', 'aborted'])
    expect(inner.asked).toEqual([['abort', 'Cannot take the connection: more than 384 streams were opened before it was upgraded']])
  })
})

describe('a wrapped muxer with an owner', () => {
  it('gives it streams without a name, and passes on those that bear one', () => {
    const { inner, muxer } = wrapped()
    const seen: Stream[] = []
    muxer.addEventListener('stream', ({ detail }) => { seen.push(detail) })
    const { told } = ownerOf(muxer)
    const [nameless, named] = [inner.open(), inner.open('/a')]
    expect(told).toEqual([['inboundStream', nameless]])
    expect(seen).toEqual([named])
    muxer.emit(nameless)
    expect(seen).toEqual([named, nameless])
  })

  it('tells it of what a listener throws or rejects with, and the others get the stream (S4.15)', async () => {
    const { inner, muxer } = wrapped()
    const { told } = ownerOf(muxer)
    const seen: Stream[] = []
    const error = new RangeError('mine')
    const fail = (): never => { throw error }
    const asLater: () => unknown = async () => fail()
    for (const listener of [fail, asLater, { handleEvent: fail }, { get handleEvent () { return fail() } }]) {
      muxer.addEventListener('stream', listener)
    }
    muxer.addEventListener('stream', ({ detail }) => { seen.push(detail) })
    const stream = inner.open('/a')
    await new Promise((resolve) => { setImmediate(resolve) })
    expect(seen).toEqual([stream])
    expect(stream.status).toBe('open')
    expect(told).toEqual(Array.from({ length: 4 }, () => ['listenerThrew', 'stream', error]))
  })

  it('has it open streams for one name, and opens those for several as they are', async () => {
    const { inner, muxer } = wrapped()
    const { told, stream } = ownerOf(muxer)
    expect(await muxer.createStream({ protocol: '/a' })).toBe(stream)
    const bare = await muxer.createStream()
    expect(inner.streams).toEqual([bare])
    expect(told).toEqual([['openHostStream', { protocol: '/a' }], ['passedThrough', bare]])
  })

  it('shows the host the very array of the inner muxer, and a shorter one while a stream is hidden', () => {
    const { inner, muxer } = wrapped()
    ownerOf(muxer)
    const shown = inner.open('/shown')
    expect(muxer.streams).toBe(inner.streams)
    inner.open('/hidden')
    expect(muxer.streams).toEqual([shown])
  })

  it('closes, for the host, as soon as its owner does', () => {
    const { inner, muxer } = wrapped()
    ownerOf(muxer)
    expect(muxer.status).toBe('open')
    muxer.owner = { ...muxer.owner!, isOpen: false }
    expect(muxer.status).toBe('closing')
    inner.abort(new Error('enough'))
    expect(muxer.status).toBe('closed')
  })

  it('has it close and abort', async () => {
    const { inner, muxer } = wrapped()
    const { told } = ownerOf(muxer)
    const options = { signal: AbortSignal.abort() }
    await muxer.close(options)
    muxer.abort(new Error('enough'))
    expect(told).toEqual([['closeMuxer', options], ['abortMuxer', 'enough']])
    expect(inner.asked).toEqual([])
  })
})

/** A wrapped muxer of a known connection, and what it writes to its wire. */
function busy () {
  const [wire, remote] = fakeStreams((deliver) => { deliver() })
  const inner = new FakeMuxer()
  const scheduler = new ManualScheduler()
  const writes: number[][] = []
  remote.addEventListener('message', ({ data }) => { writes.push([...data.subarray()]) })
  negotiated(() => ({ protocol: inner.protocol, createStreamMuxer: () => inner }))({}).createStreamMuxer(wire)
  const muxer = muxerOf({ streams: inner.streams } as Connection)!
  muxer.addEventListener('stream', () => {})
  ownerOf(muxer)
  muxer.joinWrites(scheduler)
  const source = new InnerMuxer(muxer)
  const opening = { protocols: ['/a'], options: undefined }
  return { wire, inner, scheduler, writes, source, opening }
}

describe('the wire of a wrapped muxer', () => {
  it('is left as it is until the connection has had 32 streams, whoever opened them', async () => {
    const { wire, inner, scheduler, writes, source, opening } = busy()
    for (let streams = 0; streams < 31; streams++) {
      await (streams % 2 === 0 ? source.open(opening) : inner.open())
    }
    wire.send(Uint8Array.of(1))
    wire.send(Uint8Array.of(2))
    expect([writes, scheduler.microtasks]).toEqual([[[1], [2]], []])
    await source.open(opening)
    wire.send(Uint8Array.of(3))
    wire.send(Uint8Array.of(4))
    while (scheduler.microtasks.length > 0) {
      scheduler.run(scheduler.microtasks)
    }
    expect(writes).toEqual([[1], [2], [3, 4]])
  })

  it.each<[string, (source: InnerMuxer) => Promise<void> | void]>([
    ['closed', (source) => source.close({})],
    ['aborted', (source) => { source.abort(new Error('enough')) }]
  ])('has the last words of a muxer that was %s when the host ends what lies below', async (_, end) => {
    const { wire, inner, writes, source, opening } = busy()
    for (let streams = 0; streams < 32; streams++) {
      await source.open(opening)
    }
    const goodbye = () => { wire.send(Uint8Array.of(9)) }
    inner.close = async () => { goodbye() }
    inner.abort = goodbye
    await end(source)
    expect(writes).toEqual([[9]])
  })
})
