/** S5.3, S10.10 on whole nodes: timers, sockets and other behaviours are served under behaviours and handlers that never stop. */

import { afterEach, describe, expect, it } from 'vitest'
import { PENDING } from 'libp2p-behaviours'
import { chat } from '../support/chat.ts'
import { within } from '../support/deadline.ts'
import { connect, stopNodes, swarmNode } from '../support/nodes.ts'
import type { ConnectionHandler, NetworkBehaviour, PollContext } from 'libp2p-behaviours'

let isOver = false
afterEach(async () => {
  isOver = true
  await stopNodes()
  isOver = false
})

/** Wakes itself in each poll, or by a promise after each. */
class Restless {
  polls = 0
  readonly #wakesBy: 'itself' | 'a promise'

  constructor (wakesBy: 'itself' | 'a promise') {
    this.#wakesBy = wakesBy
  }

  poll (cx: PollContext): typeof PENDING {
    this.polls++
    if (!isOver && this.#wakesBy === 'itself') {
      cx.wake()
    } else if (!isOver) {
      void Promise.resolve().then(() => { cx.wake() })
    }
    return PENDING
  }
}

class RestlessHandler extends Restless implements ConnectionHandler {
  listenProtocols () { return [] }
  onConnectionEvent (): void {}
}

class RestlessBehaviour extends Restless implements NetworkBehaviour {
  readonly handlers: RestlessHandler[] = []
  readonly #handlerWakesBy: 'itself' | 'a promise'

  constructor (wakesBy: 'itself' | 'a promise') {
    super(wakesBy)
    this.#handlerWakesBy = wakesBy
  }

  commitEstablished () {
    const handler = new RestlessHandler(this.#handlerWakesBy)
    this.handlers.push(handler)
    return handler
  }
}

describe('behaviours and handlers that never stop', () => {
  it.each(['itself', 'a promise'] as const)('woken by %s keep neither timers nor sockets nor others from theirs', async (wakesBy) => {
    const restless = new RestlessBehaviour(wakesBy)
    const alice = await swarmNode('tcp, noise, yamux', { behaviours: { restless, chat: chat() } })
    const bob = await swarmNode('tcp, noise, yamux', { behaviours: { chat: chat() } })
    await connect(bob, alice)
    const events = alice.services.swarm.events()
    await bob.services.swarm.behaviours.chat.say(alice.peerId, 'hello')
    expect((await within('the message', events.next())).value).toMatchObject({ event: { text: 'hello' } })
    expect(await within('the ping of the host', bob.services.ping.ping(alice.peerId))).toBeGreaterThanOrEqual(0)
    await within('a timer', new Promise((resolve) => { setTimeout(resolve, 1) }))
    const before = [restless.polls, restless.handlers[0]?.polls ?? 0]
    await within('a timer', new Promise((resolve) => { setTimeout(resolve, 10) }))
    expect(restless.polls).toBeGreaterThan(before[0] ?? 0)
    expect(restless.handlers[0]?.polls).toBeGreaterThan(before[1] ?? 0)
  })
})
