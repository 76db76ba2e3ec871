/** What `select` or `handle` of any package does with what a peer sends, as far as its caller and the peer can see it. */

import { fakeStreams } from './fake-stream.ts'
import { toHex, wire } from './wire.ts'
import type { Stream } from '@libp2p/interface'

/** What both can see. */
export interface Observed {
  /** The name, the name of the error, or `pending`. */
  readonly result: string
  /** What the peer received, as hex. */
  readonly sent: string
  /** Of the stream, afterwards. */
  readonly status: string
  /** What the caller can still read, as hex, if the stream is open. */
  readonly rest: string
}

/**
 * Runs `negotiate` on a stream whose peer plays `script`, such as `'HDR | A | FIN'`: chunks, each in a macrotask of its own,
 * then the end of its side (`FIN`), or a reset.
 */
export async function observe (negotiate: (stream: Stream) => Promise<string>, script: string): Promise<Observed> {
  const [stream, peer] = fakeStreams(queueMicrotask)
  let sent = ''
  peer.addEventListener('message', ({ data }) => { sent += toHex(data.subarray()) })
  let result = 'pending'
  negotiate(stream).then(protocol => { result = protocol }, (error: unknown) => { result = error instanceof Error ? error.name : String(error) })
  for (const part of script.split('|').map(text => text.trim())) {
    await turns()
    if (part === 'FIN') {
      await peer.close()
    } else if (part === 'RESET') {
      peer.abort(new Error('reset by the peer'))
    } else if (part !== '' && peer.writeStatus === 'writable') {
      peer.send(wire(part))
    }
  }
  await turns()
  let rest = ''
  const { status } = stream
  stream.addEventListener('message', ({ data }) => { rest += toHex(data.subarray()) })
  await turns()
  return { result, sent, status, rest }
}

/** Long enough for everything that does not wait for the peer. */
export async function turns (): Promise<void> {
  for (let left = 20; left > 0; left--) {
    await new Promise((resolve) => { setImmediate(resolve) })
  }
}
