import { describe, expect, it } from 'vitest'
import { negotiationLimits, parseConnectionConfig } from '../../src/connection/connection-config.ts'
import { Connection } from '../../src/connection/index.ts'
import { RecordingHandler, ScriptedConnection, ScriptedMuxer } from '../../src/testing/index.ts'
import type { ConnectionInit } from '../../src/connection/index.ts'

function connect (init: ConnectionInit): Connection<unknown> {
  return new Connection({ id: 'c', peer: 'p', direction: 'outbound', handler: new RecordingHandler(), muxer: new ScriptedMuxer(), wake: () => {} }, init, 0)
}

describe('Connection: options', () => {
  it.each<[string, unknown, typeof TypeError | typeof RangeError]>([
    ['maxFrameLength', 19, RangeError],
    ['maxFrameLength', 16_384, RangeError],
    ['maxNegotiationRounds', 0, RangeError],
    ['idleTimeoutMs', NaN, RangeError],
    ['idleTimeoutMs', -1, RangeError],
    ['closeTimeoutMs', '5000', TypeError],
    ['maxNegotiatingInboundStreams', 1.5, RangeError],
    ['maxNegotiatingInboundStreams', Infinity, RangeError],
    ['maxNegotiatingOutboundStreams', 0, RangeError],
    ['maxHandlerEventsPerTurn', 0, RangeError],
    ['ls', 1, TypeError],
    ['maxFramesPerTurn', 0, RangeError],
    ['maxFramesPerTurn', Infinity, RangeError],
    ['unknown', 1, TypeError]
  ])('%s may not be %j (S9.2)', (name, value, kind) => {
    expect(() => connect({ [name]: value })).toThrow(kind)
    expect(() => connect({ [name]: value })).toThrow(name)
    expect(() => connect({ [name]: value })).toThrow(/^Cannot make a connection: /)
  })

  it('undefined stands for the default, and the caller’s object is only read (S9.2)', () => {
    const init = Object.freeze({ idleTimeoutMs: undefined, maxFrameLength: 16_383 })
    const test = new ScriptedConnection(new RecordingHandler(), { init })
    expect(test.connection.status).toMatchObject({ activity: 'idle', until: 10_000 })
    expect(init).toEqual({ idleTimeoutMs: undefined, maxFrameLength: 16_383 })
  })

  it('options that say the same are one object, and so is what follows from them (S9.2)', () => {
    const config = parseConnectionConfig({})
    expect(parseConnectionConfig({ maxFrameLength: 1024, ls: undefined })).toBe(config)
    expect(negotiationLimits(config)).toBe(negotiationLimits(config))
    const other = parseConnectionConfig({ maxFrameLength: 1023 })
    expect(other).toMatchObject({ ...config, maxFrameLength: 1023 })
    expect(negotiationLimits(other)).toMatchObject({ maxFrameLength: 1023, maxRounds: 64, maxFramesPerTurn: 8, ls: true })
    expect([other, negotiationLimits(other)].map(part => Object.isFrozen(part))).toEqual([true, true])
  })

  it('a connection says who it is', () => {
    expect(connect({})).toMatchObject({ id: 'c', peer: 'p', direction: 'outbound' })
  })
})
