import { concat } from 'uint8arrays/concat'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'

/**
 * Sends back what comes in, in whole payloads, until the peer ends its side; then ends ours. No more than one chunk and a
 * part of a payload is held: while the peer does not read its echoes, it is not read either.
 *
 * @param stream - negotiated
 * @param payloadBytes - size of a payload
 */
export async function echo (stream: NegotiatedStream, payloadBytes: number): Promise<void> {
  let part: Uint8Array = new Uint8Array(0)
  for await (const chunk of stream) {
    const bytes = part.byteLength === 0 ? chunk.subarray() : concat([part, chunk.subarray()])
    const whole = bytes.byteLength - bytes.byteLength % payloadBytes
    part = bytes.slice(whole)
    if (whole > 0) {
      await stream.write(bytes.subarray(0, whole))
    }
  }
  await stream.close()
}
