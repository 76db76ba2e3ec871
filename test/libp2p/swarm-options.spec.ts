import { describe, expect, it } from 'vitest'
import { ping } from '../../src/behaviours/ping.ts'
import { parseSwarmConfig } from '../../src/libp2p/swarm-options.ts'

const parse = (options: object) => parseSwarmConfig({ behaviours: {}, ...options })

describe('parseSwarmConfig', () => {
  it('fills in the defaults, and lets connections live on when they are idle (S6.5)', () => {
    expect(parse({})).toMatchObject({
      turnBudgetMs: 5, eventBufferSize: 256, maxStallMs: 10_000, keepProcessAlive: false, correctHostIterators: true, advertise: 'union', onDuplicate: 'first-wins',
      connection: { idleTimeoutMs: Infinity, closeTimeoutMs: 5000, maxNegotiatingInboundStreams: 128 }
    })
  })

  it('takes what it is given, undefined for the default, and freezes the result', () => {
    const config = parse({ turnBudgetMs: 1, idleTimeoutMs: 10_000, advertise: 'declared', onDuplicate: 'error', eventBufferSize: undefined })
    expect(config).toMatchObject({ turnBudgetMs: 1, advertise: 'declared', onDuplicate: 'error', eventBufferSize: 256, connection: { idleTimeoutMs: 10_000 } })
    expect([config, config.connection].every((part) => Object.isFrozen(part))).toBe(true)
  })

  it('reads a frozen object and leaves it alone', () => {
    const init = Object.freeze({ behaviours: Object.freeze({}), idleTimeoutMs: 1 })
    expect(parseSwarmConfig(init).connection.idleTimeoutMs).toBe(1)
  })

  it.each([
    [{ unknown: 1 }, TypeError, 'there is no option "unknown"'],
    [{ idleTimeout: 1 }, TypeError, 'there is no option "idleTimeout", did you mean idleTimeoutMs? Known are behaviours, maxFrameLength'],
    [{ unknown: 1 }, TypeError, 'turnBudgetMs, eventBufferSize, maxStallMs, gateTimeoutMs, keepProcessAlive, correctHostIterators, advertise, onDuplicate'],
    [{ behaviours: [] }, TypeError, 'behaviours must be an object of behaviours by key, received an array'],
    [{ behaviours: new Map() }, TypeError, 'behaviours must be an object of behaviours by key, received object'],
    [{ behaviours: null }, TypeError, 'behaviours must be an object of behaviours by key, received null'],
    [{ behaviours: ping() }, TypeError, 'received a behaviour; write { behaviours: { key: behaviour } }'],
    [{ maxStalMs: 1 }, TypeError, 'there is no option "maxStalMs", did you mean maxStallMs?'],
    [{ turnBudgetMs: 'soon' }, TypeError, 'turnBudgetMs must be a number, received string'],
    [{ turnBudgetMs: -1 }, RangeError, 'turnBudgetMs must be milliseconds of at least 0, received -1'],
    [{ eventBufferSize: 0 }, RangeError, 'eventBufferSize must be a whole number from 1'],
    [{ idleTimeoutMs: NaN }, RangeError, 'idleTimeoutMs must be milliseconds of at least 0, received NaN'],
    [{ maxFrameLength: 16_384 }, RangeError, 'maxFrameLength must be a whole number from 20 to 16383, received 16384'],
    [{ keepProcessAlive: 1 }, TypeError, 'keepProcessAlive must be true or false, received number'],
    [{ advertise: 'all' }, TypeError, 'advertise must be "union" or "declared", received "all"'],
    [{ onDuplicate: null }, TypeError, 'onDuplicate must be "first-wins" or "error", received "null"'],
    [{ behaviours: undefined }, TypeError, 'behaviours must be an object of behaviours by key, received undefined']
  ])('refuses %j', (options, kind, message) => {
    expect(() => parse(options)).toThrow(kind)
    expect(() => parse(options)).toThrow(message)
  })
})
