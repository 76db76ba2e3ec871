import type { Poll } from '../core/poll.ts'

/** Where the collections of a connection find their entry for a stream. */
export class StreamPlaces {
  negotiating: unknown
  unconfirmed: unknown
  counted: unknown
}

/** The places of a stream, which begin to exist when they are needed. */
export function placesOf (port: StreamPort<unknown>): StreamPlaces {
  port.places ??= new StreamPlaces()
  return port.places
}

/**
 * One stream of the muxer, as the connection sees it while it is negotiated and as long as it is counted. Made by the
 * driver, one object per stream; the connection tells streams apart by the identity of this object.
 */
export interface StreamPort<Stream> {
  /** What a handler is given: the host's own stream object, opaque to the connection. */
  readonly stream: Stream
  /**
   * Asked of a stream that this side has closed, before it is given up: `takes`, somebody was given bytes since this was asked
   * last; `waits`, somebody reads, and nothing came. Absent: nobody reads.
   */
  reading? (): 'takes' | 'waits' | 'no'
  /** Kept by the connection, for whom every stream would cost several look-ups otherwise. Absent to begin with. */
  places?: StreamPlaces | undefined
  /** From now on bytes are asked for: `handleStreamData` and `handleStreamEnd` follow. Called once, when a slot is free. */
  start (): void
  /**
   * Sends bytes of the negotiation. Taken whole or not at all; a throw means that writing failed, and nothing is written
   * to this stream again.
   */
  write (bytes: Uint8Array): void
  /** Puts bytes back that were one turn's share too many: they come again, before everything else, in another turn (S2.34). */
  readLater (bytes: Uint8Array): void
  /**
   * The stream is its user's before the peer agreed (V1Lazy): it bears the name, and nobody may read it yet. Bytes, end and
   * reset are told as before, until `accept` or `reset`. `opening` goes out with the first bytes of the user, before the end
   * of this side, and at the latest when the turn is over (S2.28); never after `reset`, whose error every use then gives.
   */
  assume (protocol: string, opening: Uint8Array): void
  /** The negotiation ended well: its bytes are no longer asked for, and the stream bears the name. */
  accept (protocol: string): void
  /** Bytes that came with the last frame of the negotiation: they go in front of everything else the reader gets. */
  unread (bytes: Uint8Array): void
  /** Ends both directions at once. Called once at most, and not after the stream has ended by itself. */
  reset (error: Error): void
}

/** Names one open stream request at the muxer, from {@link MuxerPort.openStream} to its single answer. */
export interface StreamOpening {
  /** What the stream is to speak, in order of preference; only a muxer that {@link MuxerPort.negotiates} looks at it. */
  readonly protocols: readonly string[]
  /** What the requester of a host stream wants the muxer to know; undefined for the streams of handlers. */
  readonly options: unknown
}

/**
 * What a connection needs from a muxer, and no more. Each call is answered later by a `handle*` call on the connection,
 * never from inside the call itself.
 */
export interface MuxerPort<Stream = never> {
  /**
   * True: streams come from it and arrive with their name, agreed by the host (hosted mode, S1.5). An opening is for the names
   * that it carries then, so that its answer is for nobody else. Absent: the connection negotiates.
   */
  readonly negotiates?: boolean
  /**
   * For a muxer that can hold streams of the peer back: takes the oldest one, or answers PENDING. Asked while a slot is free,
   * so that what the connection has no room for waits at the muxer; the time of a stream runs from here on (S5.9). When a
   * stream comes up, tell `handleInboundReady`. Absent: every stream is told by `handleInboundStream`.
   */
  pollInbound? (): Poll<StreamPort<Stream>>
  /**
   * Opens a stream; answered by `handleOutboundStream(opening, port)`, with the agreed name if the muxer negotiates, or by
   * `handleOutboundStreamFailure(opening, error)`.
   */
  openStream (opening: StreamOpening): void
  /** Nobody waits for the answer to this opening any more; a stream granted later is reset by the connection, or serves another request. */
  cancelOpening (opening: StreamOpening): void
  /** Flushes and closes the streams, then the muxer; answered by `handleMuxerClosed()`. */
  close (): void
  /** Ends the muxer and all its streams at once. */
  abort (error: Error): void
}
