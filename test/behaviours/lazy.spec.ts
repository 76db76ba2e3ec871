/** Behaviours that open streams lazily, in virtual time: what it saves, and that one write carries opening and first bytes. */

import { describe, expect, it } from 'vitest'
import { protocolBehaviour } from '../../src/behaviours/protocol-behaviour.ts'
import { protocolHandler } from '../../src/behaviours/protocol-handler.ts'
import { requestResponse } from '../../src/behaviours/request-response.ts'
import { Outbox } from '../../src/handler/outbox.ts'
import { ALICE, BOB, VirtualWorld } from '../support/virtual-world.ts'
import { hex, toHex, wire } from '../support/wire.ts'
import type { NetworkBehaviour } from '../../src/behaviour/network-behaviour.ts'
import type { ToSwarm } from '../../src/behaviour/to-swarm.ts'
import type { OpenStream } from '../../src/behaviours/protocol-handler.ts'

const LATENCY_MS = 25

/** Alice opens streams with `behaviour`; Bob answers `ping` with `pong`, and has said so. */
function between<Opener extends NetworkBehaviour<unknown, unknown, unknown>> (behaviour: Opener, answers: string = '/a') {
  const world = new VirtualWorld(LATENCY_MS)
  const alice = world.node(ALICE, { behaviour })
  const served: string[] = []
  const bob = world.node(BOB, {
    answer: requestResponse({
      protocols: answers,
      serve: (request) => {
        served.push(toHex(request))
        return wire('pong')
      }
    })
  })
  const [connection, far] = world.connect(alice, bob)
  connection.identify('/a')
  /** Chunks that reach Bob's end of the first stream while it is negotiated. */
  const heard: string[] = []
  const { streamData } = far
  far.streamData = function (port, bytes) {
    heard.push(toHex(bytes))
    streamData.call(this, port, bytes)
  }
  return { world, alice, connection, served, heard }
}

describe('a request', () => {
  it.each([
    { name: 'four flights with V1', lazy: undefined, flights: 4 },
    { name: 'two flights with V1Lazy', lazy: true, flights: 2 }
  ])('takes $name', async ({ lazy, flights }) => {
    const { world, alice, heard } = between(requestResponse({ protocols: '/a' }))
    let answeredAt: number | undefined
    void alice.behaviours.behaviour.request(BOB, wire('ping'), { lazy }).then((response) => {
      expect(toHex(response)).toBe(hex('pong'))
      answeredAt = world.clock.now
    })
    await world.advance(10 * LATENCY_MS)
    expect(answeredAt).toBe(flights * LATENCY_MS)
    expect(heard).toEqual([lazy === true ? hex('HDR A ping') : hex('HDR A')])
  })

  it('that the peer refuses after all rejects with NegotiationError (S2.26)', async () => {
    const { world, alice, served } = between(requestResponse({ protocols: '/a' }), '/b')
    const refused = expect(alice.behaviours.behaviour.request(BOB, wire('ping'), { lazy: true })).rejects.toMatchObject({ name: 'NegotiationError', tried: ['/a'] })
    await world.advance(4 * LATENCY_MS)
    await refused
    expect(served).toEqual([])
  })
})

describe('open', () => {
  it('gives the stream at once, and what its caller writes then shares its write with the opening', async () => {
    const { world, alice, heard } = between(protocolBehaviour({ protocols: '/a', commands: ({ open }) => ({ open }) }))
    const opened = alice.behaviours.behaviour.open(BOB, { lazy: true })
    await world.settle()
    expect(world.clock.now).toBe(0)
    await opened
    await world.advance(LATENCY_MS)
    expect(heard).toEqual([hex('HDR A')])

    void alice.behaviours.behaviour.open(BOB, { lazy: true }).then((stream) => { stream.send(wire('ping')) })
    await world.advance(2 * LATENCY_MS)
    expect(heard.slice(1)).toEqual([hex('HDR A ping')])
  })
})

describe('open-stream of a protocolHandler', () => {
  it('is lazy when it says so', async () => {
    const commands = new Outbox<ToSwarm<unknown, OpenStream>>()
    const behaviour: NetworkBehaviour<unknown, OpenStream> = {
      commitEstablished: () => protocolHandler({ protocols: '/a', outbound: async (stream) => { stream.send(wire('ping')) } }),
      poll: cx => commands.poll(cx)
    }
    const { world, heard } = between(behaviour)
    commands.push({ type: 'notify-handler', peer: BOB, connection: 'any', event: { type: 'open-stream', lazy: true } })
    await world.advance(LATENCY_MS)
    expect(heard).toEqual([hex('HDR A ping')])
  })
})
