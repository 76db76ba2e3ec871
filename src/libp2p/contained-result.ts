/**
 * Looks after what a foreign callback returned: the rejection of a promise is reported, and never goes unhandled (S4.15).
 *
 * @param onError - told what it rejected with. Must not throw
 */
export function containResult (result: unknown, onError: (cause: unknown) => void): void {
  if (isThenable(result)) {
    try {
      result.then(undefined, onError)
    } catch (cause) {
      onError(cause)
    }
  }
}

function isThenable (value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
