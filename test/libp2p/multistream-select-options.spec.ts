import '../support/polyfill.ts'
import { describe, expect, it } from 'vitest'
import { handle, select } from '../../src/negotiation/index.ts'
import { streamPair } from '../support/stream-pair.ts'
import type { MultistreamSelectInit } from '../../src/negotiation/index.ts'

/** Both sides with the same options. */
async function agree (options: MultistreamSelectInit): Promise<readonly string[]> {
  const [outbound, inbound] = streamPair()
  return await Promise.all([select(outbound, '/a', options), handle(inbound, ['/a'], options)])
}

describe('options of select and handle (S2.39, S9.2)', () => {
  it.each<[object, string]>([
    [{ timeoutMs: 100 }, 'Cannot negotiate: there is no option "timeoutMs"'],
    [{ limit: {} }, 'there is no option "limit", did you mean limits?'],
    [[], 'options must be an object, received an array'],
    [null as unknown as object, 'options must be an object, received null']
  ])('refuse %o, and leave the stream as it is', async (options, message) => {
    const [outbound, inbound] = streamPair()
    const refused = { name: 'TypeError', message: expect.stringContaining(message) as string }
    await expect(select(outbound, '/a', options)).rejects.toMatchObject(refused)
    await expect(handle(inbound, ['/a'], options)).rejects.toMatchObject(refused)
    expect(await Promise.all([select(outbound, '/a'), handle(inbound, ['/a'])])).toEqual(['/a', '/a'])
  })

  it('take those of @libp2p/multistream-select, and what the host hands through to it', async () => {
    const stock = { negotiateFully: true, maxBufferSize: 1, maxDataLength: 1, maxLengthLength: 1, signal: new AbortController().signal }
    expect(await agree(stock)).toEqual(['/a', '/a'])
    expect(await agree({ runOnLimitedConnection: true, maxOutboundStreams: 1, onProgress: () => {} } as MultistreamSelectInit)).toEqual(['/a', '/a'])
    expect(await agree({ limits: { maxRounds: 2 } })).toEqual(['/a', '/a'])
  })
})
