/** A protocol for integration tests: each stream carries one text. */

import { protocolBehaviour } from 'libp2p-behaviours'
import type { PeerId } from '@libp2p/interface'
import type { ProtocolListing } from 'libp2p-behaviours'

export const CHAT = '/chat/1.0.0'

/** Text as bytes. */
export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
/** Bytes as text. */
export const textOf = (bytes: { subarray (): Uint8Array }): string => new TextDecoder().decode(bytes.subarray())

/** Everything up to the end of the stream. */
export async function readText (stream: AsyncIterable<{ subarray (): Uint8Array }>): Promise<string> {
  let text = ''
  for await (const chunk of stream) {
    text += textOf(chunk)
  }
  return text
}

/** Emits each text that arrives; `say` sends one. */
export const chat = (protocols: string | ProtocolListing = CHAT) => protocolBehaviour({
  protocols,
  async * inbound (stream, { protocol }) {
    yield { type: 'message', text: await readText(stream), protocol }
  },
  commands: ({ open }) => ({
    async say (peer: PeerId, text: string, protocols?: readonly string[]): Promise<string> {
      const stream = await open(peer, { protocols })
      stream.send(bytesOf(text))
      await stream.close()
      return stream.protocol
    }
  })
})
