/** What a hostile peer does with its streams; each goes on until it is told to stop. */

import { setTimeout as wait } from 'node:timers/promises'
import { wire } from '../support/wire.ts'
import type { Stream } from '@libp2p/interface'

/** Streams that are attacked with at a time. */
const STREAMS = 64

/** What a stream is sent at a time, and how long it has rest then: with more, the time goes into decrypting, which is the host's. */
const CHUNK_BYTES = 16_384
const REST_MS = 20

/** What a flood came to. */
export interface Damage {
  /** Streams that were opened. */
  streams: number
  /** Bytes that were sent to the victim. */
  bytes: number
  /** Most bytes that one stream brought back. */
  mostAnswered: number
}

/** Runs on one stream, until it is reset or `isOver`. */
type Attack = (stream: Stream, damage: Damage, isOver: () => boolean) => Promise<void>

/** The attacks by name. */
export const ATTACKS: Readonly<Record<string, Attack>> = {
  'proposals without end': flood('C'),
  'ls without end': flood('LS'),
  'long names without end': flood(`ff07${'61'.repeat(1022)}0a`),
  'one byte per second': trickle,
  'streams without end': async (stream) => { stream.abort(new Error('next')) }
}

/** Attacks with many streams at a time, each replaced as soon as it has ended. */
export async function attack (name: string, open: () => Promise<Stream>, isOver: () => boolean): Promise<Damage> {
  const damage: Damage = { streams: 0, bytes: 0, mostAnswered: 0 }
  const run = ATTACKS[name]
  if (run === undefined) {
    throw new RangeError(`There is no attack "${name}"`)
  }
  await Promise.all(Array.from({ length: STREAMS }, async () => {
    while (!isOver()) {
      const stream = await open()
      damage.streams++
      countAnswers(stream, damage)
      await run(stream, damage, isOver).catch(() => {
        // The victim has reset the stream, as it should.
      })
      // Streams that were reset make room for the next one in a later turn only.
      await wait(0)
    }
  }))
  return damage
}

function countAnswers (stream: Stream, damage: Damage): void {
  let answered = 0
  stream.addEventListener('message', ({ data }) => {
    answered += data.byteLength
    damage.mostAnswered = Math.max(damage.mostAnswered, answered)
  })
}

/** The header, then one frame again and again: more in each chunk than the victim reads in a whole negotiation. */
function flood (frame: string): Attack {
  const bytes = wire(frame)
  const chunk = new Uint8Array(Math.floor(CHUNK_BYTES / bytes.length) * bytes.length)
  for (let at = 0; at < chunk.length; at += bytes.length) {
    chunk.set(bytes, at)
  }
  return async (stream, damage, isOver) => {
    stream.send(wire('HDR'))
    while (!isOver()) {
      damage.bytes += chunk.length
      if (!stream.send(chunk)) {
        await stream.onDrain()
      }
      await wait(REST_MS)
    }
  }
}

async function trickle (stream: Stream, damage: Damage, isOver: () => boolean): Promise<void> {
  for (const byte of wire('HDR C C C')) {
    if (isOver()) {
      return
    }
    stream.send(Uint8Array.of(byte))
    damage.bytes++
    await wait(1000)
  }
}
