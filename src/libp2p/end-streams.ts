import { Wait } from './wait.ts'
import type { AbortOptions, Stream } from '@libp2p/interface'
import type { Scheduler } from './scheduler.ts'

/** A peer answers the end of a stream within a round trip; one that never does must not hold the close up. */
const GRACE_MS = 250

/**
 * Ends this side of all streams of a muxer, and gives the peer the time of a round trip to end its own. A muxer that closes
 * without this leaves the peer writing into a closed socket, which it then takes for a broken connection (S6.6 d).
 *
 * @param streams - the muxer's own array, from which it takes each stream that has ended
 */
export async function endStreams (streams: readonly Stream[], scheduler: Scheduler, { signal }: AbortOptions): Promise<void> {
  if (streams.length === 0) {
    return
  }
  const allEnded = new Wait<void>({ scheduler, action: 'Cannot wait for the streams to end' }, { signal, timeoutMs: GRACE_MS })
  for (const stream of streams) {
    // The muxer's listener is older than this one: it has taken the stream out by then.
    stream.addEventListener('close', () => {
      if (streams.length === 0) {
        allEnded.resolve()
      }
    }, { once: true })
  }
  for (const stream of [...streams]) {
    stream.close(signal === undefined ? {} : { signal }).catch(() => {})
  }
  try {
    await allEnded.promise
  } catch {
    // Closing the muxer ends what is left, or fails by the same signal.
  }
}
