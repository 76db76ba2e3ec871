import { describe, expect, it } from 'vitest'
import { toError } from '../../src/libp2p/to-error.ts'

const HOSTILE: ReadonlyArray<[what: string, thrown: unknown]> = [
  ['an object without a prototype', Object.create(null)],
  ['an object whose toString throws', { toString () { throw new Error('no') } }],
  ['a symbol', Symbol('s')],
  ['undefined', undefined],
  ['an error whose message throws', Object.defineProperty(new Error('x'), 'message', { get () { throw new Error('no') } })],
  ['an error whose name throws', Object.defineProperty(new Error('x'), 'name', { get () { throw new Error('no') } })],
  ['an error whose stack throws', Object.defineProperty(new Error('x'), 'stack', { get () { throw new Error('no') } })],
  ['an error whose message is no text', Object.defineProperty(new Error('x'), 'message', { value: Object.create(null) as object })],
  ['a revoked proxy', (() => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  })()]
]

describe('toError', () => {
  it('gives errors back as they are', () => {
    const error = new RangeError('x')
    expect(toError(error)).toBe(error)
  })

  it('makes an error of a text', () => {
    expect(toError('gone')).toMatchObject({ name: 'Error', message: 'gone' })
  })

  it.each(HOSTILE)('S10.18: makes an error that can be read of %s', (_, thrown) => {
    const error = toError(thrown)
    expect([typeof error.name, typeof error.message, typeof error.stack]).toEqual(['string', 'string', 'string'])
  })
})
