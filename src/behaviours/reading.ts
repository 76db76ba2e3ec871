import type { Stream } from '@libp2p/interface'

/** What the reading side of a stream is paused by. */
type Readable = Pick<Stream, 'readStatus' | 'pause' | 'resume'>

/** Nothing is read for now: what the peer sends stays with it, above one window of the muxer. Without effect on a side that is over. */
export function pauseReading (stream: Readable): void {
  if (stream.readStatus === 'readable') {
    stream.pause()
  }
}

/** Takes {@link pauseReading} back. What the stream has buffered follows from inside this call. */
export function resumeReading (stream: Readable): void {
  if (stream.readStatus === 'paused') {
    stream.resume()
  }
}
