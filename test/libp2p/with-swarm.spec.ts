import { describe, expect, it } from 'vitest'
import { withSwarm } from '../../src/libp2p/with-swarm.ts'

const options = () => ({ streamMuxers: [() => ({}) as never], services: { identify: () => 'identify', other: () => 'other' } })

describe('withSwarm', () => {
  it('puts swarm first, keeps the other services, and wraps every muxer', () => {
    const given = options()
    const made = withSwarm({ ...given, start: false }, { behaviours: {} })
    expect(Object.keys(made.services ?? {})).toEqual(['swarm', 'identify', 'other'])
    expect(made.services?.identify).toBe(given.services.identify)
    expect(made.streamMuxers).toHaveLength(1)
    expect(made.streamMuxers?.[0]).not.toBe(given.streamMuxers[0])
    expect(made.start).toBe(false)
  })

  it('changes neither the options nor the init, and takes frozen ones', () => {
    const given = Object.freeze({ ...options(), services: Object.freeze(options().services) })
    const init = Object.freeze({ behaviours: Object.freeze({}) })
    withSwarm(given, init)
    expect(Object.keys(given.services)).toEqual(['identify', 'other'])
    expect(Object.keys(init)).toEqual(['behaviours'])
  })

  it('works for options without services or muxers', () => {
    expect(Object.keys(withSwarm({}, { behaviours: {} }).services ?? {})).toEqual(['swarm'])
  })

  it('refuses a node that has a service of that name', () => {
    expect(() => withSwarm({ services: { swarm: () => 'another' } }, { behaviours: {} })).toThrow(TypeError)
  })

  it('refuses to be called without options or init', () => {
    const unchecked = withSwarm as (...args: unknown[]) => unknown
    expect(() => unchecked({})).toThrow(new TypeError('Cannot make a swarm: options must be an object, received undefined'))
    expect(() => unchecked()).toThrow(new TypeError('Cannot plug the swarm in: the options of the node must be an object, received undefined'))
  })

  it('refuses options that do not exist before any node is made', () => {
    expect(() => withSwarm({}, { behaviours: {}, idle: 1 } as never)).toThrow('there is no option "idle"')
  })
})
