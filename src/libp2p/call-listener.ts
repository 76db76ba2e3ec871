import { containResult } from './contained-result.ts'

/** A listener of events, as event targets take it. */
export type Listener<Dispatched extends Event> = ((event: Dispatched) => unknown) | { handleEvent (event: Dispatched): unknown }

/**
 * Calls `listener` as an event target does. What it throws would surface as an uncaught exception, and what an async one rejects
 * with as an unhandled rejection: here both are caught (S4.15).
 *
 * @param onError - told of either. Must not throw
 */
export function callListener<Dispatched extends Event> (listener: Listener<Dispatched>, event: Dispatched, onError: (cause: unknown) => void): void {
  try {
    containResult(typeof listener === 'function' ? listener(event) : listener.handleEvent(event), onError)
  } catch (cause) {
    onError(cause)
  }
}
