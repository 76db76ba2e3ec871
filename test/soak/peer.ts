/**
 * The hostile peer of `main.ts`, in a process of its own: `peer.ts ADDRESS ATTACK SECONDS`. Meanwhile it uses the echo service
 * of its victim as an honest peer would, over the same connection, and at the end it prints what came of it as JSON.
 */

import '../support/polyfill.ts'
import { setTimeout as wait } from 'node:timers/promises'
import { byteStream } from '@libp2p/utils'
import { multiaddr } from '@multiformats/multiaddr'
import { stockNode, stopNodes } from '../support/nodes.ts'
import { attack } from './attacks.ts'
import type { Connection, Stream } from '@libp2p/interface'
import type { Damage } from './attacks.ts'

const PAUSE_MS = 20

/** What the peer tells of its attack. */
export interface Report extends Damage {
  /** Echoes that came back, on a stream of its own each. */
  readonly echoes: number
  /** Echoes whose stream the victim reset: those over the same connection share the bounds that the attack exceeds. */
  readonly refusedEchoes: number
  /** Milliseconds of the slowest. */
  readonly slowestEchoMs: number
}

const [address = '', name = '', seconds = ''] = process.argv.slice(2)
const end = performance.now() + 1000 * Number(seconds)
const isOver = (): boolean => performance.now() >= end

const node = await stockNode('tcp, noise, yamux')
const connection = await node.dial(multiaddr(address))
const { muxer } = connection as unknown as { muxer: { createStream (): Promise<Stream> } }
const [damage, echoes] = await Promise.all([attack(name, async () => muxer.createStream(), isOver), echoUntilOver(connection)])
const report: Report = { ...damage, ...echoes }
console.log(JSON.stringify(report))
await stopNodes()
process.exit()

async function echoUntilOver (to: Connection): Promise<Pick<Report, 'echoes' | 'refusedEchoes' | 'slowestEchoMs'>> {
  let echoes = 0
  let refusedEchoes = 0
  let slowestEchoMs = 0
  while (!isOver()) {
    const startedAt = performance.now()
    try {
      await echo(to)
      echoes++
      slowestEchoMs = Math.max(slowestEchoMs, performance.now() - startedAt)
    } catch (error) {
      if (!(error instanceof Error && error.name === 'StreamResetError')) {
        throw error
      }
      refusedEchoes++
    }
    await wait(PAUSE_MS)
  }
  return { echoes, refusedEchoes, slowestEchoMs }
}

async function echo (to: Connection): Promise<void> {
  const stream = await to.newStream('/echo/1.0.0')
  const bytes = byteStream(stream)
  await bytes.write(new Uint8Array(32))
  await bytes.read({ bytes: 32 })
  await stream.close()
}
