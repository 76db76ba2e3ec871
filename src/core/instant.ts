/** Monotonic milliseconds on the scale of the clock that the driver reads. `Infinity` means "no deadline". */
export type Instant = number

/** The instant that never comes. */
export const NEVER: Instant = Infinity

/** `now + durationMs`; saturates at `Infinity`, so that huge timeouts mean "practically never" (S1.4). */
export function addDuration (now: Instant, durationMs: number): Instant {
  const sum = now + durationMs
  return sum > Number.MAX_SAFE_INTEGER ? NEVER : sum
}

/** The earlier of two instants. */
export function earliest (left: Instant, right: Instant): Instant {
  return left < right ? left : right
}

/**
 * Passes an instant on that came from user code.
 *
 * @throws RangeError for NaN, with which no comparison comes out true
 */
export function checkInstant (instant: Instant): Instant {
  if (Number.isNaN(instant)) {
    throw new RangeError('Cannot wake at an instant: it must be a number of milliseconds, received NaN')
  }
  return instant
}
