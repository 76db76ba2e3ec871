/** Anything may be thrown by the host, and by its users; what is told and what ends a stream or a connection is an error. Never throws. */
export function toError (thrown: unknown): Error {
  try {
    return isWellFormed(thrown) ? thrown : new Error(String(thrown))
  } catch {
    return new Error('Something was thrown that does not say what it is', { cause: thrown })
  }
}

/** Whether it is an error of which all can be read that messages and logs are made of; throws what its getters throw. */
function isWellFormed (thrown: unknown): thrown is Error {
  return thrown instanceof Error && [thrown.name, thrown.message, thrown.stack ?? ''].every((text) => typeof text === 'string')
}
