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
