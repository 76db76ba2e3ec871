import '../support/polyfill.ts'
import { describe, expect, it } from 'vitest'
import { MuxerAdapter } from '../../src/libp2p/muxer-adapter.ts'
import { NegotiatedMuxer } from '../../src/libp2p/negotiated-muxer.ts'
import { InnerMuxer } from '../../src/libp2p/stream-source.ts'
import { FakeMuxer } from '../support/fake-muxer.ts'
import { fakeStreams } from '../support/fake-stream.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'
import type { Connection } from '@libp2p/interface'
import type { MuxerUser } from '../../src/libp2p/muxer-adapter.ts'

/** A connection of the host that ends as HOST.md 5.4 says, over a muxer that writes down what it is asked for. */
function ending () {
  const inner = new FakeMuxer()
  const muxer = new NegotiatedMuxer(inner)
  const log: string[] = []
  const host = {
    async close (options: object) {
      log.push(`host.close ${'signal' in options ? 'with a signal' : 'without'}`)
      await muxer.close(options)
      log.push('transport closed')
    },
    abort (error: Error) {
      log.push(`host.abort ${error.message}`)
      muxer.abort(error)
      log.push('transport aborted')
    }
  }
  const user: MuxerUser = {
    streamOpened: () => { log.push('opened') },
    openingFailed: (_opening, error) => { log.push(`failed ${(error as Error).message}`) },
    close: () => { log.push('machine.close') },
    abort: (error) => { log.push(`machine.abort ${error.message}`) }
  }
  const port = new MuxerAdapter(host as unknown as Connection, new InnerMuxer(muxer), new ManualScheduler(), user)
  muxer.owner = {
    isOpen: true,
    inboundStream: () => {},
    openHostStream: async () => Promise.reject(new Error('unused')),
    passedThrough: () => {},
    isHidden: () => false,
    closeMuxer: async (options) => { await port.closeMuxer(options) },
    listenerThrew: () => {},
    abortMuxer: (error) => { port.abortMuxer(error) }
  }
  const settle = async () => new Promise((resolve) => setImmediate(resolve))
  return { inner, host, port, log, settle, asked: () => inner.asked.map((call) => (call as [string])[0]) }
}

describe('the end of a connection (HOST.md 5.4)', () => {
  it('begun by the host waits for the handlers, then closes the muxer, then the transport', async () => {
    const { host, port, log, asked, settle } = ending()
    const closed = host.close({})
    await settle()
    expect([log, asked()]).toEqual([['host.close without', 'machine.close'], []])
    port.close()
    await closed
    expect([log.slice(2), asked()]).toEqual([['transport closed'], ['close']])
  })

  it('begun by the machine goes through the host, not under the host\'s own second', async () => {
    const { port, log, asked, settle } = ending()
    port.close()
    await settle()
    expect([log, asked()]).toEqual([['host.close with a signal', 'transport closed'], ['close']])
  })

  it('gives the streams the signal of the host, and none if the machine has begun: one that never aborts would be listened to for nothing', async () => {
    const { signal } = new AbortController()
    for (const [begin, given] of [['host', [signal, signal]], ['machine', [undefined, undefined]]] as const) {
      const { inner, host, port, settle } = ending()
      const signals: unknown[] = []
      for (const stream of [fakeStreams(() => {})[0], fakeStreams(() => {})[0]]) {
        stream.close = async (options) => {
          signals.push(options?.signal)
          inner.streams.splice(inner.streams.indexOf(stream), 1)
          stream.onTransportClosed()
        }
        inner.streams.push(stream)
      }
      const closed = begin === 'host' ? host.close({ signal }) : undefined
      port.close()
      await settle()
      await closed
      expect(signals).toEqual(given)
    }
  })

  it('begun by both at once closes once', async () => {
    const { host, port, log, settle } = ending()
    const both = Promise.all([host.close({}), host.close({})])
    await settle()
    port.close()
    await both
    expect(log.filter((line) => line === 'machine.close')).toHaveLength(2)
    expect(log.filter((line) => line.startsWith('host.close'))).toHaveLength(2)
  })

  it('that the host aborts tells the machine once, and aborts the muxer each time', () => {
    const { host, port, log, asked } = ending()
    host.abort(new Error('enough'))
    port.abort(new Error('later'))
    host.abort(new Error('again'))
    expect(log).toEqual([
      'host.abort enough', 'machine.abort enough', 'transport aborted', 'host.abort again', 'transport aborted'
    ])
    expect(asked()).toEqual(['abort', 'abort'])
  })

  it('that the machine cuts aborts through the host, without an echo (C23)', () => {
    const { port, log, asked } = ending()
    port.abort(new Error('late'))
    port.abort(new Error('later'))
    expect(log).toEqual(['host.abort late', 'transport aborted'])
    expect(asked()).toEqual(['abort'])
  })

  it('leaves no transport open when the muxer cannot close, whoever began', async () => {
    for (const begin of ['host', 'machine'] as const) {
      const { inner, host, port, log, settle } = ending()
      inner.closeError = new Error('stuck')
      if (begin === 'host') {
        const closed = expect(host.close({})).rejects.toThrow('stuck')
        port.close()
        await closed
      } else {
        port.close()
        await settle()
      }
      expect(log).toContain('host.abort stuck')
      expect(log).not.toContain('transport closed')
    }
  })

  it('is cut by the signal of the host while handlers still have something to say', async () => {
    const { inner, host, log } = ending()
    inner.closeError = new Error('aborted')
    const abort = new AbortController()
    const closed = expect(host.close({ signal: abort.signal })).rejects.toThrow('aborted')
    abort.abort()
    await closed
    expect(log).toContain('host.abort aborted')
  })

  it('lets a waiting close of the host go on when the transport is gone', async () => {
    const { host, port, asked } = ending()
    const closed = host.close({})
    port.hostClosed()
    await closed
    port.abort(new Error('too late'))
    expect(asked()).toEqual(['close'])
  })
})

describe('openStream', () => {
  it('passes the options of the host on, and tells what came of it', async () => {
    const { inner, port, log, settle } = ending()
    port.openStream({ options: { maxReadBufferLength: 1 }, protocols: [] })
    port.openStream({ options: undefined, protocols: [] })
    inner.createStream = async () => Promise.reject(new Error('no more'))
    const refused = { options: undefined, protocols: [] }
    port.openStream(refused)
    port.cancelOpening(refused)
    await settle()
    expect(inner.asked).toEqual([['createStream', { maxReadBufferLength: 1 }], ['createStream', {}]])
    expect(log).toEqual(['opened', 'opened', 'failed no more'])
  })
})
