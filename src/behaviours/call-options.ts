/** Options of commands that can be cancelled. */
export interface SignalOptions {
  /** Ends the call when it aborts. No listener is left on it when the call has ended. */
  signal?: AbortSignal | undefined
}

/** Options of commands that open a stream. */
export interface LazyOptions {
  /**
   * Whether the stream may be written to before the peer agreed, which saves a round trip. It takes effect for one name that
   * the peer has announced on this connection; if it refuses all the same, reading and writing fail with `NegotiationError`.
   *
   * @default false
   */
  lazy?: boolean | undefined
}

/** Options of commands that wait for something. */
export interface CallOptions extends SignalOptions {
  /** Milliseconds after which the call ends; `Infinity` for never. */
  timeoutMs?: number | undefined
}
