import { afterEach, describe, expect, it } from 'vitest'
import { requestResponse } from 'libp2p-behaviours/request-response'
import { bytesOf, textOf } from '../support/chat.ts'
import { until, within } from '../support/deadline.ts'
import { STACKS, connect, stopNodes, swarmNode } from '../support/nodes.ts'
import type { Codec } from 'libp2p-behaviours/request-response'

afterEach(stopNodes)

const numbers: Codec<readonly number[], number> = {
  encodeRequest: (terms) => bytesOf(JSON.stringify(terms)),
  decodeRequest: (bytes) => JSON.parse(textOf(bytes)) as number[],
  encodeResponse: (sum) => bytesOf(String(sum)),
  decodeResponse: (bytes) => Number(textOf(bytes))
}

describe.each(STACKS)('requestResponse over %s', (stack) => {
  it('speaks through a codec, and falls back to the name that both have', async () => {
    const served: string[] = []
    const [alice, bob] = await Promise.all([
      swarmNode(stack, { behaviours: { sums: requestResponse({ protocols: ['/sum/2.0.0', '/sum/1.0.0'], codec: numbers }) } }),
      swarmNode(stack, {
        behaviours: {
          sums: requestResponse({
            protocols: '/sum/1.0.0',
            codec: numbers,
            serve: (terms, { protocol }) => {
              served.push(protocol)
              return terms.reduce((sum, term) => sum + term, 0)
            }
          })
        }
      })
    ])
    await connect(alice, bob)
    expect(await alice.services.swarm.behaviours.sums.request(bob.peerId, [1, 2, 3])).toBe(6)
    expect(served).toEqual(['/sum/1.0.0'])
  })

  it('reports bytes that mean nothing to its codec on the side that got them, and goes on', async () => {
    const [alice, bob] = await Promise.all([
      swarmNode(stack, { behaviours: { sums: requestResponse({ protocols: '/sum/1.0.0' }) } }),
      swarmNode(stack, { behaviours: { sums: requestResponse({ protocols: '/sum/1.0.0', codec: numbers, serve: () => 0 }) } })
    ])
    const events = bob.services.swarm.events()
    await connect(alice, bob)
    await expect(alice.services.swarm.behaviours.sums.request(bob.peerId, bytesOf('{'))).rejects.toMatchObject({ name: 'StreamResetError' })
    expect((await within('the failure', events.next())).value).toMatchObject({
      event: { type: 'inbound-failure', error: { name: 'RemoteProtocolError', outcome: 'invalid', cause: { name: 'SyntaxError' } } }
    })
    expect(await alice.services.swarm.behaviours.sums.request(bob.peerId, bytesOf('[]'))).toEqual(bytesOf('0'))
  })

  it('has large requests wait their turn in the flow control of the muxer, and answers them all', async () => {
    const size = 600_000
    let running = 0
    let most = 0
    const [alice, bob] = await Promise.all([
      swarmNode(stack, { behaviours: { files: requestResponse({ protocols: '/files/1.0.0' }) } }),
      swarmNode(stack, {
        behaviours: {
          files: requestResponse({
            protocols: '/files/1.0.0',
            maxInboundRequests: 2,
            serve: async (request) => {
              most = Math.max(most, ++running)
              await new Promise((resolve) => { setTimeout(resolve, 5) })
              running--
              return request.subarray(-1)
            }
          })
        }
      })
    ])
    const connection = await connect(alice, bob)
    const answers = Array.from({ length: 8 }, async (_, at) => await alice.services.swarm.behaviours.files.request(bob.peerId, new Uint8Array(size).fill(at)))
    expect((await within('the answers', Promise.all(answers))).map(([byte]) => byte)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    expect(most).toBeLessThanOrEqual(2)
    await until('all streams are closed', () => connection.streams.filter(({ protocol }) => protocol === '/files/1.0.0').length === 0)
  })
})
