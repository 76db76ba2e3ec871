import { REFUSED } from './refused.ts'

/**
 * A throw of user code on its way up through compositions, with the path to the part that threw. It wraps whatever was
 * thrown, `undefined` included (S4.15), and never leaves the library.
 */
export class HandlerFault extends Error {
  override readonly name = 'HandlerFault'
  /** Keys of the parts, joined with dots; empty for a handler that is no composition. */
  readonly path: string
  /** The method that threw. */
  readonly method: string
  /** A mark that nothing which is thrown can have, nor notice that it is looked for. */
  readonly #isFault = true

  constructor (path: string, method: string, cause: unknown) {
    super(`${method} threw`, { cause })
    this.path = path
    this.method = method
  }

  /** Whether nothing was thrown, and the stream is for a part that is not there any more. */
  get isRefusal (): boolean {
    return this.cause === REFUSED
  }

  /** Whether `thrown` is a fault already. Does not throw, as `instanceof` does if a proxy wants it to. */
  static is (thrown: unknown): thrown is HandlerFault {
    return typeof thrown === 'object' && thrown !== null && #isFault in thrown
  }

  /** What was thrown, as a fault of `method`; one that is a fault already gets `key` in front of its path. */
  static of (thrown: unknown, method: string, key: string = ''): HandlerFault {
    if (!HandlerFault.is(thrown)) {
      return new HandlerFault(key, method, thrown)
    }
    return key === '' ? thrown : new HandlerFault(thrown.path === '' ? key : `${key}.${thrown.path}`, thrown.method, thrown.cause)
  }
}
