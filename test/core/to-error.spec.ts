import { describe, expect, it } from 'vitest'
import { isError, toError } from '../../src/core/to-error.ts'

/** An object that throws whatever is done with it, `instanceof` included. */
const UNTOUCHABLE = new Proxy(new Error('x'), {
  get () { throw new Error('no') },
  getPrototypeOf () { throw new Error('no') },
  has () { throw new Error('no') }
})

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
  })()],
  ['a proxy that throws when it is asked what it is', UNTOUCHABLE]
]

describe('toError', () => {
  it('gives errors back as they are', () => {
    const error = new RangeError('x')
    expect(toError(error)).toBe(error)
  })

  it('makes an error of a text', () => {
    expect(toError('gone')).toMatchObject({ name: 'Error', message: 'gone', cause: 'gone' })
    expect(toError(undefined)).toMatchObject({ message: 'Something was thrown that is no error: undefined', cause: undefined })
  })

  it.each(HOSTILE)('S10.18: makes an error that can be read of %s', (_, thrown) => {
    const error = toError(thrown)
    expect([typeof error.name, typeof error.message, typeof error.stack]).toEqual(['string', 'string', 'string'])
    expect(error.cause === thrown || error === thrown).toBe(true)
  })
})

describe('isError', () => {
  it('knows errors, whatever their kind, and nothing else; it never throws', () => {
    expect([new Error('x'), new RangeError('x'), new AggregateError([])].map(isError)).toEqual([true, true, true])
    expect(['x', undefined, null, Symbol('s'), {}, Object.create(null), UNTOUCHABLE].map(isError)).toEqual([false, false, false, false, false, false, false])
  })
})
