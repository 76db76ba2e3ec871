/** Options of commands that can be cancelled. */
export interface SignalOptions {
  /** Ends the call when it aborts. No listener is left on it when the call has ended. */
  signal?: AbortSignal | undefined
}

/** Options of commands that wait for something. */
export interface CallOptions extends SignalOptions {
  /** Milliseconds after which the call ends; `Infinity` for never. */
  timeoutMs?: number | undefined
}
