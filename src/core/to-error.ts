/**
 * Anything may be thrown, by users and by the host; what is told, and what ends a stream or a connection, is an error. None of
 * these throws, whatever it is given: a proxy may do so when it is only asked what it is.
 */

/** `thrown` itself if it is an error that can be read, else an error about it, which has it as its cause. */
export function toError (thrown: unknown): Error {
  try {
    // Messages and logs are made of the stack as well.
    return isError(thrown) && ['string', 'undefined'].includes(typeof thrown.stack) ? thrown : new Error(textOf(thrown), { cause: thrown })
  } catch {
    return new Error('Something was thrown that does not say what it is', { cause: thrown })
  }
}

/** Whether it is an error whose name and message can be read. */
export function isError (value: unknown): value is Error {
  try {
    return value instanceof Error && typeof value.name === 'string' && typeof value.message === 'string'
  } catch {
    return false
  }
}

function textOf (thrown: unknown): string {
  return typeof thrown === 'string' ? thrown : `Something was thrown that is no error: ${String(thrown)}`
}
