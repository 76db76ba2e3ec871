import { describe, expect, it } from 'vitest'
import { RecordingHandler, ScriptedConnection, connectionPair } from '../../src/testing/index.ts'
import { inbound } from '../support/scripted.ts'
import { hex, toHex, wire } from '../support/wire.ts'
import type { ConnectionInit } from '../../src/connection/index.ts'
import type { ScriptedStream, VirtualStream } from '../../src/testing/index.ts'

function setup (init: ConnectionInit) {
  return new ScriptedConnection(new RecordingHandler(['/a', '/b']), { init: { idleTimeoutMs: Infinity, ...init } })
}

const written = (stream: ScriptedStream) => stream.writes.map(toHex).join('')

describe('the option ls (S2.14)', () => {
  it('is true: the first one is answered with the names of the turn, the next one is not', () => {
    const test = setup({})
    const stream = inbound(test, 'LS LS')
    expect(written(stream)).toBe(hex('HDR 09 032f610a 032f620a 0a NA'))
  })

  it('false: none is answered', () => {
    const test = setup({ ls: false })
    const stream = inbound(test, 'LS A')
    expect(written(stream)).toBe(hex('HDR NA A'))
  })
})

describe('the option maxFramesPerTurn (S2.34)', () => {
  it('leaves the rest for another turn, after what was due was written', () => {
    const test = setup({ maxFramesPerTurn: 2 })
    const stream = inbound(test, 'C C A 6869')
    expect([written(stream), stream.kept.map(toHex), stream.protocol]).toEqual([hex('HDR NA'), [hex('C A 6869')], undefined])
    const other = inbound(test)
    expect(other.protocol).toBe('/a')
    test.feed(stream, stream.kept.shift() ?? wire(''))
    expect([written(stream), stream.kept, stream.protocol, stream.leftOver.map(toHex)]).toEqual([hex('HDR NA NA A'), [], '/a', ['6869']])
  })

  it('is 8', () => {
    const stream = inbound(setup({}), Array(9).fill('C').join(' '))
    expect([written(stream), stream.kept.map(toHex)]).toEqual([hex(`HDR ${Array(7).fill('NA').join(' ')}`), [hex('C C')]])
  })

  it('holds for both directions', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler, { init: { maxFramesPerTurn: 1 } })
    handler.request(['/a'])
    test.drive()
    const stream = test.grant()
    test.feed(stream, wire('HDR A'))
    expect(stream.kept.map(toHex)).toEqual([hex('A')])
    test.feed(stream, wire('A'))
    expect(handler.eventsOf('fully-negotiated-outbound')).toHaveLength(1)
  })
})

describe('two connections that read one frame a turn', () => {
  const names = ['/1', '/2', '/3', '/4', '/a']

  function agree (chunkSizes: number[]) {
    const dialer = new RecordingHandler()
    const listener = new RecordingHandler(['/a'])
    const pair = connectionPair({ dialer, listener, init: { maxFramesPerTurn: 1, idleTimeoutMs: Infinity }, chunkSizes, latencyMs: 1 })
    dialer.request(names)
    pair.drive(20)
    return { pair, dialer, listener }
  }

  it.each([[[1]], [[7, 3]], [[Infinity]]])('agree after refusals, and keep data and end in order, in chunks of %j (S2.5, S10.1)', chunkSizes => {
    const { pair, dialer, listener } = agree(chunkSizes)
    const from = dialer.eventsOf('fully-negotiated-outbound')[0]?.stream as VirtualStream
    const to = listener.eventsOf('fully-negotiated-inbound')[0]?.stream as VirtualStream
    from.send(wire('ping'))
    from.send(wire('data'))
    from.end()
    expect(to.isEnded).toBe(false)
    pair.drive(1)
    expect([toHex(to.read()), to.isEnded]).toEqual([hex('ping data'), true])
  })
})
