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

  constructor (path: string, method: string, cause: unknown) {
    super(`${method} threw`, { cause })
    this.path = path
    this.method = method
  }

  /** Whether nothing was thrown, and the stream is for a part that is not there any more. */
  get isRefusal (): boolean {
    return this.cause === REFUSED
  }

  /** What was thrown, as a fault of `method`; one that is a fault already gets `key` in front of its path. */
  static of (thrown: unknown, method: string, key: string = ''): HandlerFault {
    if (!(thrown instanceof HandlerFault)) {
      return new HandlerFault(key, method, thrown)
    }
    return key === '' ? thrown : new HandlerFault(thrown.path === '' ? key : `${key}.${thrown.path}`, thrown.method, thrown.cause)
  }
}
