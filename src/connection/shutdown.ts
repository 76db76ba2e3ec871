/**
 * ```
 *            busy                           closing
 *  open ──── idle until t ──────────────▶  reason, deadline ──────▶ closed
 *            (t passes, close, abort,      (done, or the deadline)
 *             end, error, handler error)
 * ```
 * Two axes: the phase, and while open the activity (S6.1). `nextActivity` is the pure decision of S6.4; everything else
 * that leads to closing is an input of the connection.
 */

import { NEVER, addDuration } from '../core/instant.ts'
import type { CloseReason } from '../core/close-reason.ts'
import type { Instant } from '../core/instant.ts'

/** What a connection is at. */
export type ConnectionStatus =
  | { readonly phase: 'open', readonly activity: 'busy' }
  | { readonly phase: 'open', readonly activity: 'idle', readonly since: Instant, readonly until: Instant }
  | { readonly phase: 'closing', readonly reason: CloseReason, readonly cause: unknown }
  | { readonly phase: 'closed', readonly reason: CloseReason, readonly cause: unknown }

/** An open connection. */
export type Activity = Extract<ConnectionStatus, { phase: 'open' }>

/** The one busy status: nothing is allocated while a connection works. */
export const BUSY: Activity = Object.freeze({ phase: 'open', activity: 'busy' })

/**
 * What an open connection is next: busy, idle until an instant, or due to close.
 *
 * @param before - its activity so far; polls and notices do not move the end of an idle time
 */
export function nextActivity (before: Activity, isBusy: boolean, now: Instant, idleTimeoutMs: number): Activity | 'close' {
  if (isBusy) {
    return BUSY
  }
  if (before.activity === 'idle') {
    return now < before.until || before.until === NEVER ? before : 'close'
  }
  return idleTimeoutMs === 0 ? 'close' : { phase: 'open', activity: 'idle', since: now, until: addDuration(now, idleTimeoutMs) }
}
