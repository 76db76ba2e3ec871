import { describe, expect, it } from 'vitest'
import { count, duration, flag, parseOptions } from '../../src/core/options.ts'
import type { OptionTable } from '../../src/core/options.ts'

interface Config {
  readonly rounds: number
  readonly queue: number
  readonly timeoutMs: number
  readonly isEager: boolean
}

const TABLE: OptionTable<Config> = { rounds: count(64, 1, 100), queue: count(256), timeoutMs: duration(10_000), isEager: flag(false) }

function parse (init: object): Config {
  return parseOptions<Config>(TABLE, init, 'Cannot start')
}

describe('parseOptions (S9.2)', () => {
  it('gives every option: as given, or its default when absent or undefined', () => {
    expect(parse({})).toEqual({ rounds: 64, queue: 256, timeoutMs: 10_000, isEager: false })
    expect(parse({ rounds: 1, queue: undefined, timeoutMs: 0, isEager: true }))
      .toEqual({ rounds: 1, queue: 256, timeoutMs: 0, isEager: true })
  })

  it('the config is frozen, and the object of the caller, which may be frozen too, is left alone', () => {
    const init = Object.freeze({ rounds: 2 })
    const config = parse(init)
    expect(Object.isFrozen(config)).toBe(true)
    expect(init).toEqual({ rounds: 2 })
    expect(parse(init)).not.toBe(config)
  })

  it.each([
    [{ rounds: 1 }], [{ rounds: 100 }], [{ queue: 0 }], [{ queue: Infinity }], [{ timeoutMs: Infinity }], [{ timeoutMs: 0.5 }], [{ timeoutMs: 2 ** 40 }]
  ])('accepts %o', init => {
    expect(parse(init)).toMatchObject(init)
  })

  it.each([
    [{ rounds: 0 }, 'Cannot start: rounds must be a whole number from 1 to 100, received 0'],
    [{ rounds: 101 }, 'Cannot start: rounds must be a whole number from 1 to 100, received 101'],
    [{ rounds: Infinity }, 'Cannot start: rounds must be a whole number from 1 to 100, received Infinity'],
    [{ queue: 1.5 }, 'Cannot start: queue must be a whole number from 0 to Infinity, received 1.5'],
    [{ queue: NaN }, 'Cannot start: queue must be a whole number from 0 to Infinity, received NaN'],
    [{ timeoutMs: -1 }, 'Cannot start: timeoutMs must be milliseconds of at least 0, received -1'],
    [{ timeoutMs: NaN }, 'Cannot start: timeoutMs must be milliseconds of at least 0, received NaN']
  ])('refuses %o with a RangeError that names option, rule and value (S1.4)', (init, message) => {
    expect(() => parse(init)).toThrow(new RangeError(message))
  })

  it.each([
    [{ rounds: '1' }, 'Cannot start: rounds must be a number, received string'],
    [{ timeoutMs: null }, 'Cannot start: timeoutMs must be a number, received object'],
    [{ isEager: 1 }, 'Cannot start: isEager must be true or false, received number'],
    [{ round: 1 }, 'Cannot start: there is no option "round", did you mean rounds? Known are rounds, queue, timeoutMs, isEager'],
    [{ TimeOutMS: 1 }, 'Cannot start: there is no option "TimeOutMS", did you mean timeoutMs? Known are rounds, queue, timeoutMs, isEager'],
    [{ toString: 1 }, 'Cannot start: there is no option "toString"; known are rounds, queue, timeoutMs, isEager']
  ])('refuses %o with a TypeError', (init, message) => {
    expect(() => parse(init)).toThrow(new TypeError(message))
  })

  it.each([[null, 'null'], [[], 'an array'], [1, 'number'], [() => 1, 'function']])('refuses %o, which is no object of options', (init, kind) => {
    expect(() => parse(init as never)).toThrow(new TypeError(`Cannot start: options must be an object, received ${kind}`))
  })

  it('knows the options that its caller reads by itself', () => {
    const parseBoth = (init: object) => parseOptions<Config>(TABLE, init, 'Cannot start', ['protocols'])
    expect(parseBoth({ protocols: '/a', rounds: 1 })).not.toHaveProperty('protocols')
    expect(() => parseBoth({ protocol: '/a' })).toThrow('did you mean protocols? Known are protocols, rounds')
  })
})
