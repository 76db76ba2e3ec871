import { describe, expect, it } from 'vitest'
import { hex, toHex, wire } from '../support/wire.ts'
import { RecordingHandler, connectionPair } from '../../src/testing/index.ts'

const ECHO = ['/echo/1.0.0']

function pairOf () {
  const dialer = new RecordingHandler()
  const listener = new RecordingHandler(ECHO)
  return { dialer, listener, pair: connectionPair({ dialer, listener, init: { idleTimeoutMs: Infinity, closeTimeoutMs: 50 } }) }
}

describe('faults of a connectionPair', () => {
  it('a stalled muxer opens streams when it resumes, and the requests run into their deadlines before', () => {
    const { dialer, listener, pair } = pairOf()
    pair.dialer.stall()
    dialer.request(ECHO, { timeoutMs: 10 })
    dialer.request(ECHO, { timeoutMs: 1000 })
    pair.drive(20)
    expect(dialer.eventsOf('dial-upgrade-error').map(({ error }) => error.kind)).toEqual(['timeout'])
    pair.dialer.resume()
    pair.drive()
    expect(dialer.eventsOf('fully-negotiated-outbound')).toHaveLength(1)
    expect(listener.eventsOf('fully-negotiated-inbound')).toHaveLength(1)
  })

  it('a stalled muxer does not answer a close, which ends by its deadline (S10.14)', () => {
    const { pair } = pairOf()
    pair.dialer.stall()
    pair.dialer.connection.close()
    pair.drive(49)
    expect(pair.dialer.connection.status.phase).toBe('closing')
    pair.drive(1)
    expect(pair.dialer.outputs.at(-1)).toMatchObject({ type: 'closed', reason: 'local-close' })
  })

  it('a refusing muxer fails each request', () => {
    const { dialer, pair } = pairOf()
    pair.dialer.isRefusing = true
    dialer.request(ECHO)
    pair.drive()
    pair.dialer.isRefusing = false
    dialer.request(ECHO)
    pair.drive()
    expect(dialer.eventsOf('dial-upgrade-error').map(({ error }) => error.kind)).toEqual(['io'])
    expect(dialer.eventsOf('fully-negotiated-outbound')).toHaveLength(1)
  })

  it('tells how many streams wait and negotiate, and how many turns there were for how many wakes', () => {
    const dialer = new RecordingHandler()
    const init = { maxNegotiatingInboundStreams: 0, inboundTimeoutMs: 50 }
    const pair = connectionPair({ dialer, listener: new RecordingHandler(ECHO), init, latencyMs: 10 })
    dialer.request(ECHO)
    dialer.request(ECHO)
    pair.drive(15)
    expect(pair.dialer.pending).toEqual({ waiting: 0, negotiating: 2, inbound: 0 })
    expect(pair.listener.pending).toEqual({ waiting: 2, negotiating: 0, inbound: 0 })
    pair.drive(100)
    expect(pair.listener.pending).toEqual({ waiting: 0, negotiating: 0, inbound: 0 })
    expect(pair.listener.turns).toBeGreaterThan(2)
    expect(pair.listener.wakes).toBeLessThanOrEqual(pair.listener.turns + 1)
  })

  it('opens streams that only the other end knows of, with whatever is said on them', () => {
    const { listener, pair } = pairOf()
    const raw = pair.dialer.openRaw()
    pair.drive()
    expect([pair.listener.pending, pair.dialer.pending, pair.listener.inboundStreams]).toMatchObject([{ negotiating: 1, inbound: 1 }, { negotiating: 0 }, [{ protocol: '' }]])
    raw.send(wire('HDR 0c2f6563686f2f312e302e300a'))
    pair.drive()
    expect([listener.eventsOf('fully-negotiated-inbound').length, toHex(raw.read())]).toEqual([1, hex('HDR 0c2f6563686f2f312e302e300a')])
    raw.reset(new Error('enough'))
    pair.drive()
    expect(pair.listener.inboundStreams).toEqual([])
  })

  it('tells which streams are in use although the other end has yet to agree', () => {
    const { dialer, pair } = pairOf()
    pair.dialer.connection.handleRemoteReport('replaced', ECHO)
    pair.drive()
    dialer.request(ECHO, { lazy: true })
    pair.dialer.stall()
    pair.drive()
    expect(pair.dialer.unconfirmed).toEqual([])
    pair.dialer.resume()
    pair.drive()
    expect([pair.dialer.unconfirmed, dialer.eventsOf('fully-negotiated-outbound')]).toMatchObject([[], [{ lazy: true }]])
  })
})
