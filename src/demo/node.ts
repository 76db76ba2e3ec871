/**
 * A libp2p node with three composed behaviours that tells what happens to it: what a user of the library writes, and
 * nothing that a user could not write.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { identify, identifyPush } from '@libp2p/identify'
import { noise } from '@libp2p/noise'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { createLibp2p } from 'libp2p'
import { protocolBehaviour, withSwarm } from 'libp2p-behaviours'
import { ping } from 'libp2p-behaviours/ping'
import { ProtocolList } from 'libp2p-behaviours/protocols'
import { requestResponse } from 'libp2p-behaviours/request-response'
import type { Colour, Printer } from './printer.ts'
import type { PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'

/** Requests are answered with the same text in capitals. */
const SHOUT = '/shout/1.0.0'
/** One line of text, and no answer. */
const GREETING = '/greeting/1.0.0'
/** Comes and goes while the nodes are connected. */
const EXTRA = '/greeting/2.0.0'

/** How long {@link EXTRA} is offered. */
const EXTRA_MS = 400
/** Pushes follow a change after this many milliseconds; the default of a second is made for lists that change a lot. */
const PUSH_DELAY_MS = 50
/** More often than the default of 15 s, so that there is something to see. */
const PING_INTERVAL_MS = 1000
/** Nothing that one node waits for takes longer between two machines that can reach each other. */
const PATIENCE_MS = 10_000

async function createNode (listen: string[], offered: ProtocolList) {
  return createLibp2p(withSwarm({
    addresses: { listen },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    services: { identify: identify(), identifyPush: identifyPush({ debounce: PUSH_DELAY_MS }) }
  }, {
    behaviours: {
      ping: ping({ intervalMs: PING_INTERVAL_MS }),
      shout: requestResponse({ protocols: [SHOUT], serve: request => encode(decode(request).toUpperCase()) }),
      greeting: protocolBehaviour({
        protocols: offered,
        async * inbound (stream) {
          const chunks: string[] = []
          for await (const chunk of stream) {
            chunks.push(decode(chunk.subarray()))
          }
          await stream.close()
          yield { type: 'greeted', text: chunks.join('') }
        },
        commands: ({ open }) => ({
          greet: async (peer: PeerId, text: string): Promise<void> => {
            const stream = await open(peer)
            stream.send(encode(text))
            await stream.close()
          }
        })
      })
    }
  }))
}

/** What one node has seen of the story, for the closing summary. */
export interface Seen {
  connections: number
  pings: number
  answers: number
  greetings: number
  added: number
  removed: number
  closed: number
}

/** One of the nodes of the demo. */
export class DemoNode {
  readonly name: string
  readonly seen: Seen = { connections: 0, pings: 0, answers: 0, greetings: 0, added: 0, removed: 0, closed: 0 }
  readonly #node: Awaited<ReturnType<typeof createNode>>
  readonly #offered: ProtocolList
  readonly #tell: (what: string, details?: string) => void

  private constructor (name: string, colour: Colour, printer: Printer, node: Awaited<ReturnType<typeof createNode>>, offered: ProtocolList) {
    this.name = name
    this.#node = node
    this.#offered = offered
    this.#tell = (what, details) => { printer.event(name, colour, what, details) }
    this.#watch()
  }

  /**
   * @param listen - addresses to listen on; none for a node that only dials
   */
  static async start (name: string, colour: Colour, printer: Printer, listen: string[]): Promise<DemoNode> {
    const offered = new ProtocolList([GREETING])
    const demoNode = new DemoNode(name, colour, printer, await createNode(listen, offered), offered)
    demoNode.#tell('started', String(demoNode.peerId))
    for (const address of demoNode.addresses) {
      demoNode.#tell('listening', String(address))
    }
    return demoNode
  }

  get peerId (): PeerId {
    return this.#node.peerId
  }

  get addresses (): Multiaddr[] {
    return this.#node.getMultiaddrs()
  }

  /** Calls `welcome` with every peer that connects. */
  onConnection (welcome: (peer: PeerId) => void): void {
    this.#node.services.swarm.addEventListener('connection:open', ({ detail }) => { welcome(detail.peer) })
  }

  /** Connects; returns who is there. */
  async visit (address: Multiaddr): Promise<PeerId> {
    const connection = await this.#node.dial(address, { signal: AbortSignal.timeout(PATIENCE_MS) })
    return connection.remotePeer
  }

  /** This node's part of the story: ping, request, greet, offer one more protocol for a while, and see the other do it. */
  async meet (peer: PeerId): Promise<void> {
    const { behaviours, protocols } = this.#node.services.swarm
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const otherOffered = this.#seesExtra(peer, signal)
    otherOffered.catch(() => {}) // awaited below; an error before that must not go unhandled

    await protocols.whenSupports(peer, SHOUT, { signal })
    this.#tell('identified', [...protocols.of(peer)].join(' '))

    const rttMs = await behaviours.ping.ping(peer, { signal })
    this.seen.pings++
    this.#tell('ping', `${rttMs.toFixed(2)} ms`)

    const answer = decode(await behaviours.shout.request(peer, encode(`hello from ${this.name}`), { signal }))
    this.seen.answers++
    this.#tell('request answered', `"${answer}"`)

    await behaviours.greeting.greet(peer, `${this.name} was here`)

    this.#offered.add(EXTRA)
    this.#tell('offers', EXTRA)
    await delay(EXTRA_MS)
    this.#offered.delete(EXTRA)
    this.#tell('offers no more', EXTRA)

    await otherOffered
  }

  /** Closes all connections gracefully and ends. */
  async stop (): Promise<void> {
    await this.#node.stop()
    this.#tell('stopped')
  }

  /** Prints what comes by itself. */
  #watch (): void {
    const { swarm } = this.#node.services
    swarm.addEventListener('connection:open', ({ detail }) => {
      this.seen.connections++
      this.#tell('connected', `${shortened(detail.peer)} (${detail.direction})`)
    })
    swarm.addEventListener('connection:close', ({ detail }) => {
      this.seen.closed++
      this.#tell('closed', `${shortened(detail.peer)}, reason ${detail.reason}`)
    })
    swarm.addEventListener('behaviour:event', ({ detail: { behaviour, peer, event } }) => {
      if (behaviour === 'greeting') {
        this.seen.greetings++
        this.#tell('greeted', `by ${shortened(peer)}: "${event.text}"`)
      }
    })
    swarm.protocols.subscribe({ side: 'remote', protocol: EXTRA }, ({ peer, added, removed }) => {
      this.seen.added += added.length
      this.seen.removed += removed.length
      for (const protocol of added) {
        this.#tell('protocol added', `${shortened(peer)} speaks ${protocol}`)
      }
      for (const protocol of removed) {
        this.#tell('protocol removed', `${shortened(peer)} no longer speaks ${protocol}`)
      }
    })
  }

  /** Until `peer` has offered the extra protocol and withdrawn it again. */
  async #seesExtra (peer: PeerId, signal: AbortSignal): Promise<void> {
    const { protocols } = this.#node.services.swarm
    await protocols.whenSupports(peer, EXTRA, { signal })
    await new Promise<void>((resolve, reject) => {
      const subscription = protocols.subscribe({ side: 'remote', peer, protocol: EXTRA }, ({ removed }) => {
        if (removed.length > 0) {
          subscription.unsubscribe()
          resolve()
        }
      })
      signal.addEventListener('abort', () => { reject(new Error(`${shortened(peer)} did not withdraw ${EXTRA} in time`)) }, { once: true })
    })
  }
}

function shortened (peer: PeerId): string {
  return `…${String(peer).slice(-6)}`
}

function encode (text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function decode (bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}
