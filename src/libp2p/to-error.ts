/** Anything may be thrown by the host, and by its users; what is told and what ends a stream or a connection is an error. */
export function toError (thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
