import type { Stream } from '@libp2p/interface'

/**
 * The host's own stream after negotiation. `for await` over it ends after the last byte, and throws when the stream was
 * reset or its connection was lost (S2.31).
 */
export interface NegotiatedStream extends Stream {
  /** Takes the stream out of what holds its connection open (S6.3). Calling it again changes nothing. */
  ignoreForKeepAlive (): void
  /**
   * Sends `bytes` no faster than the peer takes them; resolves when the stream has all of them. While the stream holds
   * `maxUnflushedBytesPerStream`, or all streams of the connection `maxUnflushedBytes`, it waits. Several calls are served in
   * order. Rejects as the stream does when that ends; then later calls reject at once. `send()` takes everything, always.
   *
   * When `signal` aborts while it waits it rejects with `AbortError`: nothing of `bytes` is sent then, or, if a part has been,
   * the stream is aborted.
   */
  // eslint-disable-next-line no-restricted-syntax -- the object is the host's, whose methods give promises
  write (bytes: Uint8Array, options?: { signal?: AbortSignal | undefined }): Promise<void>
}
