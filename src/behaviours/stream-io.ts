/** Whole messages over a stream: everything up to the end of one side. */

import { concat } from 'uint8arrays/concat'
import { RemoteProtocolError } from '../errors.ts'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'

/**
 * Reads to the end of the peer's side.
 *
 * @param stream - the stream; its owner resets it if this rejects
 * @param maxBytes - most bytes that are held
 * @param what - for the message: `request`
 * @returns all bytes; rejects with a `RemoteProtocolError` (`too-long`) at the first byte too many, or as the stream does
 */
export async function readToEnd (stream: NegotiatedStream, maxBytes: number, what: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.byteLength
    if (size > maxBytes) {
      throw new RemoteProtocolError(`Cannot read ${what}: it must have at most ${maxBytes} bytes`, 'too-long')
    }
    chunks.push(chunk.subarray())
  }
  return concat(chunks, size)
}

/** Writes `bytes` as fast as the peer takes them, then ends this side. Rejects as the stream does. */
export async function writeToEnd (stream: NegotiatedStream, bytes: Uint8Array): Promise<void> {
  await stream.write(bytes)
  await stream.close()
}
