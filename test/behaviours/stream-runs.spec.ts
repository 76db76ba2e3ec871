import '../support/polyfill.ts'
import { expect, it } from 'vitest'
import { StreamRuns } from '../../src/behaviours/stream-runs.ts'
import { fakeStreams } from '../support/fake-stream.ts'
import type { NegotiatedStream } from '../../src/behaviour/negotiated-stream.ts'

it('StreamRuns lets go of a stream that both sides ended, though nobody has read it', async () => {
  const [outbound, inbound] = fakeStreams((deliver) => { deliver() })
  const stream: NegotiatedStream = Object.assign(inbound, { ignoreForKeepAlive: () => {}, write: async () => {} })
  const run = new StreamRuns().run(stream, () => undefined)
  outbound.send(new Uint8Array(1000))
  await outbound.close()
  await stream.close()
  await run
  expect(stream).toMatchObject({ status: 'closed', readableEnded: false, readBufferLength: 1000 })
})
