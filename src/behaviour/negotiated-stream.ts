import type { Stream } from '@libp2p/interface'

/**
 * The host's own stream after negotiation. `for await` over it ends after the last byte, and throws when the stream was
 * reset or its connection was lost (S2.31).
 */
export interface NegotiatedStream extends Stream {
  /** Takes the stream out of what holds its connection open (S6.3). Calling it again changes nothing. */
  ignoreForKeepAlive (): void
}
